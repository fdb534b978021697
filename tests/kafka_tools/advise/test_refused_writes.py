"""A min.insync.replicas above the replication factor: capped since 3.7, and no write with acks=all before."""

import pytest

from kafka_tools.advise.advice import answer_questions
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.questions import FAILURES, QUESTIONS
from tests.support.surveys import explore_once

BY_SLUG = {failure.slug: failure for failure in FAILURES}
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
        ("reprocessing", "consumer-crash"),
    ],
)
def test_no_entry_says_yes_where_every_write_is_refused(tmp_path, question, failure):
    assert verdict(cluster(tmp_path, "3.6.0", 1, 2), question, failure) == ("no", set())
    assert verdict(cluster(tmp_path, "3.6.0", 2, 3), question, failure) == ("no", set())
    assert verdict(cluster(tmp_path, "3.6.0", 1, 1), question, failure)[0] != "no"
