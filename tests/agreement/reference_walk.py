"""A random walk in plain Python on the interpreter, the reference for the walks of the native kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from checker.engines.native.walk.kernel import CONSTRAINT, ENDINGS
from checker.engines.native.walk.walker import Walker, Walks
from checker.language import BoundsError, Spec, State
from checker.language.roles import STEP_ROLES, Role
from checker.run.plan import DEADLOCK

MASK = 2**64 - 1


@dataclass
class Reference:
    """A walk, with the fields of `checker.engines.native.walk.walker.Walks` and the states that it visits."""

    initial: int = 0
    ending: str = ""
    actions: list[int] = field(default_factory=list)
    enabled: list[int] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    violated: int = 0
    reached: int = 0
    failed_instance: int = -1
    failed_property: int = -1


class Generator:
    """The random number generator splitmix64, as its authors publish it."""

    def __init__(self, seed: int):
        self._state = seed

    def next(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & MASK
        value = self._state
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
        return value ^ (value >> 31)

    def below(self, end: int) -> int:
        return self.next() * end >> 64


def reference_walk(
    spec: Spec, properties: list[str], seed: int, depth: int, weights: Mapping[str, int] | None = None
) -> Reference:
    generator = Generator(seed)
    initial_states = spec.initial_states()
    walk = Reference(initial=generator.below(len(initial_states)))
    walk.states.append(initial_states[walk.initial])
    while not _is_over(spec, properties, walk, depth):
        steps, failures = spec.expand(walk.states[-1])
        if failures:
            walk.ending, walk.failed_instance = "bounds", failures[0].instance
        elif not steps:
            walk.ending = "deadlock"
            if DEADLOCK in properties:
                walk.violated |= 1 << properties.index(DEADLOCK)
        if walk.ending:
            break
        each = [(weights or {}).get(step.action, 1) for step in steps]
        left = generator.below(sum(each))
        step = next(step for number, step in enumerate(steps) if left < sum(each[: number + 1]))
        walk.actions.append(step.instance)
        walk.enabled.append(len(steps))
        walk.states.append(step.state)
    return walk


def _is_over(spec: Spec, properties: list[str], walk: Reference, depth: int) -> bool:
    """Check the last state of a walk and the step to it; set the ending if the walk ends there."""
    state, old = walk.states[-1], walk.states[-2] if len(walk.states) > 1 else None
    failed = _constraints(spec, state) is None
    if failed:
        walk.failed_property = CONSTRAINT
    for bit, name in enumerate(properties):
        role = spec.roles.get(name)
        if role is None or (role in STEP_ROLES and old is None):
            continue
        try:
            truth = spec.holds(name, state, old if role in STEP_ROLES else None)
        except BoundsError:
            walk.failed_property, failed = bit if not failed else walk.failed_property, True
            continue
        if role is Role.REACHABLE:
            walk.reached |= truth << bit
        else:
            walk.violated |= (not truth) << bit
    if failed:
        # A failed evaluation has precedence over a violation in the same state, and hides it.
        walk.violated = 0
    if failed or walk.violated:
        walk.ending = "bounds" if failed else "violation"
    elif len(walk.actions) == depth:
        walk.ending = "depth"
    elif not _constraints(spec, state):
        walk.ending = "constraint"
    return bool(walk.ending)


def _constraints(spec: Spec, state: State) -> bool | None:
    """Return whether every constraint is true in a state, evaluating all of them; None if one leaves its bounds."""
    try:
        found = [spec.holds(name, state) for name in spec.names_of(Role.CONSTRAINT)]
        return all(found)
    except BoundsError:
        return None


def state_hash(words: list[int]) -> int:
    value = 0xD6E8FEB86659FD93
    for word in words:
        value = ((value ^ word) * 0x9E3779B97F4A7C15) & MASK
        value ^= value >> 32
    value = (value * 0xD6E8FEB86659FD93) & MASK
    return value ^ (value >> 32)


def compare_walk(walker: Walker, walks: Walks, number: int, expected: Reference, sampling: int) -> None:
    """Assert that a walk of a batch is the expected one."""
    end = int(walks.ends[number])
    actions = walks.actions[end - walks.lengths[number] : end].tolist()
    assert actions == expected.actions
    assert walks.initial[number] == expected.initial
    assert ENDINGS[walks.endings[number]] == expected.ending
    assert walks.violated[number] == expected.violated
    assert walks.reached[number] == expected.reached
    assert walks.failed_instance[number] == expected.failed_instance
    assert walks.failed_property[number] == expected.failed_property
    assert walker.state_of(walks.last_states[number, 0]) == expected.states[-1]
    assert walker.state_of(walks.last_states[number, 1]) == expected.states[-2 if len(expected.states) > 1 else -1]
    bits = [int(word) >> bit & 1 for word in walks.coverage[number] for bit in range(64)]
    assert {instance for instance, is_taken in enumerate(bits) if is_taken} == set(actions)
    hashes = [state_hash(walker.words_of(state)) for state in expected.states]
    before = int(walks.sampled_ends[number - 1]) if number else 0
    sampled = walks.sampled[before : walks.sampled_ends[number]].tolist()
    assert sampled == [found for found in hashes if found >> (64 - sampling) == 0]
    if walks.hashes is not None and walks.enabled is not None:
        assert walks.hashes[end - len(actions) : end].tolist() == hashes[1:]
        assert walks.enabled[end - len(actions) : end].tolist() == expected.enabled
