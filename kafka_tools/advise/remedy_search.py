"""The search for the smallest changes of settings that turn a yes into a no.

Each candidate is applied and asked again: a remedy is offered only after complete explorations of its configuration.
A candidate is dropped without an exploration if a counterexample that is already known is also one of the changed
configuration: its actions are replayed there. Most candidates fall that way, in milliseconds.
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
    Remedy,
    answer_of,
    answer_questions,
    settings_of,
    survey_of,
)
from kafka_tools.advise.availability import availability_of
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.effective_config import EffectiveConfig, resolve
from kafka_tools.advise.questions import (
    FAILURES,
    OF_PRODUCER_STATE,
    QUESTIONS,
    REMEMBERING,
    FailureMode,
    GuaranteeQuestion,
    Left,
    includes,
    is_possible,
)
from kafka_tools.advise.remedies import SettingChange, changes_for, is_last_resort
from kafka_tools.advise.suggestions import suggestions_for
from kafka_tools.advise.survey import PipelineExploration, PipelineExplorer, Settings

Changes = tuple[SettingChange, ...]


@dataclass(frozen=True)
class _Candidate:
    """Some changes, and the cluster with them; `remembers`: with brokers that do not forget a producer's batches."""

    changes: Changes
    cluster: ClusterConfig
    config: EffectiveConfig
    remembers: bool = False

    def settings(self, question: GuaranteeQuestion) -> Settings:
        """Return the settings of the pipeline that answers a question."""
        found = settings_of(self.cluster, self.config, question)
        return tuple({**dict(found), **REMEMBERING}.items()) if self.remembers else found


@dataclass
class _OpenAnswer:
    """A yes without a remedy so far, and the candidates that are left to try."""

    answer: GuaranteeAnswer
    candidates: Iterator[_Candidate]


@dataclass
class _KnownCounterexamples:
    """Counterexamples by property, the one that helped last at the front; and replays in other configurations."""

    found: dict[str, list[tuple[Left, Violation]]] = field(default_factory=dict)
    _explorers: dict[Settings, PipelineExplorer] = field(default_factory=dict)

    def add(self, exploration: PipelineExploration, violation: Violation) -> None:
        """Add a counterexample."""
        self.found.setdefault(violation.property, []).insert(0, (exploration.left, violation))

    def refutes(self, settings: Settings, failure: FailureMode, question: GuaranteeQuestion) -> bool:
        """Return whether a known counterexample for a question is also one with other settings."""
        if settings not in self._explorers:
            self._explorers[settings] = PipelineExplorer(settings)
        return any(self._refutes_property(settings, failure, name) for name in question.properties)

    def _refutes_property(self, settings: Settings, failure: FailureMode, name: str) -> bool:
        known = self.found.get(name, [])
        for pair in known:
            left, violation = pair
            if includes(failure.left, left) and self._explorers[settings].replay(failure.left, violation.trace, name):
                known.remove(pair)
                known.insert(0, pair)
                return True
        return False


class RemedySearch:
    """Tries changes, the smallest first, until every yes has a remedy or no change is left."""

    def __init__(self, advice: Advice, explore: Explore):
        self._advice, self._explore = advice, explore
        self._known = _KnownCounterexamples()
        self._decided: dict[tuple[Settings, Left, GuaranteeQuestion], bool] = {}
        self._fixed: dict[Changes, list[GuaranteeAnswer]] = {}
        self._partly_fixed: dict[Changes, list[GuaranteeAnswer]] = {}
        for answer in advice.answers:
            if answer.violation is not None:
                self._known.add(answer.exploration, answer.violation)

    def run(self, largest: int) -> None:
        """Search, and add the remedies and suggestions to the advice."""
        waiting = [
            _OpenAnswer(answer, self._candidates(answer.question, largest))
            for answer in self._advice.answers
            if answer.verdict == "yes"
        ]
        while waiting:
            wanted: dict[tuple[Changes, bool], tuple[_Candidate, list[_OpenAnswer]]] = {}
            for open_answer in waiting:
                candidate = self._next(open_answer)
                if candidate is not None:
                    key = (candidate.changes, candidate.remembers)
                    wanted.setdefault(key, (candidate, []))[1].append(open_answer)
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

    def _candidates(self, question: GuaranteeQuestion, largest: int) -> Iterator[_Candidate]:
        """Yield the changes to try, the best first; without those that Kafka refuses or that refuse every write.

        If no change helps, brokers that do not forget are tried: without a change, then with changes.
        """
        changes = changes_for(question, self._advice.cluster)
        chosen = [found for size in range(largest + 1) for found in itertools.combinations(changes, size)]
        candidates = []
        for combination in sorted(chosen, key=lambda found: any(map(is_last_resort, found))):
            cluster = _changed(self._advice.cluster, combination)
            config = resolve(cluster)
            asks_for_more = any(change.name == "min.insync.replicas" for change in combination)
            refuses_all = asks_for_more and int(config["min.insync.replicas"]) > int(config["replication.factor"])
            # Retries without idempotence write records twice.
            resends = any(change.name == "retries" for change in combination)
            duplicates = resends and config["enable.idempotence"] == "false"
            if config.refusal is None and not refuses_all and not duplicates:
                candidates.append(_Candidate(combination, cluster, config))
        yield from (candidate for candidate in candidates if candidate.changes)
        if question.name in OF_PRODUCER_STATE:
            yield from (replace(candidate, remembers=True) for candidate in candidates)

    def _next(self, open_answer: _OpenAnswer) -> _Candidate | None:
        """Return the next candidate that may help; None if there is none, or if it helps without an exploration."""
        answer = open_answer.answer
        for candidate in open_answer.candidates:
            if not is_possible(answer.failure, candidate.config):
                self._fixed.setdefault(candidate.changes, []).append(answer)
                return None
            settings = candidate.settings(answer.question)
            key = (settings, answer.failure.left, answer.question)
            if settings == answer.exploration.settings or self._decided.get(key) is False:
                continue
            if not self._known.refutes(settings, answer.failure, answer.question):
                return candidate
            self._decided[key] = False
        self._advice.without_remedy.append(answer)
        return None

    def _ask(self, wanted: Iterable[tuple[_Candidate, list[_OpenAnswer]]]) -> bool:
        """Explore candidates; return whether all were explored."""
        asked: dict[Settings, dict[tuple[FailureMode, GuaranteeQuestion], None]] = {}
        for candidate, open_answers in wanted:
            for answer in (open_answer.answer for open_answer in open_answers):
                settings = candidate.settings(answer.question)
                if (settings, answer.failure.left, answer.question) not in self._decided:
                    asked.setdefault(settings, {})[answer.failure, answer.question] = None
        surveys = [survey_of(settings, list(pairs)) for settings, pairs in asked.items()]
        for (settings, pairs), found in zip(asked.items(), self._explore(surveys), strict=True):
            for failure, question in pairs:
                tried = answer_of(found, failure, question)
                if tried is None:
                    return False
                if tried.verdict == "undecided":
                    self._advice.searched = False
                self._decided[settings, failure.left, question] = tried.verdict == "no"
            for exploration, explored in found:
                for violation in explored.violations:
                    self._known.add(exploration, violation)
        return True

    def _is_fixed(self, candidate: _Candidate, answer: GuaranteeAnswer) -> bool:
        if not self._decided[candidate.settings(answer.question), answer.failure.left, answer.question]:
            return False
        if candidate.remembers and not candidate.changes:
            self._advice.caused_by_brokers.append(answer)
        else:
            fixed = self._partly_fixed if candidate.remembers else self._fixed
            fixed.setdefault(candidate.changes, []).append(answer)
        return True

    def _report(self) -> None:
        """Add the remedies, those with the fewest changes first, and the suggestions."""
        advice = self._advice
        found = dict.fromkeys((*self._fixed, *self._partly_fixed))
        ordered = sorted(found, key=lambda changes: (any(map(is_last_resort, changes)), len(changes)))
        advice.remedies += [self._remedy(changes) for changes in ordered]
        advice.suggestions += suggestions_for(advice.answers, advice.cluster, advice.config)
        advice.caused_by_brokers.sort(key=advice.answers.index)
        advice.without_remedy.sort(key=advice.answers.index)

    def _remedy(self, changes: Changes) -> Remedy:
        advice = self._advice
        cluster = _changed(advice.cluster, changes)
        return Remedy(
            changes,
            self._fixes(self._fixed.get(changes, [])),
            self._fixes(self._partly_fixed.get(changes, [])),
            before=availability_of(advice.cluster, advice.config),
            after=availability_of(cluster, resolve(cluster)),
        )

    def _fixes(self, answers: list[GuaranteeAnswer]) -> tuple[Fix, ...]:
        """Return answers grouped by question, in the order of the table."""
        fixes: dict[GuaranteeQuestion, list[FailureMode]] = {}
        for answer in sorted(answers, key=self._advice.answers.index):
            fixes.setdefault(answer.question, []).append(answer.failure)
        return tuple(Fix(question, tuple(failures)) for question, failures in fixes.items())


def _changed(cluster: ClusterConfig, changes: Changes) -> ClusterConfig:
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
