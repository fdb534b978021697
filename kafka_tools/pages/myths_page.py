"""The page myths.md of the site: common claims about Kafka, decided by the specs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from kafka_tools.advise.cluster import gather
from kafka_tools.advise.effective_config import resolve
from kafka_tools.pages.markdown import code, page, paragraph, table
from kafka_tools.pages.myths import MYTHS, Myth
from kafka_tools.pages.scenario_runs import ScenarioRun, run_scenario
from specs.kafka_releases import RELEASES, describe_releases

INTRODUCTION = """
Claims that articles repeat, with the releases in which they were true and with what is so today. The scenarios show or
refute them. The command that writes this page runs each scenario, and stops if a result is not the expected one. The
releases come from the [rules by release](versions.md), which begin with 0.10.0.0.
"""

DEFAULTS = """
`advise` computes these values for an empty producer configuration. Many articles describe the first row.
"""

PRODUCER_SETTINGS = ("acks", "retries", "enable.idempotence", "max.in.flight.requests.per.connection")


def render() -> str:
    """Return the page."""
    return page(
        "# Common claims about Kafka",
        paragraph(INTRODUCTION),
        *itertools.chain.from_iterable(_section(number, myth) for number, myth in enumerate(MYTHS, 1)),
        "## Defaults of a producer by release",
        paragraph(DEFAULTS),
        table(("releases", *(f"`{name}`" for name in PRODUCER_SETTINGS)), _default_rows()),
    )


def _section(number: int, myth: Myth) -> Iterator[str]:
    yield f"## {number}. {myth.claim}"
    yield paragraph(f"**True** in {myth.true_in}.")
    yield paragraph(f"**Today:** {myth.today}")
    if myth.denies:
        latest = RELEASES[-1]
        yield paragraph(
            f"**In the [catalogue](museum.md) against it**, {latest}: {', '.join(myth.denies.entries(latest))}."
        )
    if myth.not_modelled:
        yield paragraph(f"**Not modelled:** {myth.not_modelled}")
    runs = [run_scenario(target) for target in myth.scenarios]
    if runs:
        yield table(("scenario", "what happens", "result"), map(_row, runs))
    shown = next((run for run in runs if run.steps), None)
    if shown is not None:
        yield paragraph(f"The shortest counterexample of `{shown.scenario.name}`:")
        yield code(str(step) for step in shown.steps if step.action is not None)


def _row(run: ScenarioRun) -> tuple[str, str, str]:
    return f"`{run.target}`", run.scenario.description, run.verdict


def _default_rows() -> Iterator[tuple[str, ...]]:
    """Yield consecutive releases that have the same defaults."""

    def defaults(release: str) -> tuple[str, ...]:
        config = resolve(gather([], release))
        return tuple(config[name] for name in PRODUCER_SETTINGS)

    supported = RELEASES[RELEASES.index("2.0.0") :]
    for values, releases in itertools.groupby(supported, key=defaults):
        yield describe_releases(list(releases)), *values
