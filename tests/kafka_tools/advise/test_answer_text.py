"""The answers as text: the verdict first, at most 80 columns, no word broken, nothing undecided counted as safe."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from checker.output.styled_lines import plain
from kafka_tools.advise import answer_sentences
from kafka_tools.advise.advice import Remedy, answer_questions
from kafka_tools.advise.advice_text import WIDTH, advice_lines
from kafka_tools.advise.availability import Availability
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.questions import FAILURES, QUESTIONS
from kafka_tools.advise.remedies import CHANGES_OF
from kafka_tools.advise.remedy_search import advise
from kafka_tools.advise.remedy_texts import cost_sentence, remedy_texts
from kafka_tools.advise.requirements import Demand
from kafka_tools.advise.survey import run
from kafka_tools.advise.written_settings import ConfigurationFile, Framework, WrittenSetting

BY_SLUG = {failure.slug: failure for failure in FAILURES}
BY_NAME = {question.name: question for question in QUESTIONS}
ACKS, FLUSH = CHANGES_OF["acks"][0], CHANGES_OF["flushes"][0]
NEVER = threading.Event()


def cluster(replicas=2, **producer):
    written = tuple(WrittenSetting(name.replace("_", "."), value, "p", 1) for name, value in producer.items())
    found = gather([ConfigurationFile("p", {"producer": written})], "4.1.0")
    return found.changed("topic", "replication.factor", str(replicas))


def explorer(max_states=None, surveys_answered=None):
    """Return a function that explores in this process; after `surveys_answered` surveys it finds nothing."""

    def explore(asked):
        found = [run(one, max_states, NEVER, lambda explorer, each: explorer.explore(each, NEVER)) for one in asked]
        keep = len(found) if surveys_answered is None else surveys_answered
        return iter([*found[:keep], *([] for _ in found[keep:])])

    return explore


def text_of(advice, required=()):
    return plain(advice_lines(advice, Demand(tuple(required))))


@pytest.fixture(scope="module")
def whole():
    failures = [BY_SLUG["crash"], BY_SLUG["blackout"]]
    return advise(cluster(acks="1"), explorer(), failures=failures, questions=QUESTIONS[:1])


def test_the_verdict_comes_first(whole):
    text = text_of(whole)
    assert text.startswith("For 2 replicas (--replication-factor).\nA record can be lost after a broker crash.\n")


@pytest.mark.parametrize(
    ("given", "client", "expected"),
    [
        ({"producer": (), "consumer": ()}, "java", "With Kafka's default producer and consumer, a record"),
        ({"consumer": (("auto.offset.reset", "earliest"),)}, "java", "With Kafka's default producer, a record"),
        ({"producer": (("acks", "all"),)}, "java", "With Kafka's default consumer, a record"),
        ({"producer": (("acks", "all"),)}, "librdkafka", "With librdkafka's default consumer, a record"),
        ({"producer": (("acks", "1"),), "consumer": (("auto.offset.reset", "earliest"),)}, "java", "A record"),
    ],
)
def test_the_verdict_names_the_clients_of_which_no_file_has_a_setting(given, client, expected):
    files = {
        role: tuple(WrittenSetting(name, value, "f", 1) for name, value in settings) for role, settings in given.items()
    }
    asked = gather([ConfigurationFile("f", {"broker": (), **files})], "3.7.0", client)
    verbs = {BY_SLUG["crash"]: [question.verb for question in QUESTIONS]}
    advice = replace(answer_questions(asked, explorer(), [], []), cluster=asked)
    assert answer_sentences._with_defaults(advice, verbs) == expected
    assert answer_sentences._with_defaults(advice, {}) == "A record"


@pytest.mark.parametrize(
    ("framework", "subject"),
    [
        (Framework.CONNECT_SOURCE, "With Kafka's default consumer, a record"),
        (Framework.CONNECT_SINK, "With Kafka's default producer, a record"),
        (Framework.STRIMZI, "With Kafka's default producer and consumer, a record"),
        (Framework.STREAMS, "A record"),
    ],
)
def test_a_client_that_no_framework_creates_is_kafkas_default(framework, subject):
    asked = gather([ConfigurationFile("f", {"broker": ()}, frameworks=frozenset({framework}))], "3.7.0")
    advice = answer_questions(asked, explorer(), [BY_SLUG["application-exception"]], [BY_NAME["gaps"]])
    verbs = {BY_SLUG["crash"]: [question.verb for question in QUESTIONS]}
    assert answer_sentences._with_defaults(advice, verbs) == subject
    # Only a framework with a consumer decides what follows an exception.
    assert bool(advice.answers) == ("default" in subject and "consumer" in subject)


def test_the_text_has_80_columns_and_no_broken_word(whole):
    text = text_of(whole)
    assert max(map(len, text.splitlines())) <= WIDTH == 80
    words = set(re.findall(r"[A-Za-z.]{12,}", text))
    assert {"unclean.leader.election.enable", "acknowledgement"} <= words


def test_a_counterexample_has_the_logs_the_isr_and_the_leader(whole):
    text = text_of(whole)
    example = text[text.index("An acknowledged record may be lost after a broker crash:") :]
    example = " ".join(example[: example.index("settings in effect")].split())
    assert "1 The first broker leads, every replica is in sync, and every log is empty." in example
    assert re.search(r"n1's log gets r1\S* ?\S* at offset 0", example)
    assert "The controller elects n2." in example and "acknowledges record 1." in example
    assert "partition's ISR {n1, n2} → {n2}" in example
    assert example.endswith("Record 1 was acknowledged, and the log of the leader n2 is [].")


def test_a_step_has_the_number_of_the_counterexample_page(whole):
    (answer,) = answer_sentences.mildest_answers(whole)
    numbers = [step.number for step in answer_sentences.steps_of(answer)]
    assert numbers == list(range(1, answer.violation.length + 1))
    shown = re.findall(r"^ {2,3}(\d+)  \S", text_of(whole), re.MULTILINE)
    assert list(map(int, shown)) == numbers


def test_a_change_and_a_cost_are_described_once(whole):
    texts = [text for group in remedy_texts(whole) for text in group]
    assert len({text.changes for text in texts}) == len(texts)
    described = " and ".join(text.changes for text in texts).split(" and ")
    assert len(described) == len(set(described))
    costs = [cost for text in texts for cost in text.cost.split("; ")]
    assert len(costs) == len(set(costs))
    text = " ".join(text_of(whole).split())
    assert all(effect in text for each in texts for effect in each.effects)


def test_a_combination_of_described_changes_refers_to_them(whole):
    alone = Remedy((ACKS,), whole.remedies[0].fixes, *(Availability(True, True),) * 2)
    flush = replace(alone, changes=(FLUSH,))
    both = replace(alone, changes=(ACKS, FLUSH))
    preferred, last, _ = remedy_texts(replace(whole, remedies=[alone, flush, both]))
    assert [text.changes for text in preferred] == ["acks=all (producer)"]
    assert [text.changes for text in last] == ["flush.messages=1 (topic)"]
    assert last[0].effects[1].startswith("together with acks=all (producer), no record is ")
    assert last[0].cost.count("every append waits for the disk") == 1
    assert "in-sync replica" not in last[0].cost


def test_a_cost_of_a_combination_names_the_other_changes(whole):
    """With acks=all alone, writes succeed while two brokers are down."""
    alone = Remedy((ACKS,), whole.remedies[0].fixes, *(Availability(True, True),) * 2)
    flush = replace(alone, changes=(FLUSH,))
    both = replace(alone, changes=(ACKS, FLUSH), after=Availability(True, False))
    _, (text,), _ = remedy_texts(replace(whole, remedies=[alone, flush, both]))
    assert text.cost.endswith("; together with acks=all (producer), with two brokers down, no write succeeds any more")


def test_a_remedy_is_listed_once(whole):
    changes = [remedy.changes for remedy in whole.remedies]
    assert len(changes) == len(set(changes))
    everything = [
        (fix.question.name, failure.slug) for r in whole.remedies for fix in r.fixes for failure in fix.failures
    ]
    assert len(everything) == len(set(everything))


def test_a_last_resort_follows_the_other_remedies_and_says_why(whole):
    text = text_of(whole)
    last = [remedy for remedy in whole.remedies if remedy.is_last_resort]
    assert last and whole.remedies[-len(last) :] == last
    assert text.index("as a last resort") > text.index("broker.rack (brokers)")
    for remedy in last:
        assert "documentation advises against" in cost_sentence(remedy)


@pytest.mark.parametrize("required", [(), QUESTIONS[:1]])
def test_a_limit_is_not_safe(required):
    advice = answer_questions(cluster(), explorer(max_states=100), [BY_SLUG["crash"]], QUESTIONS[:3])
    assert {answer.verdict for answer in advice.answers} == {"undecided"}
    (sentence,) = answer_sentences.verdict_sentences(advice)
    assert sentence.startswith("Not decided, and not safe")
    assert "no record is" not in text_of(advice, required)
    assert ("required no-loss is not decided" in text_of(advice, required)) == bool(required)


def test_an_interrupt_is_not_safe():
    failures = [BY_SLUG["crash"], BY_SLUG["lost-response"]]
    advice = answer_questions(cluster(), explorer(surveys_answered=1), failures, QUESTIONS[:1])
    assert [answer.failure.slug for answer in advice.answers] == ["crash"]
    assert not advice.is_whole
    sentences = answer_sentences.verdict_sentences(advice)
    assert sentences[-1:] == ["Interrupted: the answers that are missing in the table are not decided, and not safe."]


@pytest.mark.slow
def test_ctrl_c_prints_the_answers_so_far(tmp_path):
    path = tmp_path / "topic.json"
    path.write_text('{"replication.factor": 6, "min.insync.replicas": 2}')
    command = [sys.executable, "-m", "checker", "advise", str(path), "--no-cache"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        time.sleep(20)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "Interrupted: the answers that are missing" in out
    assert "a slow follower" in out
    assert "Traceback" not in err
