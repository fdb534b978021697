"""The command `list`."""

from __future__ import annotations

import sys
from typing import Annotated

from checker.cli.declaration import argument, option
from checker.cli.options import JsonFile


def list_specs(
    targets: Annotated[
        list[str] | None,
        argument("SPEC|FILE|DIR", help="Families, specs, files, folders, or bugs such as I7 (default: all families)."),
    ] = None,
    constants: Annotated[bool, option(help="Show also the constants of each spec and scenario.")] = False,
    json: JsonFile = "",
) -> None:
    """List specs, or one with its scenarios.

    A spec named alone is listed with its properties, and each scenario's verdict and subject. --json has everything
    about every spec.
    """
    from checker.output.files import JsonLines
    from checker.output.output_files import STANDARD_OUTPUT
    from checker.output.spec_listing import listing_lines, listing_to_json
    from checker.output.styled_lines import width_of, write
    from checker.run import registry

    families = [family for target in targets or () for family in registry.families_of(target)]
    families = families if targets else registry.families()
    with JsonLines(json) as output:
        output.write(listing_to_json(families))
    if json != STANDARD_OUTPUT:
        write(listing_lines(families, constants, width_of(sys.stdout)), sys.stdout)
