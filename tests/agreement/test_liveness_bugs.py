"""The comparison of the engines, or the check of each lasso, detects deliberate mistakes in the native decision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checker.engines.native import engine
from checker.engines.native.liveness import classes, components, decision, kernels
from checker.engines.native.llvm import ir
from checker.engines.python import explorer
from checker.language import Fairness, Spec
from checker.run.plan import Plan
from tests.liveness_toys import (
    Bridge,
    Chooser,
    Clock,
    DeadEnd,
    Mail,
    PartlyIdle,
    Retry,
    SelfLoop,
    Service,
    TwoDesks,
    WholeNext,
)

Patch = Callable[[pytest.MonkeyPatch], None]


def replaced(owner: Any, name: str, wrong: Callable[..., Any]) -> Patch:
    """Return the replacement of a function by `wrong`, which gets the original as its first argument."""
    right = getattr(owner, name)
    return lambda patch: patch.setattr(owner, name, lambda *given, **named: wrong(right, *given, **named))


def both(*patches: Patch) -> Patch:
    """Return several replacements as one."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        for each in patches:
            each(patch)

    return apply


def self_loops_leave(right: Any, graph: Any) -> Any:
    # A step that changes nothing is enabled, but not taken.
    return right(replace(graph, targets=np.where(graph.targets == graph.sources, -1, graph.targets)))


def always_differ(right: Any, builder: Any, left: Any, other: Any) -> ir.Value:
    return ir.ConstantValue(ir.IntegerType(1), 1)


def accepts_untaken_strong(right: Any, *given: Any) -> Any:
    found = right(*given)
    return replace(found, strong=np.zeros_like(found.strong))


def drops_untaken_strong(right: Any, *given: Any) -> Any:
    found = right(*given)
    return replace(found, weak=found.weak | found.strong)


def never_stutters(right: Any, graph: Any) -> Any:
    found = right(graph)
    sizes = np.bincount(found.of_state[found.of_state >= 0], minlength=graph.count)
    alone = (found.of_state >= 0) & (sizes[found.of_state] == 1)
    return replace(found, of_state=np.where(alone, -1, found.of_state))


def without(field: str, value: Any) -> Callable[..., Any]:
    return lambda right, graph: right(replace(graph, **{field: value}))


def all_strong(right: Any, graph: Any) -> Any:
    return right(replace(graph, is_strong=np.ones_like(graph.is_strong)))


def strength_is_weak(right: Any, graph: Any) -> Any:
    return right(replace(graph, is_strong=np.zeros_like(graph.is_strong)))


def one_class(right: Any, shape: Any, positions: Any) -> Any:
    return np.zeros(shape.instances, np.int32), 1


def outside_counts_as_inside(right: Any, graph: Any) -> Any:
    # A step that leaves the region counts as one that takes its class inside.
    return right(replace(graph, targets=np.where(graph.targets < 0, graph.sources, graph.targets)))


def each_alone(right: Any, self: Any, members: Any, **named: Any) -> None:
    # Each action of a union is fair by itself.
    for action, member in members.items():
        right(self, {action: member}, **named)


def first_member(right: Any, self: Any, members: Any, **named: Any) -> None:
    # Only the first action of a union counts.
    action = next(iter(members))
    right(self, {action: members[action]}, **named)


def first_layer(right: Any, self: Any, *given: Any) -> Any:
    # A step has only the class of one fair action or union.
    found, strong = right(self, *given)
    return found[:1], strong


def items_of_each_alone(right: Any, self: Any, members: Any, classes: Any, *given: Any) -> Any:
    # Each action of a union distinguishes its items by itself.
    *given, strong = given
    for member in members:
        strong = right(self, [member], classes, *given, strong)
    return strong


ONE = Retry(batches=1)
WEAK = ONE.with_fairness({"deliver": "weak"})
CANNOT_RETRY = ONE.with_fairness({"retry": None})

BUGS = {
    "untaken strong classes are accepted": (
        replaced(components, "_lacking", accepts_untaken_strong),
        Retry(),
    ),
    "components with an untaken strong class are not decomposed again": (
        replaced(components, "_lacking", drops_untaken_strong),
        CANNOT_RETRY,
    ),
    "an action is enabled without a change of the state": (
        both(
            replaced(kernels, "_differ", always_differ),
            replaced(decision, "fair_components", self_loops_leave),
        ),
        SelfLoop(),
    ),
    "an action is taken without a change of the state": (replaced(kernels, "_differ", always_differ), PartlyIdle()),
    "a behaviour never stutters": (replaced(decision, "fair_components", never_stutters), DeadEnd()),
    "the next-state relation is never fair": (
        replaced(decision, "fair_components", without("next_is_fair", False)),
        WholeNext(),
    ),
    "the next-state relation is always fair": (
        replaced(decision, "fair_components", without("next_is_fair", True)),
        WholeNext().with_fairness({"fair_next": None}),
    ),
    "every class is strong": (replaced(decision, "fair_components", all_strong), WEAK),
    "every class is weak": (replaced(decision, "fair_components", strength_is_weak), ONE),
    "any component violates a stabilisation": (
        replaced(decision, "fair_components", without("must_visit", None)),
        Retry(),
    ),
    "a step out of the region takes its class": (
        replaced(decision, "fair_components", outside_counts_as_inside),
        PartlyIdle(),
    ),
    "an action is fair only as a whole": (
        replaced(classes, "_number_classes", one_class),
        Chooser().with_fairness({"serve": Fairness("weak", for_each="batch")}),
    ),
    "items of a collection are one class": (
        replaced(classes, "_collection_items", lambda right, shape, positions: ()),
        Mail(),
    ),
    "each action of a union is fair by itself": (replaced(classes.StepClasses, "_add", each_alone), Bridge()),
    "only the first action of a union counts": (replaced(classes.StepClasses, "_add", first_member), Bridge()),
    "a union is fair only as a whole": (replaced(classes, "_number_classes", one_class), Service()),
    "the fairness of a union replaces that of its actions": (
        replaced(classes.StepClasses, "of_steps", first_layer),
        Service().with_fairness({"complete": "weak"}),
    ),
    "the actions of a union distinguish items apart": (
        replaced(classes.StepClasses, "_distinguish", items_of_each_alone),
        TwoDesks(),
    ),
    "the obligation ends after a step": (
        replaced(
            decision.NativeLiveness,
            "_reach",
            lambda right, self, owed, *given: (right(self, owed, *given), owed.sources)[1],
        ),
        CANNOT_RETRY,
    ),
    "an eventuality may begin anywhere": (
        replaced(decision.NativeLiveness, "_initial", lambda right, self, chosen: np.flatnonzero(chosen)),
        Clock().with_fairness({"tick": None}),
    ),
}


def disagree(spec: Spec) -> bool:
    """Return whether the engines decide a liveness property of a spec differently, or one has a wrong lasso.

    The interpreter rejects a wrong lasso, and the search for a loop fails in a component that is not fair: both are
    failed assertions.
    """
    plan = Plan(tuple(spec.properties), stop="all", quick=True)
    expected = {found.property: found.length for found in explorer.explore(spec, plan).violations}
    try:
        return {found.property: found.length for found in engine.explore(spec, plan).violations} != expected
    except AssertionError:
        return True


@pytest.mark.parametrize("bug", BUGS)
def test_the_comparison_detects(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, spec = BUGS[bug]
    assert not disagree(spec)
    patch(monkeypatch)
    assert disagree(spec)
