"""Recordings of real brokers: the parsers of each release, the order of events, and validation against the spec."""

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.errors import InputError
from kafka_tools.lab.cluster.cluster import Cluster
from kafka_tools.lab.recording import broker_log
from kafka_tools.lab.recording.batch_offsets import in_batches
from kafka_tools.lab.recording.broker_log import Observed, milliseconds, read_broker_log
from kafka_tools.lab.recording.event_order import SLACK_MS, merged
from kafka_tools.lab.recording.idempotent import IdempotentClientOfCluster
from kafka_tools.lab.recording.leader_state import AnswersOfLeader
from kafka_tools.lab.recording.line_patterns import PATTERNS, recognise
from kafka_tools.lab.recording.log_lines import parse_line
from kafka_tools.lab.recording.partition import RecordedPartition
from kafka_tools.lab.recording.partition_events import PartitionEvents, _Broker, committed_changes
from kafka_tools.lab.recording.passed_batches import PassedBatches
from kafka_tools.lab.recording.recorder import as_json, record_partition
from specs.replication.partition import Partition
from tests.kafka_tools.lab.recording.kept_cluster import extract, logs_of
from traces.validate.controls import try_controls
from traces.validate.events import RecordedEvent, RecordedTrace
from traces.validate.moves import InterpretedMoves, NativeMoves
from traces.validate.validator import Validator

FAILOVERS = ("failover-3.9.2", "failover-4.3.1")


@cache
def events_of(name, folder):
    return as_json(record_partition(logs_of(name, folder), "experiment-0").events)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    return {name: events_of(name, folder) for name in FAILOVERS}


def trace_of(events):
    return RecordedTrace("kept", "kept", tuple(RecordedEvent(n, found) for n, found in enumerate(events, 1)))


def validator_of(events):
    mapping = RecordedPartition()
    return Validator(NativeMoves(Partition(**mapping.constants(events)), ()), mapping)


@pytest.mark.parametrize("name", FAILOVERS)
def test_every_line_of_both_releases_is_parsed(name, tmp_path):
    logs = logs_of(name, tmp_path)
    assert logs.unparsed == ()
    kinds = {observed.kind for log in logs.observed for observed in log}
    parts = {"committed", "receiving", "granted", "shrinking"}
    expected = {pattern.kind for pattern in PATTERNS} - parts - {"rejected_isr", "reset"}
    assert expected - {"cause", "configured"} <= kinds | {"cached"}


def test_a_line_that_looks_like_an_event_is_shown(tmp_path):
    log, changed = tmp_path / "server.log", "Recorded replica two (LEO) position 1."
    texts = [PARTITION_LINE.format("10.000", "one", text) for text in (RECORDED, changed)]
    log.write_text("\n".join([texts[0], "\tat kafka.Kafka.main", texts[1]]) + "\n")
    found = read_broker_log(log, 1)
    assert found.unparsed == [f"{log}:3: recorded: [Partition a-0 broker=1] {changed}"]
    assert ([each.kind for each in found.observed], found.lines) == (["recorded"], 2)


@pytest.mark.parametrize("name", FAILOVERS)
def test_a_failover_has_its_events(name, kept):
    counts = Counter(found["event"] for found in kept[name])
    assert counts["appended"] == 10 and counts["truncated"] == counts["diverged"] == counts["killed"] == 1
    assert counts["asked_to_shrink"] == 1 and counts["asked_to_expand"] >= 2
    truncated = next(found for found in kept[name] if found["event"] == "truncated")
    assert truncated["broker"] == "b1" and truncated["end"] == 2 and truncated["diverging"] == {"epoch": 0, "end": 2}
    causes = [found["cause"] for found in kept[name] if found["event"] == "changed"]
    assert causes[0] == "fenced" and "alter_partition" in causes


def test_the_beginning_conforms(kept):
    events = kept["failover-4.3.1"][:20]
    mapping = RecordedPartition()
    validator = Validator(InterpretedMoves(Partition(**mapping.constants(events)), ()), mapping)
    assert validator.validate(trace_of(events)).verdict == "conforms"


@pytest.mark.slow
@pytest.mark.parametrize("name", FAILOVERS)
def test_a_failover_with_a_truncated_suffix_conforms(name, kept):
    validator = validator_of(kept[name])
    outcome = validator.validate(trace_of(kept[name]))
    assert outcome.verdict == "conforms" and not outcome.limits and outcome.widest < 100
    results = try_controls(validator, trace_of(kept[name]), 60, seed=1)
    assert sum(results.rejected.values()) >= 0.8 * sum(results.tried.values())


def test_a_new_disk_before_the_registration_conforms(tmp_path):
    """Broker 1 reports its new disk before it has registered: the ISR is empty, although it is not fenced."""
    events = events_of("wiped-disk-4.3.1", tmp_path)
    causes = [found["cause"] for found in events if found["event"] == "changed"]
    assert causes == ["fenced", "new_directory", "unclean_restart", "unfenced", "alter_partition"]
    mapping = RecordedPartition()

    def verdict(**switches):
        spec = Partition(**{**mapping.constants(events), **switches})
        outcome = Validator(InterpretedMoves(spec, ()), mapping).validate(trace_of(events))
        return outcome.verdict, outcome.rejection and events[outcome.rejection.line - 1].get("cause")

    assert verdict() == ("conforms", None)
    assert verdict(assigns_directories=False) == ("rejected", "new_directory")
    assert verdict(numbers_eligible_changes=False) == ("rejected", "unclean_restart")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("truncated", {"end": 3, "high_watermark": 3}),
        ("handled_fetch", {"high_watermark": 9}),
        ("following", {"end": 3}),
        ("learnt_isr", {"isr": ["b2"]}),
        ("changed", {"leader": "b3"}),
    ],
)
def test_a_damaged_copy_is_rejected_at_the_damaged_line(event, change, kept):
    events = list(kept["failover-4.3.1"])
    position = max(n for n, found in enumerate(events) if found["event"] == event)
    events[position] = {**events[position], **change}
    bounds = kept["failover-4.3.1"]
    mapping = RecordedPartition()
    validator = Validator(NativeMoves(Partition(**mapping.constants(bounds)), ()), mapping)
    outcome = validator.validate(trace_of(events))
    assert outcome.verdict == "rejected" and outcome.rejection.line == position + 1


def test_the_command(tmp_path, capsys):
    folder = extract("failover-3.9.2", tmp_path / "cluster")
    log = tmp_path / "log.jsonl"
    assert main(["record", str(log), "--cluster", str(folder)]) == 0
    assert json.loads(log.read_text().splitlines()[0])["kafka"] == "3.9.2"
    assert "could not be parsed: 0" in capsys.readouterr().out
    assert main(["record", str(log), "--cluster", str(folder), "--partition", "other-0"]) == 2
    assert "do not have the creation of other-0; partitions in the logs: experiment-0" in capsys.readouterr().err
    assert main(["record", str(log), "--partition", "other-0"]) == 2
    assert main(["record", str(log), "--cluster", str(folder), "--fault", "refuse@2"]) == 2


def test_a_cluster_without_loggers_is_refused_or_traced(tmp_path, capsys):
    folder = extract("failover-3.9.2", tmp_path / "cluster")
    cluster = Cluster.open(folder)
    cluster.is_traced = False
    cluster._save()
    assert main(["record", str(tmp_path / "log.jsonl"), "--cluster", str(folder)]) == 0
    assert "log their events from now on" in capsys.readouterr().err
    assert Cluster.open(folder).is_traced


def observed(time, broker, kind="x", **fields):
    return Observed(time, broker, kind, None, fields)


def appended(end, records):
    return {"event": "appended", "broker": "b1", "end": end, "records": records, "high_watermark": 0}


def received(end, records):
    return {"event": "received", "broker": "b2", "end": end, "records": records, "high_watermark": end}


def test_a_batch_counts_as_one_record():
    found = in_batches([appended(3, 3), received(3, 3), appended(4, 1), received(4, 1)], "t-0")
    assert [event["end"] for event in found] == [1, 1, 2, 2]
    assert [event["records"] for event in found if event["event"] == "received"] == [1, 1]


def test_every_offset_of_an_event_counts_batches():
    whole = {"event": "truncated", "end": 4, "high_watermark": 3, "offset": 0, "diverging": {"epoch": 0, "end": 4}}
    events = [appended(3, 3), appended(4, 1), whole | {"epoch_start": {"epoch": 1, "start": 3}}]
    events.append({"event": "truncated", "diverging": {"epoch": -1, "end": -1}})
    *_, found, unknown = in_batches(events, "t-0")
    assert (found["end"], found["high_watermark"], found["offset"]) == (2, 1, 0)
    assert (found["diverging"], found["epoch_start"]) == ({"epoch": 0, "end": 2}, {"epoch": 1, "start": 1})
    assert unknown["diverging"] == {"epoch": -1, "end": -1}


SEEN = "{'quorum.isr': ['b1'], 'quorum.leader': 'b1', 'len(requests) - 1': 2, 'partition_epoch': 5}"


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        (
            {"event": "reset", "end": 3, "high_watermark": 2},
            [
                "follower_receive{'follower': 'b1'}{'answers[b1]': {'diverging': {'epoch': -1}}}"
                "{'len(log[b1])': 3, 'high_watermark[b1]': 2}"
            ],
        ),
        (
            {"event": "asked_to_shrink", "followers": ["b2"]},
            ["leader_ask_to_shrink_isr{'leader': 'b1', 'follower': 'b2'}{}{}"],
        ),
        (
            {"event": "asked_to_shrink", "followers": ["b2", "b3"]},
            ["leader_ask_to_be_alone{'leader': 'b1'}{}{'pending[b1]': {'isr': ['b1']}}"],
        ),
        (
            {"event": "rejected_isr", "error": "INELIGIBLE_REPLICA"},
            ["controller_handle_alter_partition{'leader': 'b1'}{}{'pending[b1]': None}"],
        ),
        (
            {"event": "rejected_isr", "error": "INVALID_UPDATE_VERSION"},
            ["leader_drop_request{'leader': 'b1'}{}{'pending[b1]': None}"],
        ),
        (
            {"event": "changed", "cause": "alter_partition"},
            [
                f"controller_handle_alter_partition{{'leader': 'b1'}}{{}}{SEEN}",
                f"controller_handle_request_of_dead_leader{{'leader': 'b1'}}{{}}{SEEN}",
            ],
        ),
        ({"event": "changed", "cause": "fenced"}, [f"controller_fence{{'broker': 'b1'}}{{}}{SEEN}"]),
        ({"event": "changed", "cause": "new_directory"}, [f"controller_assign_directory{{}}{{}}{SEEN}"]),
        ({"event": "changed", "cause": "unclean_restart"}, [f"None{{}}{{}}{SEEN}"]),
        (
            {"event": "changed", "cause": "unknown"},
            [
                *(f"controller_elect{how}{{'replica': 'b1'}}{{}}{SEEN}" for how in ("", "_uncleanly", "_last_known")),
                f"controller_handle_alter_partition{{}}{{}}{SEEN}",
                f"controller_fence{{}}{{}}{SEEN}",
            ],
        ),
    ],
)
def test_the_steps_that_an_event_may_be(fields, keys):
    known = {"broker": "b1", "isr": ["b1"], "leader": "b1", "leader_epoch": 2, "partition_epoch": 5}
    steps = getattr(RecordedPartition(), fields["event"])(known | fields)
    assert [step.key for step in (steps if isinstance(steps, list) else [steps])] == keys


NEWEST = "requests[p1][handled(p1) - 1]"


@pytest.mark.parametrize(
    ("mapping", "fields", "keys"),
    [
        (IdempotentClientOfCluster, {"event": "restarted"}, ["restart_follower{}{}{}"]),
        (IdempotentClientOfCluster, {"event": "leader_restarted"}, ["restart_broker{}{}{}"]),
        (IdempotentClientOfCluster, {"event": "failed_over"}, ["fail_over{}{}{}"]),
        (AnswersOfLeader, {"event": "restarted"}, ["restart{}{}{}"]),
        (AnswersOfLeader, {"event": "response", "error": "not leader or follower"}, []),
        (
            AnswersOfLeader,
            {"event": "response", "error": "none", "epoch": 1, "sequence": 2, "offset": 3},
            [
                "produce{'epoch': 1, 'sequence': 2, 'records': 1}{}{'answer': {'error': 'none', 'offset': 3}}",
            ],
        ),
        (
            PassedBatches,
            {"event": "response", "error": "error 3"},
            [f"refuse_as_not_leader{{}}{{}}{{'{NEWEST}.batch.id': 3}}"],
        ),
        (
            PassedBatches,
            {"event": "response", "error": "request timed out"},
            [
                f"append_but_time_out{{}}{{}}{{'{NEWEST}.batch.id': 3}}",
                f"refuse_as_not_leader{{}}{{}}{{'{NEWEST}.batch.id': 3}}",
            ],
        ),
        (
            PassedBatches,
            {"event": "response", "error": "error 29"},
            [f"reject_permanently{{}}{{}}{{'{NEWEST}.batch.id': 3}}"],
        ),
        (
            PassedBatches,
            {"event": "response", "error": "unknown producer id", "before": 1},
            [f"handle_produce{{}}{{}}{{'{NEWEST}.batch.id': 3, '{NEWEST}.error': 'unknown producer id'}}"],
        ),
        (
            PassedBatches,
            {"event": "response", "error": "none", "before": 2, "after": None},
            [
                f"handle_produce{{}}{{}}{{'{NEWEST}.batch.id': 3, '{NEWEST}.error': 'none', "
                "'[entry.id for entry in log[p1] if entry.id in [1, 3]]': [1, 3]}"
            ],
        ),
        (PassedBatches, {"event": "closed", "unanswered": []}, ["disconnect{}{}{}", "None{}{}{}"]),
        (
            PassedBatches,
            {"event": "closed", "unanswered": [4]},
            [
                f"{action}{{}}{{'any(request.batch.id == 4 - 1 for request in requests[p1])': True}}{{}}"
                for action in ("disconnect", "disconnect_while_handling")
            ],
        ),
    ],
)
def test_the_steps_of_what_a_proxy_sees(mapping, fields, keys):
    steps = mapping().steps_of({"records": [4]} | fields)
    assert [step.key for step in steps or ()] == keys


@pytest.mark.parametrize("mapping", [AnswersOfLeader, PassedBatches])
def test_an_answer_that_no_spec_has_is_not_judged(mapping):
    with pytest.raises(InputError, match="error 77: the spec has no such answer"):
        mapping().steps_of({"event": "response", "error": "error 77", "records": [1]})


def test_bounds_that_follow_from_what_a_proxy_sees():
    events = [{"event": "response", "error": error, "records": [3], "epoch": 2, "sequence": 5} for error in ERRORS]
    found = PassedBatches().constants([*events, {"event": "closed", "epoch": 4}])
    assert found == {
        "batches": 3,
        "log_size": 4,
        "max_in_flight": 5,
        "max_epoch": 5,
        "max_sequence": 7,
        "max_refusals": 3,
        "max_rejections": 2,
        "max_late_acks": 1,
        "max_disconnects": 1,
        "max_abandoned": 1,
    }
    assert PassedBatches().constants([])["batches"] == 1
    answers = AnswersOfLeader().constants(events)
    assert (answers["log_size"], answers["max_epoch"], answers["max_sequence"]) == (7, 3, 7)
    assert AnswersOfLeader().constants([]).items() >= {"log_size": 1, "max_epoch": 1, "max_sequence": 2}.items()


ERRORS = ("none", "not enough replicas", "error 56", "request timed out", "invalid record", "error 29")


def test_the_first_leader_knows_what_was_created():
    created = {"event": "created", "leader": "b1", "isr": ["b1", "b2"]}
    leading = {"event": "leading", "broker": "b1", "isr": ["b1", "b2"], "initial": True}
    for change, wrong in (
        ({}, False),
        ({"broker": "b2"}, True),
        ({"isr": ["b1"]}, True),
        ({"broker": "b2", "initial": False}, False),
    ):
        compared = RecordedPartition().consistency()
        assert compared(created) is None
        assert compared(leading | change) == ("the partition began with b1 and ['b1', 'b2']" if wrong else None)
    assert RecordedPartition().consistency()(leading) is None


def test_what_the_model_cannot_count_is_refused():
    with pytest.raises(InputError, match="an answer to a fetch has 2 batches up to offset 4"):
        in_batches([appended(3, 3), appended(4, 1), received(4, 4)], "t-0")
    with pytest.raises(InputError, match="overlaps others after a truncation"):
        in_batches([appended(1, 1), appended(2, 1), appended(2, 2)], "t-0")


def test_lines_without_an_event():
    assert parse_line("\tat kafka.Kafka.main", 2) is None
    line = parse_line("2026-11-22 18:15:03.846 INFO [main] kafka.cluster.Partition [Partition a-0 broker=1] Other", 1)
    assert line is not None and recognise(line) is None


def test_a_missing_log(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_broker_log(Path(tmp_path / "none.log"), 1)


# The order of lines.


def test_threads_of_a_broker_are_ordered_by_causes_and_each_keeps_its_order():
    effect, later = observed(10, 1, "effect"), observed(10, 1, "later")
    cause = replace(observed(11, 1, "cause"), thread="other")
    taken = []
    merged([[effect, later, cause]], lambda found: found.kind != "effect" or cause in taken, taken.append)
    assert taken == [cause, effect, later]


def test_a_change_of_role_does_not_overtake_the_steps_before_it():
    late, role = observed(10, 1, "late"), replace(observed(11, 1, "following"), thread="other")
    taken = []
    merged([[late, role]], lambda found: found is role or len(taken) > 0, taken.append)
    assert taken == [late, role]


@pytest.mark.parametrize(("later", "first"), [(SLACK_MS, "cause"), (SLACK_MS + 1, "effect")])
def test_how_long_an_effect_waits(later, first):
    effect, cause, taken = observed(10, 1, "effect"), observed(10 + later, 2, "cause"), []
    merged([[effect], [cause]], lambda found: found.kind != "effect" or cause in taken, taken.append)
    assert [found.kind for found in taken] == [first, ({"cause", "effect"} - {first}).pop()]


# Lines of one step.


@pytest.mark.parametrize(
    ("other", "step", "before", "isr", "is_of_step"),
    [
        # A new high watermark at 100 ms, and a count.
        ((100, "committed", {"high_watermark": 9}), (600, "recorded", {"end": 9}), None, [1], True),
        ((100, "committed", {"high_watermark": 9}), (601, "recorded", {"end": 9}), None, [1], False),
        ((100, "committed", {"high_watermark": 9}), (601, "recorded", {"end": 9}), None, [1, 2], True),
        # After an append: by another replica's count, unless the leader is alone or the append is nearer.
        (
            (100, "committed", {"high_watermark": 9}),
            (110, "recorded", {"end": 5}),
            (90, "appended", {"end": 9}),
            [1, 2],
            True,
        ),
        (
            (100, "committed", {"high_watermark": 9}),
            (110, "recorded", {"end": 8}),
            (90, "appended", {"end": 10}),
            [1, 2],
            False,
        ),
        (
            (100, "committed", {"high_watermark": 9}),
            (120, "recorded", {"end": 9}),
            (90, "appended", {"end": 9}),
            [1],
            False,
        ),
        (
            (100, "committed", {"high_watermark": 9}),
            (110, "recorded", {"end": 9}),
            (90, "appended", {"end": 9}),
            [1],
            True,
        ),
        (
            (100, "committed", {"high_watermark": 9}),
            (105, "recorded", {"end": 9}),
            (90, "appended", {"end": 9}),
            [1],
            True,
        ),
        (
            (100, "committed", {"high_watermark": 9}),
            (300, "recorded", {"end": 9}),
            (50, "appended", {"end": 9}),
            [1],
            False,
        ),
        (
            (100, "committed", {"high_watermark": 9}),
            (300, "recorded", {"end": 9}),
            (49, "appended", {"end": 9}),
            [1],
            True,
        ),
        (
            (100, "committed", {"high_watermark": 9}),
            (300, "recorded", {"end": 9}),
            (90, "received", {"end": 9}),
            [1],
            True,
        ),
        ((100, "committed", {"high_watermark": 9}), (101, "appended", {"end": 9}), None, [1], False),
        ((100, "shrinking", {}), (900, "asked_to_shrink", {}), None, [1], True),
        ((100, "shrinking", {}), (101, "recorded", {"end": 9}), None, [1], False),
        ((100, "cached", {"start": 8}), (101, "appended", {"end": 9}), None, [1], True),
        ((100, "cached", {"start": 9}), (101, "appended", {"end": 9}), None, [1], False),
        ((100, "cached", {"start": 9}), (101, "received", {"end": 9}), None, [1], True),
        ((100, "receiving", {"end": 9}), (101, "received", {"end": 9}), None, [1], True),
        ((100, "granted", {}), (101, "received", {"end": 9}), None, [1], False),
    ],
)
def test_which_step_a_line_belongs_to(other, step, before, isr, is_of_step):
    def made(given):
        return given and Observed(given[0], 1, given[1], "a-0", given[2])

    assert broker_log._precedes(made(other), made(step), made(before), isr) is is_of_step


def test_a_step_has_the_fields_and_the_time_of_its_other_lines():
    def after(kind, fields, line_of, **more):
        step = Observed(50, 1, kind, "a-0", dict(fields))
        broker_log._absorb(step, Observed(more.pop("time", 60), 1, line_of, "a-0", more))
        return step.time, step.fields

    assert after("recorded", {"end": 5}, "committed", high_watermark=4) == (50, {"end": 5, "high_watermark": 4})
    assert after("recorded", {"end": 5}, "committed", high_watermark=4, time=40)[0] == 40
    assert after("asked_to_shrink", {}, "shrinking", time=40) == (40, {})
    assert after("appended", {}, "cached", epoch=2, start=5) == (50, {"epoch_start": {"epoch": 2, "start": 5}})
    assert after("received", {"end": 4}, "receiving", end=6) == (50, {"end": 6, "offset": 6})
    assert after("received", {"end": 4, "offset": 3}, "receiving", end=6) == (50, {"end": 6, "offset": 3})


@pytest.mark.parametrize(("isr", "kinds"), [([1], []), ([1, 2], ["raised"])])
def test_an_append_commits_by_itself_only_for_a_leader_that_is_alone(isr, kinds):
    append, line = (
        Observed(50, 1, "appended", "a-0", {"end": 5}),
        Observed(51, 1, "committed", "a-0", {"high_watermark": 5}),
    )
    assert [each.kind for each in broker_log._absorb_into(append, line, isr)] == kinds
    assert append.fields.get("high_watermark") == (None if kinds else 5)


def test_a_cause_explains_one_change_of_each_partition():
    cause = Observed(1, 1, "cause", None, {"partitions": ["a-0", "b-0"]})
    change = Observed(1, 1, "changed", "a-0", {})
    new = replace(change, fields={"has_new_directory": True})
    assert broker_log._cause_of(change, None) == [] == broker_log._cause_of(replace(change, partition="c-0"), cause)
    assert broker_log._cause_of(new, cause) == broker_log._cause_of(change, cause) == [cause]
    assert broker_log._cause_of(change, cause) == [] and cause.fields["partitions"] == ["b-0"]


@pytest.mark.parametrize(("later", "cause"), [(0, "handleBrokerFenced"), (1000, "handleBrokerFenced"), (1001, None)])
def test_a_cause_explains_the_changes_of_the_second_after_it(tmp_path, later, cause):
    line = "2026-11-22 21:28:{:06.3f} INFO [one] org.apache.kafka.controller.ReplicationControlManager {}"
    change = "partition change for a-0 with topic ID x: isr: [1, 2] -> [1], partitionEpoch: 0 -> 1"
    log = tmp_path / "server.log"
    texts = [(10, "handleBrokerFenced[2]: changing partition(s): a-0"), (10 + later / 1000, change)]
    log.write_text("\n".join(line.format(*text) for text in texts) + "\n")
    (observed,) = read_broker_log(log, 1).observed
    assert observed.fields.get("cause") == cause


def test_the_change_of_a_registration():
    text = "isr: [1, 2, 3] -> [1, 2], leader: 3 -> -1, leaderEpoch: 4 -> 5, partitionEpoch: 7 -> 8, elr: [] -> [3], "
    assert broker_log._difference(text + "directories: [x, y] -> [x, z]") == {
        "isr": [1, 2],
        "isr_before": [1, 2, 3],
        "elr": [3],
        "elr_before": [],
        "leader": -1,
        "leader_before": 3,
        "leader_epoch": 5,
        "partition_epoch": 8,
        "has_new_directory": True,
    }
    assert broker_log._difference("leaderRecoveryState: RECOVERED -> RECOVERING") == {}


def test_the_fetches_of_a_session():
    one = "a-0=PartitionData(topicId=x, fetchOffset=5, currentLeaderEpoch=Optional[3], lastFetchedEpoch=Optional[2])"
    none = "currentLeaderEpoch=Optional.empty, lastFetchedEpoch=Optional.empty"
    text = f"{one}, b.c-d-1=PartitionData(topicId=x, fetchOffset=0, maxBytes=1, {none})"
    assert list(broker_log._fetches(text)) == [
        ("a-0", {"offset": 5, "leader_epoch": 3, "last_epoch": 2}),
        ("b.c-d-1", {"offset": 0, "leader_epoch": -1, "last_epoch": -1}),
    ]


PARTITION_LINE = "2026-11-22 21:28:{} DEBUG [{}] kafka.cluster.Partition [Partition a-0 broker=1] {}"
APPENDED = (
    "2026-11-22 21:28:{} TRACE [{}] org.apache.kafka.storage.internals.log.UnifiedLog [UnifiedLog partition=a-0] "
    "Appended message set with last offset: 0, first offset: 0, next offset: 1, and messages: none"
)
COMMITTED = "High watermark updated from (offset=0, segment=[0:0]) to (offset=1, segment=[0:70])"
RECORDED = "Recorded replica 2 log end offset (LEO) position 1 and log start offset 0."


@pytest.mark.parametrize(
    ("known", "times", "kind", "time"),
    [
        ("1", ("10.000", "10.000", "10.006"), "appended", "10.000"),
        ("1,2,3", ("10.000", "10.000", "10.006"), "recorded", "10.000"),
        ("1,2,3", ("10.000", "10.179", "15.200"), "recorded", "10.179"),
        ("1,2,3", ("10.000", "10.030", "10.031"), "recorded", "10.030"),
    ],
    ids=["alone", "not-alone", "paused-before-its-last-line", "fetch"],
)
def test_the_step_that_raised_the_high_watermark(tmp_path, known, times, kind, time):
    log = tmp_path / "server.log"
    isr = "Leader a-0 with topic id x starts at leader epoch 0 from offset 0 with partition epoch 0, high watermark 0, "
    leading = f"2026-11-22 21:28:09.000 INFO [loader] state.change.logger [Broker id=1] {isr}ISR [{known}], adding none"
    lines = [leading, APPENDED.format(times[0], "one")]
    lines += [PARTITION_LINE.format(at, "one", text) for at, text in zip(times[1:], (COMMITTED, RECORDED), strict=True)]
    log.write_text("\n".join(lines) + "\n")
    found = read_broker_log(log, 1)
    assert [each.kind for each in found.observed] == ["leading", "appended", "recorded"] and not found.unparsed
    (step,) = (each for each in found.observed if "high_watermark" in each.fields and each.kind != "leading")
    assert (step.kind, step.time) == (kind, milliseconds(f"2026-11-22 21:28:{time}"))


def partition_events():
    """Return the events of a partition with the leader 1, of which both followers have fetched."""
    events = PartitionEvents("a-0")
    isr = {"isr": [1, 2, 3], "partition_epoch": 0}
    start = [(1, "created", {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1})]
    start.append((1, "leading", {"epoch": 0, "end": 0, "high_watermark": 0, **isr}))
    following = {"epoch": 0, "end": 0, "high_watermark": 0, "partition_epoch": 0, "leader": 1}
    fetching = {"leader": 1, "leader_epoch": 0, "offset": 0, "last_epoch": -1}
    start += [(number, *each) for number in (2, 3) for each in (("following", following), ("fetching", fetching))]
    for number, kind, fields in start:
        events.take(Observed(0, number, kind, "a-0", dict(fields)))
    return events


def on_leader(kind, **fields):
    return Observed(1, 1, kind, "a-0", fields)


def test_what_a_line_waits_for():
    events = partition_events()
    assert events.is_ready(on_leader("appended", end=1, records=1))
    assert not events.is_ready(on_leader("appended", end=2, records=1))  # the log ends at 0
    assert not events.is_ready(on_leader("recorded", follower=2, end=1))  # follower 2 has fetched from 0
    events.take(on_leader("appended", end=1, records=1))
    received = {"sent": 0, "offset": 0, "end": 1}
    fetching = {"leader": 1, "leader_epoch": 0, "offset": 1, "last_epoch": 0}
    for number in (2, 3):
        events.take(on_leader("recorded", follower=number, end=0))
        events.take(Observed(1, number, "received", "a-0", dict(received)))
        events.take(Observed(1, number, "fetching", "a-0", dict(fetching)))
    raised = on_leader("recorded", follower=2, end=1, high_watermark=1)
    assert not events.is_ready(raised)  # follower 3 is in the ISR, and its fetch is not counted
    events.take(on_leader("recorded", follower=3, end=1))
    assert events.is_ready(raised)


def test_the_first_answer_waits_for_its_fetch():
    events = PartitionEvents("a-0")
    events.take(Observed(0, 1, "created", "a-0", {"replicas": [1, 2], "isr": [1, 2], "leader": 1}))
    for number, kind in ((1, "leading"), (2, "following")):
        role = {"epoch": 0, "end": 0, "high_watermark": 0, "partition_epoch": 0, "leader": 1, "isr": [1, 2]}
        events.take(Observed(0, number, kind, "a-0", role))
    assert not events.is_ready(Observed(1, 2, "received", "a-0", {"sent": 0, "offset": 0, "end": 0}))


def test_a_change_waits_for_its_request_whichever_node_is_the_controller():
    events = partition_events()
    for controller in (2, 9):
        change = Observed(1, controller, "changed", "a-0", {"cause": "alter_partition", "node": 1})
        assert not events.is_ready(change)
        assert events.is_ready(replace(change, fields={"cause": "handleBrokerFenced", "node": 1}))
    events.take(on_leader("asked_to_expand", follower=2))
    assert events.is_ready(change)


def test_a_leader_that_learns_an_isr_again_drops_its_request():
    """So the follower that it wanted to add need not have what a count commits."""
    events = partition_events()
    for kind, fields in (
        ("learnt_isr", {"isr": [1, 2], "partition_epoch": 1}),
        ("appended", {"end": 1, "records": 1}),
        ("asked_to_expand", {"follower": 3}),
    ):
        events.take(on_leader(kind, **fields))
    events.take(Observed(1, 2, "fetching", "a-0", {"leader": 1, "leader_epoch": 0, "offset": 1, "last_epoch": 0}))
    count = on_leader("recorded", follower=2, end=1, high_watermark=1)
    assert not events.is_ready(count)
    events.take(on_leader("refreshed", isr=[1, 2], partition_epoch=1))
    assert events.is_ready(count)


@pytest.mark.parametrize("kind", ["following", "received", "configured"])
def test_a_partition_that_is_reassigned_is_refused(kind):
    events = partition_events()
    line = Observed(1, 4, kind, "a-0", {"epoch": 1, "end": 0, "high_watermark": 0, "leader": 1, "settings": ""})
    with pytest.raises(InputError, match=r"broker 4 has lines about a-0, whose replicas are 1, 2, 3"):
        merged([[line]], events.is_ready, events.take)


@pytest.mark.parametrize(
    ("observed", "name"),
    [
        (Observed(1, 2, "fetching", "a-0", {"leader": 1, "leader_epoch": 0, "offset": 0, "last_epoch": -1}), "fetch"),
        (Observed(1, 2, "fetching", "a-0", {"leader": 9, "leader_epoch": 0, "offset": 1, "last_epoch": -1}), "fetch"),
        (Observed(1, 2, "received", "a-0", {"sent": 0, "offset": 0, "end": 0}), "received"),
        (Observed(1, 1, "learnt_isr", "a-0", {"isr": [1, 2], "partition_epoch": 0}), "learnt_isr"),
        (Observed(1, 2, "learnt_isr", "a-0", {"isr": [1, 2], "partition_epoch": 1}), "learnt_isr"),
        (Observed(1, 1, "rejected_isr", "a-0", {}), "rejected_isr"),
        (Observed(1, 1, "changed", "a-0", {"partition_epoch": 0}), "changed"),
    ],
)
def test_what_says_nothing_new_is_counted(observed, name):
    events = partition_events()
    before = list(events.events)
    events.take(observed)
    assert (events.events, events.repeated) == (before, {name: 1})


def test_a_count_that_is_written_after_the_answer_is_no_other_fetch():
    events = partition_events()
    events.take(on_leader("appended", end=1, records=1))
    events.take(on_leader("recorded", follower=2, end=0))
    events.take(Observed(1, 2, "received", "a-0", {"sent": 0, "offset": 0, "end": 1}))
    events.take(on_leader("recorded", follower=2, end=0))
    assert events.repeated["handled_fetch"] == 1
    assert not any(event.get("inferred") for event in events.result())


@pytest.mark.parametrize(("resets", "loaded", "position"), [((), 3, 7), ((2,), 2, 8), ((5,), 3, 8), ((5,), 2, None)])
def test_a_checkpoint_was_written_after_the_last_event_with_its_value(resets, loaded, position):
    events = partition_events()
    following = {"epoch": 1, "end": 4, "high_watermark": 3, "partition_epoch": 1, "leader": 3}
    events.take(Observed(1, 2, "following", "a-0", following))
    for end in resets:
        events.take(Observed(2, 2, "reset", "a-0", {"end": end}))
        assert (events.events[-1]["end"], events.events[-1]["high_watermark"]) == (min(end, 4), min(end, 3))
    events.take(Observed(3, 2, "loaded", "a-0", {"high_watermark": loaded}))
    found = [number for number, event in enumerate(events.result()) if event["event"] == "checkpointed"]
    assert found == ([] if position is None else [position])


@pytest.mark.parametrize(
    ("time", "reached", "counted", "raised"), [(1, 1, 1, 0), (6, 1, 1, 0), (7, 1, 0, 1), (6, 2, 0, 2), (6, 0, 0, 0)]
)
def test_the_count_of_a_raised_high_watermark(time, reached, counted, raised):
    """It is that of this moment, else one whose line comes later."""
    events = partition_events()
    events.take(on_leader("appended", end=1, records=1))
    for number in (2, 3):
        events.take(Observed(1, number, "fetching", "a-0", dict(leader=1, leader_epoch=0, offset=1, last_epoch=0)))
        events.take(on_leader("recorded", follower=number, end=1))
    events.take(Observed(time, 1, "raised", "a-0", {"high_watermark": reached}))
    assert events.events[-1]["event"] == "handled_fetch" and events.events[-1]["high_watermark"] == counted
    assert (events._brokers[1].high_watermark, events._brokers[1].raised) == (counted, raised)


def test_every_step_with_a_high_watermark_is_a_place_of_its_checkpoint():
    events = partition_events()
    fetching = {"leader": 1, "leader_epoch": 0, "offset": 1, "last_epoch": 0}
    isr = {"isr": [1, 2], "partition_epoch": 1}
    steps = [
        on_leader("appended", end=1, records=1),
        on_leader("recorded", follower=2, end=0),
        Observed(1, 2, "received", "a-0", {"sent": 0, "offset": 0, "end": 1}),
        Observed(1, 2, "fetching", "a-0", fetching),
        on_leader("recorded", follower=2, end=1, high_watermark=1),
        on_leader("learnt_isr", **isr),
        on_leader("refreshed", **isr),
        Observed(1, 2, "received", "a-0", {"sent": 1, "offset": 1, "end": 1, "high_watermark": 1}),
        Observed(1, 2, "truncated", "a-0", {"end": 0, "epoch": 0, "epoch_end": 0}),
        Observed(1, 2, "reset", "a-0", {"end": 0}),
        Observed(1, 3, "following", "a-0", {"epoch": 1, "end": 0, "high_watermark": 0, "leader": 2}),
        Observed(1, 2, "leading", "a-0", {"epoch": 1, "end": 0, "high_watermark": 0, **isr}),
    ]
    named = []
    for step in steps:
        events.take(step)
        last = events.events[-1]
        named.append(last["event"])
        if "high_watermark" in last:
            broker = events._brokers[step.broker]
            assert broker.high_watermarks[-1] == (len(events.events), last["high_watermark"])
    assert named == [
        *("appended", "handled_fetch", "received", "fetch", "handled_fetch", "learnt_isr", "learnt_isr_again"),
        *("received", "truncated", "reset", "following", "leading"),
    ]


def test_a_step_that_starts_an_epoch_says_where():
    events = partition_events()
    events.take(on_leader("appended", end=1, records=1, epoch_start=0))
    assert events.events[-1]["epoch_start"] == 0
    events.take(on_leader("appended", end=2, records=1))
    assert "epoch_start" not in events.events[-1]


@pytest.mark.parametrize(
    ("pause", "after", "kind"), [(2000, 0, "fenced"), (2001, 0, None), (2001, 1000, None), (2001, 1001, "fenced")]
)
def test_a_controller_that_was_paused_may_not_know_its_successor(pause, after, kind):
    events = PartitionEvents("a-0")
    events.take(Observed(0, 1, "created", "a-0", {"replicas": [1, 2, 3], "isr": [1, 2], "leader": 1}))
    for time, event in ((0, "paused"), (pause, "resumed")):
        events.take(Observed(time, 9, "noted", None, {"event": event}))
    events.take(Observed(pause + after, 9, "fencing", None, {"node": 3}))
    assert [event["event"] for event in events.events[1:]] == ([] if kind is None else [kind])
    events.take(Observed(pause + after, 8, "fencing", None, {"node": 3}))
    events.take(Observed(pause + after, 9, "unfencing", None, {"node": 3}))
    assert [event["event"] for event in events.events[1:]] == ["fenced"] + ([] if kind is None else ["unfenced"])


@pytest.mark.parametrize(
    ("fields", "may"),
    [
        ({"end": 5}, True),
        ({"end": 5, "high_watermark": 4}, True),
        ({"end": 5, "high_watermark": 5}, True),
        ({"end": 6, "high_watermark": 5}, False),
        ({"end": 6, "high_watermark": 7}, True),
        ({"end": 6, "high_watermark": 8}, False),
        ({"end": 6, "high_watermark": 8, "follower": 2}, True),
    ],
)
def test_a_leader_commits_up_to_the_end_of_a_log(fields, may):
    """Its own end is 8, and it has counted a follower up to 7. An append has its own end."""
    broker = _Broker(end=8, high_watermark=4, counted={2: 7})
    assert broker.may_commit(fields) is may


def test_the_valid_change_is_the_last_one_that_was_not_reverted():
    def change(time, broker, kind, epoch=1, **fields):
        return Observed(time, broker, kind, "a-0", {"partition_epoch": epoch, **fields} if kind == "changed" else {})

    def valid(*observed):
        return committed_changes([*observed, replace(change(9, 1, "changed", isr=[9]), partition="b-0")], "a-0")

    first, other = change(1, 1, "changed", isr=[1]), change(3, 2, "changed", isr=[2])
    assert valid(first, other) == {1: other.fields} == valid(other, first)
    # A process that logs a change again has reverted the earlier one, and those after it.
    later = change(2, 1, "changed", 2, isr=[1, 2])
    again = change(4, 1, "changed", isr=[3])
    assert valid(first, later, again) == {1: again.fields, 2: {}}
    # After its start, a process logs what was there before.
    started = [change(2, 1, "created"), change(3, 1, "changed", isr=[1])]
    caused = change(1, 1, "changed", isr=[1], cause="alter_partition")
    assert valid(caused, *started) == {1: caused.fields}
    # The one with the cause is that of the controller that made the change, also if it has reverted it.
    assert valid(caused, change(3, 1, "changed", isr=[1])) == {1: caused.fields}
    # Of two with a cause, the one of the process that logged it once.
    again, once = replace(caused, time=2), replace(caused, broker=2, time=3, fields=caused.fields | {"cause": "b"})
    assert valid(caused, again, once) == {1: once.fields}


@pytest.mark.parametrize(
    ("before", "cause", "shown"),
    [
        (("fencing",), "handleBrokerUnfenced", ["fenced", "unfenced", "changed unfenced b3"]),
        ((), "handleBrokerUnfenced", ["changed unfenced b3"]),
        ((), "handleBrokerFenced", ["changed fenced b3"]),
        ((), "handleBrokerUncleanShutdown", ["changed unclean_restart b3"]),
        # A broker that starts while its session lasts is fenced and registered by the change.
        (("starting",), "handleBrokerUncleanShutdown", ["started", "changed fenced b3", "registered"]),
        (
            ("fencing", "starting"),
            "handleBrokerUncleanShutdown",
            ["fenced", "started", "registered", "changed unclean_restart b3"],
        ),
        ((), "somethingElse", ["changed unknown b3"]),
    ],
)
def test_what_a_change_says_about_its_broker(before, cause, shown):
    events = PartitionEvents("a-0")
    events.take(Observed(0, 1, "created", "a-0", {"replicas": [1, 2, 3], "isr": [1, 2], "leader": 1}))
    for kind in before:
        note = Observed(1, 3, "noted", None, {"event": kind}) if kind == "starting" else None
        events.take(note or Observed(1, 9, kind, None, {"node": 3}))
    change = {"partition_epoch": 1, "isr": [1], "cause": cause, "node": 3}
    events.take(Observed(2, 9, "changed", "a-0", change))
    found = [
        f"{each['event']} {each.get('cause', '')} {each['broker'] if 'cause' in each else ''}" for each in events.events
    ]
    assert [text.strip() for text in found[1:]] == shown
    changed = next(each for each in events.events if each["event"] == "changed")
    assert (changed["isr"], changed["leader"], changed["partition_epoch"]) == (["b1"], "b1", 1)
    # The same change again, and one of another controller, say nothing new.
    events.take(Observed(3, 9, "changed", "a-0", change))
    assert events.repeated["changed"] == 1


def test_a_recording_allows_what_brokers_do_by_themselves():
    constants = RecordedPartition().constants([{"event": "created", "kafka": "4.3.1", "replicas": [1, 2]}])
    allowed = ("unclean_elections", "preferred_elections", "session_timeouts", "late_metadata", "late_checkpoints")
    assert all(constants[name] is True for name in allowed) and constants["sends_lazily"] is False
