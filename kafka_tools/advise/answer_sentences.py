"""The answers as sentences, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from checker.explain.step_sentences import StepSentence, step_sentences
from checker.language.spec import Spec
from checker.printable import quantity
from kafka_tools.advise.advice import Advice, Fix, GuaranteeAnswer, Remedy
from kafka_tools.advise.availability import Availability
from kafka_tools.advise.configuration_keys import CLIENT_ROLES
from kafka_tools.advise.effective_config import EffectiveConfig
from kafka_tools.advise.facts import facts_of
from kafka_tools.advise.frameworks import clients_of
from kafka_tools.advise.hazard_answers import hazards_after, of_transactions, unexplored
from kafka_tools.advise.models import RECORDS, RECORDS_WITH_CONSUMER, UNLIMITED_RETRIES, acknowledges_implicitly
from kafka_tools.advise.outcome_phrases import entries_with_answers, joined, outcomes
from kafka_tools.advise.questions import (
    FAILURES,
    QUESTIONS,
    FailureMode,
    GuaranteeQuestion,
    cannot_happen,
    is_decidable,
    refuses_every_write,
    why_impossible,
)
from kafka_tools.advise.remedy_texts import cost_sentence
from kafka_tools.advise.requirements import NOTHING_REQUIRED, OF_TRANSACTIONS, Demand, requirements
from kafka_tools.advise.survey import explorer_of
from kafka_tools.advise.transaction_answers import TransactionAnswer, transaction_notes, transaction_versions
from specs.hazards import EVENTS, Hazard, hazards
from specs.kafka_versions import EMPTY_STATE_NEEDS_SEQUENCE_0

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

_OF_CONSUMER = (
    "enable.auto.commit",
    "enable.auto.offset.store",
    "group.protocol",
    "commits",
    "auto.offset.reset",
    "isolation.level",
)

ASSUMPTIONS = (
    "One partition. A batch is one record. Followers copy without faults (the families `replication` and `producer` "
    "model those faults).",
    "The failures of a row occur at every moment, and followers may fall behind. Power loss removes unflushed records, "
    "any number of them. If unclean elections are allowed, they may follow every failure. After a "
    "crash, automatic leader balancing moves the leader back: no row has both.",
    "A delivery timeout of two minutes or more does not pass. After a shorter one, the application sends the record "
    "again.",
    "With a transactional.id, the specs of transactions explore a restart of the producer, without this partition.",
    "If offsets are not committed automatically, the application commits after processing, or as --commits says. "
    "Except in their own rows, the consumer keeps its partition, and its offset is in range. It processes the records "
    "of a poll before it polls again, unless its framework does otherwise.",
    "In the row of a rebalance, a consumer of group.protocol=consumer with automatic commits may also die.",
    "With finite retries, the row of exhausted retries counts all attempts of a record as one.",
    "An empty disk is that of a broker that returns after any stop; the loss of one disk is explored as a record that "
    "is acknowledged while only one broker has it.",
)


_IN_SHORT = (
    "acks",
    "enable.idempotence",
    "max.in.flight.requests.per.connection",
    "min.insync.replicas",
    "commits",
    "auto.offset.reset",
)
"""The settings that the head of an answer names even if no file has them."""


def replicas_sentence(advice: Advice) -> str:
    """Return the number of replicas that the answers are for, with its origin."""
    choice = advice.config.choices["replication.factor"]
    if choice.origin.startswith("assumed"):
        return (
            f"Assumed: {choice.value} replicas. No file has replication.factor (--replication-factor sets it). A topic "
            "that a broker creates by default has 1, and the loss of one disk then loses every record."
        )
    if choice.value == "1":
        return f"For 1 replica ({choice.origin}): the loss of its disk loses every record."
    return f"For {choice.value} replicas ({choice.origin})."


def settings_sentence(advice: Advice) -> str:
    """Return the release, the client and the settings in effect that matter most or that a file has, in one line."""
    choices = advice.config.choices
    named = [
        f"{name}={value}"
        for name, value, _ in setting_rows(advice.config)
        if name != "replication.factor" and (name in _IN_SHORT or choices[name].is_written)
    ]
    return f"Kafka {advice.cluster.version}, {advice.cluster.client} client: {', '.join(named)}"


def sentence(answer: GuaranteeAnswer) -> str:
    """Return an answer as a sentence, without its numbers."""
    may = {"yes": "may be", "no": "is never", "known": "may be", "undecided": "was not found to be"}[answer.verdict]
    return f"{_subject(answer.question)} {may} {answer.question.verb} {answer.failure.phrase}"


def _subject(question: GuaranteeQuestion) -> str:
    return "an acknowledged record" if question.name == "loss" else "a record"


def verdict_sentences(advice: Advice) -> list[str]:
    """Return the verdict: what may happen and after which failure already, what does not, and what is not decided.

    A text that begins with "- " is an item of the list that the sentence before it announces.
    """
    mildest: dict[FailureMode, list[str]] = {}
    never: list[GuaranteeQuestion] = []
    undecided = []
    for question in questions_of(advice):
        answers = [answer for answer in advice.answers if answer.question == question]
        yes = [answer.failure for answer in answers if answer.verdict == "yes"]
        if yes:
            mildest.setdefault(yes[0], []).append(question.verb)
        elif _is_never(advice, question, answers):
            never.append(question)
        if any(answer.verdict == "undecided" for answer in answers):
            undecided.append(question.verb)
    sentences = [] if advice.answers or not advice.is_whole else [_sentence_without_answers(advice)]
    if mildest:
        parts = [f"{joined(verbs, 'or')} {failure.phrase}" for failure, verbs in mildest.items()]
        sentences.append(f"{_with_defaults(advice, mildest)} can be {'; '.join(parts)}.")
    sentences += _sentences_of_entries(advice)
    if advice.cluster.ephemeral_disks:
        sentences.append(
            f"A broker of this cluster returns with an empty disk ({advice.cluster.ephemeral_disks}): each crash "
            "and each restart, also a planned one, is the row of an empty disk, and several at once lose every record."
        )
    if exceptions := _exceptions_to_exactly_once(advice):
        sentences.append(f"Exactly-once has {'exceptions' if exceptions[1:] else 'an exception'}:")
        sentences += [f"- {each}" for each in exceptions]
    if never:
        names = {question.name for question in never}
        besides = " (lost ones aside)" if "loss" not in names else ""
        verbs = [f"{each.verb}{besides if each.name == 'stuck' else ''}" for each in never]
        sentences.append(f"In the explored failures, no record is {joined(verbs, 'or')}.")
    if undecided:
        sentences.append(
            f"Not decided, and not safe: whether a record can be {joined(undecided, 'or')}. "
            "The limit of states was reached first, or the model lacks the rules of this release (? in the table)."
        )
    if not advice.is_whole:
        sentences.append("Interrupted: the answers that are missing in the table are not decided, and not safe.")
    return sentences


def _is_never(advice: Advice, question: GuaranteeQuestion, answers: Sequence[GuaranteeAnswer]) -> bool:
    """Return whether every answer to a question is no: in the table, and about transactions."""
    if question.name in OF_TRANSACTIONS and of_transactions(advice.cluster, advice.config):
        return False
    verdicts = {answer.verdict for answer in answers}
    verdicts |= {answer.verdict for answer in advice.transactions if answer.question.of == question.name}
    return advice.is_whole and verdicts == {"no"}


def _sentences_of_entries(advice: Advice) -> list[str]:
    """Return what the entries of the catalogue say where the exploration says no: a sentence and a list."""
    known = entries_with_answers([answer for answer in advice.answers if answer.verdict == "known"])
    items = [f"- {_outcomes_of_entry(entry, answers)} ({entry.name})" for entry, answers in known]
    return ["By ways that the exploration does not have, a record can also be:", *items] if items else []


def _exceptions_to_exactly_once(advice: Advice) -> list[str]:
    """Return what breaks the transactions of a transactional producer: entries, and answers that say yes besides."""
    entries = {each.name: each.title for each in of_transactions(advice.cluster, advice.config)}
    versions = {answer.transaction_version for answer in advice.transactions}
    answered: dict[str, list[int]] = {}
    for answer in advice.transactions:
        if answer.verdict == "yes" and answer.question.entry not in entries:
            answered.setdefault(answer.question.text, []).append(answer.transaction_version)
    return [
        *(f"{title[0].lower()}{title[1:]} ({name})" for name, title in entries.items()),
        *(
            f"{text}{'' if versions == {*having} else f', with transaction.version={having[0]}'}"
            for text, having in answered.items()
        ),
    ]


def _sentence_without_answers(advice: Advice) -> str:
    if advice.impossible and all(cannot_happen(failure, advice.config) for failure in advice.impossible):
        return f"With these settings, {joined([each.name for each in advice.impossible], 'and')} cannot happen."
    return "Nothing was explored: no answer, and not safe."


def _with_defaults(advice: Advice, mildest: Mapping[FailureMode, Sequence[str]]) -> str:
    """Return the subject of the verdict, with the clients that it is about and that no file or framework configures."""
    written = {role for role, _ in advice.cluster.written} | clients_of(advice.cluster.frameworks)
    of_consumer = {question.verb for question in QUESTIONS if question.name in ("gaps", "reprocessing")}
    verbs = {verb for each in mildest.values() for verb in each}
    concerned = {"producer": verbs - of_consumer, "consumer": verbs & of_consumer}
    missing = [role for role in CLIENT_ROLES if concerned[role] and role not in written]
    if not missing:
        return "A record"
    owner = "librdkafka" if advice.cluster.client == "librdkafka" else "Kafka"
    return f"With {owner}'s default {joined(missing, 'and')}, a record"


def caveats(advice: Advice) -> list[str]:
    """Return what the model leaves out and what may turn a no into a yes, for these settings."""
    sentences = []
    config = advice.config
    is_pipelined = int(config["max.in.flight.requests.per.connection"]) > 1
    if not all(is_decidable(question, advice.cluster, config) for question in QUESTIONS):
        sentences.append(
            "The model has the idempotent client of 2.5 and later. An earlier client resets its sequences when a "
            "broker has lost them (docs/idempotence.md, I4 and I5). So a no of the model about records that are "
            "written twice or out of order, or stuck, decides nothing for this release, nor does a yes that takes the "
            "next epoch."
        )
    if config.hides_aborted_records:
        sentences.append(
            "The answers are for consumers with isolation.level=read_committed. The client aborts the transaction "
            "where an idempotent producer raises its epoch. Other consumers also read the records of aborted "
            "transactions."
        )
    elif config.is_transactional:
        sentences.append(
            "The client aborts the transaction where an idempotent producer raises its epoch, and the application "
            "sends the records again in a new transaction. Consumers with isolation.level=read_uncommitted read both."
        )
    elif (
        hazards()["I3"].can_happen(advice.cluster.version, facts_of(advice.cluster, config))
        and advice.cluster.client == "java"
        and not refuses_every_write(advice.cluster, config)
    ):
        sentences.append(
            "An idempotent producer with several requests in flight can still write a record twice: after it raised "
            "its epoch while an earlier batch was being retried (docs/idempotence.md, I3)."
        )
    has_rule = EMPTY_STATE_NEEDS_SEQUENCE_0.applies_to(advice.cluster.version)
    if config.is_transactional and is_pipelined and has_rule and 1 in transaction_versions(advice.cluster):
        sentences.append(
            "The table is for transaction.version=1. With version 2, a leader without state of the producer takes only "
            "its sequence 0 (KAFKA-18202), which prevents I2: ask again with --set transaction.version=2."
        )
    if int(config["retries"]) < UNLIMITED_RETRIES and not config.is_transactional:
        sentences.append(
            f"With retries={config['retries']} a send may fail although its record is written, or will be. An "
            "application that then sends it again writes it twice, or out of order (P11): the table, except for the "
            "row of a delivery timeout, is for one that does not."
        )
    if acknowledges_implicitly(advice.cluster, config) and hazards()["I2"].can_happen(
        advice.cluster.version, facts_of(advice.cluster, config)
    ):
        sentences.append(
            "An idempotent librdkafka producer takes the success of a record for the success of all earlier records "
            "that wait to be sent again. A leader without state of the producer may refuse the first record and accept "
            "the second: the first is then reported as delivered, and is lost. The model leaves out one cause: state "
            "that expires after a day without a record (producer.id.expiration.ms). One request in flight prevents the "
            "loss (docs/idempotence.md, I2)."
        )
    return sentences


def setting_rows(config: EffectiveConfig, *, of_consumer: bool = True) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and origin of each setting in effect. `of_consumer`: with the consumer's settings."""
    listed = (*_OF_PARTITION, *_OF_CONSUMER)
    others = [name for name, choice in config.choices.items() if choice.is_written and name not in listed]
    for name in (*listed, *others) if of_consumer else _OF_PARTITION:
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


def sentence_without_remedy(advice: Advice) -> str:
    """Return the answers for which the search found no remedy, as a sentence; "" if there is none."""
    if not advice.without_remedy:
        return ""
    tried = "No setting that the models have, alone or in pairs," if advice.tried_all else "No tried change of settings"
    return f"{tried} prevents that a record is {outcomes(advice.without_remedy)}."


def known_sentence(hazard: Hazard, answers: Sequence[GuaranteeAnswer]) -> str:
    """Return what an entry knows beyond the exploration: what happens, what it needs, and what prevents it."""
    outcomes = f"a record can be {_outcomes_of_entry(hazard, answers)}. " if answers else ""
    return f"{hazard.title}: {outcomes}{_facts(hazard)}"


def sighting_sentences(hazard: Hazard) -> list[str]:
    """Return what was seen of an entry on real brokers."""
    return [f"Seen on brokers of Kafka {each.kafka}: {each.what}." for each in hazard.sightings]


def _facts(hazard: Hazard) -> str:
    seen = sighting_sentences(hazard)
    shown = f"Shown by Kafka's classes: {hazard.classes}." if hazard.classes and not seen else ""
    command = f"python -m checker run {hazard.shown_by}" if hazard.shown_by else ""
    parts = [f"It needs: {hazard.coincidence or hazard.needs}", *seen, shown, f"Remedy: {hazard.remedy}", command]
    return " ".join(filter(None, parts))


def cause_sentences(advice: Advice) -> Iterator[str]:
    """Yield each entry of the catalogue that names the cause of a yes, with what it causes; the rarer ones last."""
    causes: dict[str, tuple[Hazard, dict[str, None]]] = {}
    for answer in advice.answers:
        for hazard in answer.hazards if answer.verdict == "yes" else ():
            causes.setdefault(hazard.name, (hazard, {}))[1][answer.question.verb] = None
    for name, (hazard, verbs) in sorted(causes.items(), key=lambda pair: pair[1][0].is_rare):
        rarer = "rarer: " if hazard.is_rare else ""
        yield f"{rarer}{name} ({hazard.title[0].lower()}{hazard.title[1:]}): {joined(list(verbs), 'or')}"


def unexplored_sentence(advice: Advice) -> str:
    """Return the events that no model of advice has, with the entries of the catalogue that they may cause."""
    parts = []
    for event, known in unexplored(advice.cluster, advice.config).items():
        names = f" ({', '.join(hazard.name for hazard in known)})" if known else ""
        parts.append(f"{EVENTS[event]}{names}")
    return f"{'; '.join(parts)}. Nothing above says that a record is safe then"


def impossible_sentence(advice: Advice, failure: FailureMode) -> str:
    """Return why a failure was not explored, with the entries of the catalogue that it may cause."""
    reason = why_impossible(failure, advice.cluster, advice.config)
    known = hazards_after(advice.cluster, advice.config, failure)
    if not known or cannot_happen(failure, advice.config):
        return reason
    return f"{reason}; known: {', '.join(hazard.name for hazard in known)}"


def coincidence_sentence(advice: Advice) -> str:
    """Return the legend of the numbers in the table, "" if it has none."""
    number = max((answer.coincidences for answer in advice.answers), default=0)
    if number == 0:
        return ""
    counted = "1 failure or slow follower" if number == 1 else f"{number} failures and slow followers"
    return f"yes/{number}: it takes {counted}, and no fewer slow followers suffice"


def _outcomes_of_entry(hazard: Hazard, answers: Sequence[GuaranteeAnswer]) -> str:
    """Return what an entry causes where the exploration says no, after as many events as it takes."""
    if not hazard.takes:
        return outcomes([replace(answer, hazards=(hazard,)) for answer in answers])
    verbs = dict.fromkeys(answer.question.verb for answer in answers)
    return f"{joined(list(verbs), 'or')} after {hazard.takes}"


def explored_sentence(advice: Advice) -> str:
    """Return the size of the explorations as a sentence."""
    results = {answer.exploration: answer.distinct_states for answer in advice.answers}
    states = sum(results.values())
    replicas = advice.config["replication.factor"]
    return (
        f"explored: {RECORDS} records (with a consumer {RECORDS_WITH_CONSUMER}), "
        f"{replicas} replica{'' if replicas == '1' else 's'}, "
        f"{quantity(len(results), 'exploration')}, {quantity(states, 'state')}"
    )


def to_json(advice: Advice, pages: dict[tuple[str, str], str], demand: Demand = NOTHING_REQUIRED) -> dict[str, Any]:
    """Return the answers as a JSON object; `pages` maps question and failure to the page of each yes."""
    return {
        "replicas": replicas_sentence(advice),
        "verdict": verdict_sentences(advice),
        "required": [
            {"guarantee": f"no-{each.question.name}", "verdict": each.verdict, "sentence": each.sentence}
            for each in requirements(advice, demand)
        ],
        "not_read": list(advice.cluster.unread),
        "kafka": advice.cluster.version,
        "client": advice.cluster.client,
        "settings": {name: {"value": value, "origin": origin} for name, value, origin in setting_rows(advice.config)},
        "notes": list(advice.config.notes),
        "caveats": caveats(advice),
        "without_effect": list(advice.cluster.without_effect),
        "unknown": list(advice.cluster.unknown),
        "complete": advice.is_whole,
        "answers": [
            {
                "question": answer.question.name,
                "failure": answer.failure.slug,
                "answer": answer.verdict,
                "sentence": sentence(answer),
                "known": [hazard.name for hazard in answer.hazards],
                "coincidences": answer.coincidences,
                "length": answer.violation.length if answer.violation else None,
                "distinct_states": answer.distinct_states,
                "constants": dict(answer.exploration.own_constants),
                "found_with": found_with(advice, answer).slug,
                "steps": None if answer.violation is None else _steps_to_json(steps_of(answer)),
                "page": pages.get((answer.question.name, answer.failure.slug)),
            }
            for answer in advice.answers
        ],
        "transactions": [
            {
                "sentence": answer.question.text,
                "transaction_version": answer.transaction_version,
                "answer": answer.verdict,
                "length": answer.length,
                "distinct_states": answer.distinct_states,
                "constants": dict(answer.spec.constants),
                "steps": None if answer.violation is None else _steps_to_json(transaction_steps(answer)),
                "page": pages.get(("transactions", answer.page)),
            }
            for answer in advice.transactions
        ],
        "transaction_notes": list(transaction_notes(advice.cluster, advice.config)),
        "impossible": [failure.slug for failure in advice.impossible],
        "remedies": [_remedy_to_json(remedy) for remedy in advice.remedies],
        "suggestions": [
            {"text": suggestion.text, "against": suggestion.against, "argument": suggestion.argument}
            for suggestion in advice.suggestions
        ],
        "search_complete": advice.searched,
        "not_explored": {
            event: [hazard.name for hazard in known]
            for event, known in unexplored(advice.cluster, advice.config).items()
        },
        "transaction_hazards": [hazard.name for hazard in of_transactions(advice.cluster, advice.config)],
        "without_remedy": [
            {"question": answer.question.name, "failure": answer.failure.slug} for answer in advice.without_remedy
        ],
        "assumptions": list(ASSUMPTIONS),
    }


def _steps_to_json(steps: Sequence[StepSentence]) -> list[dict[str, Any]]:
    return [{"step": step.number, "call": step.call, "sentence": step.text} for step in steps]


def steps_of(answer: GuaranteeAnswer) -> tuple[StepSentence, ...]:
    """Return the steps of a counterexample as sentences; step 1 is the initial state."""
    assert answer.violation is not None
    return step_sentences(pipeline_of(answer), answer.violation)


def transaction_steps(answer: TransactionAnswer) -> tuple[StepSentence, ...]:
    """Return the steps of a counterexample about transactions as sentences; step 1 is the initial state."""
    assert answer.violation is not None
    return step_sentences(answer.spec, answer.violation)


def transaction_size(answer: TransactionAnswer) -> str:
    """Return the size of a counterexample, or of the exploration that found none."""
    size = quantity(answer.length or answer.distinct_states, "state")
    return size if answer.length else f"{size} explored"


def pipeline_of(answer: GuaranteeAnswer) -> Spec:
    """Return the spec that has the counterexample of an answer, with its constants."""
    model = replace(answer.exploration.model, constants=tuple(answer.exploration.own_constants.items()))
    return explorer_of(model).spec


def outcome(answer: GuaranteeAnswer | TransactionAnswer) -> str:
    """Return as a sentence what is wrong in the last state of a counterexample."""
    assert answer.violation is not None
    text = answer.violation.explanation.splitlines()[0]
    return f"{text[0].upper()}{text[1:]}."


def found_with(advice: Advice, answer: GuaranteeAnswer) -> FailureMode:
    """Return the failure of the counterexample to an answer: that of the answer, or a smaller one."""
    return next(
        (
            failure
            for failure in (answer.failure, *failures_of(advice))
            if failure.left == answer.exploration.failures and not failure.of_consumer_group
        ),
        answer.failure,
    )


def counterexample_sentence(advice: Advice, answer: GuaranteeAnswer) -> str:
    """Return what the counterexample to an answer shows, with its own failure."""
    return sentence(replace(answer, failure=found_with(advice, answer)))


def size_text(advice: Advice, answer: GuaranteeAnswer) -> str:
    """Return the last step of the counterexample to an answer or, without one, the number of explored states."""
    if answer.violation is None:
        after = "" if answer.verdict == "no" else "after "
        return f"{after}{quantity(answer.distinct_states, 'state')}"
    failure = found_with(advice, answer)
    already = "" if failure == answer.failure else f", {failure.phrase}"
    return f"step {answer.violation.length}{already}"


def mildest_answers(advice: Advice) -> list[GuaranteeAnswer]:
    """Return the first answer to each question that is yes: that of the mildest failure."""
    mildest = []
    for question in questions_of(advice):
        yes = [answer for answer in advice.answers if answer.question == question and answer.verdict == "yes"]
        mildest += yes[:1]
    return mildest


def _remedy_to_json(remedy: Remedy) -> dict[str, Any]:
    return {
        "fixes": _fixes_to_json(remedy.fixes),
        "makes_possible": [
            {"question": each.question.name, "failure": each.failure.slug, "known": [one.name for one in each.hazards]}
            for each in remedy.opened
        ],
        "weakens": remedy.weakens,
        "changes": [{"of": change.role, "name": change.name, "value": change.value} for change in remedy.changes],
        "costs": cost_sentence(remedy),
        "availability": {"before": _availability(remedy.before), "after": _availability(remedy.after)},
    }


def _fixes_to_json(fixes: Sequence[Fix]) -> list[dict[str, Any]]:
    return [
        {
            "question": fix.question.name,
            "failures": [failure.slug for failure in fix.failures],
            "but_for": [hazard.name for hazard in fix.but_for],
        }
        for fix in fixes
    ]


def _availability(availability: Availability) -> dict[str, bool]:
    return {"one_broker_down": availability.with_one_down, "two_brokers_down": availability.with_two_down}


def verdicts(
    advice: Advice, questions: Sequence[GuaranteeQuestion]
) -> Iterator[tuple[FailureMode, list[GuaranteeAnswer | None]]]:
    """Yield each failure with the answer to each question."""
    for failure in failures_of(advice):
        yield failure, [advice.answer(question, failure) for question in questions]
