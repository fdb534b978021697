"""SQL queries over the tables of a folder of walks, by DuckDB: without Spark and Java."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from checker.errors import InputError, MissingExtraError
from spark_analysis.report.readable_parts import ReadableParts
from spark_analysis.walks.records import WalkRun, part_kinds, part_path
from traces.storage import Location, local_copy


@dataclass(frozen=True)
class QueryResult:
    """The names of the columns of a result, and its rows."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def query_walks(folder: Location, run: WalkRun, parts: ReadableParts, query: str) -> QueryResult:
    """Return the result of a query over the tables of walks.

    `walks`, `states` and `steps` are those on disk, in the readable parts; `configurations`, `instances` and
    `properties` describe them. Raises InputError if DuckDB refuses the query, and MissingExtraError if it is not
    installed.
    """
    try:
        import duckdb
    except ModuleNotFoundError:
        raise MissingExtraError(
            "--sql needs duckdb, which is not installed: pip install 'tidemark[sql]', or pip install -e '.[sql]' in a "
            "checkout"
        ) from None
    # Without the setting, DuckDB would download an extension that a query names.
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as database:
        for kind in part_kinds(run):
            files = [str(local_copy(part_path(folder, kind, number))) for number in parts.numbers]
            database.read_parquet(files).create_view(kind)
        for name, table in _descriptions(run).items():
            database.register(name, table)
        try:
            answer = database.sql(query)
            if answer is None:
                raise InputError("--sql has no result: write a SELECT")
            return QueryResult(tuple(answer.columns), answer.fetchall())
        except duckdb.Error as error:
            reason = " ".join(str(error).split("\n\n")[0].split())
            raise InputError(f"--sql: {reason}") from None


def result_lines(answer: QueryResult) -> list[str]:
    """Return a result as a table with a line of names."""
    cells = [answer.columns, *([_text(value) for value in row] for row in answer.rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(answer.columns))]
    is_number = [all(isinstance(row[at], int | float) for row in answer.rows) for at in range(len(answer.columns))]
    return ["  ".join(_pad(row, widths, is_number)).rstrip() for row in cells]


def result_objects(answer: QueryResult) -> list[dict[str, Any]]:
    """Return the rows of a result as JSON objects; values that JSON lacks are texts."""
    return [
        {name: value if _is_json(value) else _text(value) for name, value in zip(answer.columns, row, strict=True)}
        for row in answer.rows
    ]


def _is_json(value: Any) -> bool:
    # JSON has no infinite numbers and no NaN, although Python writes them.
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, str | int | type(None))


def _descriptions(run: WalkRun) -> dict[str, pa.Table]:
    """Return what `run.json` says about the numbers in the rows, as tables."""
    configurations = run.configurations
    instances = [
        {
            "configuration": settings.number,
            "instance": action.first + at,
            "action": action.name,
            "weight": action.weight,
        }
        for settings in configurations
        for action in settings.actions
        for at in range(action.instances)
    ]
    return {
        "configurations": pa.Table.from_pylist(
            [{"configuration": settings.number, **settings.constants} for settings in configurations]
        ),
        "instances": pa.Table.from_pylist(instances),
        "properties": pa.Table.from_pylist([{"bit": bit, "property": name} for bit, name in enumerate(run.properties)]),
    }


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return value.hex()
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pad(row: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]) -> list[str]:
    pairs = zip(row, widths, is_number, strict=True)
    return [text.rjust(width) if number else text.ljust(width) for text, width, number in pairs]
