"""Ranks of states: why a liveness property holds, in a form that can be verified state by state, step by step.

Each state with an obligation open has a node of a forest. A step leads to no node with a higher number below the same
parent, so a behaviour stays below one node for ever, or at it. The node names a fair class of steps which its own
states enable and no step inside takes. Below a node with children the class is strongly fair: a fair behaviour visits
the own states of the node finitely often, and then stays in a child. A node without a class has no state that a
violation must visit again and again. (The decomposition is that of `checker.engines.python.liveness`.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from checker.engines.python.liveness import LivenessDecider
from checker.language.fairness import FairClass


@dataclass(frozen=True)
class LivenessRanks:
    """The ranks for one choice of a property's parameters.

    `nodes` are the parent (None: none) and the class of each node, `node_of` the node of each state with the obligation
    open.
    """

    arguments: tuple[Any, ...]
    nodes: list[tuple[int | None, FairClass | None]] = field(default_factory=list)
    node_of: dict[int, int] = field(default_factory=dict)


def liveness_ranks(decider: LivenessDecider, name: str) -> list[LivenessRanks]:
    """Return the ranks for each choice of the parameters of a liveness property that holds."""
    all_ranks = []
    for obligation in decider.obligations(name):
        ranks = LivenessRanks(obligation.arguments)
        _rank(decider, ranks, frozenset(decider.distances(obligation)[0]), obligation.must_visit, None)
        all_ranks.append(ranks)
    return all_ranks


def _rank(
    decider: LivenessDecider,
    ranks: LivenessRanks,
    states: frozenset[int],
    must_visit: frozenset[int] | None,
    parent: int | None,
) -> None:
    # A component comes after those to which its steps lead.
    for component in decider.components(states):
        fair_class, own = _reason(decider, component, must_visit)
        ranks.nodes.append((parent, fair_class))
        number = len(ranks.nodes) - 1
        ranks.node_of.update(dict.fromkeys(own, number))
        _rank(decider, ranks, component - own, must_visit, number)


def _reason(
    decider: LivenessDecider, component: frozenset[int], must_visit: frozenset[int] | None
) -> tuple[FairClass | None, frozenset[int]]:
    """Return a class that excludes a component, and the states that enable it; None and all states if none need."""
    enabled, taken = decider.enabled_and_taken(component)
    lacking = {fair_class: where for fair_class, where in enabled.items() if fair_class not in taken}
    if must_visit is not None and not component & must_visit:
        return None, component
    # A class that every state enables excludes the whole component.
    fair_class = max(
        lacking, key=lambda fair_class: (len(lacking[fair_class]) == len(component), fair_class.strength == "strong")
    )
    assert fair_class.strength == "strong" or len(lacking[fair_class]) == len(component), "the component is fair"
    return fair_class, frozenset(lacking[fair_class])
