"""The command `table`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from checker.cli.declaration import argument, option
from checker.cli.options import JsonFile, OutFolder, Workers


def table(
    families: Annotated[list[str] | None, argument("FAMILY", help="Families or their files. Default: all.")] = None,
    engine: Annotated[Literal["native", "python", "both"], option(help="The engine that explores.")] = "native",
    workers: Workers = None,
    verbose: Annotated[bool, option("--verbose", help="Show every row in full.")] = False,
    update_docs: Annotated[Path | None, option(metavar="FILE", help="Update the table in this Markdown page.")] = None,
    json: JsonFile = "",
    out: OutFolder = None,
) -> int:
    """Compute the families' tables of guarantees, by settings.

    Exit status: 0 as documented, 1 an answer differs from the documentation, 2 wrong input, 3 not fully explored.
    """
    from checker.execution.run_tables import TableSettings, tabulate
    from checker.run.workers import default_workers

    settings = TableSettings(
        engine=engine, workers=workers or default_workers(), json=json, out=out, verbose=verbose, page=update_docs
    )
    return tabulate(families or [], settings)
