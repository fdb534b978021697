"""A breadth-first search whose steps are answers of Kafka's class: stops, starts and reassignments of a partition.

The state is a registration and what the class does not know: which brokers are active, and which logs are complete.
Every stop is clean, and no log is damaged: the search asks what the controller alone may lose.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kafka_tools.lab.conformance.comparison import Answering
from kafka_tools.lab.conformance.registration import Brokers, BuilderCall, Change, Registration, brokers_text, no_change
from kafka_tools.lab.conformance.search_result import SearchResult

_BROKERS = frozenset({1, 2, 3, 4})
_REPLICAS = (1, 2, 3)
_TARGETS = ((1,), (1, 2, 3), (4, 2, 3))
_REASSIGNMENTS = 3
_MIN_ISR = 2

DESCRIPTION = (
    f"brokers {brokers_text(_BROKERS)}, replicas {brokers_text(_REPLICAS)}, min ISR {_MIN_ISR}, clean stops, "
    f"{_REASSIGNMENTS} reassignments to {' or '.join(f'[{brokers_text(target)}]' for target in _TARGETS)}"
)
"""What a search explores."""


@dataclass(frozen=True)
class Situation:
    """A registration, active brokers, brokers whose log has every acknowledged record, the number of reassignments."""

    registration: Registration
    active: Brokers
    complete: Brokers
    reassignments: int = 0

    def __str__(self) -> str:
        registration = self.registration
        logs = f"active {brokers_text(self.active)}; complete logs {brokers_text(self.complete)}"
        return f"replicas {brokers_text(registration.replicas)}; {registration}; {logs}"


@dataclass(frozen=True)
class SearchStep:
    """A step from a state: its sentence, the call of the class (None: Kafka makes none), and the state before that."""

    sentence: str
    call: BuilderCall | None
    source: Situation
    called_in: Situation

    def after(self, change: Change) -> Situation:
        """Return the state after the answer of the class.

        An active broker deletes its log when it is no replica any more. A stopped one does that when it starts.
        """
        before, replicas = self.called_in, change.after.replicas
        complete = before.complete - {each for each in before.active if each not in replicas}
        return replace(before, registration=change.after, complete=complete)


PROPERTIES: dict[str, Callable[[Situation], bool]] = {
    "every eligible leader is a replica": lambda state: state.registration.elr <= set(state.registration.replicas),
    "every eligible leader has every acknowledged record": lambda state: state.registration.elr <= state.complete,
    "the leader has every acknowledged record": lambda state: (
        state.registration.leader is None or state.registration.leader in state.complete
    ),
}
"""What must hold in every state, by its sentence."""

ANSWERS = "the class answers every call"


def search(bridge: Answering, *, has_elr: bool, most_states: int) -> SearchResult:
    """Explore breadth-first all states, or stop before a level when `most_states` are reached."""
    start = Situation(Registration(_REPLICAS, frozenset(_REPLICAS), leader=1), _BROKERS, frozenset(_REPLICAS))
    origins: dict[Situation, SearchStep | None] = {start: None}
    answers: dict[BuilderCall, Change | str] = {}
    result, frontier, begun = SearchResult([*PROPERTIES, ANSWERS]), [start], time.monotonic()
    while frontier and len(origins) < most_states:
        steps = [step for state in frontier for step in _steps(state, has_elr=has_elr)]
        calls = list({step.call for step in steps if step.call is not None} - answers.keys())
        answers.update(zip(calls, bridge.answers(calls), strict=True))
        frontier = []
        for step in steps:
            answer = no_change(step.source.registration) if step.call is None else answers[step.call]
            if isinstance(answer, str):
                result.add_violation(ANSWERS, [*_path(origins, step.source), (step.sentence, answer)])
                continue
            state = step.after(answer)
            if state not in origins:
                origins[state] = step
                frontier.append(state)
                for sentence, holds in PROPERTIES.items():
                    if sentence not in result.violations and not holds(state):
                        result.add_violation(sentence, _path(origins, state))
        result.steps += len(steps)
    result.states, result.calls, result.seconds = len(origins), len(answers), time.monotonic() - begun
    result.is_complete = not frontier
    return result


def _path(origins: dict[Situation, SearchStep | None], state: Situation) -> list[tuple[str, str]]:
    """Return a shortest sequence to a state: the sentence of each step, and the state after it."""
    path = []
    while (step := origins[state]) is not None:
        path.append((step.sentence, str(state)))
        state = step.source
    return [("", str(state)), *reversed(path)]


def _steps(state: Situation, *, has_elr: bool) -> Iterator[SearchStep]:
    """Yield every step that may happen in a state."""
    registration = state.registration
    replicas, isr = frozenset(registration.replicas), registration.isr
    # ReplicationControlManager.getTopicEffectiveMinIsr: at most the number of replicas.
    min_isr = min(_MIN_ISR, len(replicas))

    def call(active: Brokers, target_isr: Brokers | None = None, target: tuple[int, ...] = ()) -> BuilderCall:
        return BuilderCall(registration, _BROKERS - active, min_isr, has_elr, target_isr=target_isr, target=target)

    for broker in sorted(state.active):
        rest = state.active - {broker}
        made = call(rest, isr - {broker}) if broker in isr else None
        yield SearchStep(f"Broker {broker} is stopped cleanly.", made, state, replace(state, active=rest))
        if broker in replicas - isr and registration.leader is not None:
            joined = state.complete | ({broker} if registration.leader in state.complete else set())
            made = call(state.active, isr | {broker})
            words = f"Broker {broker} has caught up and joins the ISR."
            yield SearchStep(words, made, state, replace(state, complete=joined))
    for broker in sorted(_BROKERS - state.active):
        active = state.active | {broker}
        complete = state.complete if broker in replicas else state.complete - {broker}
        made = call(active, isr) if registration.leader is None else None
        yield SearchStep(f"Broker {broker} starts.", made, state, replace(state, active=active, complete=complete))
    for target in _TARGETS:
        if state.reassignments < _REASSIGNMENTS and target != registration.replicas:
            words = f"The operator reassigns the partition to {brokers_text(target)}."
            made = call(state.active, target=target)
            yield SearchStep(words, made, state, replace(state, reassignments=state.reassignments + 1))
    if registration.leader in state.complete and len(isr) >= min_isr and state.complete != isr:
        yield SearchStep("The ISR acknowledges a record.", None, state, replace(state, complete=isr))
