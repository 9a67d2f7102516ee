"""Help is quick, and what it says is true."""

import re
import shlex
import subprocess
import sys
import tomllib

import click
import pytest
from commands import ROOT, command, process

import owenshap
from owenshap.command import faults
from owenshap.command.app import CODES, app

COMMANDS = ["explain", "report", "status", "methods", "demo"]
EXAMPLE = re.compile(r"^\s*owenshap (\w+.*)$", re.MULTILINE)


def test_help_loads_no_numpy():
    code = "import sys; sys.argv = ['owenshap', '--help']\nfrom owenshap.command import main\n"
    code += "try:\n    main()\nexcept SystemExit:\n    pass\n"
    code += (
        "print(*(each for each in ('numpy', 'scipy', 'pandas', 'pyarrow') if each in sys.modules))"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.splitlines()[-1] == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name):
    assert command(name, "--help").exit_code == 0
    assert name in command("--help").output


def test_the_command_is_there_as_a_module():
    result = process("--version")
    assert result.stdout == f"owenshap, version {owenshap.__version__}\n"
    assert result.stderr == ""


def test_the_script_is_the_command():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["scripts"]["owenshap"].partition(":")
    assert getattr(__import__(module, fromlist=[name]), name) is not None


def examples():
    """Every line of the docs and of the help that calls the command."""
    texts = [(ROOT / "docs" / "command.md").read_text(), app.help]
    texts += [app.commands[name].help for name in COMMANDS]
    return [line for text in texts for line in EXAMPLE.findall(text)]


def test_every_example_is_one_that_the_command_line_takes():
    found = examples()
    assert len(found) >= 12
    for line in found:
        name, *arguments = shlex.split(line.partition(" | ")[0], comments=True)
        if arguments != ["--help"]:
            app.commands[name].make_context(name, arguments)


def test_exit_codes_are_those_of_the_help_and_the_docs():
    codes = {*faults.Exit, click.UsageError.exit_code}
    assert {int(each) for each in re.findall(r"^  (\d+) ", CODES, re.MULTILINE)} == codes
    docs = (ROOT / "docs" / "command.md").read_text()
    assert {int(each) for each in re.findall(r"^\| (\d+) \|", docs, re.MULTILINE)} == codes


def test_methods_are_all_listed_with_what_they_are():
    lines = command("methods").output.splitlines()
    assert [line.split()[0] for line in lines] == owenshap.methods()
    assert all(len(line.split()) > 4 for line in lines)


def test_a_fault_of_our_own_is_one_line(capsys):
    with pytest.raises(SystemExit) as ended, faults.faults_reported():
        raise RuntimeError("no\x1b[31m\nidea")
    assert ended.value.code == 70
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "\x1b" not in told
    assert "fault of owenshap" in told


def test_a_pipe_that_closes_is_no_error():
    result = subprocess.run(
        f"{sys.executable} -m owenshap methods | head -1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
    )
    assert result.stderr == ""
