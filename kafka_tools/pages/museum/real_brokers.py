"""What showed entries of the catalogue on real brokers: experiments, and the sightings of `specs/catalogue.toml`."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_tools.experiments.experiment import experiment_files, read_experiment
from kafka_tools.pages.catalogue_scenarios import entry_of


@dataclass(frozen=True)
class BrokerEvidence:
    """Experiments that show an entry on brokers of a release, or a run.

    `saw` is what the run showed, as the end of a sentence. A page of docs/ may describe it, and a script repeat it.
    """

    kafka: str
    experiments: tuple[str, ...] = ()
    saw: str = ""
    page: str = ""
    script: str = ""

    @property
    def sentence(self) -> str:
        """The sentence for the page of the entry."""
        if self.saw:
            how = f" by {self.script}" if self.script else ""
            return f"Shown on Apache Kafka {self.kafka}{how}: {self.saw}"
        names = " and ".join(self.experiments)
        return f"Shown on Apache Kafka {self.kafka} by experiment{'s' * (len(self.experiments) > 1)} {names}"

    @property
    def note(self) -> str:
        """What a terminal says below the counterexample of the entry."""
        if self.saw:
            return (
                f"real brokers of Kafka {self.kafka} show it: {self.saw}{f' (docs/{self.page})' if self.page else ''}"
            )
        return f"real brokers of Kafka {self.kafka} show it: python -m checker experiment {_or(self.experiments)}"


@functools.cache
def evidence_by_entry() -> Mapping[str, tuple[BrokerEvidence, ...]]:
    """Return for each entry the experiments and the runs that show it, by release.

    An experiment of an entry that expects no harm is a control: it does not show the entry.
    """
    shown = [each for each in map(read_experiment, _names()) if each.expects_harm]
    shown.sort(key=lambda each: (each.entry, each.kafka, each.name))
    evidence_of: dict[str, tuple[BrokerEvidence, ...]] = {}
    for (entry, kafka), group in itertools.groupby(shown, key=lambda each: (each.entry, each.kafka)):
        evidence = BrokerEvidence(kafka, tuple(each.name for each in group), page="experiments.md")
        evidence_of[entry] = (*evidence_of.get(entry, ()), evidence)
    from specs.hazards import hazards

    for entry, hazard in hazards().items():
        sightings = [BrokerEvidence(each.kafka, (), each.what, each.page, each.script) for each in hazard.sightings]
        evidence_of[entry] = (*evidence_of.get(entry, ()), *sightings)
    return evidence_of


def note_on(scenario: str) -> str:
    """Return the entry that a scenario (FAMILY/SPEC/SCENARIO) shows, and what showed it on real brokers; or "".

    The text of `checker run` has this line below a counterexample (entry point `tidemark.notes`).
    """
    entry = entry_of(scenario)
    if not entry:
        return ""
    from specs.hazards import hazards

    titles = [f"{entry}: {hazards()[entry].title}"] if entry in hazards() else []
    return "; ".join([*titles, *(each.note for each in evidence_by_entry().get(entry, ()))])


def _or(names: Sequence[str]) -> str:
    return names[0] + (f" (or {', '.join(names[1:])})" if names[1:] else "")


def _names() -> list[str]:
    return [path.stem for path in experiment_files()]
