"""The guarantees of `--require`: whether each holds, what denies it or leaves it open, and the exit status."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED
from kafka_tools.advise.advice import Advice, GuaranteeAnswer
from kafka_tools.advise.hazard_answers import events_within, of_transactions
from kafka_tools.advise.questions import RESTART, FailureMode, GuaranteeQuestion, cannot_happen, is_relevant
from kafka_tools.advise.transaction_answers import QUESTIONS, TWO_PHASE_QUESTIONS, TransactionAnswer
from specs.hazards import hazards

ACCEPTABLE = dict.fromkeys((*hazards(), *(question.accepted_as for question in (*QUESTIONS, *TWO_PHASE_QUESTIONS))))
"""The names that `--accept` takes: the entries of the catalogue, and the questions about transactions without one."""

OF_TRANSACTIONS = ("loss", "duplicates", "stuck")
"""The guarantees that a torn, hanging or wrongly committed transaction may break."""


@dataclass(frozen=True)
class Demand:
    """The guarantees that have to hold, the names that are accepted, and the failures that `--failure` names."""

    required: tuple[GuaranteeQuestion, ...] = ()
    accepted: frozenset[str] = frozenset()
    named: tuple[FailureMode, ...] = ()

    @property
    def events(self) -> frozenset[str] | None:
        """The events that the named failures include; None: every event."""
        return frozenset().union(*map(events_within, self.named)) if self.named else None


NOTHING_REQUIRED = Demand()


@dataclass(frozen=True)
class Requirement:
    """Whether a required guarantee holds: `sentence` has the verdict and its reason."""

    question: GuaranteeQuestion
    verdict: Literal["holds", "does not hold", "is not decided"]
    reason: str

    @property
    def sentence(self) -> str:
        """The verdict as a sentence."""
        return f"required no-{self.question.name} {self.verdict}{self.reason}"


def requirements(advice: Advice, demand: Demand) -> list[Requirement]:
    """Return the verdict on each required guarantee."""
    return [_requirement(advice, demand, question) for question in demand.required]


def exit_status(advice: Advice, demand: Demand) -> int:
    """Return the exit status: that of the required guarantees, or else whether every question was answered."""
    if demand.required:
        verdicts = {requirement.verdict for requirement in requirements(advice, demand)}
        if "does not hold" in verdicts:
            return EXIT_VIOLATED
        return EXIT_OK if verdicts == {"holds"} else EXIT_STOPPED
    answers = {answer.verdict for answer in advice.answers} | {answer.verdict for answer in advice.transactions}
    is_open = not answers and any(not cannot_happen(failure, advice.config) for failure in advice.impossible)
    return EXIT_STOPPED if not advice.is_whole or "undecided" in answers or is_open else EXIT_OK


def _requirement(advice: Advice, demand: Demand, question: GuaranteeQuestion) -> Requirement:
    answers = [answer for answer in advice.answers if answer.question == question]
    about = [each for each in _of_events(advice, demand) if each.question.of == question.name]
    known = _exceptions(advice, demand, answers, question)
    names = [*(each.question.accepted_as for each in about if each.verdict == "yes"), *known]
    accepted = [name for name in dict.fromkeys(names) if name in demand.accepted]
    names = [name for name in dict.fromkeys(names) if name not in demand.accepted]
    rows = [answer.failure.name for answer in answers if answer.verdict == "yes"]
    open_reasons = list(_open_reasons(advice, demand, answers, about, question))
    what = "all but the rows of the table" if rows else "these names alone" if open_reasons else "that"
    way_out = f"; --accept {shlex.quote(','.join(names))} accepts {what}" if names else ""
    denials = [*rows, *_denials_of_transactions(about, names)]
    exceptions = [name for name in known if name in names]
    if denials:
        also = f"; known: {', '.join(exceptions)}" if exceptions else ""
        return Requirement(question, "does not hold", f": {', '.join(denials)}{also}{way_out}")
    reasons = [
        *open_reasons,
        *([f"no exploration has {', '.join(exceptions)}, which may deny it"] if exceptions else []),
    ]
    if reasons:
        return Requirement(question, "is not decided", f": {'; '.join(reasons)}{way_out}")
    excluded = [
        f"{failure.name} {excluded}"
        for failure in demand.named
        if is_relevant(question, failure) and (excluded := cannot_happen(failure, advice.config))
    ]
    but = [f"but for {', '.join(accepted)}, as accepted"] if accepted else []
    explored = ["in the explored failures"] if answers or about else []
    holds = ", ".join([*explored, *but])
    return Requirement(question, "holds", f"{holds and ' '}{holds}{': ' if excluded else ''}{'; '.join(excluded)}")


def _of_events(advice: Advice, demand: Demand) -> Iterator[TransactionAnswer]:
    """Yield the answers about transactions that are about the named failures."""
    events = demand.events
    for answer in advice.transactions:
        if events is None or events.intersection(answer.question.events):
            yield answer


def _denials_of_transactions(about: Sequence[TransactionAnswer], names: Sequence[str]) -> Iterator[str]:
    """Yield each question about transactions with a yes that is not accepted, once for all transaction versions."""
    denials = {each.question.accepted_as: each.question for each in about if each.verdict == "yes"}
    for name, question in denials.items():
        if name in names:
            yield question.entry or f"{name} ({question.text})"


def _exceptions(
    advice: Advice, demand: Demand, answers: Sequence[GuaranteeAnswer], question: GuaranteeQuestion
) -> list[str]:
    """Return the entries that say yes where no exploration does: those of cells, and those of transactions."""
    entries = [hazard.name for answer in answers if answer.verdict == "known" for hazard in answer.hazards]
    if question.name in OF_TRANSACTIONS:
        explored = {answer.question.entry for answer in advice.transactions}
        known = of_transactions(advice.cluster, advice.config, demand.events)
        entries += [hazard.name for hazard in known if hazard.name not in explored]
    return list(dict.fromkeys(entries))


def _open_reasons(
    advice: Advice,
    demand: Demand,
    answers: Sequence[GuaranteeAnswer],
    about: Sequence[TransactionAnswer],
    question: GuaranteeQuestion,
) -> Iterator[str]:
    """Yield what leaves a required guarantee open."""
    if not advice.is_whole:
        yield "not every question was answered"
    if advice.cluster.has_unread_rules:
        yield "a setting that changes the rules is not read"
    undecided = [answer.failure.name for answer in answers if answer.verdict == "undecided"]
    undecided += dict.fromkeys(answer.question.accepted_as for answer in about if answer.verdict == "undecided")
    if undecided:
        yield f"no answer for {', '.join(undecided)}"
    # A failure that --failure does not name is one of the table's notes, unless the disks end with the brokers.
    matters = bool(demand.named) or bool(advice.cluster.ephemeral_disks)
    unexplored = [
        failure
        for failure in advice.impossible
        if is_relevant(question, failure) and not cannot_happen(failure, advice.config)
        # The specs of transactions explore a restart of the producer.
        if not (failure == RESTART and any(RESTART.slug in answer.question.events for answer in about))
    ]
    if unexplored and matters:
        yield f"not explored: {', '.join(failure.name for failure in unexplored)}"
    elif not (answers or about or advice.impossible):
        yield "nothing was explored"
