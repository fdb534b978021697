"""The answers that a remedy makes worse: the price of a change besides its costs.

A change may turn on what another question depends on: `acks=all` turns idempotence on. Each question that is not a yes
before is asked again with the change: the entries of the catalogue answer first, then the counterexamples that are
known, then an exploration of at most `MOST_STATES` states for each failure. A counterexample is short, so that it is
among them; a whole exploration would take as long as the answer itself. What is not in the result is not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kafka_tools.advise.advice import Advice, Explore, OpenedAnswer, answer_of, survey_of
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.effective_config import EffectiveConfig
from kafka_tools.advise.hazard_answers import causes_of, hazards_of
from kafka_tools.advise.models import Model, model_of
from kafka_tools.advise.questions import FailureMode, GuaranteeQuestion, cannot_happen, is_possible, is_relevant
from kafka_tools.advise.remedies import SettingChange
from specs.hazards import Hazard

MOST_STATES = 10_000
"""The largest number of states of an exploration here."""

Changes = tuple[SettingChange, ...]

Cell = tuple[FailureMode, GuaranteeQuestion]

Known = tuple[Hazard, ...]
"""The entries that say yes in a cell with a candidate."""


@dataclass(frozen=True)
class Candidate:
    """Some changes, and the cluster with them."""

    changes: Changes
    cluster: ClusterConfig
    config: EffectiveConfig

    def model(self, question: GuaranteeQuestion, failure: FailureMode) -> Model:
        """Return the model that answers a question for a failure with the changes."""
        return model_of(self.cluster, self.config, question, failure)


class OpenedSearch:
    """Asks the questions that are no yes again, with the changes of remedies."""

    def __init__(
        self, advice: Advice, explore: Explore, refutes: Callable[[Model, FailureMode, GuaranteeQuestion], bool]
    ):
        self._advice, self._explore, self._refutes = advice, explore, refutes
        self._before = {(answer.failure, answer.question): answer for answer in advice.answers}
        self._named = {hazard.name for answer in advice.answers for hazard in answer.hazards}
        self._is_yes: dict[tuple[Model, FailureMode, GuaranteeQuestion], bool] = {}

    def run(self, candidates: Sequence[Candidate]) -> dict[Changes, tuple[OpenedAnswer, ...]]:
        """Return the answers that become worse with each candidate, in the order of the table."""
        cells = [(candidate, dict(self._cells(candidate))) for candidate in candidates]
        self._ask(cells)
        return {candidate.changes: tuple(self._worse_answers(candidate, known)) for candidate, known in cells}

    def _cells(self, candidate: Candidate) -> Iterator[tuple[Cell, Known]]:
        """Yield the cells of the table that are no yes before and that can be explored with a candidate."""
        advice = self._advice
        questions = list(dict.fromkeys(answer.question for answer in advice.answers))
        failures = list(dict.fromkeys(answer.failure for answer in advice.answers))
        failures += [failure for failure in advice.impossible if cannot_happen(failure, advice.config)]
        for failure in failures:
            for question in questions:
                before = self._before.get((failure, question))
                is_asked = is_relevant(question, failure) and is_possible(failure, candidate.cluster, candidate.config)
                if is_asked and (before is None or (before.verdict != "yes" and not _is_certain(before.hazards))):
                    yield (failure, question), hazards_of(candidate.cluster, candidate.config, question, failure)

    def _ask(self, cells: Sequence[tuple[Candidate, Mapping[Cell, Known]]]) -> None:
        """Answer the cells of which the model changes."""
        asked: dict[Model, list[Cell]] = {}
        for candidate, known in cells:
            for failure, question in known:
                model, before = candidate.model(question, failure), self._before.get((failure, question))
                key = (model, failure, question)
                is_same = before is not None and before.exploration.model.behaves_as(model, failure.left)
                if is_same or _is_certain(known[failure, question]) or key in self._is_yes:
                    continue
                self._is_yes[key] = self._refutes(model, failure, question)
                if not self._is_yes[key]:
                    asked.setdefault(model, []).append((failure, question))
        surveys = [replace(survey_of(model, pairs), most_states=MOST_STATES) for model, pairs in asked.items()]
        for (model, pairs), explorations in zip(asked.items(), self._explore(surveys), strict=True):
            for failure, question in pairs:
                answer = answer_of(explorations, model, failure, question)
                self._advice.searched &= answer is not None
                self._is_yes[model, failure, question] = answer is not None and answer.verdict == "yes"

    def _worse_answers(self, candidate: Candidate, cells: Mapping[Cell, Known]) -> Iterator[OpenedAnswer]:
        cluster, config = candidate.cluster, candidate.config
        for (failure, question), known in cells.items():
            if self._is_yes.get((candidate.model(question, failure), failure, question)):
                causes = causes_of(cluster, config, question, failure)
                new = tuple(each for each in causes if not each.is_rare and each.name not in self._named)
                yield OpenedAnswer(question, failure, "yes", new)
            elif _is_certain(known):
                yield OpenedAnswer(question, failure, "known", tuple(each for each in known if not each.is_rare))


def _is_certain(hazards: Sequence[Hazard]) -> bool:
    return any(not hazard.is_rare for hazard in hazards)
