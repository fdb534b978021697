"""Counterexamples as self-contained pages."""

from __future__ import annotations

from checker.output.formats import Counterexample
from checker.output.page.render import PageContext, counterexample_page
from checker.output.page.tickets import ticket_links
from checker.run.expectation import properties_to_check
from checker.run.registered_functions import story_of


def write(counterexample: Counterexample) -> str:
    """Return a counterexample as an HTML page."""
    origin = counterexample.origin
    scenario = counterexample.scenario
    context = PageContext(
        origin.name,
        origin.command,
        counterexample.description,
        counterexample.notes,
        checked=properties_to_check(scenario) if scenario is not None else None,
        remedy=f"{origin.target.rpartition('/')[0]}/{scenario.fixed_by}" if scenario and scenario.fixed_by else "",
        index=counterexample.index,
        entry=tuple(story_of(f"{origin.target}/{scenario.name}")) if scenario is not None else (),
        tickets=ticket_links(type(counterexample.spec), counterexample.description),
    )
    return counterexample_page(counterexample.spec, counterexample.violation, context)
