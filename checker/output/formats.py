"""The registry of counterexample formats.

To add a format, write a module with a function `write` and a line of `FORMATS`. The command line takes its choices from
the registry, and `--out` writes every format in it.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

# The command line imports this module whenever it starts, so it imports nothing that takes time.
if TYPE_CHECKING:
    from checker.language.spec import Scenario, Spec
    from checker.run.result import Violation
    from traces.trace_file import Origin


@dataclass(frozen=True)
class Counterexample:
    """A violation with its trace and origin; `description` is that of its scenario, `notes` are about the trace.

    `scenario` is the scenario that the trace violates, None without one. `index` is the relative address of the page
    of all results, "" without one.
    """

    spec: Spec
    violation: Violation
    origin: Origin
    description: str = ""
    notes: tuple[str, ...] = ()
    scenario: Scenario | None = None
    index: str = ""


class Writer(Protocol):
    """A module that writes counterexamples in one format."""

    def write(self, counterexample: Counterexample) -> str:
        """Return the text of a counterexample; raise MissingExtraError if a program or package is missing."""


@dataclass(frozen=True)
class Format:
    """A format: the ending of its files, and the module that writes it, imported on first use."""

    ending: str
    module: str

    def write(self, counterexample: Counterexample) -> str:
        """Return a counterexample in this format; raise UserError if a program or package is missing."""
        return cast(Writer, importlib.import_module(self.module)).write(counterexample)


FORMATS: dict[str, Format] = {
    "text": Format(".txt", "checker.output.writers.text"),
    "json": Format(".json", "checker.output.writers.trace_json"),
    "itf": Format(".itf.json", "checker.output.writers.itf"),
    "dot": Format(".dot", "checker.output.writers.dot"),
    "svg": Format(".svg", "checker.output.writers.svg"),
    "html": Format(".html", "checker.output.writers.html"),
}
