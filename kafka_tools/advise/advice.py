"""The answers for a configuration, and the remedies for those that are yes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from checker.run.result import Violation
from kafka_tools.advise.availability import Availability
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.effective_config import EffectiveConfig, resolve
from kafka_tools.advise.questions import (
    FailureMode,
    GuaranteeQuestion,
    Left,
    constants_of,
    is_decidable,
    is_possible,
    is_relevant,
)
from kafka_tools.advise.remedies import SettingChange, Suggestion, is_last_resort
from kafka_tools.advise.survey import Found, PipelineExploration, Settings, Survey, counterexample
from kafka_tools.advise.transaction_answers import TransactionAnswer

Verdict = Literal["yes", "no", "undecided"]

Explore = Callable[[Sequence[Survey]], Iterator[Found]]
"""Explores surveys, in order. After an interrupt the last ones have fewer explorations, or none."""


@dataclass(frozen=True)
class GuaranteeAnswer:
    """The answer to a question for one failure.

    `exploration` decided it; `distinct_states` is its size. A yes has the counterexample `violation`, which may be one
    of a smaller failure that this one includes. `undecided`: a limit was reached first, or the model lacks what
    could turn a no into a yes (`is_decidable`).
    """

    question: GuaranteeQuestion
    failure: FailureMode
    verdict: Verdict
    exploration: PipelineExploration
    distinct_states: int
    violation: Violation | None = None


@dataclass(frozen=True)
class Fix:
    """A question whose answer becomes no for some failures."""

    question: GuaranteeQuestion
    failures: tuple[FailureMode, ...]


@dataclass(frozen=True)
class Remedy:
    """A smallest change of settings that turns some answers into a no, and the effect on writes with brokers down.

    `fixes`: with the brokers of the release. `partial_fixes`: with brokers that do not forget a producer's batches.
    """

    changes: tuple[SettingChange, ...]
    fixes: tuple[Fix, ...]
    partial_fixes: tuple[Fix, ...]
    before: Availability
    after: Availability

    @property
    def is_last_resort(self) -> bool:
        """Whether a change is one that Kafka's documentation advises against."""
        return any(map(is_last_resort, self.changes))


@dataclass
class Advice:
    """The settings in effect, the answers, and the remedies of a configuration.

    `suggestions` are remedies that the model does not explore. `caused_by_brokers`: a yes that is a no with brokers
    that do not forget a producer's batches. `without_remedy`: no change helps. `impossible`: failures that cannot
    happen or are not modelled. `transactions`: the answers of the specs of transactions. `is_whole`: every question was
    answered. `searched`: the search came to its end.
    """

    cluster: ClusterConfig
    config: EffectiveConfig
    answers: list[GuaranteeAnswer] = field(default_factory=list)
    remedies: list[Remedy] = field(default_factory=list)
    suggestions: list[Suggestion] = field(default_factory=list)
    caused_by_brokers: list[GuaranteeAnswer] = field(default_factory=list)
    without_remedy: list[GuaranteeAnswer] = field(default_factory=list)
    impossible: tuple[FailureMode, ...] = ()
    transactions: list[TransactionAnswer] = field(default_factory=list)
    is_whole: bool = True
    searched: bool = True

    def answer(self, question: GuaranteeQuestion, failure: FailureMode) -> GuaranteeAnswer | None:
        """Return the answer to a question for a failure, or None if it was not asked or not reached."""
        for answer in self.answers:
            if answer.question == question and answer.failure == failure:
                return answer
        return None


def settings_of(cluster: ClusterConfig, config: EffectiveConfig, question: GuaranteeQuestion) -> Settings:
    """Return the settings of the pipeline that answers a question."""
    # An application that sends an expired record again may write it twice; one that does not leaves it out.
    resends = question.name != "stuck"
    return tuple(constants_of(cluster, config, with_consumer=question.of_consumer, resends=resends).items())


def survey_of(settings: Settings, asked: Sequence[tuple[FailureMode, GuaranteeQuestion]]) -> Survey:
    """Return the survey that answers some questions, each for a failure."""
    names: dict[Left, list[str]] = {}
    # An included failure has a smaller number of events, so it comes first.
    for failure, question in sorted(asked, key=lambda pair: sum(count for _, count in pair[0].left)):
        names.setdefault(failure.left, []).extend(question.properties)
    return Survey(settings, tuple((left, tuple(dict.fromkeys(found))) for left, found in names.items()))


def answer_of(found: Found, failure: FailureMode, question: GuaranteeQuestion) -> GuaranteeAnswer | None:
    """Return the answer that some explorations give, or None if they do not include its exploration."""
    known = filter(None, (counterexample(found, failure.left, name) for name in question.properties))
    shortest = min(known, key=lambda pair: pair[1].length, default=None)
    if shortest is not None:
        exploration, violation = shortest
        explored = next(explored for asked, explored in found if asked is exploration)
        return GuaranteeAnswer(question, failure, "yes", exploration, explored.distinct_states, violation)
    for exploration, explored in found:
        if exploration.left == failure.left and set(question.properties) <= set(exploration.wanted):
            verdict: Verdict = "no" if explored.ended == "complete" else "undecided"
            return GuaranteeAnswer(question, failure, verdict, exploration, explored.distinct_states)
    return None


def answer_questions(
    cluster: ClusterConfig, explore: Explore, failures: Sequence[FailureMode], questions: Sequence[GuaranteeQuestion]
) -> Advice:
    """Return the answers to questions about a cluster, without remedies."""
    config = resolve(cluster)
    possible = [failure for failure in failures if is_possible(failure, config)]
    advice = Advice(cluster, config, impossible=tuple(failure for failure in failures if failure not in possible))
    asked = [(failure, question) for failure in possible for question in questions if is_relevant(question, failure)]
    groups: dict[tuple[Settings, bool], list[tuple[FailureMode, GuaranteeQuestion]]] = {}
    keys = []
    for failure, question in asked:
        # The failures of the producer take about as long as those of the brokers: two surveys can run in parallel.
        keys.append((settings_of(cluster, config, question), failure.happens_to("producer")))
        groups.setdefault(keys[-1], []).append((failure, question))
    surveys = [survey_of(settings, group) for (settings, _), group in groups.items()]
    found = dict(zip(groups, explore(surveys), strict=True))
    for key, (failure, question) in zip(keys, asked, strict=True):
        answer = answer_of(found[key], failure, question)
        if answer is None:
            advice.is_whole = advice.searched = False
            continue
        if answer.verdict == "no" and not is_decidable(question, cluster, config):
            answer = replace(answer, verdict="undecided")
        advice.answers.append(answer)
    return advice
