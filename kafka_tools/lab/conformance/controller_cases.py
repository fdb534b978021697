"""The steps in which the controller of `replication/partition` changes a partition, as calls of Kafka's class.

`ReplicationControlManager` decides when it calls the builder, and with which arguments. That part is written here, for
each action of the spec.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from checker.api.state_graph import Edge, StateGraph
from checker.language import action, require
from checker.language.interpreter import State, call_text
from kafka_tools.lab.conformance.registration import Brokers, BuilderCall, Change, Registration, no_change
from specs.replication.partition import Partition
from specs.replication.state import Replica

ELECTIONS = ("controller_elect", "controller_elect_uncleanly", "controller_elect_last_known")
"""The actions that may be one choice of the class: it elects the first replica that may lead."""

OPERATIONS = {
    "controller_fence": "handleBrokerFenced",
    "broker_shut_down": "handleBrokerInControlledShutdown",
    "broker_restart": "handleBrokerShutdown",
    "broker_register": "handleBrokerShutdown",
    "broker_reconnect": "handleBrokerUnfenced",
    "controller_handle_alter_partition": "alterPartition",
    "controller_handle_request_of_dead_leader": "alterPartition",
} | dict.fromkeys(ELECTIONS, "electLeader")
"""The method of ReplicationControlManager that each action stands for."""

_READ = (
    "quorum",
    "eligible",
    "last_known_leader",
    "fenced",
    "stopped_cleanly",
    "pending",
    "partition_epoch",
    "requests",
)
"""The variables that the calls are made of."""

_WRITTEN = ("quorum", "eligible", "last_known_leader")


@dataclass(frozen=True)
class Case:
    """An input of the class, and what the spec does with it.

    `call` is None if Kafka's controller does not call the class here: the partition must then stay as it is. `allowed`
    are the spec's answers, each with its step. `later` are the registrations after one more election, since the class
    may remove a leader and elect another one in one record. Without `is_open` the bounds of the exploration cut off
    that election.
    """

    action: str
    call: BuilderCall | None
    before: Registration
    allowed: frozenset[tuple[Change, str]]
    later: frozenset[Registration]
    is_open: bool


def without_records(spec: type[Partition]) -> type[Partition]:
    """Return a spec without appends: the controller does not read the logs."""

    class Membership(spec):  # type: ignore[misc]
        """The brokers and the controller alone."""

        @action
        def leader_append(self, leader: Replica):  # type: ignore[no-untyped-def]
            """No leader appends."""
            require(False)

    return Membership


class ControllerCases:
    """The cases of a spec, for all states that it reaches.

    `states` counts these states. `left_out` are the actions that change the partition and stand for no call.
    """

    def __init__(self, spec: Partition):
        graph = StateGraph(spec)
        self.states = len(graph)
        self._constants: Mapping[str, Any] = spec.constants
        others = [name for name in spec.actions if name not in OPERATIONS]
        written, steps = graph.projection(_WRITTEN, others)
        self.left_out = sorted({step.action for step in steps if _differ(written[step.source], written[step.target])})
        self._states, edges = graph.projection(_READ, OPERATIONS)
        self._elections: defaultdict[int, list[Edge]] = defaultdict(list)
        for edge in edges:
            if edge.action in ELECTIONS:
                self._elections[edge.source].append(edge)
        self.cases = {*self._elections_of_states(), *self._other_steps(edges)}

    def _elections_of_states(self) -> Iterator[Case]:
        """Yield the elections of states without a leader: the class chooses one of them, or none if there is none."""
        for number, state in enumerate(self._states):
            edges, before = self._elections[number], self._registration(state)
            if before.leader is not None or not (edges or self._is_open(state)):
                continue
            allowed = {(self._change(edge), call_text(edge.action, edge.arguments)) for edge in edges}
            name = edges[0].action if edges else ELECTIONS[0]
            call = self._call(state, frozenset(), before.isr)
            allowed = allowed or {(no_change(before), "no election is enabled")}
            yield Case(name, call, before, frozenset(allowed), frozenset(), is_open=True)

    def _other_steps(self, edges: Iterable[Edge]) -> Iterator[Case]:
        for edge in edges:
            if edge.action in ELECTIONS:
                continue
            before, after = self._states[edge.source], self._states[edge.target]
            change = self._change(edge)
            if OPERATIONS[edge.action] == "alterPartition" and not change.raises_partition_epoch:
                continue  # The controller rejects the request before it makes a builder.
            allowed = frozenset([(change, call_text(edge.action, edge.arguments))])
            later = frozenset(self._change(step).after for step in self._elections[edge.target])
            is_open = after.quorum.leader is not None or self._is_open(after)
            registration = self._registration(before)
            yield Case(edge.action, self._call_of(edge, before), registration, allowed, later, is_open)

    def _call_of(self, edge: Edge, state: State) -> BuilderCall | None:
        """Return the call that an action stands for, None if the controller leaves the partition alone."""
        broker = _number(edge.arguments[0])
        before = self._registration(state)
        operation = OPERATIONS[edge.action]
        if operation == "alterPartition":
            return self._call(state, frozenset(), _brokers(state.pending[edge.arguments[0]].isr))
        if operation == "handleBrokerUnfenced":
            return self._call(state, frozenset(), before.isr, active=broker) if before.leader is None else None
        is_unclean = operation == "handleBrokerShutdown" and edge.arguments[0] not in state.stopped_cleanly
        if broker not in before.isr and not (is_unclean and broker in before.elr):
            return None
        removed = frozenset([broker])
        return self._call(state, removed, before.isr - removed, unclean=removed if is_unclean else frozenset())

    def _call(
        self,
        state: State,
        removed: Brokers,
        target_isr: Brokers,
        *,
        active: int | None = None,
        unclean: Brokers = frozenset(),
    ) -> BuilderCall:
        constants = self._constants
        before = self._registration(state)
        required = constants["min_insync_replicas"]
        return BuilderCall(
            before=before,
            inactive=(_brokers(state.fenced) | removed) - {active},
            min_isr=min(required, len(before.replicas)),
            has_elr=constants["eligible_leader_replicas"],
            election="UNCLEAN" if constants["unclean_elections"] else "ONLINE",
            target_isr=target_isr,
            unclean=unclean,
        )

    def _registration(self, state: State) -> Registration:
        leader, last_known = state.quorum.leader, state.last_known_leader
        return Registration(
            replicas=tuple(range(1, self._constants["replicas"] + 1)),
            isr=_brokers(state.quorum.isr),
            elr=_brokers(state.eligible),
            last_known=_brokers([] if last_known is None else [last_known]),
            leader=None if leader is None else _number(leader),
        )

    def _change(self, edge: Edge) -> Change:
        before, after = self._states[edge.source], self._states[edge.target]
        return Change(
            self._registration(after),
            raises_leader_epoch=len(after.requests) > len(before.requests),
            raises_partition_epoch=after.partition_epoch > before.partition_epoch,
        )

    def _is_open(self, state: State) -> bool:
        """Return whether the bounds of the exploration allow one more election."""
        constants = self._constants
        has_epoch = len(state.requests) <= constants["max_leader_epoch"]
        return bool(has_epoch and state.partition_epoch < constants["max_partition_epoch"])


def _differ(one: State, other: State) -> bool:
    return any(getattr(one, name) != getattr(other, name) for name in _WRITTEN)


def _brokers(replicas: Iterable[Any]) -> Brokers:
    return frozenset(map(_number, replicas))


def _number(replica: Any) -> int:
    """Return the number of a broker: 1 for b1."""
    return int(str(replica).removeprefix("b"))
