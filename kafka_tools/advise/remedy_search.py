"""The search for the smallest changes of settings that turn a yes into a no.

Each candidate is applied and asked again: a remedy is offered only after complete explorations of its configuration.
A candidate is dropped without an exploration if a counterexample that is already known is also one of the changed
configuration: its actions are replayed there. Most candidates fall that way, in milliseconds. All settings that the
model's constants stand for are tried, alone and in pairs; changes that give up a guarantee come last.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from checker.run.result import Violation
from kafka_tools.advise.advice import (
    Advice,
    Explore,
    Fix,
    GuaranteeAnswer,
    OpenedAnswer,
    Remedy,
    answer_of,
    answer_questions,
    survey_of,
)
from kafka_tools.advise.availability import availability_of
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.effective_config import EffectiveConfig, resolve
from kafka_tools.advise.hazard_answers import hazards_of
from kafka_tools.advise.models import Left, Model, includes
from kafka_tools.advise.opened_answers import Candidate, Changes, OpenedSearch
from kafka_tools.advise.questions import (
    FAILURES,
    QUESTIONS,
    FailureMode,
    GuaranteeQuestion,
    cannot_happen,
    is_decidable,
    is_possible,
    properties_for,
)
from kafka_tools.advise.remedies import EARLIER_IDEMPOTENCE, changes_for, is_last_resort
from kafka_tools.advise.suggestions import suggestions_for
from kafka_tools.advise.survey import ModelExploration, explorer_of
from specs.hazards import Hazard

LARGEST_COMPLETE = 2
"""The number of settings up to which every combination is tried, also of values that give up a guarantee."""


@dataclass
class _OpenAnswer:
    """A yes without a remedy so far, and the candidates that are left to try."""

    answer: GuaranteeAnswer
    candidates: Iterator[Candidate]


@dataclass
class _KnownCounterexamples:
    """Counterexamples by property, the one that helped last at the front; and replays in other configurations."""

    found: dict[str, list[tuple[Left, Violation]]] = field(default_factory=dict)

    def add(self, exploration: ModelExploration, violation: Violation) -> None:
        """Add a counterexample."""
        self.found.setdefault(violation.property, []).insert(0, (exploration.left, violation))

    def refutes(self, model: Model, failure: FailureMode, question: GuaranteeQuestion) -> bool:
        """Return whether a known counterexample for a question is also one of another model."""
        return any(self._refutes_property(model, failure, name) for name in properties_for(question, failure, model))

    def _refutes_property(self, model: Model, failure: FailureMode, name: str) -> bool:
        known = self.found.get(name, [])
        for number, (left, violation) in enumerate(known):
            if includes(failure.left, left) and explorer_of(model).is_violated_by(failure.left, violation.trace, name):
                known.insert(0, known.pop(number))
                return True
        return False


class RemedySearch:
    """Tries changes, the smallest first, until every yes has a remedy or no change is left."""

    def __init__(self, advice: Advice, explore: Explore):
        self._advice, self._explore = advice, explore
        self._known = _KnownCounterexamples()
        self._decided: dict[tuple[Model, Left, GuaranteeQuestion], bool] = {}
        self._fixed: dict[Changes, list[GuaranteeAnswer]] = {}
        self._chosen: dict[tuple[str, ...], list[Candidate]] = {}
        for answer in advice.answers:
            if answer.violation is not None:
                self._known.add(answer.exploration, answer.violation)

    def run(self, largest: int) -> None:
        """Search, and add the remedies and suggestions to the advice."""
        self._advice.tried_all = largest >= LARGEST_COMPLETE
        waiting = [
            _OpenAnswer(answer, iter(self._candidates(answer.exploration.model, largest)))
            for answer in self._advice.answers
            if answer.verdict == "yes"
        ]
        while waiting:
            wanted: dict[Changes, tuple[Candidate, list[_OpenAnswer]]] = {}
            for open_answer in waiting:
                candidate = self._next(open_answer)
                if candidate is not None:
                    wanted.setdefault(candidate.changes, (candidate, []))[1].append(open_answer)
            if not self._ask(wanted.values()):
                self._advice.searched = False
                break
            waiting = [
                open_answer
                for candidate, open_answers in wanted.values()
                for open_answer in open_answers
                if not self._is_fixed(candidate, open_answer.answer)
            ]
        self._report()

    def _candidates(self, model: Model, largest: int) -> list[Candidate]:
        """Return the changes to try, the best first; without those that Kafka refuses or that refuse every write."""
        constants = dict(model.constants)
        names = tuple(constants)
        if names not in self._chosen:
            changes = changes_for(self._advice.cluster, constants)
            chosen = [
                combination for size in range(1, largest + 1) for combination in itertools.combinations(changes, size)
            ]
            chosen = [
                combination
                for combination in chosen
                if len({change.name for change in combination}) == len(combination)
            ]
            chosen.sort(
                key=lambda combination: (
                    any(change.weakens for change in combination),
                    any(map(is_last_resort, combination)),
                )
            )
            # More than two changes at once are tried if all of them strengthen a guarantee.
            candidates = (
                self.candidate(combination)
                for combination in chosen
                if len(combination) <= LARGEST_COMPLETE or not any(change.weakens for change in combination)
            )
            self._chosen[names] = [candidate for candidate in candidates if candidate is not None]
        return self._chosen[names]

    def candidate(self, changes: Changes) -> Candidate | None:
        """Return the cluster with some changes, or None if they are no remedy of anything."""
        cluster, config = _resolve(self._advice.cluster, changes)
        min_isr = int(config["min.insync.replicas"])
        sets_min_isr = any(change.name == "min.insync.replicas" for change in changes)
        refuses_all = sets_min_isr and min_isr > int(config["replication.factor"])
        # With eligible leader replicas, that of a broker's file no longer counts: a no would be due to the lower value.
        lowers_min_isr = not sets_min_isr and min_isr < int(self._advice.config["min.insync.replicas"])
        # Retries without idempotence write records twice.
        resends = any(change.name == "retries" and not change.weakens for change in changes)
        duplicates = resends and config["enable.idempotence"] == "false"
        # A setting of which the client drops or overrides the value is no change.
        choices = [config.choices.get(change.name) for change in changes]
        is_dropped = any(
            choice is not None and choice.value != change.value for choice, change in zip(choices, changes, strict=True)
        )
        if config.refusal is not None or refuses_all or lowers_min_isr or duplicates or is_dropped:
            return None
        return Candidate(changes, cluster, config)

    def _next(self, open_answer: _OpenAnswer) -> Candidate | None:
        """Return the next candidate that may help; None if there is none, or if it helps without an exploration."""
        answer = open_answer.answer
        question, failure = answer.question, answer.failure
        for candidate in open_answer.candidates:
            if self._is_known(candidate, answer):
                continue
            if cannot_happen(failure, candidate.config):
                self._fixed.setdefault(candidate.changes, []).append(answer)
                return None
            if not is_possible(failure, candidate.cluster, candidate.config):
                continue
            model = candidate.model(question, failure)
            key = (model, failure.left, question)
            if answer.exploration.model.behaves_as(model, failure.left) or self._decided.get(key) is False:
                continue
            if not self._known.refutes(model, failure, question):
                return candidate
            self._decided[key] = False
        self._advice.without_remedy.append(answer)
        return None

    def _is_known(self, candidate: Candidate, answer: GuaranteeAnswer) -> bool:
        """Return whether an entry of the catalogue says yes with a candidate, whatever an exploration says."""
        return any(
            not hazard.is_rare
            for hazard in hazards_of(candidate.cluster, candidate.config, answer.question, answer.failure)
        )

    def _ask(self, wanted: Iterable[tuple[Candidate, list[_OpenAnswer]]]) -> bool:
        """Explore candidates; return whether all were explored."""
        asked: dict[Model, dict[tuple[FailureMode, GuaranteeQuestion], None]] = {}
        for candidate, open_answers in wanted:
            for answer in (open_answer.answer for open_answer in open_answers):
                model = candidate.model(answer.question, answer.failure)
                if (model, answer.failure.left, answer.question) not in self._decided:
                    asked.setdefault(model, {})[answer.failure, answer.question] = None
        surveys = [survey_of(model, list(pairs)) for model, pairs in asked.items()]
        # A by-product of one candidate may refute another one.
        surveys = [replace(each, noted=tuple(name for _, names in each.asked for name in names)) for each in surveys]
        for (model, pairs), explorations in zip(asked.items(), self._explore(surveys), strict=True):
            for failure, question in pairs:
                tried = answer_of(explorations, model, failure, question)
                if tried is None:
                    return False
                if tried.verdict == "undecided":
                    self._advice.searched = False
                self._decided[model, failure.left, question] = tried.verdict == "no"
            for exploration, explored in explorations:
                for violation in explored.violations:
                    self._known.add(exploration, violation)
        return True

    def _is_fixed(self, candidate: Candidate, answer: GuaranteeAnswer) -> bool:
        model = candidate.model(answer.question, answer.failure)
        if not self._decided[model, answer.failure.left, answer.question]:
            return False
        says_so = EARLIER_IDEMPOTENCE in candidate.changes
        if not says_so and not is_decidable(answer.question, candidate.cluster, candidate.config):
            # The models lack what could turn this no into a yes.
            self._advice.searched = False
            return False
        self._fixed.setdefault(candidate.changes, []).append(answer)
        return True

    def _report(self) -> None:
        """Add the remedies, those with the fewest changes first, and the suggestions."""
        advice = self._advice
        candidates = {changes: Candidate(changes, *_resolve(advice.cluster, changes)) for changes in self._fixed}
        opened = OpenedSearch(advice, self._explore, self._known.refutes).run(list(candidates.values()))
        remedies = [self._remedy(candidate, opened[changes]) for changes, candidate in candidates.items()]
        advice.remedies += sorted(
            remedies, key=lambda remedy: (remedy.is_last_resort, bool(remedy.opened), len(remedy.changes))
        )
        advice.suggestions += suggestions_for(advice.answers, advice.cluster, advice.config)
        advice.without_remedy.sort(key=advice.answers.index)

    def _remedy(self, candidate: Candidate, opened: tuple[OpenedAnswer, ...]) -> Remedy:
        advice = self._advice
        return Remedy(
            candidate.changes,
            self._fixes(candidate),
            before=availability_of(advice.cluster, advice.config),
            after=availability_of(candidate.cluster, candidate.config),
            opened=opened,
        )

    def _fixes(self, candidate: Candidate) -> tuple[Fix, ...]:
        """Return what a candidate fixes, grouped by question, in the order of the table."""
        fixes: dict[GuaranteeQuestion, list[FailureMode]] = {}
        for answer in sorted(self._fixed[candidate.changes], key=self._advice.answers.index):
            fixes.setdefault(answer.question, []).append(answer.failure)
        return tuple(
            Fix(question, tuple(failures), _entries_left(candidate, question, failures))
            for question, failures in fixes.items()
        )


def _entries_left(
    candidate: Candidate, question: GuaranteeQuestion, failures: Sequence[FailureMode]
) -> tuple[Hazard, ...]:
    """Return the entries, all of them rare, that say yes where a candidate makes an exploration say no."""
    left = (
        hazard
        for failure in failures
        if not cannot_happen(failure, candidate.config)
        for hazard in hazards_of(candidate.cluster, candidate.config, question, failure)
    )
    return tuple({hazard.name: hazard for hazard in left}.values())


def _resolve(cluster: ClusterConfig, changes: Changes) -> tuple[ClusterConfig, EffectiveConfig]:
    changed = _change(cluster, changes)
    return changed, resolve(changed)


def _change(cluster: ClusterConfig, changes: Changes) -> ClusterConfig:
    for change in changes:
        cluster = cluster.changed(change.role, change.name, change.value)
    return cluster


def advise(
    cluster: ClusterConfig,
    explore: Explore,
    *,
    failures: Sequence[FailureMode] = FAILURES,
    questions: Sequence[GuaranteeQuestion] = QUESTIONS,
    largest_change: int = 3,
) -> Advice:
    """Answer questions about a cluster, and search for changes of up to `largest_change` settings (0: none)."""
    advice = answer_questions(cluster, explore, failures, questions)
    if largest_change and advice.is_whole:
        RemedySearch(advice, explore).run(largest_change)
    return advice
