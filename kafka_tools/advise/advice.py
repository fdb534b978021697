"""The answers for a configuration, and the search for the smallest change that turns a yes into a no."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from checker.run.result import Result, Violation
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.effective_config import EffectiveConfig, resolve
from kafka_tools.advise.questions import (
    FAILURES,
    QUESTIONS,
    Constants,
    FailureMode,
    GuaranteeQuestion,
    Left,
    constants_of,
    constants_with_failures,
    is_possible,
    is_relevant,
)
from kafka_tools.advise.remedies import SettingChange, changes_for

Verdict = Literal["yes", "no", "undecided"]

_WRITES = ("writes_with_one_broker_down", "writes_with_two_brokers_down")
_TWO_DOWN = next(failure for failure in FAILURES if failure.slug == "two-crashes")


@dataclass(frozen=True)
class PipelineExploration:
    """An exploration of the pipeline: its constants, the failures that may occur, and the properties to check."""

    constants: tuple[tuple[str, int | bool | str], ...]
    left: Left
    properties: tuple[str, ...]

    @classmethod
    def of(
        cls,
        cluster: ClusterConfig,
        config: EffectiveConfig,
        failure: FailureMode,
        questions: Sequence[GuaranteeQuestion],
    ) -> PipelineExploration:
        """Return the exploration that answers some questions: either all of them concern the consumer, or none does."""
        constants = constants_of(cluster, config, with_consumer=questions[0].of_consumer)
        return cls(tuple(constants.items()), failure.left, tuple(question.property for question in questions))

    @property
    def own_constants(self) -> Constants:
        """The constants of a pipeline that allows only these failures and behaves the same."""
        return constants_with_failures(dict(self.constants), self.left)


Explore = Callable[[Sequence[PipelineExploration]], Iterator[Result]]
"""Explores a list of pipelines, in order. An interrupted exploration returns fewer results."""


@dataclass(frozen=True)
class GuaranteeAnswer:
    """The answer to a question for one failure, with the result of the exploration."""

    question: GuaranteeQuestion
    failure: FailureMode
    exploration: PipelineExploration
    result: Result

    @property
    def violation(self) -> Violation | None:
        """The counterexample, or None."""
        for violation in self.result.violations:
            if violation.property == self.question.property:
                return violation
        return None

    @property
    def verdict(self) -> Verdict:
        """`yes` with a counterexample, `no` after a complete exploration, `undecided` if a limit was reached first."""
        if self.violation is not None:
            return "yes"
        is_decided = self.result.ended == "complete" and self.question.property not in self.result.undecided
        return "no" if is_decided else "undecided"


@dataclass(frozen=True)
class Availability:
    """Whether writes succeed while one broker is down, and while two brokers are down."""

    with_one_down: bool
    with_two_down: bool


@dataclass(frozen=True)
class Remedy:
    """The smallest change that turns the answers to a question, for some failures, into a no; and its cost."""

    question: GuaranteeQuestion
    failures: tuple[FailureMode, ...]
    changes: tuple[SettingChange, ...]
    before: Availability
    after: Availability


@dataclass
class Advice:
    """The settings in effect, the answers, and the remedies of a configuration."""

    cluster: ClusterConfig
    config: EffectiveConfig
    answers: list[GuaranteeAnswer] = field(default_factory=list)
    remedies: list[Remedy] = field(default_factory=list)
    without_remedy: list[GuaranteeAnswer] = field(default_factory=list)
    impossible: tuple[FailureMode, ...] = ()
    is_whole: bool = True

    def answer(self, question: GuaranteeQuestion, failure: FailureMode) -> GuaranteeAnswer | None:
        """Return the answer to a question for a failure, or None if it was not asked or not reached."""
        for answer in self.answers:
            if answer.question == question and answer.failure == failure:
                return answer
        return None


def advise(
    cluster: ClusterConfig,
    explore: Explore,
    *,
    failures: Sequence[FailureMode] = FAILURES,
    questions: Sequence[GuaranteeQuestion] = QUESTIONS,
    largest_change: int = 3,
) -> Advice:
    """Answer questions about a cluster, and search for changes of up to `largest_change` settings (0: none)."""
    config = resolve(cluster)
    possible = [failure for failure in failures if is_possible(failure, config)]
    advice = Advice(cluster, config, impossible=tuple(failure for failure in failures if failure not in possible))
    _answer(advice, explore, possible, questions)
    if largest_change and advice.is_whole:
        _RemedySearch(advice, explore).run(largest_change)
    return advice


def _answer(
    advice: Advice, explore: Explore, failures: Iterable[FailureMode], questions: Sequence[GuaranteeQuestion]
) -> None:
    asked = []
    for failure in failures:
        for of_consumer in (False, True):
            together = [q for q in questions if q.of_consumer is of_consumer and is_relevant(q, failure)]
            if together:
                asked.append(
                    (failure, together, PipelineExploration.of(advice.cluster, advice.config, failure, together))
                )
    # Two failures may need the same exploration: with unclean elections allowed, two crashes include one.
    explorations = list(dict.fromkeys(exploration for _, _, exploration in asked))
    found = dict(zip(explorations, explore(explorations), strict=False))
    advice.is_whole = len(found) == len(explorations)
    for failure, together, exploration in asked:
        if exploration in found:
            result = found[exploration]
            advice.answers += [GuaranteeAnswer(question, failure, exploration, result) for question in together]


@dataclass
class _RemedyCandidate:
    """Changes, the answers that they rule out without exploration, and the answers that an exploration decides."""

    changes: tuple[SettingChange, ...]
    ruled_out: list[GuaranteeAnswer] = field(default_factory=list)
    asked: list[tuple[GuaranteeAnswer, PipelineExploration]] = field(default_factory=list)


class _RemedySearch:
    """Tries changes, the smallest first, until every yes has a remedy or no change is left."""

    def __init__(self, advice: Advice, explore: Explore):
        self._advice, self._explore = advice, explore
        self._known: dict[PipelineExploration, Result] = {}
        self._open = [answer for answer in advice.answers if answer.verdict == "yes"]
        self._remedied: dict[tuple[GuaranteeQuestion, tuple[SettingChange, ...]], list[FailureMode]] = {}

    def run(self, largest: int) -> None:
        """Search, and add the remedies to the advice."""
        for size in range(1, largest + 1):
            trials = list(self._trials(size))
            self._explore_new(exploration for trial in trials for _, exploration in trial.asked)
            if not self._advice.is_whole:
                return
            self._remedied.clear()
            for trial in trials:
                for answer in trial.ruled_out:
                    self._record_remedy(answer, trial.changes)
                for answer, exploration in trial.asked:
                    result = self._known[exploration]
                    if result.verdict == "holds":
                        self._record_remedy(answer, trial.changes)
            self._report()
            if not self._advice.is_whole:
                return
        self._advice.without_remedy = list(self._open)

    def _trials(self, size: int) -> Iterator[_RemedyCandidate]:
        """Yield the changes of `size` settings, with the answers that each may turn into a no."""
        for question in dict.fromkeys(answer.question for answer in self._open):
            open_answers = [answer for answer in self._open if answer.question == question]
            for changes in itertools.combinations(changes_for(question, self._advice.cluster), size):
                trial = self._trial(question, open_answers, changes)
                if trial is not None:
                    yield trial

    def _trial(
        self, question: GuaranteeQuestion, open_answers: Sequence[GuaranteeAnswer], changes: tuple[SettingChange, ...]
    ) -> _RemedyCandidate | None:
        """Return the explorations that some changes need, or None if Kafka refuses them or would refuse every write."""
        cluster = _changed(self._advice.cluster, changes)
        config = resolve(cluster)
        asks_for_more = any(change.name == "min.insync.replicas" for change in changes)
        if asks_for_more and int(config["min.insync.replicas"]) > int(config["replication.factor"]):
            return None
        if config.refusal is not None:
            return None
        trial = _RemedyCandidate(changes)
        for answer in open_answers:
            exploration = PipelineExploration.of(cluster, config, answer.failure, [question])
            if not is_possible(answer.failure, config):
                trial.ruled_out.append(answer)
            elif exploration.constants != answer.exploration.constants:
                trial.asked.append((answer, exploration))
        return trial

    def _record_remedy(self, answer: GuaranteeAnswer, changes: tuple[SettingChange, ...]) -> None:
        if not any(other is answer for other in self._open):
            return
        self._open = [other for other in self._open if other is not answer]
        self._remedied.setdefault((answer.question, changes), []).append(answer.failure)

    def _explore_new(self, explorations: Iterable[PipelineExploration]) -> None:
        new = [exploration for exploration in dict.fromkeys(explorations) if exploration not in self._known]
        found = list(self._explore(new))
        self._advice.is_whole = len(found) == len(new)
        self._known.update(zip(new, found, strict=False))

    def _report(self) -> None:
        """Explore what the changes cost, and add the remedies to the advice."""
        if not self._remedied:
            return
        clusters: dict[tuple[SettingChange, ...], ClusterConfig] = {(): self._advice.cluster}
        for _, changes in self._remedied:
            clusters[changes] = _changed(self._advice.cluster, changes)
        asked = {changes: _availability_of(cluster) for changes, cluster in clusters.items()}
        self._explore_new(asked.values())
        if not self._advice.is_whole:
            return
        costs = {changes: _availability(self._known[exploration]) for changes, exploration in asked.items()}
        for (question, changes), failures in self._remedied.items():
            self._advice.remedies.append(Remedy(question, tuple(failures), changes, costs[()], costs[changes]))


def _changed(cluster: ClusterConfig, changes: Iterable[SettingChange]) -> ClusterConfig:
    for change in changes:
        cluster = cluster.changed(change.role, change.name, change.value)
    return cluster


def _availability_of(cluster: ClusterConfig) -> PipelineExploration:
    constants = constants_of(cluster, resolve(cluster), with_consumer=False)
    return PipelineExploration(tuple({**constants, "records": 1}.items()), _TWO_DOWN.left, _WRITES)


def _availability(result: Result) -> Availability:
    one, two = (name in result.reached for name in _WRITES)
    return Availability(one, two)
