"""Random walks of the explorer: a uniformly chosen enabled step at a time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from checker.errors import BoundsError
from checker.explorer.address import MOST_STEPS, Address
from checker.explorer.session import ExplorerSession, Place
from checker.explorer.steps import enabled_steps
from checker.language.interpreter import State
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.output.page.story import property_value

MOST_DEPTH = 500
"""The most steps of a walk."""

_SECONDS = 5.0
"""The time limit of a walk."""

WalkEnd = Literal["depth", "violation", "deadlock", "constraint", "seconds", "steps"]


@dataclass(frozen=True)
class ExplorerWalk:
    """The address at the end of a walk, and why it ended there."""

    address: Address
    end: WalkEnd


def random_walk(session: ExplorerSession, place: Place, depth: int, generator: random.Random) -> ExplorerWalk:
    """Take up to `depth` random steps of the first pane.

    A walk ends at a step after which a checked property is false that was true before it, and in a state without steps
    or outside the constraints. Steps that leave the bounds of a type are not chosen.
    """
    pane = place.panes[0]
    spec, state, codes = pane.spec, pane.state, list[str]()
    started = time.monotonic()

    def ended(end: WalkEnd) -> ExplorerWalk:
        return ExplorerWalk(place.address.then(*codes), end)

    for number in range(depth):
        if len(place.address.codes) + number >= MOST_STEPS:
            return ended("steps")
        if time.monotonic() - started > _SECONDS:
            return ended("seconds")
        if not _is_within(spec, state):
            return ended("constraint")
        steps = session.enabled(place) if number == 0 else enabled_steps(spec, state)
        possible = [(step.code, step.state) for step in steps if step.state is not None]
        if not possible:
            return ended("deadlock")
        code, after = generator.choice(possible)
        codes.append(code)
        known = _false_properties(pane.variant.checks, spec, state, None)
        if _false_properties(pane.variant.checks, spec, after, state) - known:
            return ended("violation")
        state = after
    return ended("depth")


def _is_within(spec: Spec, state: State) -> bool:
    try:
        return spec.within_constraints(state)
    except BoundsError:
        return False


def _false_properties(checks: Callable[[str], bool], spec: Spec, state: State, old: State | None) -> set[str]:
    return {
        name
        for name in spec.safety_properties
        if checks(name)
        and spec.roles[name] is not Role.REACHABLE
        # A refinement without the state before it would be that of an initial state.
        and not (old is None and spec.roles[name] is Role.REFINEMENT)
        and property_value(spec, name, state, old) is not True
    }
