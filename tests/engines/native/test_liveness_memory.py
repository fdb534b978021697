"""The memory of the native decision: it is estimated before it is taken, and the estimate is not too small."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from checker.engines.native import engine
from checker.engines.native.liveness import components, decision, memory_budget
from checker.engines.native.liveness.classes import StepClasses
from checker.engines.native.liveness.components import FairGraph
from checker.engines.native.liveness.kernels import ExpandKernel
from checker.engines.native.liveness.memory_budget import LAYER_BYTES, STATE_BYTES, STEP_BYTES, MemoryBudget
from checker.language import Bag, Constant, Range, Spec, Struct, action, always_eventually, require
from checker.run.liveness import TooLargeError
from checker.run.plan import Plan
from tests.liveness_toys import Retry

FIXED = 1 << 20
"""Bytes that do not grow with the region."""


class Item(Struct):
    number: Range(0, 4999)


class Grid(Spec):
    """A strongly connected graph of many states with many steps each."""

    side = Constant(80)
    x = Range(0, "side - 1")
    y = Range(0, "side - 1")

    @action(fair="strong")
    def right(self, by: Range(1, 7)):
        self.x = (self.x + by) % self.side

    @action(fair="weak", for_each=())
    def up(self, by: Range(1, 3)):
        self.y = (self.y + by) % self.side

    @always_eventually
    def is_far(self):
        return self.x + self.y >= 3 * self.side


class Carried(Grid):
    """The same with a bag, of which each item is fair."""

    bag = Bag(Item, 3)
    up = None

    def init(self):
        self.bag = [Item(number=0), Item(number=1), Item(number=2)]

    @action(fair="strong")
    def turn(self, item: Item):
        require(item in self.bag)
        self.y = (self.y + item.number + 1) % self.side


def peak(call: Callable[[], object]) -> int:
    """Return the most bytes that a call takes at one time."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def decide_with(monkeypatch, limit: int | None):
    monkeypatch.setattr(decision, "MemoryBudget", lambda: MemoryBudget(limit))
    return engine.explore(Retry(), Plan(("is_done",), stop="all", quick=True))


@pytest.mark.parametrize("layers", [1, 3])
def test_the_decomposition_takes_no_more_than_estimated(layers):
    chooser = np.random.default_rng(5)
    states, degree = 8_000, 10
    sources = np.repeat(np.arange(states, dtype=np.int32), degree)
    targets = chooser.integers(0, states, states * degree).astype(np.int32)
    classes = (chooser.integers(0, 20, (layers, states * degree)) + np.arange(layers)[:, np.newaxis] * 20).astype(
        np.int32
    )
    is_strong = chooser.random(20 * layers) < 0.5
    graph = FairGraph(states, sources, targets, classes, is_strong, next_is_fair=False)
    taken = peak(lambda: components.fair_components(graph))
    graph_bytes = sources.nbytes + targets.nbytes + classes.nbytes
    estimate = states * STATE_BYTES + states * degree * (STEP_BYTES + layers * LAYER_BYTES)
    assert estimate / 2 < taken + graph_bytes < estimate + FIXED


@pytest.mark.parametrize(("spec", "states", "steps"), [(Grid(), 6_400, 64_000), (Carried(), 6_400, 64_000)])
def test_a_decision_takes_no_more_than_estimated(monkeypatch, spec, states, steps):
    needed = []
    right = MemoryBudget._require
    monkeypatch.setattr(MemoryBudget, "_require", lambda *given: needed.append(given[1:]) or right(*given))
    peaks = []
    decide = decision.NativeLiveness.decide
    monkeypatch.setattr(
        decision.NativeLiveness,
        "decide",
        lambda *given: (found := [], peaks.append(peak(lambda: found.append(decide(*given)))), found[0])[2],
    )
    assert engine.explore(spec, Plan(("is_far",), stop="all", quick=True)).violations
    size, subject = needed[-1]
    assert subject.startswith(f"{states:,} states of a region and their {steps:,} steps")
    assert peaks[0] < size + FIXED


def test_a_region_that_does_not_fit_is_not_expanded(monkeypatch):
    def must_not_run(*given):
        raise AssertionError("the region was expanded")

    monkeypatch.setattr(ExpandKernel, "expand", must_not_run)
    result = decide_with(monkeypatch, limit=400)
    assert (result.verdict, set(result.undecided)) == ("incomplete", {"is_done"})
    assert "(64 bytes a state and 64 a step) take about " in result.undecided["is_done"]


@pytest.mark.parametrize(("limit", "subject"), [(20, "labels of 16 states"), (150, "indexes of 16 states")])
def test_labels_and_indexes_that_do_not_fit_are_not_computed(monkeypatch, limit, subject):
    assert subject in decide_with(monkeypatch, limit).undecided["is_done"]


def test_a_region_that_grows_beyond_the_limit_is_refused():
    spec = Retry()
    classes = StepClasses(spec, engine.compile_native(spec, [], quick=True).layout)
    budget = MemoryBudget(limit=10 * STATE_BYTES + 20 * (STEP_BYTES + LAYER_BYTES))
    budget.require_region(10, 20, classes)
    with pytest.raises(TooLargeError, match="10 states of a region and their 21 steps"):
        budget.require_region(10, 21, classes)


def test_the_available_memory_is_the_limit_by_default(monkeypatch):
    assert decide_with(monkeypatch, limit=None).verdict == "holds"


def test_a_small_region_is_allowed_without_a_look_at_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(memory_budget, "available_memory", lambda: asked.append(0) or 0)
    MemoryBudget().require_labels(1000)
    assert not asked
    with pytest.raises(TooLargeError):
        MemoryBudget().require_labels(1_000_000)
