"""The order in which the runs of a command start: the long ones first.

A long run that starts last keeps one process busy after the others have ended. The rows of the runs are shown in their
own order, so only those runs start early that matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from checker.engines.native.lowering.state_layout import state_layout
from checker.language.spec import Spec

_LONG_PART = 10
"""A group of runs is long if it takes more than a tenth of the time that each process has."""


def long_groups_first(groups: Sequence[Sequence[int]], specs: Sequence[Spec], processes: int) -> list[Sequence[int]]:
    """Return groups of runs with the long ones first, the longest of all at the start; the others keep their order.

    A group has the positions of its runs in `specs`. The times are estimated.
    """
    costs = [sum(_cost(specs[position]) for position in group) for group in groups]
    limit = sum(costs) / (processes * _LONG_PART)
    by_cost = sorted(range(len(groups)), key=lambda number: -costs[number] if costs[number] > limit else 0)
    return [groups[number] for number in by_cost]


def _cost(spec: Spec) -> int:
    """Return a number that grows with the time of a run: the action instances times the words of a state.

    Compiling takes most of the time of most runs, and both numbers make the code longer.
    """
    try:
        return sum(shape.instances for shape in spec.shapes()) * state_layout(spec.variables).words
    # The run reports what is wrong with its spec.
    except (Exception, SystemExit):
        return 0
