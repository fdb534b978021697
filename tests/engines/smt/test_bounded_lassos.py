"""Bounded search with Z3 decides liveness properties as the interpreter does, on specs with known verdicts."""

import pytest

from checker.engines.native import engine
from checker.engines.smt import fair_steps
from checker.engines.smt.bounded import search
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.explain.lassos import check_lasso
from checker.language import (
    Bag,
    Enum,
    Fairness,
    Map,
    Range,
    Spec,
    SpecError,
    action,
    choose,
    eventually,
    invariant,
    leads_to,
    require,
)
from checker.language.liveness import liveness_names
from checker.run import registry
from checker.run.expectation import properties_to_check
from checker.run.plan import Plan
from tests.liveness_toys import (
    Bounded,
    Bridge,
    Chooser,
    Clock,
    DeadEnd,
    Letter,
    Mail,
    Overflow,
    PartlyIdle,
    Retry,
    SelfLoop,
    Service,
    TwoDesks,
    WholeNext,
)
from tests.support.lasso_comparison import compare_lassos

ONE = Retry(batches=1)


def searched(spec, names, depth, **options):
    safety = [name for name in names if name in spec.safety_properties]
    return search(TransitionSystem(spec, safety), names, depth, QueryLimits(), **options)


def lengths(found):
    return {violation.property: (violation.length, len(violation.trace)) for violation in found.violations}


@pytest.mark.parametrize(
    "spec",
    [
        ONE,
        ONE.with_fairness({"deliver": "weak"}),
        ONE.with_fairness({"retry": None}),
        ONE.with_fairness({"send": None}),
        ONE.with_fairness({"send": None, "fair_next": "weak"}),
        ONE.with_fairness({"deliver": None, "fair_next": "strong"}),
        ONE.with_fairness({"deliver": Fairness("strong", for_each=())}),
        Clock(),
        Clock().with_fairness({"tick": None}),
        DeadEnd(),
        SelfLoop(),
        SelfLoop().with_fairness({"produce": "weak"}),
        PartlyIdle(),
        WholeNext(),
        WholeNext().with_fairness({"fair_next": None}),
        WholeNext().with_fairness({"work": "weak"}),
        Chooser(),
        Chooser().with_fairness({"serve": Fairness("weak", for_each="batch")}),
        Mail(),
        Mail().with_fairness({"deliver": Fairness("strong", for_each=())}),
        Bounded(),
        Bounded().with_fairness({"increment": None}),
        Overflow(),
        Bridge(),
        Bridge().with_fairness({"leaving": None, "leave_left": "weak", "leave_right": "weak"}),
        Service(batches=1),
        Service(batches=1).with_fairness({"serving": Fairness("strong", for_each=())}),
        TwoDesks(),
        TwoDesks().with_fairness({"delivering": Fairness("weak", for_each=())}),
    ],
    ids=lambda spec: f"{type(spec).__name__} {spec.fairness}",
)
def test_verdicts_and_stems_are_those_of_the_interpreter(spec):
    compare_lassos(spec, least_depth=6, most_depth=12)


class Side(Enum):
    LEFT = "left"
    RIGHT = "right"


class Inboxes(Spec):
    """Two inboxes. The collection that binds a letter depends on the inbox; the letter 0 is replaced for ever."""

    inbox = Map(Side, Bag(Letter, 2))
    delivered = Range(0, 1)

    def init(self):
        self.inbox[Side.LEFT] = [Letter(number=0), Letter(number=7)]

    @action
    def deliver(self, side: Side, letter: Letter):
        require(letter in self.inbox[side])
        self.inbox[side].remove(letter)
        if letter.number == 7:
            self.delivered = 1

    @action(fair="weak")
    def post(self):
        require(Letter(number=0) not in self.inbox[Side.LEFT])
        self.inbox[Side.LEFT].add(Letter(number=0))

    @eventually
    def arrives(self):
        return self.delivered == 1


class ChosenLetters(Inboxes):
    """The receiver chooses the letter, so no fairness distinguishes the letters."""

    @action
    def deliver(self, side: Side):
        letter = choose(self.inbox[side])
        self.inbox[side].remove(letter)
        if letter.number == 7:
            self.delivered = 1


@pytest.mark.parametrize(
    ("spec", "fairness", "is_violated"),
    [
        (Inboxes(), "strong", False),
        (Inboxes(), Fairness("weak", for_each="letter"), False),
        (Inboxes(), Fairness("strong", for_each="side"), True),
        (Inboxes(), Fairness("strong", for_each=()), True),
        (ChosenLetters(), "strong", True),
    ],
)
def test_items_of_a_collection_that_depends_on_another_argument(spec, fairness, is_violated):
    assert compare_lassos(spec.with_fairness({"deliver": fairness}), 6, 12) == [is_violated]


class Ladder(Spec):
    """A short loop is far away; the loop at the beginning is longer."""

    at = Range(0, 7)

    @action(fair="weak")
    def climb(self):
        require(self.at < 4)
        self.at += 1

    @action
    def leave(self):
        require(self.at == 0)
        self.at = 6

    @action(fair="weak")
    def back(self):
        require(self.at == 4)
        self.at = 0

    @action(fair="weak")
    def rest(self):
        require(self.at == 6)
        self.at = 7

    def begins(self):
        return self.at == 0

    @leads_to("begins")
    def ends(self):
        return self.at == 5

    @invariant
    def is_low(self):
        return self.at < 7


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        # 1, 2, 3, 4, 5, 1 has the shorter stem, and 1, 6, 7 is the shorter trace.
        (2, {}),
        (3, {"ends": (3, 3)}),
        (5, {"ends": (3, 3)}),
        (6, {"ends": (1, 6)}),
        (8, {"ends": (1, 6)}),
    ],
)
def test_the_bound_decides_which_stem_is_found(depth, expected):
    spec = Ladder()
    found = searched(spec, ["ends"], depth)
    assert lengths(found) == expected
    assert found.depth == min(depth, 3)
    assert found.stem_depth == min(depth, 6)
    for violation in found.violations:
        check_lasso(spec, violation)


def test_safety_and_liveness_are_searched_together():
    assert lengths(searched(Ladder(), ["is_low", "ends"], 8, stop="all")) == {"is_low": (3, 3), "ends": (1, 6)}
    # After the last expected violation, only the stem of the lasso is shortened.
    found = searched(Ladder(), ["is_low", "ends"], 8)
    assert lengths(found) == {"is_low": (3, 3), "ends": (1, 6)}
    assert (found.depth, found.stem_depth) == (3, 6)


def test_a_search_in_time_may_miss_a_shorter_stem():
    found = searched(Ladder(), ["ends"], 8, is_over=lambda length, seconds: length > 4)
    assert lengths(found) == {"ends": (3, 3)}
    assert found.stem_depth == 4


class ManyCalls(Spec):
    """More instances of fair actions than the search takes."""

    last = Range(0, 199)

    @action(fair="weak")
    def call(self, number: Range(0, 199)):
        self.last = number

    @eventually
    def is_called(self):
        return self.last > 0


def test_too_many_instances_are_refused(monkeypatch):
    monkeypatch.setattr(fair_steps, "MAX_INSTANCES", 199)
    with pytest.raises(SpecError, match=r"the fair actions of .* have 200 instances, .* at most 199: set smaller"):
        searched(ManyCalls(), ["is_called"], 3)
    monkeypatch.setattr(fair_steps, "MAX_INSTANCES", 200)
    assert not searched(ManyCalls().with_fairness({"call": Fairness("weak", for_each=())}), ["is_called"], 3).violations


REAL = {
    "consumer/group_liveness/without_sync": 6,
    "consumer/cooperative_liveness/fair_members": 8,
    "producer/metadata_wait_liveness/two_threads": 8,
    "producer/wakeup_is_forgotten_liveness/wakeup_is_forgotten": 8,
    "producer/close_leaves_waiters_liveness/close_leaves_waiters": 8,
    "producer/buffer_pool_liveness/close_leaves_waiters_fixed": 8,
    "producer/plain_liveness/without_receive_response": 6,
    "producer/drain_liveness/p14_starvation": 10,
    "producer/drain_liveness/p14_fixed_index_per_node": 10,
    "producer/idempotent_liveness/without_handle_produce": 6,
    "replication/kip320_liveness/flapping_isr": 8,
    "replication/kip320_liveness/leader_alone": 8,
}
"""Scenarios of the specs and the bound of the search; the bound suffices for each violation that is expected."""


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_specs(name):
    (selection,) = registry.select(name)
    scenario = selection.scenario
    spec = scenario.configured_spec()
    names = liveness_names(spec, properties_to_check(scenario))
    decided = engine.explore(spec, Plan(tuple(names), stop="all", quick=True))
    assert not decided.undecided
    found = searched(spec, names, REAL[name], stop="all")
    assert not found.unknown
    expected = {violation.property: violation.length for violation in decided.violations}
    assert {violation.property: violation.length for violation in found.violations} == expected
    for violation in found.violations:
        check_lasso(spec, violation)
