"""The rows of events that one exploration of the pipeline does not have, and their edges."""

import json
import threading
from dataclasses import replace

import pytest

from checker.cli.app import main
from checker.output.styled_lines import plain
from kafka_tools.advise.advice import answer_questions
from kafka_tools.advise.advice_text import advice_lines
from kafka_tools.advise.answer_sentences import impossible_sentence, steps_of, unexplored_sentence
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.questions import FAILURES, QUESTIONS
from kafka_tools.advise.remedy_search import advise
from kafka_tools.advise.survey import Explored, ModelExploration, run
from kafka_tools.advise.written_settings import ConfigurationFile, WrittenSetting
from tests.support.surveys import explore_once

NEVER = threading.Event()
BY_SLUG = {failure.slug: failure for failure in FAILURES}
BY_NAME = {question.name: question for question in QUESTIONS}
ROLES = {"min.insync.replicas": "topic", "flush.messages": "topic", "unclean.leader.election.enable": "topic"}
ROLES |= {"isolation.level": "consumer", "retention.ms": "topic", "retention.bytes": "topic"}
VERIFICATION = "transaction.partition.verification.enable"
ROLES |= {VERIFICATION: "broker"}
ROLES |= {"auto.offset.reset": "consumer", "enable.auto.commit": "consumer", "group.protocol": "consumer"}


def cluster_of(settings, version="4.1.0", replicas=3):
    files = {"producer": []}
    for name, value in settings.items():
        files.setdefault(ROLES.get(name, "producer"), []).append(WrittenSetting(name, value, "f", 1))
    given = ConfigurationFile("f", {role: tuple(found) for role, found in files.items()})
    return gather([given], version).changed("topic", "replication.factor", str(replicas))


def advice(failure, question, settings, version="4.1.0", replicas=3):
    cluster = cluster_of(settings, version, replicas)
    return answer_questions(cluster, explore_once, [BY_SLUG[failure]], [BY_NAME[question]])


IN_ORDER = {"enable.idempotence": "false", "acks": "all", "max.in.flight.requests.per.connection": "1"}


@pytest.mark.parametrize(
    ("failure", "question", "settings", "verdict"),
    [
        # I2: the second move makes a producer whose first record was refused raise its epoch.
        ("leader-change", "reorder", {}, "no"),
        ("leader-changes", "reorder", {}, "yes"),
        ("leader-changes", "duplicates", {}, "yes"),
        ("leader-changes", "reorder", {"max.in.flight.requests.per.connection": "1"}, "no"),
        ("leader-changes", "loss", {}, "known"),
        ("retries-exhausted", "stuck", {**IN_ORDER, "retries": "0"}, "yes"),
        ("retries-exhausted", "stuck", {**IN_ORDER, "retries": "3"}, "yes"),
        ("retries-exhausted", "stuck", {**IN_ORDER, "retries": str(2**31 - 2)}, "yes"),
        ("disk-lost", "loss", {"acks": "all", "min.insync.replicas": "1"}, "yes"),
        ("disk-lost", "loss", {"acks": "all", "min.insync.replicas": "2"}, "known"),
        ("disk-lost", "loss", {"acks": "1", "min.insync.replicas": "2"}, "yes"),
        ("disk-lost", "loss", {"acks": "0", "min.insync.replicas": "2"}, "yes"),
        # The disk is empty, whether records were flushed or not.
        ("empty-disk", "loss", {"acks": "all", "min.insync.replicas": "1", "flush.messages": "1"}, "yes"),
        ("power-loss", "loss", {"acks": "all", "min.insync.replicas": "1", "flush.messages": "1"}, "known"),
        # I7 needs the records that the disk had.
        ("power-loss", "duplicates", {"acks": "all", "min.insync.replicas": "1"}, "yes"),
        ("empty-disk", "duplicates", {"acks": "all", "min.insync.replicas": "1"}, "no"),
        ("application-exception", "gaps", {"enable.auto.commit": "true"}, "yes"),
        ("application-exception", "gaps", {"enable.auto.commit": "false", "auto.offset.reset": "earliest"}, "no"),
        ("eviction", "reprocessing", {}, "yes"),
        ("rebalance", "gaps", {}, "known"),
        ("rebalance", "gaps", {"auto.offset.reset": "earliest"}, "no"),
        ("offsets-expire", "gaps", {"auto.offset.reset": "latest"}, "yes"),
        ("offsets-expire", "gaps", {"auto.offset.reset": "earliest"}, "no"),
        ("offsets-expire", "reprocessing", {"auto.offset.reset": "earliest"}, "yes"),
        ("offsets-expire", "reprocessing", {"auto.offset.reset": "latest"}, "no"),
        # NoOffsetForPartitionException: nothing is read before an operator decides.
        ("offsets-expire", "gaps", {"auto.offset.reset": "none"}, "no"),
        ("offsets-expire", "reprocessing", {"auto.offset.reset": "none"}, "no"),
        ("records-expire", "gaps", {"auto.offset.reset": "earliest"}, "yes"),
    ],
)
def test_rows(failure, question, settings, verdict):
    assert [answer.verdict for answer in advice(failure, question, settings).answers] == [verdict]


def test_retries_also_end_where_disks_end_with_the_broker():
    disks = WrittenSetting("broker.disks", "ephemeral", "f", 1)
    cluster = replace(cluster_of({**IN_ORDER, "retries": "3"}), disks=disks)
    asked = [BY_SLUG["retries-exhausted"], BY_SLUG["crash"]]
    found = answer_questions(cluster, explore_once, asked, [BY_NAME["stuck"]])
    assert [answer.verdict for answer in found.answers] == ["yes"] and found.impossible == (BY_SLUG["crash"],)


@pytest.mark.parametrize(
    ("failure", "question", "settings"),
    [
        ("retries-exhausted", "stuck", {**IN_ORDER, "retries": str(2**31 - 1)}),
        ("disk-lost", "loss", {"unclean.leader.election.enable": "true"}),
        ("eviction", "gaps", {"group.protocol": "consumer", "enable.auto.commit": "false"}),
    ],
)
def test_a_row_that_is_not_explored_has_no_answer(failure, question, settings):
    found = advice(failure, question, settings)
    assert found.answers == [] and found.impossible == (BY_SLUG[failure],)


@pytest.mark.parametrize("version", ["3.7.2", "3.8.1", "3.9.2", "4.0.1", "4.1.2", "4.2.0", "4.4.0"])
@pytest.mark.parametrize(("automatic", "gaps"), [("true", "yes"), ("false", "no")])
def test_a_rebalance_of_the_consumer_protocol(version, automatic, gaps):
    """C10 and C8 give two owners in every release; C12, C14 and C15 skip records if commits are automatic."""
    settings = {"group.protocol": "consumer", "enable.auto.commit": automatic, "auto.offset.reset": "earliest"}
    (skipped,) = advice("rebalance", "gaps", settings, version).answers
    (twice,) = advice("rebalance", "reprocessing", settings, version).answers
    assert (skipped.verdict, twice.verdict) == (gaps, "yes")
    assert bool(skipped.hazards) == (gaps == "yes")
    assert {hazard.name for hazard in twice.hazards} >= {"C10"}


def test_a_rebalance_of_the_consumer_protocol_asks_the_rules_of_the_release():
    automatic = {"group.protocol": "consumer", "enable.auto.commit": "true"}

    def length(question, version):
        (answer,) = advice("rebalance", question, automatic, version).answers
        return answer.violation.length

    # C12, then C15 alone, then C14; C8 in 3.7, then C10.
    assert [length("gaps", version) for version in ("3.7.2", "3.9.2", "4.0.1", "4.2.0")] == [5, 5, 7, 6]
    assert [length("reprocessing", version) for version in ("3.7.2", "4.1.2", "4.4.0")] == [22, 26, 26]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_both_protocols_agree_on_a_loop_that_commits(protocol):
    """The loop takes a rebalance inside poll: C2 if it commits last, and no gap."""
    for commits, twice in (("first", "no" if protocol == "classic" else "yes"), ("last", "yes")):
        settings = {"group.protocol": protocol, "enable.auto.commit": "false", "auto.offset.reset": "earliest"}
        cluster = cluster_of(settings).committing(commits)
        found = answer_questions(cluster, explore_once, [BY_SLUG["rebalance"]], QUESTIONS)
        assert [answer.verdict for answer in found.answers] == ["no", twice]
        assert ("C2" in {hazard.name for hazard in found.answers[1].hazards}) == (commits == "last")


def test_the_classic_protocol_is_the_remedy_of_two_owners():
    settings = {"group.protocol": "consumer", "enable.auto.commit": "true", "auto.offset.reset": "earliest"}
    found = advise(
        cluster_of(settings), explore_once, failures=[BY_SLUG["rebalance"]], questions=QUESTIONS, largest_change=2
    )
    fixes = {str(remedy.changes[0]): [fix.question.name for fix in remedy.fixes] for remedy in found.remedies}
    assert fixes == {"enable.auto.commit=false": ["gaps"], "group.protocol=classic": ["reprocessing"]}


@pytest.mark.parametrize(("commits", "verdict"), [("true", "known"), ("false", "no")])
def test_a_crash_skips_records_that_threads_hold(commits, verdict):
    """C4: the model's application processes the records of a poll in one thread."""
    (answer,) = advice(
        "consumer-crash", "gaps", {"enable.auto.commit": commits, "auto.offset.reset": "earliest"}
    ).answers
    assert answer.verdict == verdict
    assert [hazard.name for hazard in answer.hazards] == (["C4"] if verdict == "known" else [])


def test_a_counterexample_needs_the_fewest_slow_followers():
    """I7 at rolling restarts: two brokers restart, and no follower lags."""
    (answer,) = advice("two-crashes", "duplicates", {"acks": "all", "min.insync.replicas": "1"}, "4.4.0").answers
    assert answer.coincidences == 2
    (moved,) = advice("leader-changes", "reorder", {}).answers
    assert moved.coincidences == 2
    (lost,) = advice("power-loss", "loss", {"acks": "all", "min.insync.replicas": "1"}).answers
    assert lost.coincidences == 3


PLAIN = {"enable.idempotence": "false"}
TWO_IN_SYNC = {"min.insync.replicas": "2"}
I2_OF_SLOW_FOLLOWERS = {"duplicates", "reorder", "stuck"}


@pytest.mark.parametrize(
    ("settings", "version", "yes"),
    [
        (TWO_IN_SYNC, "4.3.0", I2_OF_SLOW_FOLLOWERS),
        (TWO_IN_SYNC | {"enable.idempotence": "true", "acks": "all"}, "2.5.0", I2_OF_SLOW_FOLLOWERS),
        ({"min.insync.replicas": "3"}, "4.3.0", I2_OF_SLOW_FOLLOWERS),
        # With one request in flight, or with no refusal, the first record is never after the second.
        (TWO_IN_SYNC | {"max.in.flight.requests.per.connection": "1"}, "4.3.0", set()),
        ({"min.insync.replicas": "1"}, "4.3.0", set()),
        (TWO_IN_SYNC | PLAIN | {"acks": "1"}, "4.3.0", set()),
        (TWO_IN_SYNC | PLAIN | {"acks": "0"}, "4.3.0", set()),
        # Without sequences, a retry is written again, and the refused record after the later ones.
        (TWO_IN_SYNC | PLAIN, "4.3.0", {"duplicates", "reorder"}),
        (TWO_IN_SYNC | PLAIN | {"max.in.flight.requests.per.connection": "2"}, "4.3.0", {"duplicates", "reorder"}),
        (TWO_IN_SYNC | PLAIN | {"max.in.flight.requests.per.connection": "1"}, "4.3.0", {"duplicates"}),
        # A leader that verified the first batch of a transaction refuses the later ones (3.6).
        (TWO_IN_SYNC | {"transactional.id": "t"}, "3.6.0", set()),
        (TWO_IN_SYNC | {"transactional.id": "t"}, "3.5.0", I2_OF_SLOW_FOLLOWERS),
        (TWO_IN_SYNC | {"transactional.id": "t", VERIFICATION: "false"}, "3.9.0", I2_OF_SLOW_FOLLOWERS),
        (TWO_IN_SYNC | {"transactional.id": "t", "isolation.level": "read_committed"}, "3.5.0", {"stuck"}),
    ],
)
def test_slow_followers_suffice_to_refuse_the_first_record(settings, version, yes):
    """I2 without a failure: followers lag behind records of other producers."""
    cluster = cluster_of(settings, version)
    found = answer_questions(cluster, explore_once, [BY_SLUG["slow-follower"]], QUESTIONS)
    assert {answer.question.name for answer in found.answers if answer.verdict == "yes"} == yes
    others = I2_OF_SLOW_FOLLOWERS - yes
    assert {answer.verdict for answer in found.answers if answer.question.name in others} <= {"no"}
    of_i2 = {answer.question.name for answer in found.answers if "I2" in [hazard.name for hazard in answer.hazards]}
    assert of_i2 == (yes if settings.get("enable.idempotence") != "false" else set())


def test_librdkafka_reports_the_refused_first_record_as_delivered():
    files = {"producer": (WrittenSetting("enable.idempotence", "true", "f", 1),)}
    files["topic"] = (WrittenSetting("min.insync.replicas", "2", "f", 2),)
    cluster = gather([ConfigurationFile("f", files)], "4.3.0", "librdkafka").changed("topic", "replication.factor", "3")
    (answer,) = answer_questions(cluster, explore_once, [BY_SLUG["slow-follower"]], [BY_NAME["loss"]]).answers
    assert (answer.verdict, answer.coincidences) == ("yes", 2)


def test_one_request_in_flight_is_the_remedy_for_slow_followers():
    failures, questions = [BY_SLUG["slow-follower"]], [BY_NAME["stuck"]]
    found = advise(
        cluster_of(TWO_IN_SYNC, "4.3.0"), explore_once, failures=failures, questions=questions, largest_change=1
    )
    assert [str(change) for remedy in found.remedies for change in remedy.changes] == [
        "max.in.flight.requests.per.connection=1"
    ]


@pytest.mark.parametrize("failure", ["lost-response", "producer-restart", "delivery-timeout", "crash", "blackout"])
@pytest.mark.parametrize("replicas", [2, 3])
def test_a_failure_includes_what_slow_followers_suffice_for(failure, replicas):
    """The row of slow followers explores one lag more than the others, which may not deny what it shows."""
    cluster = cluster_of(TWO_IN_SYNC | {"delivery.timeout.ms": "60000"}, "4.3.0", replicas)
    questions = [BY_NAME[name] for name in sorted(I2_OF_SLOW_FOLLOWERS)]
    found = answer_questions(cluster, explore_once, [BY_SLUG["slow-follower"], BY_SLUG[failure]], questions)
    assert {answer.verdict for answer in found.answers} == {"yes"} and len(found.answers) == 6


def explore_slow_followers_only(surveys):
    """Explore surveys without another failure; the others find nothing."""
    for survey in surveys:
        if all(left == () for left, _ in survey.asked):
            yield from explore_once([survey])
        else:
            explorations = [ModelExploration(survey.model, left, names, names, None) for left, names in survey.asked]
            yield [(exploration, Explored("complete", 1, ())) for exploration in explorations]


def test_a_row_of_the_producer_shows_what_only_the_row_of_slow_followers_has():
    failures = [BY_SLUG["slow-follower"], BY_SLUG["lost-response"]]
    cluster = cluster_of(TWO_IN_SYNC, "4.3.0")
    found = answer_questions(cluster, explore_slow_followers_only, failures, [BY_NAME["reorder"]])
    assert [answer.verdict for answer in found.answers] == ["yes", "yes"]


def test_a_story_says_what_a_follower_lags_behind():
    (answer,) = advice("slow-follower", "stuck", TWO_IN_SYNC).answers
    story = " ".join(step.text for step in steps_of(answer))
    assert "which lags behind records of other producers, from the ISR" in story
    (answer,) = advice("slow-follower", "duplicates", TWO_IN_SYNC | PLAIN).answers
    assert "which lags, from the ISR" in " ".join(step.text for step in steps_of(answer))


def table_of(found):
    """Return the cells of the table of an answer, and all of its text."""
    text = plain(advice_lines(found))
    table = text[text.index("... after") :].split("\n", 1)[1]
    return table[: table.index(":")], text


@pytest.mark.parametrize(
    ("failure", "question", "settings", "legend"),
    [
        ("power-loss", "loss", {"acks": "all", "min.insync.replicas": "1"}, "yes/3: it takes 3 failures and slow"),
        ("slow-follower", "stuck", TWO_IN_SYNC, "yes/2: it takes 2 failures and slow"),
        ("crash", "loss", PLAIN | {"acks": "1"}, "yes/1: it takes 1 failure or slow follower, and"),
        ("slow-follower", "loss", TWO_IN_SYNC, ""),
        ("consumer-crash", "gaps", {}, "yes/1: it takes 1 failure"),
    ],
)
def test_the_legend_of_the_numbers_is_that_of_a_cell(failure, question, settings, legend):
    cells, text = table_of(advice(failure, question, settings))
    assert ("it takes" in text) == bool(legend) and legend in " ".join(text.split())
    assert legend.partition(":")[0] in cells


@pytest.mark.parametrize("failure", ["leader-change", "leader-changes"])
def test_an_entry_that_takes_more_than_the_row_says_how_many(failure):
    cells, text = table_of(advice(failure, "loss", TWO_IN_SYNC))
    text = " ".join(text.split())
    assert "R18/3" in cells
    assert "a record can also be: - lost after 3 planned leader changes (R18)" in text
    assert "R18/3: no exploration here has it; R18 happens after 3 planned leader changes" in text
    assert "R18: A leader that missed an epoch trusts old offsets: a record can be lost after 3 planned" in text


@pytest.mark.parametrize("failure", ["leader-change", "leader-changes", "unclean-election"])
def test_one_replica_has_no_other_leader(failure):
    settings = {"unclean.leader.election.enable": "true"}
    found = advice(failure, "stuck", settings, replicas=1)
    assert found.answers == [] and "one replica" in impossible_sentence(found, BY_SLUG[failure])
    assert "known" not in impossible_sentence(found, BY_SLUG[failure])
    assert advice(failure, "stuck", settings, replicas=2).answers


def test_the_story_of_an_empty_disk_says_so():
    (answer,) = advice("empty-disk", "loss", {}).answers
    story = " ".join(step.text for step in steps_of(answer))
    assert "n1 stops, and its disk is lost" in story and "n1 restarts with an empty disk" in story
    assert "loses power" not in story
    (answer,) = advice("power-loss", "loss", {}).answers
    story = " ".join(step.text for step in steps_of(answer))
    assert "The machine of n1 loses power" in story and "disk" not in story


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        ({}, {"retention.ms=-1"}),
        ({"retention.bytes": "1000"}, {"retention.ms=-1", "retention.bytes=-1"}),
        ({"retention.bytes": "1000", "retention.ms": "-1"}, {"retention.bytes=-1"}),
    ],
)
def test_records_that_never_expire_are_a_remedy(settings, changes):
    failure, question = BY_SLUG["records-expire"], BY_NAME["gaps"]
    found = advise(cluster_of(settings), explore_once, failures=[failure], questions=[question], largest_change=2)
    assert [{str(change) for change in remedy.changes} for remedy in found.remedies] == [changes]
    assert found.without_remedy == []


@pytest.mark.parametrize(("isolation", "verdict"), [("read_uncommitted", "yes"), ("read_committed", "no")])
def test_a_transactional_producer_aborts_and_takes_no_epoch_on_its_own(isolation, verdict):
    settings = {"transactional.id": "t", "isolation.level": isolation}
    (answer,) = advice("leader-changes", "duplicates", settings).answers
    assert answer.verdict == verdict
    (stuck,) = advice("leader-changes", "stuck", settings).answers
    stories = [" ".join(step.text for step in steps_of(each)) for each in (answer, stuck) if each.verdict == "yes"]
    assert stories and not any("next epoch" in story for story in stories)
    assert isolation == "read_committed" or "sends its records again in a new one" in stories[0]


def test_only_an_idempotent_producer_without_transactions_raises_its_epoch():
    (answer,) = advice("leader-changes", "duplicates", {}).answers
    story = " ".join(step.text for step in steps_of(answer))
    assert "The producer takes the next epoch" in story and "transaction" not in story


@pytest.mark.parametrize(
    ("release", "setting"),
    [("3.7", "transaction.version=2"), ("2.8", "group.protocol=consumer"), ("2.2", "client.rack=a")],
)
def test_a_setting_that_the_release_lacks(release, setting, tmp_path, capsys):
    role = "broker" if "version" in setting else "consumer"
    (tmp_path / f"{role}.properties").write_text(f"{setting}\n")
    (tmp_path / "empty.toml").write_text("[producer]\nacks = 'all'\n")
    words = ["--kafka", release, "--changes", "0", "--failure", "lost-response"]
    assert main(["advise", str(tmp_path / "empty.toml"), *words, "--set", setting]) == 2
    assert "which exists since" in capsys.readouterr().err
    status = main(["advise", str(tmp_path / f"{role}.properties"), *words])
    assert (status == 2) == (role == "broker")
    assert "which exists since" in " ".join("".join(capsys.readouterr()).split())


@pytest.mark.parametrize("version", ["2.8.0", "3.7.0", "4.0.0", "4.4.0"])
@pytest.mark.parametrize("settings", [{}, {"transactional.id": "t"}, {"acks": "1", "enable.idempotence": "false"}])
def test_the_table_fits_into_80_columns(version, settings):
    cluster = cluster_of(settings, version)
    advised = answer_questions(
        cluster,
        lambda asked: iter([run(one, None, NEVER, lambda *_: Explored("complete", 1, ())) for one in asked]),
        FAILURES,
        QUESTIONS,
    )
    assert max(map(len, plain(advice_lines(advised)).splitlines())) <= 80


EPHEMERAL = """
apiVersion: kafka.strimzi.io/v1beta2
kind: Kafka
metadata: {name: c}
spec:
  kafka:
    replicas: 3
    storage: {type: ephemeral}
    config: {default.replication.factor: 3, min.insync.replicas: 2}
"""


def test_disks_that_end_with_the_brokers_leave_no_row_of_crashes_safe(tmp_path, capsys):
    (tmp_path / "kafka.yaml").write_text(EPHEMERAL)
    out = tmp_path / "answers.json"
    words = [
        "advise",
        str(tmp_path / "kafka.yaml"),
        "--kafka",
        "4.1",
        "--changes",
        "0",
        "--json",
        str(out),
        "--no-cache",
    ]
    asked = ["--failure", "crash,two-crashes,blackout,empty-disk", "--set", "eligible.leader.replicas.version=1"]
    assert main([*words, *asked, "--require", "no-loss"]) == 3
    answers = json.loads(out.read_text())
    assert answers["impossible"] == ["crash", "two-crashes", "blackout"]
    assert {answer["failure"] for answer in answers["answers"]} == {"empty-disk"}
    assert any("returns with an empty disk" in sentence for sentence in answers["verdict"])


def test_a_required_guarantee_without_an_exploration_is_not_decided(tmp_path, capsys):
    (tmp_path / "producer.properties").write_text("acks=all\n")
    words = ["advise", str(tmp_path / "producer.properties"), "--kafka", "4.1", "--changes", "0"]
    assert main([*words, "--failure", "delivery-timeout", "--require", "no-duplicates"]) == 3
    assert "Nothing was explored: no answer, and not safe." in capsys.readouterr().out


def test_an_accepted_entry_of_the_catalogue_fails_no_gate(tmp_path, capsys):
    (tmp_path / "producer.properties").write_text("acks=all\n")
    words = ["advise", str(tmp_path / "producer.properties"), "--kafka", "4.1", "--changes", "0"]
    words += ["--failure", "leader-change", "--require", "no-loss"]
    assert main(words) == 3
    said = (
        "required no-loss is not decided: no exploration has R18, R26, which may deny it; --accept R18,R26 accepts that"
    )
    assert said in " ".join(capsys.readouterr().out.split())
    assert main([*words, "--accept", "R18,R26"]) == 0
    assert main([*words, "--accept", "R81"]) == 2


# Compaction.


@pytest.mark.parametrize(
    ("role", "name", "policy", "has_row", "is_named"),
    [
        ("topic", "cleanup.policy", "delete", True, False),
        ("topic", "cleanup.policy", "compact", False, True),
        ("topic", "cleanup.policy", "delete, compact", True, True),
        ("broker", "log.cleanup.policy", "compact", False, True),
        ("topic", "retention.ms", "604800000", True, False),
    ],
)
@pytest.mark.parametrize("retention", [None, "-1"])
def test_a_compacted_log_keeps_records_by_key_and_not_by_age(role, name, policy, has_row, is_named, retention):
    """Retention deletes from a log with the policy delete; compaction is named, whatever the retention is."""
    settings = [(role, name, policy)]
    settings += [("topic", "retention.ms", retention)] if retention and name != "retention.ms" else []
    given = {}
    for of, setting, value in settings:
        given.setdefault(of, []).append(WrittenSetting(setting, value, "f", 1))
    read = ConfigurationFile("f", {"producer": ()} | {of: tuple(each) for of, each in given.items()})
    asked = gather([read], "4.1.0").changed("topic", "replication.factor", "3")
    expiry = BY_SLUG["records-expire"]
    found = answer_questions(asked, explore_once, [expiry], [BY_NAME["gaps"]])
    is_kept = retention == "-1" and name != "retention.ms"
    assert bool(found.answers) == (has_row and not is_kept)
    assert ("compaction removes superseded records: not modelled" in unexplored_sentence(found)) == is_named
    if not has_row:
        assert impossible_sentence(found, expiry).startswith("not explored with cleanup.policy=compact")
