"""The exact probability that a random walk fails: the Markov chain of the walks, solved over all states of a spec.

The interpreter computes the chain. It is independent of the kernel that makes the walks, and slow, so the number of
states is limited.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.errors import BoundsError
from checker.language.interpreter import State
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import Spec
from checker.run.plan import DEADLOCK

Failure = tuple[str, bool]
"""A property that is violated, or a name and True: an action, a property or a constraint that leaves its bounds."""


@dataclass
class _Chain:
    """The states in which a walk goes on, the steps between them, and the steps into a failure.

    A step is (number of its state, probability there, target): the number of a state, or of a set of failures. A step
    with a failure after which the walk goes on (`beyond`) is in both `moves` and `ends`; `move_failures` has its set of
    failures for each move, -1 for none.
    """

    beyond: bool

    states: dict[State, int] = field(default_factory=dict)
    start: dict[int, float] = field(default_factory=dict)
    moves: list[tuple[int, float, int]] = field(default_factory=list)
    move_failures: list[int] = field(default_factory=list)
    ends: list[tuple[int, float, int]] = field(default_factory=list)
    failures: dict[frozenset[Failure], int] = field(default_factory=dict)
    waiting: list[State] = field(default_factory=list)

    def number_of(self, state: State) -> int:
        if state not in self.states:
            self.states[state] = len(self.states)
            self.waiting.append(state)
        return self.states[state]

    def number_of_failures(self, failures_after: frozenset[Failure]) -> int:
        return self.failures.setdefault(failures_after, len(self.failures))


def exact_probabilities(
    spec: Spec,
    properties: Sequence[str],
    depth: int,
    weights: Mapping[str, int],
    most_states: int,
    *,
    beyond: bool = False,
) -> dict[Failure, float] | None:
    """Return for each failure the probability that a walk of at most `depth` steps has it.

    A walk ends with its first failure, or with `beyond` only with an error. `weights` are those of actions (default 1).
    Failures that no walk can have are left out. Returns None if walks reach more than `most_states` states.
    """
    chain = _chain(spec, properties, weights, most_states, beyond=beyond)
    if chain is None:
        return None
    failures = sorted({failure for group in chain.failures for failure in group})
    return {failure: _probability(chain, failure, depth) for failure in failures}


def _probability(chain: _Chain, failure: Failure, depth: int) -> float:
    """Return the probability that a walk has a failure within `depth` steps."""
    has_it = np.array([failure in group for group in chain.failures], dtype=bool)
    moves, ends = _arrays(chain.moves), _arrays(chain.ends)
    wanted = tuple(column[has_it[ends[2]]] for column in ends)
    # A walk that goes on after the failure is not counted again.
    kept = np.array([number < 0 or not has_it[number] for number in chain.move_failures], dtype=bool)
    moves = tuple(column[kept] for column in moves)
    alive = np.zeros(len(chain.states))
    for number, share in chain.start.items():
        alive[number] = share
    # A probability may be too small for a float, and is not 0 then.
    probability, is_possible, reached = 0.0, False, alive > 0
    # A walk of `depth` steps ends without a look at the steps that are enabled in its last state.
    for _ in range(depth):
        probability += float((alive[wanted[0]] * wanted[1]).sum())
        is_possible = is_possible or bool(reached[wanted[0]].any())
        alive, reached = _flow(moves, alive), _flow(moves, reached.astype(float)) > 0
    return max(probability, math.ulp(0.0)) if is_possible else 0.0


Steps = tuple[NDArray[Any], ...]
"""The numbers of the states before some steps, the probabilities of the steps there, and their targets."""


def _arrays(steps: list[tuple[int, float, int]]) -> Steps:
    sources, shares, targets = zip(*steps, strict=True) if steps else ((), (), ())
    return np.array(sources, dtype=np.int64), np.array(shares, dtype=float), np.array(targets, dtype=np.int64)


def _flow(moves: Steps, alive: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each state after a step, from those before."""
    sources, shares, targets = moves
    return np.bincount(targets, weights=alive[sources] * shares, minlength=len(alive)).astype(np.float64)


def _chain(
    spec: Spec, properties: Sequence[str], weights: Mapping[str, int], most_states: int, *, beyond: bool
) -> _Chain | None:
    chain = _Chain(beyond)
    initial = spec.initial_states()
    for state in initial:
        # Walks refuse a spec with an initial state that violates a property.
        if _is_within(spec, state):
            number = chain.number_of(state)
            chain.start[number] = chain.start.get(number, 0.0) + 1 / len(initial)
    while chain.waiting:
        state = chain.waiting.pop()
        _add_steps(spec, properties, weights, chain, state)
        if len(chain.states) > most_states:
            return None
    return chain


def _add_steps(spec: Spec, properties: Sequence[str], weights: Mapping[str, int], chain: _Chain, state: State) -> None:
    number = chain.states[state]
    steps, failures = spec.expand(state)
    if failures:
        chain.ends.append((number, 1.0, chain.number_of_failures(frozenset({(failures[0].action, True)}))))
        return
    if not steps and DEADLOCK in properties:
        chain.ends.append((number, 1.0, chain.number_of_failures(frozenset({(DEADLOCK, False)}))))
    total = sum(weights.get(step.action, 1) for step in steps)
    for step in steps:
        share = weights.get(step.action, 1) / total
        failed = _failures(spec, properties, state, step.state)
        ending = chain.number_of_failures(failed) if failed else -1
        if failed:
            chain.ends.append((number, share, ending))
        goes_on = not failed or (chain.beyond and not any(is_error for _, is_error in failed))
        if goes_on and _is_within(spec, step.state):
            chain.moves.append((number, share, chain.number_of(step.state)))
            chain.move_failures.append(ending)


def _failures(spec: Spec, properties: Sequence[str], old: State, new: State) -> frozenset[Failure]:
    """Return what fails after a step: the first error, or else all violated properties."""
    for name in spec.names_of(Role.CONSTRAINT):
        try:
            spec.holds(name, new)
        except BoundsError:
            return frozenset({(name, True)})
    violated = set()
    for name in properties:
        role = spec.roles.get(name)
        if role is None:
            continue
        try:
            is_true = spec.holds(name, new, old if role in STEP_ROLES else None)
        except BoundsError:
            return frozenset({(name, True)})
        if role is not Role.REACHABLE and not is_true:
            violated.add((name, False))
    return frozenset(violated)


def _is_within(spec: Spec, state: State) -> bool:
    return all(spec.holds(name, state) for name in spec.names_of(Role.CONSTRAINT))
