"""The answers as sentences, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kafka_tools.advise.advice import Advice, GuaranteeAnswer, Remedy
from kafka_tools.advise.availability import Availability
from kafka_tools.advise.effective_config import EffectiveConfig
from kafka_tools.advise.questions import (
    FAILURES,
    QUESTIONS,
    RECORDS,
    RECORDS_WITH_CONSUMER,
    FailureMode,
    GuaranteeQuestion,
)

_OF_PARTITION = (
    "acks",
    "enable.idempotence",
    "retries",
    "max.in.flight.requests.per.connection",
    "replication.factor",
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "eligible.leader.replicas.version",
    "flush.messages",
)

_OF_CONSUMER = ("enable.auto.commit", "enable.auto.offset.store", "commits", "auto.offset.reset")

ASSUMPTIONS = (
    "One partition. A batch is one record. Followers copy without faults (the families `replication` and `producer` "
    "model those faults).",
    "The failures of a row occur at every moment, and followers may fall behind. Power loss removes unflushed records, "
    "any number of them. If unclean elections are allowed, they may follow every failure.",
    "delivery.timeout.ms does not expire; if it does, the application receives an error.",
    "Transactions are not explored: with a transactional.id, a producer restart is left out.",
    "If offsets are not committed automatically, the application commits after processing, or as --commits says. "
    "The consumer keeps its partition: no rebalance, no offset out of range.",
)


def sentence(answer: GuaranteeAnswer) -> str:
    """Return an answer as a sentence, without its numbers."""
    subject = "an acknowledged record" if answer.question.name == "loss" else "a record"
    may = {"yes": "may be", "no": "is never", "undecided": "was not found to be"}[answer.verdict]
    return f"{subject} {may} {answer.question.verb}, with {answer.failure.name}"


def setting_rows(config: EffectiveConfig, *, of_consumer: bool = True) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and origin of each setting in effect. `of_consumer`: with the consumer's settings."""
    for name in (*_OF_PARTITION, *(_OF_CONSUMER if of_consumer else ())):
        choice = config.choices.get(name)
        if choice is not None:
            yield name, choice.value, choice.origin


def failures_of(advice: Advice) -> list[FailureMode]:
    """Return the failures with an answer."""
    asked = {answer.failure for answer in advice.answers}
    return [failure for failure in FAILURES if failure in asked]


def questions_of(advice: Advice) -> list[GuaranteeQuestion]:
    """Return the questions with an answer."""
    asked = {answer.question for answer in advice.answers}
    return [question for question in QUESTIONS if question in asked]


def remedy_sentence(remedy: Remedy) -> str:
    """Return a remedy as a sentence: the changes, the failures that they help with, and their cost."""
    changes = " and ".join(f"{change} ({change.role})" for change in remedy.changes)
    fixes = "; ".join(
        f"no record is {fix.question.verb} with {', '.join(failure.name for failure in fix.failures)}"
        for fix in remedy.fixes
    )
    return f"{changes}: {fixes}. Cost: {cost_sentence(remedy)}."


def cost_sentence(remedy: Remedy) -> str:
    """Return the cost of the changes as text: their own cost, and the writes that no longer succeed."""
    costs = [change.cost for change in remedy.changes if change.cost]
    for number, before, after in (
        ("one broker", remedy.before.with_one_down, remedy.after.with_one_down),
        ("two brokers", remedy.before.with_two_down, remedy.after.with_two_down),
    ):
        if before and not after:
            costs.append(f"with {number} down, no write succeeds any more")
        if after and not before:
            costs.append(f"no cost there: with {number} down, writes now succeed")
    return "; ".join(costs) or "none that the exploration shows"


def explored_sentence(advice: Advice) -> str:
    """Return the size of the explorations as a sentence."""
    results = {answer.exploration: answer.distinct_states for answer in advice.answers}
    states = sum(results.values())
    replicas = advice.config["replication.factor"]
    return (
        f"explored: {RECORDS} records (with a consumer {RECORDS_WITH_CONSUMER}), {replicas} replicas, "
        f"{len(results)} explorations, {states:,} states"
    )


def to_json(advice: Advice, pages: dict[tuple[str, str], str]) -> dict[str, Any]:
    """Return the answers as a JSON object; `pages` maps question and failure to the page of each yes."""
    return {
        "kafka": advice.cluster.version,
        "client": advice.cluster.client,
        "settings": {name: {"value": value, "origin": origin} for name, value, origin in setting_rows(advice.config)},
        "notes": list(advice.config.notes),
        "without_effect": list(advice.cluster.without_effect),
        "unknown": list(advice.cluster.unknown),
        "complete": advice.is_whole,
        "answers": [
            {
                "question": answer.question.name,
                "failure": answer.failure.slug,
                "answer": answer.verdict,
                "sentence": sentence(answer),
                "length": answer.violation.length if answer.violation else None,
                "distinct_states": answer.distinct_states,
                "constants": dict(answer.exploration.own_constants),
                "page": pages.get((answer.question.name, answer.failure.slug)),
            }
            for answer in advice.answers
        ],
        "impossible": [failure.slug for failure in advice.impossible],
        "remedies": [_remedy_to_json(remedy) for remedy in advice.remedies],
        "without_remedy": [
            {"question": answer.question.name, "failure": answer.failure.slug} for answer in advice.without_remedy
        ],
        "assumptions": list(ASSUMPTIONS),
    }


def _remedy_to_json(remedy: Remedy) -> dict[str, Any]:
    return {
        "fixes": [
            {"question": fix.question.name, "failures": [failure.slug for failure in fix.failures]}
            for fix in remedy.fixes
        ],
        "changes": [{"of": change.role, "name": change.name, "value": change.value} for change in remedy.changes],
        "costs": cost_sentence(remedy),
        "availability": {"before": _availability(remedy.before), "after": _availability(remedy.after)},
    }


def _availability(availability: Availability) -> dict[str, bool]:
    return {"one_broker_down": availability.with_one_down, "two_brokers_down": availability.with_two_down}


def verdicts(
    advice: Advice, questions: Sequence[GuaranteeQuestion]
) -> Iterator[tuple[FailureMode, list[GuaranteeAnswer | None]]]:
    """Yield each failure with the answer to each question."""
    for failure in failures_of(advice):
        yield failure, [advice.answer(question, failure) for question in questions]
