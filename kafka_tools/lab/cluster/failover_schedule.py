"""Schedules for traces of replicated partitions: which replicas lag, which brokers crash, and who is elected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_tools.lab.cluster.schedule import ProposedSchedule, TraceCall

_ENDS = {"broker_crash": "kill", "broker_shut_down": "stop"}
_ELECTIONS = ("controller_elect", "controller_elect_uncleanly", "controller_elect_last_known")
_UNFORCED = (
    *("broker_lose_power", "leader_move_log", "operator_change_min_isr", "broker_checkpoint", "broker_reconnect"),
    *("leader_refuse",),
)
"""Actions of the environment that no step brings about. All other actions are those of brokers and controllers."""

_LEAST_BROKERS = 3
"""A quorum of three survives the end of one."""


@dataclass
class _Failover:
    steps: list[str] = field(default_factory=lambda: ["send 1", "await acknowledged 1", "sleep 1"])
    unforced: list[str] = field(default_factory=list)
    states: dict[int, str] = field(default_factory=dict)
    """The brokers that do not run: paused, stopped or killed."""
    has_sent: bool = False

    def send(self, before: Mapping[str, Any], after: Mapping[str, Any], leader: str) -> None:
        """Send what the leader has, while those replicas are held back that do not have it."""
        logs = after["log"]
        for broker in filter(lambda each: each != leader, logs):
            if broker not in _in_sync(before):
                self.end(broker, "stop", "stopped")
            elif len(logs[broker]) < len(logs[leader]):
                self.end(broker, "pause", "paused")
        records = max(len(logs[leader]), 1)
        if not logs[leader]:
            # The request is written, and the leader does not read it.
            self.end(leader, "pause", "paused")
        # A fetch that waits at the leader must be answered before the record arrives.
        self.steps += ["sleep 2", f"send {records}"]
        if after.get("acked"):
            self.steps.append(f"await acknowledged {1 + len(after['acked'])}")
        self.has_sent = True

    def end(self, broker: str, verb: str, state: str) -> None:
        self.steps.append(f"{verb} {_number(broker)}")
        self.states[_number(broker)] = state

    def elect(self, broker: str) -> None:
        for number, state in sorted(self.states.items()):
            if state == "paused":
                self.steps.append(f"resume {number}")
            elif state == "stopped" and number == _number(broker):
                self.steps.append(f"start {number}")
            else:
                continue
            del self.states[number]
        self.steps.append(f"await leader {_number(broker)}")


def failover_schedule(calls: Sequence[TraceCall], constants: Mapping[str, Any]) -> ProposedSchedule:
    """Return the schedule of a trace of `producer/acks` or `replication/partition`.

    The records of the trace are sent just before the first broker ends, when the state shows who has them.
    """
    failover = _Failover()
    topic: dict[str, object] = {"min.insync.replicas": _min_isr(constants)}
    for call in calls:
        broker = next((str(value) for value in call.arguments.values()), "")
        if call.action in _ENDS:
            if not failover.has_sent:
                failover.send(call.before, call.before, _leader(call.before))
            failover.end(broker, _ENDS[call.action], "killed" if call.action == "broker_crash" else "stopped")
        elif call.action in _ELECTIONS:
            failover.elect(broker)
            if broker not in _in_sync(call.before):
                topic["unclean.leader.election.enable"] = True
        elif call.action == "broker_restart":
            failover.steps.append(f"start {_number(broker)}")
            failover.states.pop(_number(broker), None)
        elif call.action in _UNFORCED:
            failover.unforced.append(str(call))
    replicas = len(calls[0].before["log"])
    acks = str(constants.get("acks", "all"))
    return ProposedSchedule(
        brokers=max(replicas, _LEAST_BROKERS),
        replicas=replicas,
        steps=[*failover.steps, "finish"],
        unforced=failover.unforced,
        topic=topic,
        producer={"acks": acks, "enable.idempotence": False},
    )


def _in_sync(state: Mapping[str, Any]) -> Sequence[str]:
    members = state["quorum"]["isr"] if "quorum" in state else state["isr"]
    return list(members)


def _leader(state: Mapping[str, Any]) -> str:
    return str(state["quorum"]["leader"] if "quorum" in state else state["leader"])


def _min_isr(constants: Mapping[str, Any]) -> int:
    return next((value for name, value in constants.items() if name in ("min_insync_replicas", "min_isr")), 1)


def _number(broker: str) -> int:
    """Return the number of a broker of a spec, such as n2 or b2."""
    return int(broker.lstrip("abcdefghijklmnopqrstuvwxyz"))
