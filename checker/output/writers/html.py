"""Counterexamples as self-contained pages."""

from __future__ import annotations

from checker.output.formats import Counterexample
from checker.output.page.render import PageContext, counterexample_page


def write(counterexample: Counterexample) -> str:
    """Return a counterexample as an HTML page."""
    origin = counterexample.origin
    context = PageContext(origin.name, origin.command, counterexample.description, counterexample.notes)
    return counterexample_page(counterexample.spec, counterexample.violation, context)
