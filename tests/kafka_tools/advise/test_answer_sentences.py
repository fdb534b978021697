"""What is said about answers of each kind, and the exit status: of advice that is made here, without an exploration."""

import json
import re
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from checker.output.styled_lines import plain
from kafka_tools.advise import answer_sentences, transaction_answers
from kafka_tools.advise.advice import Advice, Fix, GuaranteeAnswer, Remedy
from kafka_tools.advise.advice_text import advice_lines
from kafka_tools.advise.availability import Availability
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.hazard_answers import of_transactions
from kafka_tools.advise.questions import FAILURES, QUESTIONS
from kafka_tools.advise.remedies import CHANGES_OF
from kafka_tools.advise.remedy_texts import remedy_costs, remedy_texts
from kafka_tools.advise.written_settings import ConfigurationFile, WrittenSetting
from specs.hazards import hazards

BY_SLUG = {failure.slug: failure for failure in FAILURES}
BY_NAME = {question.name: question for question in QUESTIONS}
ENTRIES = list(hazards().values())


class Exploration(SimpleNamespace):
    """An exploration without a model."""

    __hash__ = object.__hash__


def answer(question, failure, verdict, *entries, states=7):
    exploration = Exploration(own_constants={}, model=SimpleNamespace(is_pipeline=True), failures=(), name=failure)
    return GuaranteeAnswer(
        BY_NAME[question], BY_SLUG[failure], verdict, exploration, states, hazards=tuple(ENTRIES[n] for n in entries)
    )


def advice(*answers, version="4.1.0", **changed):
    written = changed.pop("written", {})
    settings = tuple(WrittenSetting(name, value, "p", 1) for name, value in written.items())
    cluster = gather([ConfigurationFile("p", {"producer": settings})], version)
    return replace(Advice(cluster, resolve(cluster), answers=list(answers)), **changed)


MIXED = (
    answer("loss", "slow-follower", "no"),
    answer("loss", "crash", "yes"),
    answer("loss", "blackout", "yes"),
    answer("duplicates", "crash", "yes"),
    answer("reorder", "crash", "no"),
    answer("stuck", "crash", "undecided"),
    answer("gaps", "crash", "known", 0, 1),
    answer("gaps", "blackout", "known", 0),
    answer("gaps", "slow-follower", "known", 0),
    answer("stuck", "slow-follower", "no"),
)


def test_the_verdict_has_a_sentence_for_each_kind_of_answer():
    first, second = ENTRIES[0].name, ENTRIES[1].name
    after = "skipped by the consumer with a slow follower or after"
    assert answer_sentences.verdict_sentences(advice(*MIXED)) == [
        "With Kafka's default producer, a record can be lost or written twice after a broker crash.",
        "By ways that the exploration does not have, a record can also be:",
        f"- {after} a broker crash or power loss of all brokers ({first})",
        f"- skipped by the consumer after a broker crash ({second})",
        "In the explored failures, no record is written out of order.",
        "Not decided, and not safe: whether a record can be left out or retried without end. The limit of states was "
        "reached first, or the model lacks the rules of this release (? in the table).",
    ]


@pytest.mark.parametrize(
    ("question", "verdict", "text"),
    [
        ("loss", "yes", "an acknowledged record may be lost"),
        ("loss", "no", "an acknowledged record is never lost"),
        ("duplicates", "known", "a record may be written twice"),
        ("duplicates", "undecided", "a record was not found to be written twice"),
    ],
)
def test_an_answer_as_a_sentence(question, verdict, text):
    assert answer_sentences.sentence(answer(question, "crash", verdict)) == f"{text} after a broker crash"


def test_an_exception_to_exactly_once_is_a_sentence():
    made = advice(NO, written={"transactional.id": "t"}, version="3.0.0")
    known = of_transactions(made.cluster, made.config)
    texts = answer_sentences.verdict_sentences(made)
    items = texts[texts.index("Exactly-once has exceptions:") + 1 :]
    assert len(known) > 1 and [text.rpartition("(")[2] for text in items] == [f"{each.name})" for each in known]
    shown = " ".join(plain(advice_lines(made)).split())
    assert all(f"yes {each.title}: It needs: " in shown for each in known)
    assert not any("Exactly-once" in text for text in answer_sentences.verdict_sentences(advice(NO, version="3.0.0")))


def test_nothing_is_safe_without_answers_or_before_the_end():
    assert answer_sentences.verdict_sentences(advice()) == ["Nothing was explored: no answer, and not safe."]
    (stopped,) = answer_sentences.verdict_sentences(advice(answer("loss", "crash", "no"), is_whole=False))
    assert stopped.startswith("Interrupted: ")
    (whole,) = answer_sentences.verdict_sentences(advice(answer("loss", "crash", "no")))
    assert whole == "In the explored failures, no record is lost."


@pytest.mark.parametrize(
    ("verdict", "length", "text"),
    [
        ("no", None, "1,234 states"),
        ("undecided", None, "after 1,234 states"),
        ("yes", 5, "step 5"),
    ],
)
def test_the_size_of_an_exploration(verdict, length, text):
    made = answer("loss", "crash", verdict, states=1234)
    made = replace(made, violation=length and SimpleNamespace(length=length))
    assert answer_sentences.size_text(advice(made), made) == text


def test_the_page_of_a_partition_has_no_settings_of_a_consumer():
    config = advice(written={"acks": "1", "linger.ms": "5"}).config
    rows, of_partition = (
        [name for name, *_ in answer_sentences.setting_rows(config, of_consumer=asked)] for asked in (True, False)
    )
    assert {"acks", "min.insync.replicas"} < {*of_partition} < {*rows}
    assert {*rows} - {*of_partition} >= {"auto.offset.reset", "commits", "linger.ms"}
    assert not {"auto.offset.reset", "commits", "linger.ms"} & {*of_partition}


def test_the_table_has_a_cell_for_each_kind_of_answer():
    rows = {
        text[:24].strip(): text[24:].split()
        for text in plain(advice_lines(advice(*MIXED[:1] + MIXED[4:]))).splitlines()
    }
    assert rows["a slow follower"][0] == "no" and rows["a slow follower"][-1] == ENTRIES[0].name
    assert rows["a broker crash"] == ["-", "no", "?", f"{ENTRIES[0].name}+"]


NO, YES, UNKNOWN = (answer("loss", "crash", verdict) for verdict in ("no", "yes", "undecided"))
KNOWN = answer("loss", "crash", "known", 0)


@pytest.mark.parametrize(
    ("made", "colour"),
    [
        (advice(NO), "green"),
        (advice(NO, YES), "red"),
        (advice(NO, UNKNOWN), "yellow"),
        (advice(NO, KNOWN), "yellow"),
        (advice(NO, is_whole=False), "yellow"),
    ],
)
def test_only_a_whole_no_is_green(made, colour):
    # The line about the replicas comes first, without a colour.
    style = next(style for line in advice_lines(made) for _, style in line if style)
    assert style == f"bold {colour}"


def test_what_no_remedy_prevents():
    assert answer_sentences.sentence_without_remedy(advice()) == ""
    for tried_all, start in (
        (True, "No setting that the models have, alone or in pairs,"),
        (False, "No tried change of settings"),
    ):
        made = advice(without_remedy=[MIXED[1], MIXED[3]], tried_all=tried_all)
        assert answer_sentences.sentence_without_remedy(made) == (
            f"{start} prevents that a record is lost or written twice after a broker crash."
        )


@pytest.mark.parametrize(
    ("before", "after", "costs"),
    [
        ((True, True), (True, True), []),
        ((True, True), (True, False), ["with two brokers down, no write succeeds any more"]),
        ((False, True), (True, True), ["no cost there: with one broker down, writes now succeed"]),
        ((False, False), (False, False), []),
    ],
)
def test_the_writes_that_a_remedy_costs(before, after, costs):
    assert remedy_costs(Remedy((), (), Availability(*before), Availability(*after))) == costs


def test_a_remedy_names_the_failures_that_it_is_for():
    def effects(failures, without=(), known=()):
        fix = Fix(BY_NAME["loss"], tuple(BY_SLUG[slug] for slug in failures))
        whole = (Availability(True, True),) * 2
        made = advice(
            *(answer("loss", slug, "yes") for slug in ("crash", "blackout", "power-loss")),
            # Neither is a failure that the remedy of losses could be for.
            answer("loss", "slow-follower", "no"),
            *(answer("loss", slug, "known", 0) for slug in known),
            answer("duplicates", "lost-response", "yes"),
            remedies=[Remedy((CHANGES_OF["acks"][0],), (fix,), *whole)],
            without_remedy=[answer("loss", slug, "yes") for slug in without],
        )
        (preferred,), _, _ = remedy_texts(made)
        return preferred.effects

    assert effects(["crash", "blackout", "power-loss"]) == ["no record is lost after any failure above"]
    assert effects(["crash"]) == ["no record is lost after a broker crash"]
    assert effects(["crash", "blackout"]) == ["no record is lost after a broker crash or power loss of all brokers"]
    assert effects(["crash", "blackout"], ["power-loss"]) == [
        "no record is lost after any failure above, except power loss of one broker"
    ]
    # An entry says yes for another failure, whatever the remedy.
    assert effects(["crash", "blackout", "power-loss"], known=["leader-change"]) == [
        "no record is lost after any failure above, except a planned leader change"
    ]


def test_a_remedy_is_described_apart_if_only_combinations_have_its_changes():
    acks, in_flight = CHANGES_OF["acks"][0], CHANGES_OF["max_in_flight"][0]
    fix, whole = Fix(BY_NAME["loss"], (BY_SLUG["crash"],)), (Availability(True, True),) * 2
    remedies = [Remedy(changes, (fix,), *whole) for changes in ((acks, in_flight), (acks,), (in_flight,))]
    described, _, _ = remedy_texts(advice(answer("loss", "crash", "yes"), remedies=remedies))
    both, first, second = (text.changes for text in described)
    assert both == f"{first} and {second}"
    assert all(text.effects == ["no record is lost after a broker crash"] for text in described)


def test_json_has_every_answer():
    fix = Fix(BY_NAME["loss"], (BY_SLUG["crash"],))
    made = advice(
        NO,
        MIXED[5],
        remedies=[Remedy((CHANGES_OF["acks"][0],), (fix,), Availability(True, False), Availability(False, False))],
    )
    content = json.loads(json.dumps(answer_sentences.to_json(made, {("loss", "crash"): "loss-crash.html"})))
    assert [(one["question"], one["answer"], one["distinct_states"], one["page"]) for one in content["answers"]] == [
        ("loss", "no", 7, "loss-crash.html"),
        ("stuck", "undecided", 7, None),
    ]
    (remedy,) = content["remedies"]
    assert remedy["fixes"] == [{"question": "loss", "failures": ["crash"], "but_for": []}]
    assert remedy["changes"] == [{"of": "producer", "name": "acks", "value": "all"}]
    assert remedy["availability"] == {
        "before": {"one_broker_down": True, "two_brokers_down": False},
        "after": {"one_broker_down": False, "two_brokers_down": False},
    }


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"acks": "all"}, "can still write a record twice: after it raised its epoch"),
        ({"max.in.flight.requests.per.connection": "1"}, ""),
        ({"transactional.id": "t"}, "Consumers with isolation.level=read_uncommitted read both"),
        ({"acks": "1"}, ""),
    ],
)
def test_what_the_model_leaves_out_is_a_note(written, says):
    made = advice(NO, written=written, version="3.7")
    notes, text = answer_sentences.caveats(made), " ".join(plain(advice_lines(made)).split())
    assert says in " ".join(notes) and bool(notes) == bool(says)
    assert all(note in text for note in notes)


@pytest.mark.parametrize(("ended", "verdict"), [("complete", "no"), ("max_states", "undecided")])
def test_an_exploration_of_transactions_that_met_a_limit_is_not_safe(ended, verdict):
    cluster = advice(written={"transactional.id": "t"}).cluster
    explored = SimpleNamespace(violations=(), ended=ended, distinct_states=9)
    asked = transaction_answers.QUESTIONS[:2]
    found = list(transaction_answers.answers_to(asked, cluster, (1, 2), lambda *_: explored, threading.Event()))
    assert [(one.question, one.transaction_version) for one in found] == [(q, v) for v in (1, 2) for q in asked]
    assert {(one.verdict, one.distinct_states) for one in found} == {(verdict, 9)}
    text = plain(advice_lines(advice(NO, written={"transactional.id": "t"}, transactions=found)))
    assert text.count(f"  {verdict:9}  {asked[0].text.split()[0]}") == 4
    # The rest of an answer begins below its text.
    assert re.search(rf"^  {verdict:9}  \S.*\n {{13}}\S", text, re.MULTILINE)
    assert "with transaction.version=2 (a new cluster)" in text and "with transaction.version=1 (or lower" in text


def transaction(name, verdict, version=2):
    question = next(each for each in transaction_answers.QUESTIONS if each.name == name)
    return transaction_answers.TransactionAnswer(question, version, None, verdict, 9)


def test_a_transaction_that_is_committed_twice_denies_that_nothing_is_written_twice():
    twice = answer("duplicates", "crash", "no")
    for about, is_never in (("no", True), ("yes", False), ("undecided", False)):
        made = advice(twice, transactions=[transaction("repeated", about)])
        said = answer_sentences.verdict_sentences(made)
        assert ("In the explored failures, no record is written twice." in said) is is_never
    # The entries about transactions deny it, too.
    made = advice(twice, written={"transactional.id": "t"}, transactions=[transaction("repeated", "no")])
    assert not any("no record is written twice" in text for text in answer_sentences.verdict_sentences(made))


def test_the_exceptions_to_exactly_once_have_each_answer_that_says_yes():
    answers = [transaction("repeated", "yes", version) for version in (2, 1)]
    answers += [transaction("late-read", verdict, version) for verdict, version in (("no", 2), ("yes", 1))]
    made = advice(NO, written={"transactional.id": "t"}, version="4.3.0", transactions=answers)
    said = answer_sentences.verdict_sentences(made)
    repeated = "a producer restarts, repeats a transaction of which it does not know the end, and both are committed"
    assert f"- {repeated}" in said
    assert "- an aborted record is committed by a late request (T2), with transaction.version=1" in said


@pytest.mark.parametrize("loss", ["no", "yes"])
def test_a_lost_record_is_left_out_too(loss):
    made = advice(answer("loss", "crash", loss), answer("stuck", "crash", "no"))
    said = answer_sentences.verdict_sentences(made)[-1]
    assert ("(lost ones aside)" in said) is (loss == "yes")


def test_every_mark_of_the_table_has_a_legend():
    takes = next(number for number, each in enumerate(ENTRIES) if each.takes and len(each.name) < 4)
    made = advice(answer("loss", "crash", "known", takes, 0), answer("duplicates", "leader-change", "no"))
    text = plain(advice_lines(made))
    cell = f"{ENTRIES[takes].name}/{ENTRIES[takes].takes.split()[0]}"
    assert f"{cell}+" in text
    assert f"{cell}: no exploration here has it; {ENTRIES[takes].name} happens after {ENTRIES[takes].takes}" in text
    assert "+: further entries of the catalogue say yes" in text and "-: not asked, which is not a no" in text
    assert "known:" not in text
    long = next(number for number, each in enumerate(ENTRIES) if len(each.name) > 9 and not each.takes)
    text = plain(advice_lines(advice(*(answer(name, "crash", "known", long) for name in BY_NAME))))
    assert "known: no exploration here has it, and entries with longer names say yes" in " ".join(text.split())
    assert "+:" not in text and "-:" not in text


@pytest.mark.parametrize("version", ["2.1.0", "2.5.0", "4.4.0"])
def test_a_note_on_an_entry_is_for_the_releases_that_have_it(version):
    made = advice(NO, written={"enable.idempotence": "true"}, version=version)
    has_note = any("I3" in note for note in answer_sentences.caveats(made))
    assert has_note is hazards()["I3"].exists_in(version)


@pytest.mark.parametrize(("retries", "has_note"), [("2147483647", False), ("3", True), ("0", True)])
def test_finite_retries_may_write_a_record_that_failed(retries, has_note):
    made = advice(NO, written={"retries": retries, "enable.idempotence": "false"})
    assert any("P11" in note for note in answer_sentences.caveats(made)) is has_note
