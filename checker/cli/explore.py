"""The command `explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from checker.cli.declaration import argument, option
from checker.cli.options import SetConstants, SpecFile


def explore(
    target: Annotated[str | None, argument("SPEC[/SCENARIO]", help="A spec or one of its scenarios.")] = None,
    settings: SetConstants = None,
    trace: Annotated[
        Path | None,
        option("--from", metavar="TRACE", help="Begin at the end of this trace file (.json); takes its spec."),
    ] = None,
    spec: SpecFile = None,
    against: Annotated[
        str | None, option(metavar="SPEC[/SCENARIO]", help="Show this variant beside the spec, with the same choices.")
    ] = None,
    port: Annotated[int, option(min=0, max=65_535, metavar="N", help="The port; 0: a free one.")] = 0,
    no_browser: Annotated[bool, option("--no-browser", help="Print the address only.")] = False,
) -> None:
    """Step through a spec in the browser.

    The page shows a state, its enabled and disabled steps, and the properties. A click takes a step, and the address of
    the page is the path. The server listens on 127.0.0.1 only, and Ctrl-C ends it.
    """
    from checker.execution.explore_spec import explore_spec

    explore_spec(
        target,
        settings=tuple(settings or ()),
        trace=trace,
        spec_file=spec,
        against=against,
        port=port,
        opens_browser=not no_browser,
    )
