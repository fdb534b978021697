"""The command `init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from checker.cli.declaration import argument


def init(
    folder: Annotated[Path, argument("DIR", help="The folder (default: this one); it is created if necessary.")] = Path(
        "."
    ),
) -> None:
    """Write a first spec with its tests and a workflow.

    The files are a starting point for specs of your own. docs/tutorial.md explains them. The command replaces no
    file.
    """
    from checker.execution.start_project import start_project

    print("\n".join(start_project(folder)))
