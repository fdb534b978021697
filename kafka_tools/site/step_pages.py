"""The pages on which a reader takes other steps than the counterexample: the museum's scenarios with small graphs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.engines.native import engine
from checker.explorer.address import Address
from checker.explorer.session import ExplorerSession
from checker.explorer.steps import address_of
from checker.explorer.stored_graph import stored_page
from checker.explorer.variant import variant_of
from checker.run.expectation import properties_to_check
from checker.run.plan import Plan, properties_to_search
from checker.run.process_pool import results_in_order
from checker.run.workers import default_workers
from kafka_tools.site.counterexample_pages import ShownScenario

MOST_STATES = 5_000
"""A scenario with as many states has no page: its page would take megabytes."""


@dataclass(frozen=True)
class StepPage:
    """A page in the folder of counterexamples, and the number of its states."""

    file: str
    states: int


def write_step_pages(shown: Sequence[ShownScenario], folder: Path) -> dict[str, StepPage]:
    """Write the pages of the scenarios that have few states, and return them by the names of the scenarios."""

    def write(number: int, cancelled: threading.Event) -> StepPage | None:
        return _write(shown[number], folder)

    pages = results_in_order(len(shown), default_workers(), write, threading.Event())
    named = zip((each.scenario.target for each in shown), pages, strict=True)
    return {target: page for target, page in named if page is not None}


def _write(given: ShownScenario, folder: Path) -> StepPage | None:
    target = given.scenario.target
    variant = variant_of(target)
    session = ExplorerSession((variant,))
    spec = session.place(Address()).panes[0].spec
    # The properties of the scenario: the machine code of its counterexample is in the cache.
    checked = properties_to_search(spec, properties_to_check(given.scenario.scenario))
    result = engine.explore(spec, Plan(tuple(checked), stop="all", max_states=MOST_STATES, quick=True))
    if result.ended != "complete":
        return None
    if given.trace:
        session = ExplorerSession((variant,), session.place(address_of(spec, given.trace)).address)
    links = [(page.file, f"the counterexample to {page.property}, with its chart") for page in given.pages]
    page = stored_page(session, links)
    if page is None:
        return None
    file = f"{target.replace('/', '-')}.steps.html"
    (folder / file).write_text(page.text, encoding="utf-8")
    return StepPage(file, page.states)
