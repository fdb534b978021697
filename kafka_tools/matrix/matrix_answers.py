"""The answers of every configuration, computed by the functions of `advise` in forked processes.

First the answers: configurations that share explorations are in one run. Then, from all answers, the pictures and the
repairs: a repair is another configuration of the page whose answer is no.
"""

from __future__ import annotations

import importlib
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from checker.errors import InputError
from checker.language.spec import Spec
from checker.run import process_pool
from checker.run.workers import default_workers
from kafka_tools.advise import pipeline_code, transaction_answers
from kafka_tools.advise import survey as surveys
from kafka_tools.advise.advice import Advice, GuaranteeAnswer, answer_questions
from kafka_tools.advise.answer_cache import AnswerCache
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.explorer import explored
from kafka_tools.advise.models import constants_of
from kafka_tools.advise.questions import FAILURES, QUESTIONS, cannot_happen
from kafka_tools.advise.remedies import SettingChange, changes_for, is_last_resort
from kafka_tools.advise.remedy_search import RemedySearch
from kafka_tools.advise.survey import Found, Survey
from kafka_tools.advise.transaction_answers import TransactionAnswer
from kafka_tools.matrix.pictures import Divergence, Picture, PictureBook
from kafka_tools.matrix.switches import ISOLATION, SWITCHES, TRANSACTIONAL, Settings, cluster_of, key_of
from specs.pipeline.pipeline import Pipeline

Returned = TypeVar("Returned")

MOST_REPAIRS = 4
"""The repairs of an answer that the page has."""


@dataclass(frozen=True)
class Repair:
    """A smallest change of switches, by name, that turns a yes into a no, and where the counterexample diverges then.

    `weakens`: it gives up another guarantee.
    """

    changes: Mapping[str, str]
    cost: str
    weakens: bool
    divergence: Divergence | None


@dataclass
class ConfigurationAnswers:
    """The answers of a configuration; `pictures` and `repairs` are those of each yes, by its place in the answers."""

    settings: Settings
    advice: Advice
    pictures: dict[int, Picture] = field(default_factory=dict)
    repairs: dict[int, tuple[Repair, ...]] = field(default_factory=dict)


@dataclass
class MemorizingExplorer:
    """Explores each survey once; `cache` may be None."""

    cache: AnswerCache | None
    cancelled: threading.Event
    _known: dict[Survey, Found] = field(default_factory=dict)

    def explore(self, asked: Sequence[Survey]) -> Iterator[Found]:
        """Yield the explorations of each survey, in order."""
        for survey in asked:
            if survey not in self._known:
                self._known[survey] = surveys.run(
                    survey,
                    None,
                    self.cancelled,
                    lambda explorer, exploration: explored(self.cache, explorer, exploration, self.cancelled),
                )
            yield self._known[survey]


def refusal_of(settings: Settings) -> str:
    """Return why Kafka does not start with some settings, "" if it does."""
    try:
        return resolve(cluster_of(settings)).refusal or ""
    except InputError as error:
        return error.message


def answers_of(
    configurations: Iterable[Settings], cache: AnswerCache | None, on_stage: Callable[[str], None]
) -> list[ConfigurationAnswers]:
    """Return the answers of configurations that Kafka does not refuse, with pictures and repairs."""
    groups: dict[tuple[str, ...], list[Settings]] = {}
    for settings in configurations:
        groups.setdefault(_sharing(settings), []).append(settings)
    asked = list(groups.values())
    _compile(asked)

    def answer(number: int, cancelled: threading.Event) -> list[Advice]:
        explorer = MemorizingExplorer(cache, cancelled)
        clusters = map(cluster_of, asked[number])
        return [answer_questions(cluster, explorer.explore, FAILURES, QUESTIONS) for cluster in clusters]

    groups_of_answers: list[list[ConfigurationAnswers]] = []
    for number, advices in enumerate(_in_processes(len(asked), answer)):
        groups_of_answers.append(list(map(ConfigurationAnswers, asked[number], advices)))
        on_stage(f"answering for settings: {number + 1} of {len(asked)}")
    by_key = {key_of(each.settings): each for group in groups_of_answers for each in group}

    def illustrate(number: int, cancelled: threading.Event) -> list[ConfigurationAnswers]:
        book = PictureBook()
        for each in groups_of_answers[number]:
            _illustrate(each, by_key, book)
        return groups_of_answers[number]

    whole = []
    for number, group in enumerate(_in_processes(len(groups_of_answers), illustrate)):
        whole += group
        on_stage(f"drawing their counterexamples: {number + 1} of {len(groups_of_answers)}")
    _answer_about_transactions(whole, cache)
    return whole


def _answer_about_transactions(answers: Sequence[ConfigurationAnswers], cache: AnswerCache | None) -> None:
    """Add the answers about transactions, which the release alone decides: no other switch of the page does.

    In this process: their specs cannot be sent to another one, and they take seconds.
    """
    explore = transaction_answers.explorer(None, threading.Event(), cache)
    by_release: dict[str, list[TransactionAnswer]] = {}
    for each in answers:
        advice, release = each.advice, each.settings["release"]
        if each.settings[TRANSACTIONAL] == "set":
            if release not in by_release:
                asked = transaction_answers.transaction_answers(
                    advice.cluster, advice.config, explore, threading.Event()
                )
                by_release[release] = list(asked)
            advice.transactions.extend(by_release[release])


_SHARED = frozenset(
    {"release", "client", "controller", "enable.idempotence", "eligible.leader.replicas.version", ISOLATION}
)


def _sharing(settings: Settings) -> tuple[str, ...]:
    """Return the values that configurations with common explorations share."""
    return tuple(settings[switch.name] for switch in SWITCHES if switch.name not in _SHARED)


def _in_processes(count: int, run: Callable[[int, threading.Event], Returned]) -> Iterator[Returned]:
    return process_pool.results_in_order(count, default_workers(), run, threading.Event())


def _compile(asked: Sequence[Sequence[Settings]]) -> None:
    """Load the engine and compile the pipelines here, so that the forked processes share them."""
    importlib.import_module("checker.engines.native.engine")
    for spec in pipeline_code.without_code([spec for group in asked for spec in _pipelines(group[0])]):
        pipeline_code.code_for(spec)


def _pipelines(settings: Settings) -> Iterator[Spec]:
    cluster = cluster_of(settings)
    for with_consumer in (False, True):
        yield Pipeline(**constants_of(cluster, resolve(cluster), with_consumer=with_consumer))


def _illustrate(each: ConfigurationAnswers, by_key: Mapping[str, ConfigurationAnswers], book: PictureBook) -> None:
    for number, answer in enumerate(each.advice.answers):
        if answer.verdict == "yes":
            each.pictures[number] = book.picture_of(answer)
            each.repairs[number] = tuple(_repairs(each, answer, by_key, book))


def _repairs(
    each: ConfigurationAnswers, answer: GuaranteeAnswer, by_key: Mapping[str, ConfigurationAnswers], book: PictureBook
) -> list[Repair]:
    """Return the repairs of an answer: those of one switch, else of two; a weakening only if no other one helps."""
    search = RemedySearch(each.advice, _no_exploration)
    changes = changes_for(each.advice.cluster, dict(answer.exploration.model.constants))
    for size in (1, 2):
        repairs: list[tuple[bool, bool, int, Repair]] = []
        for combined in itertools.combinations(changes, size):
            other = by_key.get(_key_with(each.settings, combined))
            # The cheap test first: few changes help.
            if other is None or not is_no(other.advice, answer) or search.candidate(combined) is None:
                continue
            divergence = book.divergence_of(answer, other.advice.cluster)
            weakens = any(change.weakens for change in combined)
            costs = "; ".join(change.cost for change in combined if change.cost)
            last = any(map(is_last_resort, combined))
            repair = Repair(dict(map(_as_switch, combined)), costs, weakens, divergence)
            repairs.append((weakens, last, len(repairs), repair))
        if repairs:
            strong = [entry for entry in repairs if not entry[0]] or repairs
            return [repair for *_, repair in sorted(strong, key=lambda entry: entry[:3])[:MOST_REPAIRS]]
    return []


def _no_exploration(asked: Sequence[Survey]) -> Iterator[Found]:
    raise AssertionError("a change of switches is looked up")


def _as_switch(change: SettingChange) -> tuple[str, str]:
    """Return a change as a switch and its value."""
    if change.name == "enable.auto.commit":
        return "commits", "last"
    return change.name, change.value


def _key_with(settings: Settings, changes: Sequence[SettingChange]) -> str:
    """Return the configuration after some changes, "" if the page does not have one of their settings or values."""
    values = dict(map(_as_switch, changes))
    known = {(switch.name, value) for switch in SWITCHES for value in switch.values}
    is_known = len(values) == len(changes) and known.issuperset(values.items())
    return key_of({**settings, **values}) if is_known else ""


def is_no(other: Advice, answer: GuaranteeAnswer) -> bool:
    """Return whether an answer is no in another configuration, as the search for remedies decides it."""
    if cannot_happen(answer.failure, other.config):
        return True
    same_cell = other.answer(answer.question, answer.failure)
    if same_cell is None or same_cell.verdict not in ("no", "known"):
        return False
    return all(hazard.is_rare for hazard in same_cell.hazards)
