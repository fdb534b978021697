"""What is known to go wrong, compared with the scenarios that show it, and with every answer: none may deny it."""

import contextlib
import itertools
import re
import threading
import tomllib
from dataclasses import replace

import pytest

from checker.engines.native.engine import explore
from checker.errors import SpecError
from checker.run import registry
from checker.run.plan import Plan
from kafka_tools.advise import effective_config, models
from kafka_tools.advise.advice import answer_questions
from kafka_tools.advise.cluster import gather
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.facts import facts_of
from kafka_tools.advise.hazard_answers import of_transactions, unexplored
from kafka_tools.advise.models import model_of
from kafka_tools.advise.questions import FAILURES, QUESTIONS, is_possible, is_relevant
from kafka_tools.advise.remedies import CHANGES_OF, NOT_SETTINGS
from kafka_tools.advise.remedy_search import advise
from kafka_tools.advise.suggestions import remedies_in, suggestions_for
from kafka_tools.advise.survey import Explored, run
from kafka_tools.advise.versions import EXPLORED, unexplored_bugs
from kafka_tools.advise.written_settings import ConfigurationFile, WrittenSetting
from kafka_tools.experiments.experiment import HARM, experiment_files, read_experiment
from kafka_tools.pages.catalogue_scenarios import all_scenarios
from specs.hazards import EVENTS, LEADER_LOST, OUTCOMES, Condition, hazards
from specs.kafka_releases import RELEASES
from specs.kafka_versions import (
    ELIGIBLE_LEADER_REPLICAS,
    ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT,
    POLL_WAITS_FOR_COMMIT,
    PRODUCER_EXPIRATION_SETTING,
    TRANSACTIONS,
    VERIFIES_TRANSACTIONS,
    Change,
    catalogue_entry,
    fixed_bugs,
)
from specs.pipeline import guarantees

NEVER = threading.Event()
tomllib_loads = tomllib.loads
BY_SLUG = {failure.slug: failure for failure in FAILURES}
BY_NAME = {question.name: question for question in QUESTIONS}
SCENARIOS = {each.target: each.scenario for each in all_scenarios()}
IN_RELEASES = [
    hazard for hazard in hazards().values() if hazard.releases and "another client" not in str(hazard.conditions)
]
WITH_SCENARIO = [hazard for hazard in hazards().values() if hazard.shown_by]
ROLES = {
    "replication.factor": "topic",
    "min.insync.replicas": "topic",
    "unclean.leader.election.enable": "topic",
    "eligible.leader.replicas.version": "broker",
    "enable.auto.commit": "consumer",
    "auto.offset.reset": "consumer",
    "group.protocol": "consumer",
    "client.rack": "consumer",
    "transaction.partition.verification.enable": "broker",
    "producer.id.expiration.ms": "broker",
}
"""The roles of settings in conditions; the others are the producer's."""


def explore_here(asked):
    return iter([run(survey, None, NEVER, lambda explorer, one: explorer.explore(one, NEVER)) for survey in asked])


def find_nothing(asked):
    """Answer every exploration with a complete one without a violation."""
    return iter([run(survey, None, NEVER, lambda explorer, one: Explored("complete", 1, ())) for survey in asked])


def cluster_with(hazard):
    """Return a cluster of the last release that has an entry, with settings that meet its conditions."""
    written = {}
    client, commits = "java", None
    for condition in hazard.conditions:
        value = (
            condition.values[-1] if condition.values else "1" if condition.up_to else str((condition.above or 0) + 1)
        )
        if condition.setting == "client":
            client = value
        elif condition.setting == "transactional":
            written |= {"transactional.id": "t"} if value == "true" else {}
        elif condition.setting == "idempotence":
            # A conflict or the default turned it off, and not the user.
            del written["enable.idempotence"]
            written |= {"acks": "1"} if value == "conflict" else {}
        elif condition.setting == "commits":
            commits = condition.values[0]
            written["enable.auto.commit"] = str(commits in ("auto", "background")).lower()
        elif condition.setting not in (*written, "controller", "transaction.version", "flush.messages"):
            written[condition.setting] = value
    files = {}
    for name, value in written.items():
        files.setdefault(ROLES.get(name, "producer"), []).append(WrittenSetting(name, value, "f", 1))
    files.setdefault("producer", [])
    given = ConfigurationFile("f", {role: tuple(settings) for role, settings in files.items()})
    cluster = gather([given], hazard.releases[-1], client).committing(commits if commits in ("first", "last") else None)
    return cluster if "replication.factor" in written else cluster.changed("topic", "replication.factor", "3")


def cells_of(hazard):
    """Yield each question and failure of the table of `advise` that an entry is about."""
    for outcome in hazard.outcomes:
        for event in hazard.after:
            if outcome in BY_NAME and event in BY_SLUG and is_relevant(BY_NAME[outcome], BY_SLUG[event]):
                yield BY_NAME[outcome], BY_SLUG[event]


# An entry and its scenario.


@pytest.mark.parametrize("hazard", WITH_SCENARIO, ids=lambda hazard: hazard.name)
def test_a_condition_is_needed(hazard):
    """The scenario violates a property; with the opposite of a condition it holds, where the condition is needed."""
    scenario = SCENARIOS[hazard.shown_by]
    assert isinstance(scenario.expect, dict), "the scenario shows nothing"
    for condition in (*hazard.conditions, *hazard.reopened_by):
        assert bool(condition.without) != bool(condition.why), condition
        is_partial = bool(condition.only_after or condition.only_with)
        assert is_partial == bool(condition.beyond), condition
        if condition.without:
            result = explored_with(scenario, condition.without)
            assert result.ended == "complete" and not result.violations, condition
        if condition.beyond:
            assert explored_with(scenario, condition.beyond).violations, condition


OPPOSITES = {
    "enable.idempotence": {"idempotent": lambda values: "true" not in values},
    "transactional": {"transactional": lambda values: "true" not in values},
    "replication.factor": {"replicas": lambda values: 1, "replication_factor": lambda values: 1},
    "max.in.flight.requests.per.connection": {"max_in_flight": lambda values: 2 if "1" in values else 1},
    "min.insync.replicas": {"min_insync_replicas": lambda values: 1},
    "eligible.leader.replicas.version": {"eligible_leader_replicas": lambda values: "1" not in values},
    "unclean.leader.election.enable": {"unclean_elections": lambda values: "true" not in values},
    "transaction.version": {"transaction_version": lambda values: 1 if "2" in values else 2},
    "flush.messages": {"flushes": lambda values: True},
    "commits": {"commit": lambda values: "before"},
    "enable.auto.commit": {"commit": lambda values: "after"},
}
"""By setting, the constants of specs that have it, with the value that contradicts some values of a condition."""

BARE = [
    (hazard, condition)
    for hazard in WITH_SCENARIO
    for condition in (*hazard.conditions, *hazard.reopened_by)
    if not condition.without
]


@pytest.mark.parametrize(("hazard", "condition"), BARE, ids=lambda value: getattr(value, "name", str(value)))
def test_a_condition_with_a_reason_alone_cannot_be_explored(hazard, condition):
    """The spec has no constant for the setting, the constant lacks the opposite, or the harm then has another cause."""
    scenario = SCENARIOS[hazard.shown_by]
    for name, opposite in OPPOSITES.get(condition.setting, {}).items():
        if name in scenario.spec().constants:
            with contextlib.suppress(SpecError):
                result = explored_with(scenario, {name: opposite(condition.values)})
                assert result.violations, f"write without = {{ {name} = ... }}"


def explored_with(scenario, constants):
    """Explore what a scenario shows with other constants."""
    names = tuple(name for name in scenario.expect if name != "deadlock")
    spec = scenario.spec(**{**scenario.constants, **constants}).with_fairness(scenario.fair)
    return explore(spec, Plan(names, deadlock=scenario.deadlock))


FLUSHED = {"flush.messages": "1", "replication.factor": "3", "controller": "zookeeper"}


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("R10", ("empty-disk",)),
        ("R11", ("empty-disk",)),
        ("R20", ("empty-disk",)),
        ("R18", ("leader-change", "crash-and-leader-change")),
    ],
)
def test_a_condition_may_concern_some_events_only(name, after):
    assert hazards()[name].events("3.3.2", FLUSHED) == after
    assert hazards()[name].events("3.3.2", {}) == hazards()[name].after
    assert not hazards()[name].can_happen("3.3.2", FLUSHED, frozenset({"power-loss", "crash-and-power-loss"}))


@pytest.mark.parametrize(("min_isr", "can_happen"), [("1", True), ("2", False), (None, True)])
def test_a_condition_may_concern_some_settings_only(min_isr, can_happen):
    config = {"eligible.leader.replicas.version": "1"} | ({} if min_isr is None else {"min.insync.replicas": min_isr})
    assert hazards()["R11"].can_happen("4.4.0", config) is can_happen


def test_a_controller_mode_bounds_an_entry():
    assert hazards()["R10"].can_happen("3.9.2", {"controller": "zookeeper"})
    assert not hazards()["R10"].can_happen("3.9.2", {"controller": "kraft"})


@pytest.mark.parametrize(("field", "text"), [("only_after", "`after` has not"), ("events", "unexpected keyword")])
def test_a_condition_with_another_field_or_event_is_refused(field, text, monkeypatch):
    catalogue = '[X1]\ntitle = "x"\nneeds = "x"\nremedy = "x"\noutcomes = ["loss"]\nafter = ["crash"]\n'
    catalogue += f'conditions = [{{ setting = "acks", values = ["1"], {field} = ["abort"] }}]'
    monkeypatch.setattr("specs.hazards.tomllib.loads", lambda text: tomllib_loads(catalogue))
    with pytest.raises(ValueError, match=text):
        hazards.__wrapped__()


def test_a_condition_without_a_scenario_has_a_reason():
    bare = [
        (hazard.name, str(condition))
        for hazard in hazards().values()
        for condition in (*hazard.conditions, *hazard.reopened_by)
        if not condition.why and not (condition.without and hazard.shown_by)
    ]
    assert bare == []


@pytest.mark.parametrize(
    ("condition", "met", "unmet"),
    [
        (Condition("acks", values=("0", "1")), ["0", "1"], ["all"]),
        (Condition("retries", above=1), ["2", "2147483647"], ["0", "1"]),
        (Condition("retries", up_to="attempts"), ["1", "2"], ["3"]),
        (Condition("retries", above=1, up_to="attempts"), ["2"], ["1", "3"]),
    ],
)
def test_conditions(condition, met, unmet):
    assert all(condition.holds({condition.setting: value, "attempts": "2"}) for value in met)
    assert not any(condition.holds({condition.setting: value, "attempts": "2"}) for value in unmet)
    assert condition.holds({}), "a setting that is not known excludes nothing"


VERIFICATION = "transaction.partition.verification.enable"


@pytest.mark.parametrize(
    ("name", "version", "config", "can_happen"),
    [
        ("T1", "3.9.2", {}, False),
        ("T1", "3.9.2", {VERIFICATION: "true"}, False),
        ("T1", "3.9.2", {VERIFICATION: "false"}, True),
        ("T1", "3.9.2", {VERIFICATION: "false", "transactional": "false"}, False),
        ("T1", "4.3.1", {VERIFICATION: "false", "transaction.version": "2"}, False),
        ("T1", "0.10.2.2", {VERIFICATION: "false"}, False),
        ("T2", "4.3.1", {}, False),
        ("T2", "4.3.1", {"transaction.version": "1"}, True),
        ("T3", "4.3.1", {"transaction.version": "1"}, True),
        ("T3", "4.3.1", {"transaction.version": "2"}, False),
    ],
)
def test_a_setting_undoes_the_rule_that_removed_an_entry(name, version, config, can_happen):
    assert hazards()[name].can_happen(version, config) is can_happen


@pytest.mark.parametrize(
    ("version", "written", "can_happen"),
    [
        ("4.3.1", {}, False),
        ("4.3.1", {"producer.id.expiration.ms": "60000"}, True),
        ("4.3.1", {"transactional.id.expiration.ms": "60000"}, False),
        ("3.3.2", {"transactional.id.expiration.ms": "60000"}, True),
        ("3.3.2", {}, False),
    ],
)
def test_state_expires_before_a_retry_only_if_the_setting_of_the_release_is_short(version, written, can_happen):
    broker = tuple(WrittenSetting(name, value, "f", 1) for name, value in written.items())
    cluster = gather([ConfigurationFile("f", {"producer": (), "broker": broker})], version)
    facts = facts_of(cluster, resolve(cluster))
    assert hazards()["I13"].can_happen(version, facts) is (can_happen and facts["enable.idempotence"] == "true")


def test_releases_bound_an_entry():
    hazard = hazards()["controller H-6"]
    assert not hazard.exists_in("4.2.2") and hazard.exists_in("4.3.0")
    assert not replace(hazard, last="4.3.1").exists_in("4.4.0")
    assert not hazards()["C14"].exists_in("4.1.2") and hazards()["C14"].exists_in("4.2.0")


# The settings and releases that the text of an entry names.

READ_AS = {"transactional.id": "transactional", "enable.auto.commit": "commits"}
"""Settings that a pseudo setting of the conditions stands for."""

OF_EVENTS = {
    "delivery.timeout.ms": {"delivery-timeout", "network-delay"},
    "request.timeout.ms": {"network-delay"},
    "max.poll.interval.ms": {"eviction"},
    "offsets.retention.minutes": {"offsets-expire"},
    "log.dirs": {"disk-removed"},
    "max.message.bytes": {"split"},
    "message.max.bytes": {"split"},
    "min.insync.replicas": {"settings-change"},
}
"""Settings that decide whether an event happens: an entry that names one is about that event."""

UNREAD = {
    "acks": {
        "I2 I3 I7": "enable.idempotence=true requires acks=all",
        "R1 R4 R5 R7 R8 R10 R16 R17 R18 R20 R2 R6 R14": "it happens in spite of acks=all; other values lose more",
        "R13": "any record that only the leader has",
    },
    "min.insync.replicas": {
        "P6 P7 P8": "acks=all is the condition, and the value goes with it",
        "R20": "it happens in spite of a high value",
        "R13": "R12 has the harm with 1",
        "controller H-8": "no run shows that it needs a high value",
    },
    "replica.lag.time.max.ms": {"R26": "metadata may lag for longer than any value"},
    "buffer.memory": {"KAFKA-9449": "any size is full at some time"},
    "log.message.format.version": {"KAFKA-7897": "its releases are those with the old formats; the value is not read"},
    "delivery.timeout.ms": {"I13": "the other side of a condition"},
    "transactional.id.expiration.ms": {"I13": "the value of producer.id.expiration.ms before 3.4"},
    "share.isolation.level": {"share H4": "no tool reads the settings of share groups"},
    "group.share.delivery.count.limit": {"share H4": "no tool reads the settings of share groups"},
}
"""Settings that an entry names and its conditions do not read, with the reason."""

SETTING = re.compile(r"(?<![\w.])(?:[a-z]+(?:\.[a-z]+)+|acks|retries(?= above|=))(?![\w.]*\()")


def settings_named_by(hazard):
    """Return the settings in the texts about what an entry needs and what prevents it."""
    return set(SETTING.findall(f"{hazard.needs} {hazard.remedy} {hazard.coincidence}")) - {"consumer.group", "e.g"}


def read_by(hazard):
    conditions = (*hazard.conditions, *hazard.reopened_by)
    return {each.setting for each in conditions} | {each.only_with.setting for each in conditions if each.only_with}


def reasons_for(name, setting):
    return [why for names, why in UNREAD.get(setting, {}).items() if name in re.findall(r"[a-z]+ H-?\d|\S+", names)]


@pytest.mark.parametrize("hazard", IN_RELEASES, ids=lambda hazard: hazard.name)
def test_the_conditions_read_each_setting_that_the_text_names(hazard):
    """A predicate without such a setting says yes, or no, whatever its value is."""
    for setting in settings_named_by(hazard):
        is_read = {setting, READ_AS.get(setting)} & read_by(hazard)
        is_of_event = OF_EVENTS.get(setting, set()) & {*hazard.after}
        assert is_read or is_of_event or reasons_for(hazard.name, setting), setting


def test_no_reason_is_left_over():
    """A reason is for a setting that its entry names and its conditions do not read."""
    for setting, reasons in UNREAD.items():
        for names in reasons:
            for name in re.findall(r"[a-z]+ H-?\d|\S+", names):
                assert setting in settings_named_by(hazards()[name]) - read_by(hazards()[name]), (name, setting)


@pytest.mark.parametrize("hazard", IN_RELEASES, ids=lambda hazard: hazard.name)
def test_an_entry_that_happens_with_any_acks_does_not_ask_for_one(hazard):
    """The text is shown for acks=1 too; an idempotent producer has acks=all."""
    is_read = {"acks", "enable.idempotence", "idempotence"} & read_by(hazard)
    assert is_read or "acks=all" not in hazard.needs or "Even with acks=all" in hazard.needs


def test_entries_begin_with_the_first_release_that_has_the_code():
    """A release that nobody tried is not one without the entry."""
    for name, without, first in (
        ("producer H-3", "0.11.0.3", "1.0.0"),
        ("controller H-4", "3.9.2", "4.0.0"),
        ("controller H-7", "3.2.3", "3.3.0"),
    ):
        assert not hazards()[name].exists_in(without) and hazards()[name].exists_in(first)


@pytest.mark.parametrize(
    ("version", "transaction_version", "can_happen"),
    [("4.4.0", "2", False), ("4.4.0", "1", True), ("4.4.0", None, True), ("3.9.2", None, True)],
)
def test_a_known_transaction_version_2_excludes_i2(version, transaction_version, can_happen):
    broker = (WrittenSetting("transaction.version", transaction_version, "f", 1),) if transaction_version else ()
    producer = (WrittenSetting("transactional.id", "t", "f", 2),)
    cluster = gather([ConfigurationFile("f", {"producer": producer, "broker": broker})], version)
    config = resolve(cluster)
    assert hazards()["I2"].can_happen(version, facts_of(cluster, config), outcome="stuck") is can_happen
    model = model_of(cluster, config, BY_NAME["stuck"], BY_SLUG["leader-change"])
    assert dict(model.constants)["no_state"] == ("any" if can_happen else "full")


@pytest.mark.parametrize(("transactional", "named"), [(False, False), (True, True)])
def test_a_fixed_bug_of_transactions_is_noted_for_transactions_only(transactional, named):
    note = unexplored_bugs("4.0.0", "java", "kraft", is_transactional=transactional)
    assert ("KAFKA-18202" in note) is named and "R14" in note


@pytest.mark.parametrize(("commits", "named"), [("true", True), ("false", False)])
@pytest.mark.parametrize("slug", ["rebalance", "application-exception"])
def test_an_automatic_commit_may_fail_when_the_partition_is_given_up(slug, commits, named):
    written = (WrittenSetting("enable.auto.commit", commits, "f", 1),)
    cluster = gather([ConfigurationFile("f", {"consumer": written})], "4.4.0")
    advice = answer_questions(cluster, find_nothing, [BY_SLUG[slug]], [BY_NAME["reprocessing"]])
    assert ("C17" in [each.name for answer in advice.answers for each in answer.hazards]) is named


def test_a_suggestion_names_each_row_of_its_entry():
    cluster = gather([ConfigurationFile("f", {"consumer": ()})], "4.4.0")
    rows = [BY_SLUG["rebalance"], BY_SLUG["eviction"]]
    advice = answer_questions(cluster, find_nothing, rows, [BY_NAME["gaps"]])
    (suggestion,) = [
        each
        for each in suggestions_for(advice.answers, cluster, resolve(cluster))
        if each.text == "auto.offset.reset=earliest"
    ]
    assert "a rebalance or a consumer's eviction" in suggestion.against


def test_an_unclean_election_is_the_remedy_before_more_replicas_in_sync():
    """With unclean elections, min.insync.replicas=3 of 3 would help too, and stop writes when a broker is down."""
    assert [*CHANGES_OF].index("unclean_elections") < [*CHANGES_OF].index("min_insync_replicas")


RELEASE = re.compile(r"(?<![\w.-])(?:[0-4]\.\d{1,2})(?:\.\d+)*(?![\w.]*\w)")


@pytest.mark.parametrize("hazard", IN_RELEASES, ids=lambda hazard: hazard.name)
def test_a_release_that_the_text_names_bounds_the_entry(hazard):
    """A release in the text is one in which the entry, or a condition of it, begins or ends."""
    entry = catalogue_entry(hazard.name)
    changes = [*entry.opened_by, *entry.closed_by]
    bounds = {each for change in changes for each in (change.since, *change.backports)}
    bounds |= {hazard.first, hazard.last} | {name.since for name in SETTINGS_SINCE.get(hazard.name, ())}
    first, last = RELEASES.index(hazard.releases[0]), RELEASES.index(hazard.releases[-1])
    bounds |= {*RELEASES[max(first - 1, 0) : first + 1], *RELEASES[last : last + 2]}
    lines = bounds | {each.rsplit(".", parts)[0] for each in bounds for parts in (1, 2)}
    named = set(RELEASE.findall(f"{hazard.needs} {hazard.remedy}"))
    assert named <= lines, (named - lines, lines)


SETTINGS_SINCE = {
    "I13": [PRODUCER_EXPIRATION_SETTING],
    "T1": [VERIFIES_TRANSACTIONS],
    "R11": [ELIGIBLE_LEADER_REPLICAS, ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT],
    "KAFKA-7897": [TRANSACTIONS],
    "C14": [POLL_WAITS_FOR_COMMIT],
}
"""The changes that brought a setting, or a rule, that an entry's text names."""


# An entry and the answers.


@pytest.mark.parametrize("hazard", [h for h in IN_RELEASES if any(cells_of(h))], ids=lambda hazard: hazard.name)
def test_no_answer_denies_an_entry(hazard):
    """Also if every exploration found nothing, the answer to each question that an entry is about is not a no."""
    cluster = cluster_with(hazard)
    assert hazard.can_happen(cluster.version, facts_of(cluster, resolve(cluster))), "the cluster is not an example"
    for question, failure in cells_of(hazard):
        advice = answer_questions(cluster, find_nothing, [failure], [question])
        verdicts = {answer.verdict for answer in advice.answers}
        assert verdicts <= {"known", "undecided"}, (question.name, failure.slug)
        assert verdicts or failure in advice.impossible


@pytest.mark.slow
@pytest.mark.parametrize(
    "hazard", [h for h in IN_RELEASES if not h.is_rare and any(cells_of(h))], ids=lambda hazard: hazard.name
)
def test_the_exploration_agrees_with_an_entry_that_is_not_rare(hazard):
    """An entry with too few conditions would say yes where a complete exploration says no."""
    cluster = cluster_with(hazard)
    for question, failure in cells_of(hazard):
        advice = answer_questions(cluster, explore_here, [failure], [question])
        # The models of advise lack a log that is rewritten below the consumer (C6), a reset of the position in a
        # rebalance (C7), a follower that is late to learn the high watermark (R1), and a consumer that reads on where
        # a read record has vanished.
        is_reset = hazard.name == "C7" and failure.slug in ("rebalance", "eviction")
        is_late = hazard.name == "R1" and (question.name, failure.slug) == ("vanishing-reads", "two-crashes")
        reads_on = question.name == "gaps" and "vanishing-reads" in hazard.outcomes
        expected = {"known"} if hazard.name == "C6" or is_reset or is_late or reads_on else {"yes"}
        assert {answer.verdict for answer in advice.answers} == expected or failure in advice.impossible


@pytest.mark.parametrize("hazard", IN_RELEASES, ids=lambda hazard: hazard.name)
def test_an_entry_that_no_row_has_is_named(hazard):
    """Each event is a row, or is named as not explored; outcomes of transactions have their own list."""
    cluster = cluster_with(hazard)
    config = resolve(cluster)
    named = {each.name for known in unexplored(cluster, config).values() for each in known}
    in_rows = {event for event in hazard.after if event in BY_SLUG or event == "none"}
    is_of_transactions = hazard in of_transactions(cluster, config)
    assert hazard.name in named or in_rows or is_of_transactions


@pytest.mark.parametrize("row", guarantees.tables[0].rows, ids=lambda row: ",".join(row.settings.values()))
def test_the_table_of_guarantees_denies_no_entry(row):
    settings = guarantees.SETTINGS[guarantees.tables[0].rows.index(row)]
    for column, cell in row.cells.items():
        outcome, *events = guarantees.EVENTS[column]
        for hazard in hazards().values():
            is_of_cell = (
                outcome in hazard.outcomes and set(events) & {*hazard.after, "none"} and hazard.after != ("none",)
            )
            if is_of_cell and hazard.can_happen(
                RELEASES[-1], {"min.insync.replicas": str(settings.get("min_insync_replicas", 2))}
            ):
                conditions = {condition.setting for condition in hazard.conditions}
                if conditions <= {"replication.factor", "min.insync.replicas", "controller"}:
                    assert hazard.name in cell.exceptions, (column, hazard.name)


def test_an_id_turns_no_into_no_but():
    (row,) = [row for row in guarantees.tables[0].rows if row.settings["flush"] == "each"]
    assert row.cells["change"].exceptions == ("R18", "R26")
    assert row.cells["change_twice"].exceptions == ()


@pytest.mark.parametrize(
    "hazard",
    [h for h in IN_RELEASES if any(h.remedies) and not h.is_rare and any(cells_of(h))],
    ids=lambda hazard: hazard.name,
)
def test_a_remedy_that_is_a_setting_is_offered(hazard):
    cluster = cluster_with(hazard)
    cells = [
        (question, failure) for question, failure in cells_of(hazard) if is_possible(failure, cluster, resolve(cluster))
    ]
    for question, failure in cells[:1]:
        advice = advise(cluster, explore_here, failures=[failure], questions=[question], largest_change=2)
        offered = {str(change) for remedy in advice.remedies for change in remedy.changes}
        text = " ".join([*offered, *(suggestion.text for suggestion in advice.suggestions)])
        assert any(f"{name}={value}" in text for name, value in hazard.remedies), (question.name, failure.slug)


# Experiments on real brokers.

HARMFUL = [each for each in map(read_experiment, (path.stem for path in experiment_files())) if each.expects_harm]

HARMS = {"lost": "loss", "duplicated": "duplicates", "reordered": "reorder"}
"""The outcome of a count that an experiment expects; the others are those of transactions."""

EVENTS_OF_STEPS = {
    r"kill|stop": "crash",
    r"wipe": "empty-disk",
    r"forget": "power-loss",
    r"cut \d+ \d+": "cut-off",
    # A request that arrives twice is what a client sends after a lost response.
    r"(lose|duplicate) Produce": "lost-response",
    r"hold": "network-delay",
    r"send again": "delivery-timeout",
    r"restart producer": "producer-restart",
    r"sleep": "state-expiry",
}
"""The event that a step of an experiment is."""


def cluster_of(experiment):
    """Return the cluster of an experiment: its release, its settings and its replicas."""
    roles = {"producer": experiment.producer, "topic": experiment.topic, "broker": experiment.broker}
    given = {
        role: tuple(WrittenSetting(name, value, "f", 1) for name, value in settings.items())
        for role, settings in roles.items()
        if settings or role == "producer"
    }
    cluster = gather([ConfigurationFile("f", given)], experiment.kafka, experiment.client)
    return cluster.changed("topic", "replication.factor", str(len(experiment.replicas)))


def events_of(experiment):
    found = {
        event for words, event in EVENTS_OF_STEPS.items() if any(re.match(words, each) for each in experiment.steps)
    }
    is_unclean = experiment.topic.get("unclean.leader.election.enable") == "true"
    return found | ({"unclean-election"} if "crash" in found and is_unclean else set())


def outcomes_of(experiment):
    expected = {name for name, count in experiment.expect.items() if count and name in HARM}
    return {HARMS.get(name, "transactions") for name in expected}


@pytest.mark.parametrize("experiment", HARMFUL, ids=lambda experiment: experiment.name)
def test_the_harm_of_an_experiment_is_that_of_its_entry(experiment):
    """The facts say that the entry can happen with the settings of the experiment, after an event of it."""
    hazard, cluster = hazards()[experiment.entry], cluster_of(experiment)
    facts = facts_of(cluster, resolve(cluster))
    assert outcomes_of(experiment) <= {*hazard.outcomes, *hazard.also}
    assert events_of(experiment) & {*hazard.events(cluster.version, facts)}


@pytest.mark.slow
@pytest.mark.parametrize("experiment", HARMFUL, ids=lambda experiment: experiment.name)
def test_no_cell_denies_an_experiment(experiment):
    """Advice on the settings of an experiment has a row for its event, or names the entry; the cell is not a no."""
    cluster = cluster_of(experiment)
    hazard, config = hazards()[experiment.entry], resolve(cluster)
    events = events_of(experiment) & {*hazard.after}
    named = {each.name for known in unexplored(cluster, config).values() for each in known}
    named |= {each.name for each in of_transactions(cluster, config)}
    cells = [(BY_NAME[o], BY_SLUG[e]) for o in outcomes_of(experiment) & {*BY_NAME} for e in events & {*BY_SLUG}]
    assert cells or hazard.name in named
    for question, failure in cells:
        if is_possible(failure, cluster, config):
            (answer,) = answer_questions(cluster, explore_here, [failure], [question]).answers
            assert answer.verdict in ("yes", "known"), (question.name, failure.slug)


# The vocabulary.


def test_every_failure_is_an_event_and_every_question_an_outcome():
    assert {failure.slug for failure in FAILURES} - {"slow-follower"} <= EVENTS.keys()
    assert {question.name for question in QUESTIONS} <= OUTCOMES.keys()


def test_every_constant_of_the_models_is_a_setting_or_has_a_reason():
    cluster = gather([ConfigurationFile("f", {"producer": ()})], "4.1.0").changed("topic", "replication.factor", "3")
    new = cluster.changed("consumer", "group.protocol", "consumer")
    specs = {
        model_of(each, resolve(each), question, failure).spec
        for each in (cluster, new)
        for question in QUESTIONS
        for failure in FAILURES
        if is_relevant(question, failure)
    }
    assert {spec.__name__ for spec in specs} == {
        "Pipeline",
        "PollLoop",
        "ConsumerGroup",
        "BackgroundCommits",
        "ConsumerProtocol",
        "OffsetExpiry",
        "RecordDeletion",
    }
    constants = {name for spec in specs for name in spec().constants}
    assert constants - CHANGES_OF.keys() - NOT_SETTINGS.keys() == set()
    assert not CHANGES_OF.keys() & NOT_SETTINGS.keys()


def test_families_have_the_named_scenarios():
    assert registry.families()
    assert [hazard.shown_by for hazard in WITH_SCENARIO if hazard.shown_by not in SCENARIOS] == []


# Suggestions that no exploration of the search backs.


def suggested(cluster, failure, verdict="yes"):
    """Return the suggestions for a loss after a failure."""
    (answer,) = answer_questions(cluster, find_nothing, [failure], [BY_NAME["loss"]]).answers
    return list(suggestions_for([replace(answer, verdict=verdict)], cluster, resolve(cluster)))


def applied(cluster, text, version):
    """Return a cluster with the settings that a suggestion names, in a release."""
    changed = replace(cluster, version=version)
    for name, value in re.findall(r"([a-z.]+)=(\w+)", text):
        role = ROLES.get(name, "producer")
        changed = changed.changed(role, name, value)
    return changed


@pytest.mark.parametrize("min_isr", ["1", "2"])
@pytest.mark.parametrize("acks", ["1", "all"])
@pytest.mark.parametrize("replicas", ["2", "3"])
@pytest.mark.parametrize("unclean", ["true", "false"])
def test_eligible_replicas_are_offered_with_the_settings_that_they_need(min_isr, acks, replicas, unclean):
    """The suggestion, applied, leaves R26 alone, as no setting excludes it. min.insync.replicas=1 makes it useless."""
    written = {
        "min.insync.replicas": min_isr,
        "replication.factor": replicas,
        "unclean.leader.election.enable": unclean,
        "acks": acks,
    }
    cluster = gather([ConfigurationFile("f", {"producer": ()})], "3.7.0")
    for name, value in written.items():
        cluster = cluster.changed(ROLES.get(name, "producer"), name, value)
    failure, question = BY_SLUG["power-loss"], BY_NAME["loss"]
    (offered,) = [each for each in suggested(cluster, failure) if "eligible" in each.text]
    assert ("min.insync.replicas=2" in offered.text) == (min_isr == "1")
    changed = applied(cluster, offered.text, "4.1.0")
    (answer,) = answer_questions(changed, explore_here, [failure], [question]).answers
    assert (answer.verdict, answer.hazards) == ("known", (hazards()["R26"],)), offered.text


@pytest.mark.parametrize(("min_isr", "expected"), [("1", True), ("2", False)])
def test_racks_are_offered_with_two_copies(min_isr, expected):
    cluster = gather([ConfigurationFile("f", {"producer": ()})], "3.7.0")
    cluster = cluster.changed("topic", "replication.factor", "3").changed("topic", "min.insync.replicas", min_isr)
    (offered,) = [each for each in suggested(cluster, BY_SLUG["blackout"]) if "rack" in each.text]
    assert ("min.insync.replicas=2" in offered.text) == expected


@pytest.mark.parametrize("hazard", [h for h in IN_RELEASES if any(h.remedies)], ids=lambda hazard: hazard.name)
def test_a_remedy_of_an_entry_that_is_suggested_prevents_it(hazard):
    """Applied, each change makes the entry impossible; a change that does not is not offered."""
    cluster = cluster_with(hazard)
    config = resolve(cluster)
    for _, failure in cells_of(hazard):
        for changes in remedies_in(hazard, cluster, config, failure):
            facts = {**facts_of(cluster, config), **changes}
            assert not {failure.slug, "none"} & {*hazard.events_with(facts)}, changes


def test_eligible_replicas_are_no_remedy_alone_with_one_in_sync_replica():
    cluster = gather([ConfigurationFile("f", {"producer": ()})], "4.4.0").changed("topic", "replication.factor", "3")
    for name, value in (("min.insync.replicas", "1"), ("eligible.leader.replicas.version", "0")):
        cluster = cluster.changed(ROLES[name], name, value)
    changes = remedies_in(hazards()["R11"], cluster, resolve(cluster), BY_SLUG["power-loss"])
    assert changes == [{"eligible.leader.replicas.version": "1", "min.insync.replicas": "2"}]


@pytest.mark.parametrize(
    ("client", "protocol", "named"),
    [
        ("librdkafka", "", False),
        ("librdkafka", "classic", False),
        ("librdkafka", "consumer", True),
        ("java", "", False),
    ],
)
def test_an_entry_of_the_new_group_protocol_needs_that_protocol(client, protocol, named):
    """librdkafka and Kafka's own client have the classic protocol by default."""
    consumer = {"group.id": "g"} | ({"group.protocol": protocol} if protocol else {})
    settings = tuple(WrittenSetting(*pair, "c", 1) for pair in consumer.items())
    cluster = gather([ConfigurationFile("c", {"consumer": settings})], "4.3.0", client)
    entries = unexplored(cluster, resolve(cluster))["network-delay"]
    assert (hazards()["C11"] in entries) is named


def test_the_explored_entries_are_those_that_the_models_have_with_all_their_events():
    """A model reads every change that closes the entry, and each of its events and outcomes has a row and a column."""
    read = [vars(module).values() for module in (models, effective_config)]
    changes = {each for each in itertools.chain(*read) if isinstance(each, Change)}
    rows, columns = {failure.slug for failure in FAILURES}, {question.name for question in QUESTIONS}
    entries = [hazards()[entry.name] for release in RELEASES for entry in fixed_bugs(release)]
    assert {
        entry.name
        for entry in entries
        if {*entry.after} <= rows and {*entry.outcomes} <= columns
        if {*catalogue_entry(entry.name).closed_by} <= changes
    } == EXPLORED


TAKES_LEADER_AWAY = [
    failure
    for failure in FAILURES
    if not (failure.of_consumer_group or failure.happens_to("producer") or failure.happens_to("consumer"))
    if failure.slug != "slow-follower"
]
"""The rows about brokers: a new one counts as one in which the leader is lost."""


@pytest.mark.parametrize("failure", TAKES_LEADER_AWAY, ids=lambda failure: failure.slug)
def test_a_forgotten_request_for_the_isr_is_in_each_row_that_takes_the_leader_away(failure):
    """The leader counts a record as committed that a member of the ISR lacks: whatever ends its term loses it."""
    cluster = gather([ConfigurationFile("f", {"producer": (WrittenSetting("acks", "all", "f", 1),)})], "4.3.0")
    cluster = cluster.changed("topic", "unclean.leader.election.enable", str(failure.is_unclean).lower())
    asked = [BY_NAME[name] for name in ("loss", "vanishing-reads", "gaps") if is_relevant(BY_NAME[name], failure)]
    answers = answer_questions(cluster, find_nothing, [failure], asked).answers
    assert len(answers) == len(asked) > 0
    assert all(each.verdict == "known" and hazards()["R26"] in each.hazards for each in answers)


def test_an_entry_that_loses_records_with_the_leader_is_in_each_event_that_takes_it_away():
    for hazard in hazards().values():
        if {"leader-change", "crash"} <= {*hazard.after} and {"loss", "vanishing-reads"} & {*hazard.outcomes}:
            assert {*LEADER_LOST} <= {*hazard.after}, hazard.name


def test_power_loss_includes_a_crash():
    """Machines that lose power may keep every record: what crashes suffice for happens then too."""
    flushed = {"flush.messages": "1", "replication.factor": "3"}
    assert "crash-and-power-loss" in hazards()["R4"].events("2.0.0", flushed, "loss")
    assert {"power-loss"} & {*hazards()["I7"].events("4.4.0", flushed, "duplicates")}
    assert not hazards()["R4"].can_happen("2.0.0", {**flushed, "replication.factor": "1"})


def test_an_exploration_decides_each_further_outcome():
    """No model of advice has a rare entry: an outcome in `also` would be a no there."""
    columns, rows = {*BY_NAME}, {*BY_SLUG}
    assert [h.name for h in IN_RELEASES if h.is_rare and columns & {*h.also} and rows & {*h.after}] == []


@pytest.mark.parametrize("change", [{}, {"preferred_elections": False, "crashes": 1, "max_partition_epoch": 5}])
def test_the_record_of_a_forgotten_request_was_read(change):
    scenario = SCENARIOS[hazards()["R26"].shown_by]
    spec = scenario.spec(**{**scenario.constants, "consumers": True, **change})
    assert explore(spec, Plan(["reads_are_stable"])).violations


def test_a_crash_loses_the_record_of_a_forgotten_request():
    scenario = SCENARIOS[hazards()["R26"].shown_by]
    constants = {**scenario.constants, "preferred_elections": False, "crashes": 1, "max_partition_epoch": 5}
    constants |= {"replicas": 3, "min_insync_replicas": 2}
    assert explore(scenario.spec(**constants), Plan(["no_acked_loss"])).violations
