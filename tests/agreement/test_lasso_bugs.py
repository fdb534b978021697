"""The comparison with the interpreter, or its check of each lasso, detects deliberate mistakes in Z3's search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checker.engines.smt import fair_steps, lassos
from checker.engines.smt.lowering.logic import all_of, any_of, both, implies, negate
from checker.errors import BoundsError
from checker.language import Fairness, Range, Spec, action, constraint, eventually, leads_to, require
from tests.liveness_toys import Clock, DeadEnd, Letter, Mail, Overflow, PartlyIdle, Retry, SelfLoop, WholeNext
from tests.support.lasso_comparison import compare_lassos


class Passing(Spec):
    """Passes the goal on the way to a dead end."""

    at = Range(0, 2)

    @action(fair="weak")
    def go(self):
        require(self.at < 2)
        self.at += 1

    def begins(self):
        return self.at == 0

    @leads_to("begins")
    def arrives(self):
        return self.at == 1

    @eventually
    def arrives_once(self):
        return self.at == 1


class Fenced(Spec):
    """The dead end is outside the constraint, so it is part of no counterexample."""

    at = Range(0, 1)

    @action(fair="weak")
    def go(self):
        require(self.at == 0)
        self.at = 1

    @constraint
    def is_inside(self):
        return self.at == 0

    @eventually
    def arrives(self):
        return self.at == 2


class LateMail(Mail):
    """The letter 7 is posted later."""

    sent = Range(0, 1)

    def init(self):
        self.box = [Letter(number=0)]

    @action(fair="weak")
    def send(self):
        require(self.sent == 0 and len(self.box) < 2)
        self.sent = 1
        self.box.add(Letter(number=7))


Patch = Callable[[pytest.MonkeyPatch], None]

SEARCH, PATH, CLASSES = lassos.LassoSearch, lassos._LassoPath, fair_steps._FairClasses


def replaced(owner: Any, name: str, wrong: Callable[..., Any]) -> Patch:
    """Return the replacement of a function by `wrong`, which gets the original as its first argument."""
    right = getattr(owner, name)
    return lambda patch: patch.setattr(owner, name, lambda *given, **named: wrong(right, *given, **named))


def accepts_all(right: Any, *given: Any) -> Any:
    return True


def guard_only(right: Any, self: Any, name: str, instances: Any) -> Any:
    transition = self._transitions[name]
    return self._any_instance(transition, transition.taken, instances)


def never_stutters(right: Any, self: Any, is_same: Any) -> Any:
    return [*right(self, is_same), self.is_in_loop(self.last - 1)]


def may_jump(right: Any, self: Any, is_same: Any) -> Any:
    return right(self, lambda index, other: True)


def weak_instead_of_strong(right: Any, self: Any, path: Any, number: int, item: Any, indices: Any) -> Any:
    return self._weakly_fair(path, number, item)


def strong_instead_of_weak(right: Any, self: Any, path: Any, number: int, item: Any) -> Any:
    return self._strongly_fair(path, number, item, list(range(path.length)))


def takes_in_the_stem(right: Any, self: Any, path: Any, number: int, item: Any) -> Any:
    return any_of(self._takes(number, item, index) for index in range(path.last))


def takes_without_a_change(right: Any, self: Any, *given: Any) -> Any:
    right(self, *given)
    self._changed = True


def whole_loop(right: Any, self: Any, condition: Any) -> Any:
    return all_of(implies(self.is_in_loop(index), condition(index)) for index in range(self.length))


def goal_in_loop_only(right: Any, self: Any, path: Any, obligation: Any) -> Any:
    if obligation.role is lassos.Role.EVENTUALLY:
        return path.all_in_loop(lambda index: negate(self._goal(obligation, index)))
    return right(self, path, obligation)


def owed_for_ever(right: Any, self: Any, obligation: Any, index: int) -> Any:
    return any_of(self._call(obligation.premise, earlier) for earlier in range(index + 1))


def owed_now(right: Any, self: Any, obligation: Any, index: int) -> Any:
    return both(negate(self._goal(obligation, index)), self._call(obligation.premise, index))


def first_item(right: Any, found: Any, index: int) -> Any:
    return right(found, index)[:1]


def items_of_the_first_state(right: Any, found: Any, index: int) -> Any:
    return [(0, number) for _, number in right(found, index)] if found.placeholders else right(found, index)


ONE = Retry(batches=1)
WEAK = ONE.with_fairness({"deliver": "weak"})

BUGS: dict[str, tuple[Patch, Spec]] = {
    "strong fairness is not required": (replaced(SEARCH, "_strongly_fair", accepts_all), ONE),
    "weak fairness is not required": (replaced(SEARCH, "_weakly_fair", accepts_all), ONE),
    "strong fairness is taken for weak": (replaced(SEARCH, "_strongly_fair", weak_instead_of_strong), ONE),
    "weak fairness is taken for strong": (replaced(SEARCH, "_weakly_fair", strong_instead_of_weak), WEAK),
    "an action is enabled without a change of the state": (replaced(CLASSES, "_changes", guard_only), SelfLoop()),
    "an action is taken without a change of the state": (
        replaced(CLASSES, "__init__", takes_without_a_change),
        PartlyIdle().with_fairness({"work": Fairness("weak", for_each=())}),
    ),
    "an action is taken in the stem": (
        replaced(SEARCH, "_takes_class", takes_in_the_stem),
        WholeNext().with_fairness({"fair_next": None, "work": "strong"}),
    ),
    "a behaviour never stutters": (replaced(PATH, "shape", never_stutters), DeadEnd()),
    "a loop need not return": (replaced(PATH, "shape", may_jump), Clock()),
    "the next-state relation is not fair": (
        replaced(CLASSES, "_of_next", lambda right, self: fair_steps.SymbolicFairClass("weak", False, False)),
        WholeNext(),
    ),
    "an eventuality may be true in the stem": (replaced(SEARCH, "_violates", goal_in_loop_only), Passing()),
    "a stabilisation is false in the whole loop": (replaced(PATH, "some_in_loop", whole_loop), Clock()),
    "an obligation is never met": (replaced(SEARCH, "_owes", owed_for_ever), Passing()),
    "an obligation ends after a step": (
        replaced(SEARCH, "_owes", owed_now),
        ONE.with_fairness({"retry": None}),
    ),
    "a state outside the constraint may stutter": (
        replaced(SEARCH, "_inside", lambda right, self, path: []),
        Fenced(),
    ),
    "only the first item of a collection is fair": (
        replaced(lassos, "_items", first_item),
        Mail().with_fairness({"deliver": "weak"}),
    ),
    "the items of a collection are those of the first state": (
        replaced(lassos, "_items", items_of_the_first_state),
        LateMail(),
    ),
    "a goal that leaves its bounds is false": (
        replaced(SEARCH, "search_failure", lambda right, self, name: lassos.LassoAnswer()),
        Overflow(),
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_the_comparison_detects(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, spec = BUGS[bug]
    compare_lassos(spec, least_depth=6, most_depth=12)
    patch(monkeypatch)
    with pytest.raises((AssertionError, BoundsError)):
        compare_lassos(spec, least_depth=6, most_depth=12)
