"""One behaviour of a spec that explains a recorded trace or its longest explainable prefix."""

from __future__ import annotations

from typing import Any

from checker.run.result import TraceStep, Violation
from traces.recorded_kinds import BEHAVIOUR, behaviour_sentence
from traces.validate.events import RecordedTrace
from traces.validate.mapping import PossibleStep
from traces.validate.moves import Key
from traces.validate.validator import CandidateStates, Validator

Taken = tuple[str, tuple[Any, ...], Key]
"""A step: its action, its arguments, and the state that it leads to."""


def explaining_behaviour(validator: Validator, recorded: RecordedTrace) -> Violation:
    """Return a behaviour that explains the trace up to the first event without an explanation.

    The behaviour includes silent steps, as few as possible before each event.
    """
    passed: list[tuple[CandidateStates, tuple[PossibleStep, ...]]] = []
    current, line, following = validator.initial, 0, validator.initial
    consistency = validator.mapping.consistency()
    for event in recorded.events:
        is_contradicted = validator.mapping.contradiction(consistency, event.found) is not None
        steps = validator.mapping.steps_of(event.found)
        if steps is None:
            continue
        following, _ = validator.after(current, () if is_contradicted else steps)
        if not following.arrived:
            break
        passed.append((current, steps))
        current, line = following, event.line
    state = current.arrived[0]
    behaviour: list[Taken] = []
    for before, steps in reversed(passed):
        source, taken = _into(validator, before, steps, state)
        state, silent = _silently(validator, before, source)
        behaviour[:0] = [*silent, *taken]
    moves = validator.moves
    shown = [TraceStep(None, (), moves.state(state))]
    shown += [TraceStep(action, arguments, moves.state(target)) for action, arguments, target in behaviour]
    sentence = behaviour_sentence(None if following.arrived else line)
    return Violation(BEHAVIOUR, "explanation", tuple(shown), sentence)


def _into(
    validator: Validator, before: CandidateStates, steps: tuple[PossibleStep, ...], state: Key
) -> tuple[Key, list[Taken]]:
    """Return a candidate from which an event leads to a state, and the event's step if it is not an observation."""
    for source in before.closed:
        for step in steps:
            for arguments, target in validator.matching(source, step):
                if target == state:
                    return source, [] if step.action is None else [(step.action, arguments, target)]
    raise AssertionError("no candidate leads to this candidate")


def _silently(validator: Validator, before: CandidateStates, state: Key) -> tuple[Key, list[Taken]]:
    """Return a candidate before any silent step, and the fewest silent steps from it to a state of the set."""
    known: dict[Key, tuple[Key, Taken] | None] = dict.fromkeys(before.arrived)
    frontier = list(before.arrived)
    while state not in known:
        reached = []
        for source in frontier:
            for step in validator.silent:
                for arguments, target in validator.matching(source, step):
                    if target not in known:
                        known[target] = source, (step.action or "", arguments, target)
                        reached.append(target)
        frontier = reached
    silent: list[Taken] = []
    while (origin := known[state]) is not None:
        state, taken = origin
        silent.insert(0, taken)
    return state, silent
