"""A min.insync.replicas above the replication factor: capped since 3.7, and no write with acks=all before."""

import pytest

from kafka_tools.advise.advice import Advice, answer_questions
from kafka_tools.advise.answer_sentences import caveats
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.questions import FAILURES, QUESTIONS, is_possible
from tests.support.surveys import explore_once

BY_SLUG = {failure.slug: failure for failure in FAILURES}
OF_CONSUMERS = [each.slug for each in FAILURES if each.of_consumer_group or each.happens_to("consumer")]
BY_NAME = {question.name: question for question in QUESTIONS}


def cluster(folder, version, replicas, in_sync, acks="all"):
    path = folder / "client.toml"
    path.write_text(f'[producer]\nacks = "{acks}"\n[topic]\n"replication.factor" = {replicas}\n'
                    f'"min.insync.replicas" = {in_sync}\n')  # fmt: skip
    return gather([read(str(path))], version)


def verdict(asked, question, failure):
    (answer,) = answer_questions(asked, explore_once, [BY_SLUG[failure]], [BY_NAME[question]]).answers
    return answer.verdict, {hazard.name for hazard in answer.hazards}


@pytest.mark.parametrize("failure", ["slow-follower", "lost-response", "producer-restart"])
@pytest.mark.parametrize(("replicas", "in_sync"), [(1, 2), (1, 3)])
def test_an_entry_sees_the_capped_minimum(tmp_path, replicas, in_sync, failure):
    assert verdict(cluster(tmp_path, "3.7.0", replicas, in_sync), "stuck", failure) == ("no", set())


def test_an_entry_sees_a_capped_minimum_above_one(tmp_path):
    assert verdict(cluster(tmp_path, "3.7.0", 2, 3), "stuck", "slow-follower") == ("yes", {"I2"})


@pytest.mark.parametrize(
    ("question", "failure"),
    [
        ("duplicates", "crash"),
        ("duplicates", "producer-restart"),
        ("loss", "lost-response"),
        ("gaps", "crash"),
    ],
)
def test_no_entry_says_yes_where_every_write_is_refused(tmp_path, question, failure):
    assert verdict(cluster(tmp_path, "3.6.0", 1, 2), question, failure) == ("no", set())
    assert verdict(cluster(tmp_path, "3.6.0", 2, 3), question, failure) == ("no", set())
    assert verdict(cluster(tmp_path, "3.6.0", 1, 1), question, failure)[0] != "no" or question == "gaps"


@pytest.mark.parametrize("failure", OF_CONSUMERS)
def test_no_answer_is_about_records_that_no_consumer_can_read(tmp_path, failure):
    refused = cluster(tmp_path, "3.6.0", 2, 3)
    assert not is_possible(BY_SLUG[failure], refused, resolve(refused))
    for possible in (cluster(tmp_path, "3.6.0", 3, 3), cluster(tmp_path, "3.7.0", 2, 3),
                     cluster(tmp_path, "3.6.0", 2, 3, acks="1")):  # fmt: skip
        assert is_possible(BY_SLUG[failure], possible, resolve(possible))


def test_no_caveat_is_about_a_record_that_is_never_written(tmp_path):
    refused, written = cluster(tmp_path, "3.6.0", 2, 3), cluster(tmp_path, "3.6.0", 3, 3)
    twice = [any("write a record twice" in each for each in caveats(Advice(asked, resolve(asked))))
             for asked in (refused, written)]  # fmt: skip
    assert twice == [False, True]
