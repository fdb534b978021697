"""The order in which the runs of a command start: the long ones first.

A long run that starts last keeps one process busy after the others have ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from checker.engines.native.lowered_spec import MOST_INSTANCES
from checker.engines.native.lowering.state_layout import state_layout
from checker.language.spec import Spec

_LONG_PART = 10
"""A group of runs is long if it takes more than a tenth of the time that each process has."""


def long_groups_first(groups: Sequence[Sequence[int]], specs: Sequence[Spec], processes: int) -> list[int]:
    """Return the positions of groups of runs: those of long groups first, from the longest on, then the others.

    A group has the positions of its runs in `specs`. The times are estimated.
    """
    costs = [sum(_cost(specs[position]) for position in group) for group in groups]
    total = sum(costs)
    is_long = [cost * processes * _LONG_PART > total for cost in costs]
    return sorted(range(len(groups)), key=lambda position: -costs[position] if is_long[position] else 0)


def _cost(spec: Spec) -> int:
    """Return a number that grows with the time of a run: the action instances times the words of a state.

    Compiling takes most of the time of most runs, and both numbers make the code longer. A spec that the native engine
    refuses has no cost.
    """
    try:
        instances = sum(shape.instances for shape in spec.shapes())
        return instances * state_layout(spec.variables).words if instances <= MOST_INSTANCES else 0
    # The run reports what is wrong with its spec.
    except (Exception, SystemExit):
        return 0
