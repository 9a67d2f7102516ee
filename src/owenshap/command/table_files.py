"""Tables from Parquet and CSV files: which columns are features, and what they hold."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from owenshap.command.model_files import LoadedModel
from owenshap.errors import InputError, cut
from owenshap.jobs.layout import arrow
from owenshap.jobs.sources import FileSource
from owenshap.support.arrays import USUAL_MEMORY, IntArray
from owenshap.support.extras import needed

ROW_IN_FILE = "row_in_file"
"""The column that says which rows of the file were chosen."""
BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""First bytes of a file that tell its encoding; that of UTF-8 is read over anyway."""
SEPARATORS = ",;\t|"
DECIMAL_COMMA = r"^\s*[-+]?\d+(,\d+)?([eE][-+]?\d+)?\s*$"
INDEX = re.compile(r"__index_level_\d+__")
"""What pandas calls the index of a frame without a name for it in Parquet: no feature."""


@dataclass(frozen=True)
class TableFile:
    """A file of rows, or a folder of them, before it is read."""

    path: Path
    what: str
    """DATA or --background, for errors."""
    columns: list[str]
    types: dict[str, Any]
    """Of the columns, as Arrow has them."""
    table: Any = field(repr=False)
    """Its rows, where they fit into memory; else None."""
    rows: int

    def without(self, columns: Sequence[str]) -> list[str]:
        """All columns but these."""
        left_out = {*columns}
        return [column for column in self.columns if column not in left_out]


def open_table(path: Path, what: str, encoding: str | None) -> TableFile:
    """A file of rows; read at once where it fits into memory."""
    if not path.exists():
        raise InputError(what, "be a file of rows", f"{path}, which is not there", "Check its path")
    endings = [suffix.lower() for suffix in path.suffixes]
    try:
        if path.is_dir() or (".csv" in endings[-2:-1]):
            opened = _streamed(path, what)
        elif endings[-1:] == [".parquet"]:
            opened = _of_parquet(path, what)
        elif endings[-1:] in ([".csv"], [".tsv"]):
            opened = _of_csv(path, what, encoding)
        else:
            raise InputError(what, "be a .csv or .parquet file", str(path), "Save it as one")
    except arrow().ArrowException as error:
        raise _unreadable(path, what, error) from error
    _check_names(opened)
    if opened.rows == 0:
        raise InputError(what, "have at least one row", f"{path} with none", "Give rows to explain")
    return opened


def _of_parquet(path: Path, what: str) -> TableFile:
    try:
        with needed("pyarrow.parquet", extra="cli").ParquetFile(path) as file:
            about = file.metadata
            schema = file.schema_arrow
            small = about.num_rows * max(1, len(schema.names)) * 8 <= USUAL_MEMORY
            table = file.read() if small else None
    except (OSError, ValueError) as error:
        raise _unreadable(path, what, error) from error
    types = dict(zip(schema.names, schema.types, strict=True))
    return TableFile(path, what, schema.names, types, table, about.num_rows)


def _of_csv(path: Path, what: str, encoding: str | None) -> TableFile:
    with open(path, "rb") as file:
        start = file.read(1 << 16)
    used = encoding or BOMS.get(start[:2], "utf-8")
    try:
        separator = _separator(start.decode(used, errors="replace"))
        if path.stat().st_size > USUAL_MEMORY:  # it is read a piece at a time
            if used != "utf-8" or separator != ",":
                limits = "too large to be read at once, and then commas and UTF-8 are needed"
                raise _unreadable(path, what, f"{limits}: save it as Parquet")
            return _streamed(path, what)
        table = _read_csv(path, what, used, separator)
        names = [*table.column_names]
    except (UnicodeError, LookupError) as error:
        raise _unreadable(path, what, f"{error}; name its encoding: --encoding cp1252") from error
    for each in table.schema:
        if arrow().types.is_binary(each.type):
            reason = f"column {each.name!r} is not UTF-8: name its encoding: --encoding cp1252"
            raise _unreadable(path, what, reason)
    types = dict(zip(names, table.schema.types, strict=True))
    return TableFile(path, what, names, types, table, len(table))


def _read_csv(path: Path, what: str, encoding: str, separator: str) -> Any:
    """A CSV file; where columns are not separated by commas, those may be in numbers: 1,5."""
    reader = needed("pyarrow.csv", extra="cli")
    # in one piece: a line may be longer than a block of the library
    options = reader.ReadOptions(block_size=1 + path.stat().st_size, encoding=encoding)
    parse = reader.ParseOptions(delimiter=separator)
    table = reader.read_csv(path, read_options=options, parse_options=parse)
    if separator == "," or not _has_decimal_commas(table):
        return table
    convert = reader.ConvertOptions(decimal_point=",")
    other = reader.read_csv(
        path, read_options=options, parse_options=parse, convert_options=convert
    )
    lost = [
        name
        for name, before, after in zip(
            table.column_names, table.schema.types, other.schema.types, strict=True
        )
        if _kind(before) == "number" and _kind(after) == "text"
    ]
    if lost:
        raise InputError(
            what,
            f"have one sign for decimals, as column {lost[0]!r} has points and others commas",
            str(path),
            "Write all with points, or all with commas",
        )
    return other


def _has_decimal_commas(table: Any) -> bool:
    """Whether a column of text is one of numbers with commas."""
    compute = needed("pyarrow.compute", extra="cli")
    texts = [each for each in table.columns if arrow().types.is_string(each.type)]
    for column in texts:
        cells = column.filter(compute.not_equal(column, ""))
        numbers = compute.match_substring_regex(cells, DECIMAL_COMMA)
        commas = compute.match_substring(cells, ",")
        if compute.all(numbers).as_py() and compute.any(commas).as_py():
            return True
    return False


def _streamed(path: Path, what: str) -> TableFile:
    """Files that are read a piece at a time, as a run does it."""
    source = FileSource(path, [], None)
    return TableFile(path, what, [*source.types], source.types, None, source.rows)


def _separator(start: str) -> str:
    """What separates columns: that of these signs which the line of names has most, unquoted."""
    unquoted = re.sub(r'"[^"]*"', "", start)
    return max(SEPARATORS, key=re.split(r"[\r\n]", unquoted, maxsplit=1)[0].count)


def _check_names(opened: TableFile) -> None:
    if len(set(opened.columns)) < len(opened.columns):
        twice = Counter(opened.columns).most_common(1)[0][0]
        raise InputError(
            opened.what,
            "have each column once",
            f"{twice!r} twice in {opened.path}",
            "Rename one of the two",
        )
    if not opened.columns:
        raise InputError(opened.what, "have columns", f"{opened.path} with none", "Give rows")


def _unreadable(path: Path, what: str, reason: object) -> InputError:
    words = str(reason).strip().splitlines()
    return InputError(
        what,
        "be a file that can be read",
        f"{path} ({words[0] if words else type(reason).__name__})",
        "Check what it holds",
    )


def matched(
    data: TableFile, background: TableFile | None, loaded: LoadedModel, ids: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The columns that are features, in the model's order, and all others: features are those that
    the model knows, else those of the background.
    """
    for each in ids:
        if each not in data.columns:
            raise _no_column("--ids", each, data)
    if loaded.names is not None:
        by_name = {_as_written(column, loaded.blank): column for column in data.columns}
        by_name |= {column: column for column in data.columns}
        missing = [name for name in loaded.names if name not in by_name]
        if missing:
            raise _no_column(f"{data.what} for this model", missing[0], data)
        features = [by_name[name] for name in loaded.names]
    else:
        known = [each for each in data.without(ids) if not INDEX.fullmatch(each)]
        shared = {*known}
        given = known if background is None else background.columns
        features = [each for each in given if each in shared]
    if loaded.width is not None and len(features) != loaded.width:
        raise InputError(
            data.what,
            f"have the {loaded.width} columns that the model takes",
            f"{len(features)}: {_listed(features)}",
            "Name the columns that are no features: --ids NAME",
        )
    if not features:
        raise InputError(
            data.what,
            "share columns with the background",
            _listed(data.columns),
            "Give both with the same names",
        )
    if background is not None:
        absent = [feature for feature in features if feature not in background.types]
        if absent:
            raise _no_column(background.what, absent[0], background)
    return features, data.without(features)


def _as_written(name: str, blank: str | None) -> str:
    return name if blank is None else re.sub(blank, "_", name)


def _no_column(what: str, name: str, table: TableFile) -> InputError:
    near = difflib.get_close_matches(name, table.columns, n=1)
    meant = (
        f"Did you mean {near[0]!r}" if near else f"{table.path.name} has {_listed(table.columns)}"
    )
    return InputError(what, f"have the column {name!r}", f"{table.path} without it", meant)


def _listed(names: Sequence[str]) -> str:
    return cut(", ".join(names))


def alike(data: TableFile, background: TableFile, features: list[str]) -> dict[str, Any]:
    """The type of each feature that both tables can have: numbers where one has whole ones."""
    types = {}
    for name in features:
        ours = data.types[name]
        theirs = background.types[name]
        both = {_kind(ours), _kind(theirs)} - {"nothing"}
        if both == {"text", "number"}:
            raise _mixed(name, background if _kind(theirs) == "text" else data)
        types[name] = theirs if _kind(ours) == "nothing" else ours
        if ours != theirs and both <= {"number"}:
            types[name] = arrow().float64()
    return types


def _kind(type_: Any) -> str:
    types = arrow().types
    if types.is_null(type_):
        return "nothing"
    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if any(is_kind(type_) for is_kind in numbers):
        return "number"
    return "text" if types.is_string(type_) or types.is_large_string(type_) else str(type_)


def _mixed(name: str, table: TableFile) -> InputError:
    """The error for a column of numbers that holds something else; with its first such cell."""
    got = f"text in {table.path}"
    if table.table is not None:
        cells = table.table.column(name).to_pandas().dropna()
        numbers = needed("pandas", extra="cli").to_numeric(cells, errors="coerce")
        wrong = cells[numbers.isna()]
        if len(wrong):  # numbers may be stored as text
            got = f"{wrong.iloc[0]!r} in row {wrong.index[0]:,} of {table.path}"
    return InputError(
        table.what,
        f"hold numbers in column {name!r}",
        got,
        "Mend the cell, or leave it empty where it is missing",
    )


def frame_of(what: str, table: Any, types: dict[str, Any], categories: dict[str, list[Any]]) -> Any:
    """A pandas frame of an Arrow table, with columns of these types, and of these categories."""
    pa = arrow()
    pandas = needed("pandas", extra="cli")
    for place, (name, type_) in enumerate((each.name, each.type) for each in table.schema):
        wanted = types.get(name, type_)
        if pa.types.is_null(wanted) or pa.types.is_decimal(wanted):
            wanted = pa.float64()
        if wanted != type_:
            table = table.set_column(place, name, table.column(name).cast(wanted))
    # without what pandas wrote of its index, which would take columns away
    frame = table.replace_schema_metadata().to_pandas()
    for name, known in categories.items():
        if name in frame.columns and frame[name].dtype.kind not in "biuf":
            column = frame[name].astype(object)
            unknown = column[column.notna() & ~column.isin(known)]
            if len(unknown):
                raise InputError(
                    what,
                    f"hold what the model knows in column {name!r}",
                    unknown.iloc[0],
                    f"It knows {_listed(known)}",
                )
            frame[name] = pandas.Categorical(column, categories=known)
    return frame


def chosen_rows(asked: str, count: int, seed: int) -> IntArray:
    """Numbers of rows from '0:100', '3,17,200:250' or 'sample:500', ascending, each once."""
    rule = "be numbers as in 0:100 or 3,17,200:250, or as many as in sample:500"
    kind, _, number = asked.partition(":")
    if kind == "sample" and number.isdecimal() and int(number):
        if int(number) >= count:
            return np.arange(count)
        return np.sort(np.random.default_rng(seed).choice(count, int(number), replace=False))
    chosen: set[int] = set()
    for part in asked.split(","):
        match = re.fullmatch(r"\s*(\d*)(:?)(\d*)\s*", part)
        if match is None or not (match[1] or match[2]):
            raise InputError("--rows", rule, asked, "The first row is 0")
        first = int(match[1] or 0)
        last = (int(match[3]) if match[3] else count) if match[2] else first + 1
        if first >= count or (not match[2] and last > count):
            raise InputError(
                "--rows",
                "be rows that the data has",
                f"{asked} of {count:,} rows",
                "The first row is 0",
            )
        chosen.update(range(first, min(last, count)))
    if not chosen:
        raise InputError("--rows", rule, asked, "The first row is 0")
    return np.array(sorted(chosen))


def taken(data: TableFile, rows: IntArray) -> Any:
    """Some rows of a file as an Arrow table, with their numbers in it."""
    pa = arrow()
    if data.table is not None:
        table = data.table.take(pa.array(rows))
    elif data.path.is_file():
        dataset = needed("pyarrow.dataset", extra="cli")
        kind = "parquet" if data.path.suffix.lower() == ".parquet" else "csv"
        table = dataset.dataset(data.path, format=kind).take(pa.array(rows))
    else:
        raise InputError(
            "--rows", "be of one file", f"the folder {data.path}", "Give the one file that has them"
        )
    if ROW_IN_FILE in table.column_names:
        return table
    return table.append_column(ROW_IN_FILE, pa.array(rows))
