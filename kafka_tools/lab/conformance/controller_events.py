"""The events that a search gives to Kafka's controller, and what it does not know: the brokers' processes and logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from kafka_tools.lab.conformance.controller_state import ControllerState
from kafka_tools.lab.conformance.registration import Brokers, Registration, brokers_text, commas

EventKind = Literal[
    "stop", "kill", "session", "disk", "disk-fails", "produce", "reassign", "cancel", "min-isr", "elr", "delete"
]
"""The kinds of events. Brokers that are down may always start; those that have caught up may always join the ISR."""


@dataclass(frozen=True)
class ControllerSetting:
    """A cluster with one partition, and the kinds of events, each with how often it may happen (None: any number).

    With `is_careful`, the operator does what the catalogue advises: no change of a setting while there is no leader, no
    reassignment that replaces another one, no cancellation that leaves fewer than min.insync.replicas, and an empty
    directory in the place of a removed one.
    """

    events: dict[EventKind, int | None]
    depth: int
    brokers: int = 4
    replicas: tuple[int, ...] = (1, 2, 3)
    targets: tuple[tuple[int, ...], ...] = ()
    min_isrs: tuple[int, ...] = ()
    has_elr: bool = True
    is_unclean: bool = False
    directories: str = "A"
    is_careful: bool = False

    @property
    def start(self) -> str:
        """The event that makes the controller."""
        options = f"2 {int(self.has_elr)} {int(self.is_unclean)} {self.directories}"
        return f"start {self.brokers} {commas(self.replicas)} {options}"

    def __str__(self) -> str:
        parts = [f"{self.brokers} brokers, replicas {brokers_text(self.replicas)}, min ISR 2"]
        parts.append(f"ELR {'on' if self.has_elr else 'off'}, {'un' if self.is_unclean else ''}clean elections")
        parts += [kind if most is None else f"{kind} (at most {most})" for kind, most in self.events.items()]
        if self.targets:
            parts.append(f"targets {' or '.join(f'[{brokers_text(target)}]' for target in self.targets)}")
        if self.is_careful:
            parts.append("the operator follows the remedies of the catalogue")
        return "; ".join([*parts, f"at most {self.depth} steps"])


class BrokerGhost(NamedTuple):
    """A broker's process, and how many of the acknowledged records its log has.

    `is_lost`: the log was lost and not copied again since. `disk` is that of directory A.
    """

    records: int
    process: Literal["up", "stopped", "killed"] = "up"
    is_lost: bool = False
    disk: Literal["online", "failed", "removed"] = "online"


class Ghost(NamedTuple):
    """What the controller does not know.

    `copies` is the number of logs that must have every acknowledged record. `asked` are the replicas that the running
    reassignment is to end with, None if there is none. `used` counts the events of the kinds with a limit.
    """

    brokers: tuple[BrokerGhost, ...]
    copies: int
    used: tuple[int, ...]
    acknowledged: int = 1
    asked: Brokers | None = None

    def at(self, broker: int) -> BrokerGhost:
        """Return what is known of a broker."""
        return self.brokers[broker - 1]

    def is_up(self, broker: int) -> bool:
        """Return whether the process of a broker runs."""
        return self.at(broker).process == "up"

    def has_all(self, broker: int) -> bool:
        """Return whether the log of a broker has every acknowledged record."""
        return self.at(broker).records >= self.acknowledged

    def change(self, broker: int, **fields: Any) -> Ghost:
        """Return the ghost with other fields of a broker."""
        ghost = self.at(broker)._replace(**fields)
        return self._replace(brokers=(*self.brokers[: broker - 1], ghost, *self.brokers[broker:]))


class ControllerStep(NamedTuple):
    """A step: its sentence, the event (None: the controller gets none), and the ghost."""

    sentence: str
    event: str | None
    ghost: Ghost


class ControllerEvents:
    """The steps that a setting allows."""

    def __init__(self, setting: ControllerSetting):
        self.setting = setting
        limits = (kind for kind, most in setting.events.items() if most is not None)
        self._counters = {kind: number for number, kind in enumerate(limits)}

    def first_ghost(self) -> Ghost:
        """Return the ghost of a cluster in which every replica has one acknowledged record."""
        setting = self.setting
        brokers = tuple(BrokerGhost(int(broker in setting.replicas)) for broker in range(1, setting.brokers + 1))
        return Ghost(brokers, copies=2, used=(0,) * len(self._counters))

    def steps(self, state: ControllerState, ghost: Ghost) -> Iterator[ControllerStep]:
        """Yield every step that may happen in a state; `ghost_after` completes its ghost."""
        for broker in range(1, self.setting.brokers + 1):
            yield from self._process_steps(state, ghost, broker)
        if state.registration is not None:
            for broker in state.registration.replicas:
                yield from self._replica_steps(state, state.registration, ghost, broker)
            yield from self._partition_steps(state, state.registration, ghost)
            yield from self._operator_steps(state, state.registration, ghost)

    def ghost_after(self, ghost: Ghost, state: ControllerState) -> Ghost:
        """Return the ghost when the controller is in a state after a step.

        A running broker deletes its log when it is no replica any more. After an election outside the ISR and the ELR,
        the others truncate to the log of the leader; with unclean elections that loss is allowed.
        """
        registration = state.registration
        if registration is None:
            return ghost
        for broker, each in enumerate(ghost.brokers, start=1):
            if broker not in registration.replicas and each.process == "up" and (each.records or each.is_lost):
                ghost = ghost.change(broker, records=0, is_lost=False)
        leader = registration.leader
        if state.is_recovering and leader is not None:
            records = ghost.at(leader).records
            brokers = tuple(each._replace(records=min(each.records, records)) for each in ghost.brokers)
            ghost = ghost._replace(brokers=brokers)
            if self.setting.is_unclean:
                ghost = ghost._replace(acknowledged=min(ghost.acknowledged, records), copies=1)
        asked = None if _is_done(registration) and ghost.asked == frozenset(registration.replicas) else ghost.asked
        return ghost._replace(copies=min(ghost.copies, len(registration.replicas)), asked=asked)

    def _may(self, kind: EventKind, ghost: Ghost) -> bool:
        most = self.setting.events.get(kind, 0)
        return most is None or (most > 0 and ghost.used[self._counters[kind]] < most)

    def _use(self, kind: EventKind, ghost: Ghost) -> Ghost:
        number = self._counters.get(kind)
        if number is None:
            return ghost
        return ghost._replace(used=(*ghost.used[:number], ghost.used[number] + 1, *ghost.used[number + 1 :]))

    def _process_steps(self, state: ControllerState, ghost: Ghost, broker: int) -> Iterator[ControllerStep]:
        """Yield stops, starts, and sessions that end and begin."""
        is_up, is_active = ghost.is_up(broker), broker in state.active
        if is_up and self._may("stop", ghost):
            after = self._use("stop", ghost).change(broker, process="stopped")
            event = f"stop {broker}" if is_active else None
            yield ControllerStep(f"Broker {broker} is stopped cleanly.", event, after)
        if is_up and self._may("kill", ghost):
            after = self._use("kill", ghost).change(broker, process="killed")
            yield ControllerStep(f"Broker {broker} is killed.", None, after)
        if is_active and not is_up:
            yield ControllerStep(f"The session of broker {broker} ends.", f"fence {broker}", ghost)
        if is_active and is_up and self._may("session", ghost):
            after = self._use("session", ghost)
            yield ControllerStep(f"Broker {broker} loses its session, and runs on.", f"fence {broker}", after)
        if is_up and broker in state.fenced:
            yield ControllerStep(f"The controller unfences broker {broker}.", f"unfence {broker}", ghost)
        if not is_up:
            yield self._start(ghost, broker)

    def _start(self, ghost: Ghost, broker: int) -> ControllerStep:
        before = ghost.at(broker)
        directories, words = self.setting.directories, "starts and registers"
        is_clean = before.process == "stopped"
        if before.disk != "online":
            directories, words = "B", f"{words} without directory A"
            # An empty directory in the place of A has no file that says that the stop was clean.
            is_clean = is_clean and not self.setting.is_careful
        event = f"register {broker} {'clean' if is_clean else 'unclean'} {directories}"
        after = ghost.change(broker, process="up", disk="online" if before.disk == "online" else "removed")
        return ControllerStep(
            f"Broker {broker} {words}, after {'a clean' if is_clean else 'an unclean'} stop.", event, after
        )

    def _replica_steps(
        self, state: ControllerState, registration: Registration, ghost: Ghost, broker: int
    ) -> Iterator[ControllerStep]:
        """Yield what a replica does, and what its disk does to it."""
        leader, place = registration.leader, dict(state.directories)[broker]
        both_work = leader is not None and all(self._works(state, ghost, each) for each in (leader, broker))
        if leader is not None and both_work and broker not in registration.isr:
            after = ghost.change(broker, records=ghost.at(leader).records, is_lost=False)
            event = f"isr {commas(sorted(registration.isr | {broker}))}"
            yield ControllerStep(f"Broker {broker} has caught up and joins the ISR.", event, after)
        each = ghost.at(broker)
        # KIP-966 protects the records while fewer than min.insync.replicas logs are lost.
        may_lose = not each.is_lost and sum(each.is_lost for each in ghost.brokers) < ghost.copies - 1
        if each.disk == "online" and place == "A" and may_lose:
            if each.process == "stopped" and self._may("disk", ghost):
                lost = self._use("disk", ghost).change(broker, is_lost=True, records=0, disk="removed")
                yield ControllerStep(f"Directory A of broker {broker} fails and is taken out of log.dirs.", None, lost)
            if each.process == "up" and self._may("disk-fails", ghost):
                lost = self._use("disk-fails", ghost).change(broker, is_lost=True, records=0, disk="failed")
                yield ControllerStep(
                    f"Directory A of broker {broker} fails while it runs.", f"offline {broker} A", lost
                )
        # While a configured directory is offline, a broker makes no log elsewhere.
        if each.process == "up" and each.disk == "removed" and place == "A" and state.online[broker] == "B":
            words = f"Broker {broker} makes an empty log in directory B, and reports it."
            yield ControllerStep(words, f"assign {broker} B", ghost)

    def _works(self, state: ControllerState, ghost: Ghost, broker: int) -> bool:
        return ghost.is_up(broker) and state.may_lead(broker)

    def _partition_steps(
        self, state: ControllerState, registration: Registration, ghost: Ghost
    ) -> Iterator[ControllerStep]:
        """Yield the acknowledgement of a record by the whole ISR."""
        leader, isr = registration.leader, registration.isr
        if leader is None or len(isr) < state.min_isr or not self._may("produce", ghost):
            return
        if all(self._works(state, ghost, broker) and ghost.has_all(broker) for broker in isr):
            number = ghost.acknowledged + 1
            after = self._use("produce", ghost)._replace(acknowledged=number, copies=state.min_isr)
            for broker in isr:
                after = after.change(broker, records=number)
            yield ControllerStep("The ISR acknowledges a record.", None, after)

    def _operator_steps(
        self, state: ControllerState, registration: Registration, ghost: Ghost
    ) -> Iterator[ControllerStep]:
        """Yield reassignments, changes of settings, and the deletion."""
        is_careful, is_done = self.setting.is_careful, _is_done(registration)
        may_change = registration.leader is not None or not is_careful
        if self._may("reassign", ghost) and (is_done or not is_careful):
            for target in self.setting.targets:
                if target != registration.replicas or not is_done:
                    after = self._use("reassign", ghost)._replace(asked=frozenset(target))
                    words = f"The operator reassigns the partition to {brokers_text(target)}."
                    yield ControllerStep(words, f"reassign {commas(target)}", after)
        rest = registration.isr - registration.adding
        if not is_done and self._may("cancel", ghost) and (len(rest) >= state.min_isr or not is_careful):
            after = self._use("cancel", ghost)._replace(asked=None)
            yield ControllerStep("The operator cancels the reassignment.", "reassign cancel", after)
        if self._may("min-isr", ghost) and may_change:
            for value in self.setting.min_isrs:
                if value != state.configured_min_isr:
                    words = f"The operator sets min.insync.replicas={value}."
                    yield ControllerStep(words, f"min-isr {value}", self._use("min-isr", ghost))
        if self._may("elr", ghost) and may_change:
            level = int(not state.has_elr)
            words = f"The operator sets eligible.leader.replicas.version={level}."
            yield ControllerStep(words, f"elr {level}", self._use("elr", ghost))
        if self._may("delete", ghost):
            yield ControllerStep("The operator deletes the topic.", "delete", self._use("delete", ghost))


def _is_done(registration: Registration) -> bool:
    return not (registration.adding or registration.removing)
