"""The answers for a configuration, and the remedies for those that are yes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from checker.run.result import Violation
from kafka_tools.advise.availability import Availability
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.effective_config import EffectiveConfig, resolve
from kafka_tools.advise.hazard_answers import causes_of, hazards_of
from kafka_tools.advise.models import SLOW_FOLLOWERS, Left, Model, counts_of, model_of
from kafka_tools.advise.questions import (
    DISK_LOST,
    FailureMode,
    GuaranteeQuestion,
    has_client_of,
    is_decidable,
    is_possible,
    is_relevant,
    properties_for,
)
from kafka_tools.advise.remedies import SettingChange, Suggestion, is_last_resort
from kafka_tools.advise.survey import Found, ModelExploration, Survey, counterexample
from kafka_tools.advise.transaction_answers import TransactionAnswer
from specs.hazards import Hazard

Verdict = Literal["yes", "no", "known", "undecided"]

Explore = Callable[[Sequence[Survey]], Iterator[Found]]
"""Explores surveys, in order. After an interrupt the last ones have fewer explorations, or none."""


@dataclass(frozen=True)
class GuaranteeAnswer:
    """The answer to a question for one failure.

    `exploration` decided it; `distinct_states` is its size. A yes has the counterexample `violation`, which may be one
    of a smaller failure that this one includes. `known`: the exploration has no counterexample, but an entry in
    `hazards` says yes. `undecided`: a limit was reached first, the model lacks what could turn a no into a yes
    (`is_decidable`), or the counterexample needs the client of a later release (`has_client_of`). `hazards` has the
    entries of the catalogue that say yes.
    """

    question: GuaranteeQuestion
    failure: FailureMode
    verdict: Verdict
    exploration: ModelExploration
    distinct_states: int
    violation: Violation | None = None
    hazards: tuple[Hazard, ...] = ()

    @property
    def coincidences(self) -> int:
        """The number of failures and slow followers in the counterexample of a yes, 0 if it is of the consumer."""
        if self.violation is None or not self.exploration.model.is_pipeline:
            return 0
        first, last = self.violation.trace[0].state.values, self.violation.trace[-1].state.values
        lost_disks = 1 if self.failure == DISK_LOST else 0
        return lost_disks + sum(int(first[name]) - int(last[name]) for name in counts_of(((SLOW_FOLLOWERS, 0),)))


@dataclass(frozen=True)
class Fix:
    """A question whose answer becomes no for some failures, but for rare entries of the catalogue."""

    question: GuaranteeQuestion
    failures: tuple[FailureMode, ...]
    but_for: tuple[Hazard, ...] = field(default=(), hash=False)


@dataclass(frozen=True)
class OpenedAnswer:
    """An answer that a remedy turns into a yes, or into one that an entry gives; `hazards` may be the cause."""

    question: GuaranteeQuestion
    failure: FailureMode
    verdict: Verdict
    hazards: tuple[Hazard, ...]


@dataclass(frozen=True)
class Remedy:
    """A smallest change of settings that turns some answers into a no, and the effect on writes with brokers down.

    `weakens`: a value is one that gives up a guarantee, so that the remedy is named and not recommended.
    `opened`: the answers that become worse, as far as short counterexamples and the catalogue show.
    """

    changes: tuple[SettingChange, ...]
    fixes: tuple[Fix, ...]
    before: Availability
    after: Availability
    opened: tuple[OpenedAnswer, ...] = ()

    @property
    def is_last_resort(self) -> bool:
        """Whether a change is one that Kafka's documentation advises against."""
        return any(map(is_last_resort, self.changes))

    @property
    def weakens(self) -> bool:
        """Whether a change gives up another guarantee."""
        return any(change.weakens for change in self.changes)


@dataclass
class Advice:
    """The settings in effect, the answers, and the remedies of a configuration.

    `suggestions` are remedies that the model does not explore. `without_remedy`: no change that was tried helps.
    `impossible`: failures that cannot happen or are not explored. `transactions`: the answers of the specs of
    transactions. `is_whole`: every question was answered. `searched`: the search came to its end. `tried_all`: it tried
    every setting of the models, alone and in pairs.
    """

    cluster: ClusterConfig
    config: EffectiveConfig
    answers: list[GuaranteeAnswer] = field(default_factory=list)
    remedies: list[Remedy] = field(default_factory=list)
    suggestions: list[Suggestion] = field(default_factory=list)
    without_remedy: list[GuaranteeAnswer] = field(default_factory=list)
    impossible: tuple[FailureMode, ...] = ()
    transactions: list[TransactionAnswer] = field(default_factory=list)
    is_whole: bool = True
    searched: bool = True
    tried_all: bool = False

    def answer(self, question: GuaranteeQuestion, failure: FailureMode) -> GuaranteeAnswer | None:
        """Return the answer to a question for a failure, or None if it was not asked or not reached."""
        for answer in self.answers:
            if answer.question == question and answer.failure == failure:
                return answer
        return None


def survey_of(model: Model, asked: Sequence[tuple[FailureMode, GuaranteeQuestion]]) -> Survey:
    """Return the survey that answers some questions, each for a failure."""
    names: dict[Left, list[str]] = {}
    # An included failure has a smaller number of events, so it comes first.
    for failure, question in sorted(asked, key=lambda pair: sum(count for _, count in pair[0].left)):
        names.setdefault(failure.left, []).extend(properties_for(question, failure, model))
    return Survey(model, tuple((left, tuple(dict.fromkeys(explored))) for left, explored in names.items()))


def answer_of(
    explorations: Found, model: Model, failure: FailureMode, question: GuaranteeQuestion
) -> GuaranteeAnswer | None:
    """Return the answer that some explorations of a model give, or None if they do not include its exploration."""
    properties = properties_for(question, failure, model)
    known = filter(None, (counterexample(explorations, failure.left, name) for name in properties))
    shortest = min(known, key=lambda pair: pair[1].length, default=None)
    if shortest is not None:
        exploration, violation = shortest
        explored = next(explored for asked, explored in explorations if asked is exploration)
        return GuaranteeAnswer(question, failure, "yes", exploration, explored.distinct_states, violation)
    for exploration, explored in explorations:
        if exploration.left == failure.left and set(properties) <= set(exploration.wanted):
            verdict: Verdict = "no" if explored.ended == "complete" else "undecided"
            return GuaranteeAnswer(question, failure, verdict, exploration, explored.distinct_states)
    return None


def answer_questions(
    cluster: ClusterConfig, explore: Explore, failures: Sequence[FailureMode], questions: Sequence[GuaranteeQuestion]
) -> Advice:
    """Return the answers to questions about a cluster, without remedies."""
    config = resolve(cluster)
    possible = [failure for failure in failures if is_possible(failure, cluster, config)]
    advice = Advice(cluster, config, impossible=tuple(failure for failure in failures if failure not in possible))
    asked = [(failure, question) for failure in possible for question in questions if is_relevant(question, failure)]
    groups: dict[tuple[Model, bool], list[tuple[FailureMode, GuaranteeQuestion]]] = {}
    keys = []
    for failure, question in asked:
        # The failures of the producer take about as long as those of the brokers: two surveys can run in parallel.
        keys.append((model_of(cluster, config, question, failure), failure.happens_to("producer")))
        groups.setdefault(keys[-1], []).append((failure, question))
    surveys = [survey_of(model, group) for (model, _), group in groups.items()]
    answers = dict(zip(groups, explore(surveys), strict=True))
    for key, (failure, question) in zip(keys, asked, strict=True):
        # A failure includes the slow followers, of which more are explored without another failure.
        answer = answer_of([*answers[key], *answers.get((key[0], False), ())], key[0], failure, question)
        if answer is None:
            advice.is_whole = advice.searched = False
            continue
        if answer.verdict == "no" and not is_decidable(question, cluster, config):
            answer = replace(answer, verdict="undecided")
        advice.answers.append(_with_hazards(answer, cluster, config))
    _explore_fewer_slow_followers(advice, explore)
    advice.answers = [_with_client_of_release(answer, cluster, config) for answer in advice.answers]
    return advice


def _with_client_of_release(
    answer: GuaranteeAnswer, cluster: ClusterConfig, config: EffectiveConfig
) -> GuaranteeAnswer:
    """Return an answer; a yes that needs an action of a later client is not decided."""
    if answer.violation is None or has_client_of(cluster.version, answer.violation.trace):
        return answer
    return _with_hazards(replace(answer, verdict="undecided", violation=None), cluster, config)


def _explore_fewer_slow_followers(advice: Advice, explore: Explore) -> None:
    """Replace each counterexample by one that needs the fewest slow followers.

    The shortest counterexample may have slow followers that only save steps.
    """
    asked: dict[Model, list[tuple[Left, tuple[str, ...]]]] = {}
    for answer in advice.answers:
        for left in _with_fewer_slow_followers(answer):
            asked.setdefault(answer.exploration.model, []).append((left, _properties(answer)))
    surveys = [
        Survey(model, tuple(sorted(dict.fromkeys(lefts), key=lambda pair: dict(pair[0])[SLOW_FOLLOWERS])))
        for model, lefts in asked.items()
    ]
    explored = dict(zip(asked, explore(surveys), strict=True))
    for number, answer in enumerate(advice.answers):
        explorations = explored.get(answer.exploration.model, ())
        for left in _with_fewer_slow_followers(answer):
            known = [counterexample(explorations, left, name) for name in _properties(answer)]
            shortest = min(filter(None, known), key=lambda pair: pair[1].length, default=None)
            if shortest is not None:
                advice.answers[number] = replace(answer, exploration=shortest[0], violation=shortest[1])
                break


def _properties(answer: GuaranteeAnswer) -> tuple[str, ...]:
    return properties_for(answer.question, answer.failure, answer.exploration.model)


def _with_fewer_slow_followers(answer: GuaranteeAnswer) -> list[Left]:
    """Return the failures of a counterexample with fewer slow followers than it has, the fewest first."""
    if answer.violation is None or not answer.exploration.model.is_pipeline:
        return []
    first, last = answer.violation.trace[0].state.values, answer.violation.trace[-1].state.values
    slow = first[SLOW_FOLLOWERS] - last[SLOW_FOLLOWERS]
    return [(*answer.failure.left, (SLOW_FOLLOWERS, number)) for number in range(slow)]


def _with_hazards(answer: GuaranteeAnswer, cluster: ClusterConfig, config: EffectiveConfig) -> GuaranteeAnswer:
    """Return an answer with the entries of the catalogue that say yes; they turn a no into `known`."""
    if answer.verdict == "yes":
        return replace(answer, hazards=causes_of(cluster, config, answer.question, answer.failure))
    known = hazards_of(cluster, config, answer.question, answer.failure)
    return replace(answer, verdict="known" if known and answer.verdict == "no" else answer.verdict, hazards=known)
