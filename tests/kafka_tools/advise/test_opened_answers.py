"""The answers that a remedy makes worse, and the entries that it leaves."""

from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.questions import FAILURES, QUESTIONS
from kafka_tools.advise.remedy_search import advise
from kafka_tools.advise.remedy_texts import remedy_texts
from tests.support.surveys import explore_once

BY_SLUG = {failure.slug: failure for failure in FAILURES}


def remedies_of(folder, text, version, *failures):
    path = folder / "client.toml"
    path.write_text(text)
    asked = [BY_SLUG[slug] for slug in failures]
    given = gather([read(str(path))], version)
    return advise(given, explore_once, failures=asked, questions=QUESTIONS[:4], largest_change=2)


def opened(advice, *changes):
    (remedy,) = [each for each in advice.remedies if {*map(str, each.changes)} == {*changes}]
    return {(each.question.name, each.failure.slug) for each in remedy.opened}


ACKS_1 = '[producer]\nacks = 1\n[topic]\n"replication.factor" = 3\n"min.insync.replicas" = 2\n'
ONE_IN_FLIGHT = "max.in.flight.requests.per.connection=1"


def test_acks_all_turns_idempotence_on_and_says_what_that_makes_possible(tmp_path):
    advice = remedies_of(tmp_path, ACKS_1, "4.3.1", "slow-follower", "leader-change", "crash")
    assert opened(advice, "acks=all") == {
        *((name, "slow-follower") for name in ("duplicates", "reorder", "stuck")),
        ("duplicates", "leader-change"),
        ("stuck", "leader-change"),
        ("stuck", "crash"),
    }
    assert not opened(advice, "acks=all", ONE_IN_FLIGHT)
    (text,) = [each for each in remedy_texts(advice)[0] if each.changes == "acks=all (producer)"]
    (sentence,) = [each for each in text.effects if "makes possible" in each]
    assert sentence.startswith("it makes possible, at least: a record is written twice with a slow follower or after a")
    assert sentence.endswith("(I2)")


def test_a_higher_minimum_says_what_it_makes_possible(tmp_path):
    text = '[producer]\nacks = "all"\n[topic]\n"replication.factor" = 3\n'
    advice = remedies_of(
        tmp_path, text, "4.3.1", "slow-follower", "disk-lost", "lost-response", "empty-disk", "blackout"
    )
    # A remedy that makes nothing worse comes first, and one that Kafka's documentation advises against last.
    order = [(each.is_last_resort, bool(each.opened), len(each.changes)) for each in advice.remedies]
    assert order == [(False, False, 1), (False, True, 1), (False, True, 2), (True, False, 1)]
    assert opened(advice, "min.insync.replicas=2") >= {
        *((name, "slow-follower") for name in ("duplicates", "reorder", "stuck")),
        ("reorder", "lost-response"),
        ("stuck", "lost-response"),
        # A counterexample behind more states than the others.
        ("duplicates", "empty-disk"),
        ("reorder", "empty-disk"),
    }


def test_a_remedy_names_the_rare_entries_that_it_leaves(tmp_path):
    for version, names in (("4.3.1", {"R18", "R26"}), ("2.0.0", {"R5", "R6", "R7", "R14", "R18", "KIP-841"})):
        advice = remedies_of(tmp_path, ACKS_1, version, "leader-change", "crash")
        (remedy,) = [each for each in advice.remedies if [*map(str, each.changes)] == ["acks=all"]]
        assert {each.name for fix in remedy.fixes if fix.question.name == "loss" for each in fix.but_for} == names
        sentences = [effect for text in remedy_texts(advice)[0] for effect in text.effects]
        (sentence,) = [each for each in sentences if each.startswith("no record is lost after any failure above")]
        assert "but for" in sentence and all(name in sentence for name in names)
