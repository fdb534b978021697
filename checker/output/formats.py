"""The registry of counterexample formats.

To add a format, write a module with a function `write` and a line of `FORMATS`. The command line takes its choices from
the registry, and `--out` writes every format in it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from checker.errors import InputError

# The command line imports this module whenever it starts, so it imports nothing that takes time.
if TYPE_CHECKING:
    from checker.language.spec import Spec
    from checker.run.result import Violation
    from traces.trace_file import Origin


@dataclass(frozen=True)
class Counterexample:
    """A violation with its trace and origin; `description` is that of its scenario, `notes` are about the trace."""

    spec: Spec
    violation: Violation
    origin: Origin
    description: str = ""
    notes: tuple[str, ...] = ()


class Writer(Protocol):
    """A module that writes counterexamples in one format."""

    def write(self, counterexample: Counterexample) -> str:
        """Return the text of a counterexample; raise MissingExtraError if a program or package is missing."""


@dataclass(frozen=True)
class Format:
    """A format: the ending of its files, and the module that writes it, imported on first use.

    `shows_loops`: it shows the loop of a counterexample to a liveness property. The other formats refuse one.
    """

    ending: str
    module: str
    shows_loops: bool = False

    def write(self, counterexample: Counterexample) -> str:
        """Return a counterexample in this format.

        Raises UserError if a program or package is missing, or if the format cannot show the loop of a lasso.
        """
        if counterexample.violation.loop_start is not None and not self.shows_loops:
            shown = ", ".join(name for name, found in FORMATS.items() if found.shows_loops)
            raise InputError(
                f"{self.ending} files cannot show the loop of a counterexample to a liveness property: use {shown}"
            )
        return cast(Writer, importlib.import_module(self.module)).write(counterexample)


FORMATS: dict[str, Format] = {
    "text": Format(".txt", "checker.output.writers.text", shows_loops=True),
    "json": Format(".json", "checker.output.writers.trace_json", shows_loops=True),
    "itf": Format(".itf.json", "checker.output.writers.itf", shows_loops=True),
    "dot": Format(".dot", "checker.output.writers.dot", shows_loops=True),
    "svg": Format(".svg", "checker.output.writers.svg", shows_loops=True),
    "html": Format(".html", "checker.output.writers.html", shows_loops=True),
}
