"""A breadth-first search whose steps are events that Kafka's controller handles, with all its managers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from checker.errors import InternalError
from kafka_tools.lab.conformance.controller_events import ControllerEvents, ControllerSetting, ControllerStep, Ghost
from kafka_tools.lab.conformance.controller_state import ControllerState, state_of
from kafka_tools.lab.conformance.search_result import SearchResult

_CHUNK = 2_000
"""The states whose steps are in memory at the same time."""

_OTHER_CONTROLLER = "start 1 1 1 0 0 A"
"""An event after which the bridge has forgotten the sequence before."""


class AnsweringLines(Protocol):
    """What answers sequences of events: the bridge, or a test's own. `name` says whose classes they are."""

    name: str

    def answer_lines(self, calls: Sequence[str]) -> list[str]:
        """Return the answer to each call."""


class ControllerSituation(NamedTuple):
    """A state of the controller, and what it does not know."""

    state: ControllerState
    ghost: Ghost

    def __str__(self) -> str:
        if self.state.registration is None:
            return str(self.state)
        complete = [broker for broker in range(1, len(self.ghost.brokers) + 1) if self.ghost.has_all(broker)]
        return f"{self.state}; complete logs {', '.join(map(str, complete)) or 'none'}"


def _holds_members(state: ControllerState, ghost: Ghost) -> bool:
    registration = state.registration
    return registration is None or registration.isr | registration.elr <= set(registration.replicas)


def _holds_last_known(state: ControllerState, ghost: Ghost) -> bool:
    registration = state.registration
    return registration is None or registration.last_known <= set(registration.replicas)


def _holds_map(state: ControllerState, ghost: Ghost) -> bool:
    elr = frozenset() if state.registration is None else state.registration.elr
    return state.mapped == tuple(sorted(elr))


def _holds_leader(state: ControllerState, ghost: Ghost) -> bool:
    """A leader whose process is down does no harm before it registers again."""
    leader = None if state.registration is None else state.registration.leader
    return leader is None or not ghost.is_up(leader) or ghost.has_all(leader)


def _holds_eligible(state: ControllerState, ghost: Ghost) -> bool:
    """While a broker is down, the controller cannot know that its log is lost."""
    elr = frozenset() if state.registration is None else state.registration.elr
    return all(
        ghost.has_all(broker) or (ghost.at(broker).is_lost and not (ghost.is_up(broker) and broker in state.active))
        for broker in elr
    )


def _holds_copies(state: ControllerState, ghost: Ghost) -> bool:
    if state.registration is None:
        return True
    replicas = state.registration.replicas
    return sum(ghost.has_all(each) or ghost.at(each).is_lost for each in replicas) >= ghost.copies


def _holds_asked(state: ControllerState, ghost: Ghost) -> bool:
    registration = state.registration
    if registration is None or ghost.asked is None or registration.adding or registration.removing:
        return True
    return set(registration.replicas) == ghost.asked


NO_LOSS = "no acknowledged record is lost by an election"
COPIES = "every acknowledged record stays in min.insync.replicas logs"
AS_ASKED = "a reassignment ends with the replicas that were asked for"
LAST_KNOWN = "the last known leader is a replica"
REVERSE_MAP = "brokersToElrs agrees with the eligible leaders of the partition"

PROPERTIES: dict[str, Callable[[ControllerState, Ghost], bool]] = {
    NO_LOSS: _holds_leader,
    COPIES: _holds_copies,
    "every eligible leader has every acknowledged record": _holds_eligible,
    "every member of the ISR and the ELR is a replica": _holds_members,
    LAST_KNOWN: _holds_last_known,
    REVERSE_MAP: _holds_map,
    AS_ASKED: _holds_asked,
}
"""What must hold in every state, by its sentence."""

ANSWERS = "the controller handles every event without an exception"
HAS_LEADER = "there is a leader when every replica is active and one has every acknowledged record"
COMPLETES = "a reassignment completes when every replica is in the ISR"
ALL_PROPERTIES = [*PROPERTIES, ANSWERS, HAS_LEADER, COMPLETES]


class _Origin(NamedTuple):
    """How a situation was reached first: from which one, by which sentence, and the whole sequence of events."""

    source: ControllerSituation | None
    sentence: str
    events: str


class ControllerExploration:
    """A search of a setting, over a bridge."""

    def __init__(self, bridge: AnsweringLines, setting: ControllerSetting, most_states: int):
        self._bridge, self._setting, self._most_states = bridge, setting, most_states
        self._events = ControllerEvents(setting)
        self._states: dict[str, ControllerState] = {}
        self._origins: dict[ControllerSituation, _Origin] = {}
        # The calls that a new controller must answer in the same way.
        self._evidence: dict[str, str] = {}
        self._result = SearchResult(ALL_PROPERTIES)

    def run(self) -> SearchResult:
        """Explore breadth-first to the depth of the setting, or stop at the limit of states.

        Raises InputError if the process ends.
        """
        begun, result = time.monotonic(), self._result
        (line,) = self._ask([self._setting.start])
        frontier = [ControllerSituation(self._state(line), self._events.first_ghost())]
        self._origins[frontier[0]] = _Origin(None, "", self._setting.start)
        for _ in range(self._setting.depth):
            if not frontier or len(self._origins) >= self._most_states:
                break
            frontier = self._expand(frontier)
        result.is_complete = len(self._origins) < self._most_states
        result.is_bounded = result.is_complete and bool(frontier)
        self._confirm()
        result.states, result.seconds = len(self._origins), time.monotonic() - begun
        return result

    def _expand(self, frontier: Sequence[ControllerSituation]) -> list[ControllerSituation]:
        """Take every step from some situations; return the new ones from which the search goes on."""
        reached: list[ControllerSituation] = []
        for first in range(0, len(frontier), _CHUNK):
            sources = frontier[first : first + _CHUNK]
            steps = [(each, step) for each in sources for step in self._events.steps(each.state, each.ghost)]
            calls = [f"{self._origins[each].events};{step.event}" for each, step in steps if step.event is not None]
            answers = zip(calls, self._ask(calls), strict=True)
            new = [each for source, step in steps if (each := self._situation_after(source, step, answers)) is not None]
            self._settle([each for each in new if _due(each) is not None])
            self._result.steps += len(steps)
            reached += [each for each in new if PROPERTIES[NO_LOSS](*each)]
            if len(self._origins) >= self._most_states:
                break
        return reached

    def _situation_after(
        self, source: ControllerSituation, step: ControllerStep, answers: Iterator[tuple[str, str]]
    ) -> ControllerSituation | None:
        """Return the situation after a step; None if it was known, or the controller refuses or fails."""
        state, call = source.state, self._origins[source].events
        if step.event is not None:
            call, line = next(answers)
            if line[0] == "-":
                return None
            if line[0] == "!":
                self._add_exception(source, step.sentence, call, line)
                return None
            state = self._state(line)
        situation = ControllerSituation(state, self._events.ghost_after(step.ghost, state))
        if situation in self._origins:
            return None
        self._origins[situation] = _Origin(source, step.sentence, call)
        for sentence, holds in PROPERTIES.items():
            if sentence not in self._result.violations and not holds(state, situation.ghost):
                self._evidence[call] = state.line
                self._result.add_violation(sentence, self._path(situation))
        return situation

    def _settle(self, situations: Sequence[ControllerSituation]) -> None:
        """Ask what the controller does in situations in which an election or a completion is due."""
        calls = [f"{self._origins[each].events};settle" for each in situations]
        for situation, call, line in zip(situations, calls, self._ask(calls), strict=True):
            sentence = _due(situation)
            assert sentence is not None
            if line[0] == "!":
                self._add_exception(situation, _SETTLES, call, line)
            # After an election a completion may be due, which is not asked for here.
            elif sentence not in self._result.violations and sentence == _due(
                ControllerSituation(self._state(line), situation.ghost)
            ):
                self._evidence[call] = line
                self._result.add_violation(sentence, self._path(situation))

    def _add_exception(self, source: ControllerSituation, sentence: str, call: str, line: str) -> None:
        place, _, _ = line[1:].partition(": ")
        name = f"{ANSWERS}: {place}"
        if name not in self._result.violations:
            self._evidence[call] = line
            self._result.add_violation(name, [*self._path(source), (sentence, line[1:])])

    def _confirm(self) -> None:
        """Raise InternalError if a new controller answers the sequence of a violation in another way.

        The search takes one controller back and forth. A fault must not come from that.
        """
        for call, line in self._evidence.items():
            _, again = self._ask([_OTHER_CONTROLLER, call])
            if again != line:
                raise InternalError(f"a new controller answers {call} with {again}, and the search got {line}")

    def _ask(self, calls: Sequence[str]) -> list[str]:
        self._result.calls += len(calls)
        return self._bridge.answer_lines(calls)

    def _state(self, line: str) -> ControllerState:
        """Return the one object of a line, so that situations are compared by identity."""
        state = self._states.get(line)
        if state is None:
            state = self._states[line] = state_of(line)
        return state

    def _path(self, situation: ControllerSituation) -> list[tuple[str, str]]:
        """Return the steps to a situation: the sentence of each, and the situation after it."""
        path = []
        step: ControllerSituation | None = situation
        while step is not None:
            origin = self._origins[step]
            path.append((origin.sentence, str(step)))
            step = origin.source
        return path[::-1]


_SETTLES = "The controller looks at the partition."


def _due(situation: ControllerSituation) -> str | None:
    """Return the property that asks for an election or a completion in a situation, None if none does."""
    state, ghost = situation
    registration = state.registration
    if registration is None or not all(ghost.is_up(each) and state.may_lead(each) for each in registration.replicas):
        return None
    if registration.leader is None:
        return HAS_LEADER if any(ghost.has_all(each) for each in registration.replicas) else None
    is_running = registration.adding or registration.removing
    return COMPLETES if is_running and registration.isr == set(registration.replicas) else None
