"""The house: its rooms, who may import what, and what `import owenshap` loads."""

import ast
import subprocess
import sys

import pytest

import owenshap
from benchmarks import house
from benchmarks.house import SRC, fan_out, modules, room, rooms

ROOMS = [
    "command",
    "designs",
    "estimators",
    "explain",
    "fast",
    "games",
    "jobs",
    "models",
    "plots",
    "report",
    "run",
    "statistics",
    "support",
    "surrogates",
    "tables",
    "testing",
    "trees",
]
MODULES = modules()
FAN_OUT = fan_out()
MOST_IMPORTS = 14  # modules that a module may import: more, and it does several things


def test_the_rooms_are_these():
    assert rooms() == ROOMS


def test_nothing_lies_flat_but_the_surface_and_the_errors():
    assert sorted(path.name for path in SRC.glob("*.py")) == [
        "__init__.py",
        "__main__.py",
        "errors.py",
    ]
    folders = {path.name for path in SRC.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(ROOMS)


def private_imports(module, source):
    """What a module takes from another room that is private there, by name or as an attribute."""
    tree = ast.parse(source)
    aliases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [(each.asname or each.name, each.name) for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            base = node.module
            names = [(each.asname or each.name, f"{base}.{each.name}") for each in node.names]
        else:
            continue
        aliases |= {alias: name for alias, name in names if name.split(".")[0] == "owenshap"}
    taken = [*aliases.values(), *attributes(tree, aliases)]
    return [name for name in taken if is_private(name) and room(name) != room(module)]


def attributes(tree, aliases):
    """Attributes of what was imported as a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = aliases.get(node.value.id)
            if name in MODULES:
                yield f"{name}.{node.attr}"


def is_private(name):
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


@pytest.mark.parametrize("module", MODULES)
def test_no_room_takes_what_is_private_in_another(module):
    assert private_imports(module, MODULES[module].read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        "from owenshap.run._loop import go",
        "from owenshap.run import _loop",
        "import owenshap.run._loop",
        "def late():\n    from owenshap.run.session import _cut",
        "from owenshap.run import session\nsession._cut()",
        "from owenshap.run import session as loop\nloop._cut()",
    ],
)
def test_a_private_import_is_noticed(source):
    assert private_imports("owenshap.games.game", source)
    assert not private_imports("owenshap.run.plan", source)


@pytest.mark.parametrize("module", MODULES)
def test_no_module_imports_many(module):
    assert FAN_OUT[module] <= MOST_IMPORTS


HEAVY = ["numpy", "scipy", "owenshap.run.session", "owenshap.explain.explainer"]


def loaded_after(code):
    """Which of the heavy modules a new process has loaded after some code."""
    asked = f"{code}\nimport sys\nprint(*(each for each in {HEAVY} if each in sys.modules))"
    return subprocess.check_output([sys.executable, "-c", asked], text=True).split()


def test_importing_the_package_loads_next_to_nothing():
    assert loaded_after("import owenshap") == []
    assert loaded_after("import owenshap; owenshap.estimate") == HEAVY[:-1]


def test_every_public_name_is_listed_where_it_is_looked_up():
    assert {*owenshap._HOME_OF, "plots", "report"} == {*owenshap.__all__}


def test_a_row_is_followed_through_the_house():
    """What `benchmarks/house.py` counts is there, and one row has not begun to wander."""
    way = house.way_of_a_row()
    assert {"owenshap.explain.explainer", "owenshap.run.session"} <= way.modules
    assert all(room(caller) != room(function) for caller, function in way.hops)
    assert len(way.modules) <= 27
    assert len(way.hops) <= 60


def test_a_row_with_a_fixed_budget_meets_nothing_that_it_does_not_need():
    modules = house.way_of_a_row().modules
    for unused in (
        "explain.planning",
        "run.telling",
        "statistics.goal",
        "support.executors",
        "support.progress",
    ):
        assert f"owenshap.{unused}" not in modules


def test_every_named_number_has_a_reason():
    """In one line beside it; and those of the loop, of what calls it and of what it asks when to
    stop are no more than they were.
    """
    assert house.without_reason() == []
    few = ("explain", "games", "run", "statistics", "tables")
    assert sum(room(name) in few for name in house.constants()) <= 38


def test_what_is_counted_is_there():
    way = house.Way()
    way.follow(lambda: owenshap.TableGame([0, 1, 3, 8]))
    assert "owenshap.games.game" in way.modules
    assert "owenshap.run.blocks.LARGEST_BLOCK" in house.constants()
    assert house.statements() > 5000
