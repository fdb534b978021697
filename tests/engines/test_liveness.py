"""Liveness properties under fairness: verdicts that follow from TLA+'s definitions, for each engine."""

import pytest

from checker.engines.native import engine
from checker.engines.python import explorer
from checker.explain.lassos import check_lasso
from checker.language import Fairness, Spec, SpecError
from checker.run.plan import Plan
from checker.run.result import Result, Violation
from tests.liveness_toys import (
    Bounded,
    Boxes,
    Bridge,
    Chooser,
    Clock,
    DeadEnd,
    Mail,
    OneDeskOpens,
    Overflow,
    OverflowBeside,
    PartlyIdle,
    Retry,
    SelfLoop,
    Service,
    TwoDesks,
    WholeNext,
)

ENGINES = {"python": explorer.explore, "native": engine.explore}


@pytest.fixture(params=ENGINES)
def explore(request):
    return ENGINES[request.param]


def decide(explore, spec: Spec, *names: str, **limits) -> Result:
    result = explore(spec, Plan(tuple(names or spec.properties), stop="all", **limits))
    for violation in result.violations:
        if violation.kind == "liveness":
            check_lasso(spec, violation)
    return result


def violated(result: Result) -> dict[str, int]:
    return {violation.property: violation.length for violation in result.violations}


def only(result: Result) -> Violation:
    (violation,) = result.violations
    return violation


def test_strong_fairness_delivers_in_spite_of_losses(explore):
    result = decide(explore, Retry())
    assert (result.verdict, result.violations) == ("holds", [])
    assert [found.property for found in result.liveness] == ["is_done", "all_done", "none_lost", "stays_done"]
    assert result.liveness[0].obligations == 2


@pytest.mark.parametrize(
    ("fair", "expected"),
    [
        ({"deliver": "weak"}, {"is_done": 2, "all_done": 2, "stays_done": 2}),
        ({"retry": None}, {"is_done": 3, "all_done": 3, "none_lost": 3, "stays_done": 3}),
        ({"send": None}, {"all_done": 1, "stays_done": 1}),
        ({"send": None, "fair_next": "weak"}, {}),
        ({"deliver": None, "fair_next": "strong"}, {"is_done": 2, "all_done": 2, "stays_done": 2}),
        ({"deliver": Fairness("strong", for_each=())}, {}),
    ],
)
def test_each_promise_is_needed(explore, fair, expected):
    assert violated(decide(explore, Retry(batches=1).with_fairness(fair))) == expected


def test_a_weakly_fair_action_that_is_disabled_again_and_again_need_not_happen(explore):
    found = only(decide(explore, Retry(batches=1).with_fairness({"deliver": "weak"}), "is_done"))
    assert [str(step) for step in found.trace] == ["initial state", "send(p1)", "lose(p1)", "retry(p1)"]
    assert (found.loop_start, found.owed_since, found.length) == (1, 1, 2)
    assert found.trace[-1].state == found.trace[1].state
    assert found.bindings[0][0] == "batch"
    assert found.explanation.splitlines()[0] == "p1 is sent for ever"
    assert "deliver(p1) is disabled in state 3" in found.fairness
    assert "retry(p1) is taken in the loop, from state 3 to state 2" in found.fairness
    assert "send is disabled in every state of the loop" in found.fairness


def test_without_fairness_the_system_may_stop_anywhere(explore):
    found = only(decide(explore, Clock().with_fairness({"tick": None}), "is_midnight"))
    # Midnight itself is no place to stop: the property would be true there for ever.
    assert (found.loop_start, len(found.trace), found.length) == (1, 2, 2)
    assert found.fairness == (
        "rest changes nothing in state 2",
        "tick is enabled in state 2, but it is not fair: it need not happen",
    )


def test_stabilisation_needs_a_loop_through_a_false_state(explore):
    result = decide(explore, Clock())
    assert violated(result) == {"is_always_midnight": 1}
    assert len(only(result).loop) == 4


def test_a_dead_end_stutters(explore):
    found = only(decide(explore, DeadEnd()))
    assert [str(step) for step in found.trace] == ["initial state", "wrong()"]
    assert found.loop_start == 1


def test_each_choice_of_a_parameter_is_decided_by_itself(explore):
    result = decide(explore, OneDeskOpens())
    assert violated(result).keys() == set(OneDeskOpens().properties)
    assert all("desk = 1" in found.explanation for found in result.violations)
    assert [found.obligations for found in result.liveness] == [2] * 5


def test_a_step_that_changes_nothing_does_not_count(explore):
    # `poll` is enabled and even taken in the initial state for ever: <poll>_vars is neither.
    found = only(decide(explore, SelfLoop()))
    assert (found.loop_start, len(found.trace)) == (0, 1)
    assert found.fairness == (
        "poll changes nothing in state 1",
        "produce is enabled in state 1, but it is not fair: it need not happen",
    )
    assert not decide(explore, SelfLoop().with_fairness({"produce": "weak"})).violations


def test_a_step_that_changes_nothing_keeps_no_promise(explore):
    assert not decide(explore, PartlyIdle()).violations


def test_a_fair_next_state_relation_only_excludes_stopping(explore):
    assert violated(decide(explore, WholeNext())) == {"finishes": 2}
    assert violated(decide(explore, WholeNext().with_fairness({"fair_next": None}))) == {"starts": 1, "finishes": 1}
    assert not decide(explore, WholeNext().with_fairness({"work": "weak"})).violations


def test_fairness_for_each_choice_of_a_parameter(explore):
    assert violated(decide(explore, Chooser())) == {"everybody": 1}
    assert not decide(explore, Chooser().with_fairness({"serve": Fairness("weak", for_each="batch")})).violations


def test_fairness_for_each_item_of_a_collection(explore):
    # The position of letter 7 in the bag changes; the promise is about the letter.
    assert not decide(explore, Mail()).violations
    assert violated(decide(explore, Mail().with_fairness({"deliver": Fairness("strong", for_each=())}))) == {
        "arrives": 1
    }


def test_fairness_for_each_item_of_an_expression_is_refused_before_the_exploration(monkeypatch):
    assert not decide(explorer.explore, Boxes()).violations
    for whole in (Fairness("weak", for_each="batch"), Fairness("weak", for_each=())):
        assert not decide(engine.explore, Boxes().with_fairness({"take": whole})).violations
    monkeypatch.setattr(engine, "explore_compiled", lambda *given: pytest.fail("the spec was explored"))
    with pytest.raises(SpecError, match="take is fair for each letter, which is bound to an expression: bind it"):
        engine.explore(Boxes(), Plan(("is_taken",)))


EACH_END = {"leaving": None, "leave_left": "weak", "leave_right": "weak"}


def test_a_union_is_enabled_if_one_of_its_actions_is(explore):
    assert not decide(explore, Bridge(), "leaves").violations
    found = only(decide(explore, Bridge().with_fairness(EACH_END), "leaves"))
    assert (found.length, len(found.loop)) == (1, 2)
    assert "leave_left() is disabled in state 2" in found.fairness
    assert violated(decide(explore, Bridge().with_fairness({"leaving": None}), "leaves")) == {"leaves": 1}


def test_each_action_of_a_union_keeps_its_promise(explore):
    found = only(decide(explore, Service(batches=1)))
    assert (found.property, found.length) == ("is_completed", 1)
    assert found.fairness == ("serving (attempt or complete, batch=p1) is taken in the loop, from state 1 to state 2",)
    assert not decide(explore, Service().with_fairness({"complete": "weak"})).violations


def test_a_union_is_fair_for_each_choice_of_the_common_parameters(explore):
    assert violated(decide(explore, Service())) == {"is_completed": 1}
    as_a_whole = Service().with_fairness({"serving": Fairness("weak", for_each=())})
    assert violated(decide(explore, as_a_whole)) == {"is_served": 1, "is_completed": 1}


def test_a_union_is_fair_for_each_item_of_a_collection(explore):
    assert not decide(explore, TwoDesks()).violations
    each = {"delivering": None, "deliver_here": "weak", "deliver_there": "weak"}
    assert violated(decide(explore, TwoDesks().with_fairness(each))) == {"arrives": 1}


def test_the_reasons_name_the_actions_of_a_union(explore):
    found = only(decide(explore, Bridge(), "paces"))
    assert found.fairness == ("leaving (leave_left or leave_right) is disabled in state 2",)


def test_a_constraint_leaves_a_property_undecided_unless_the_explored_part_violates_it(explore):
    result = decide(explore, Bounded())
    assert result.verdict == "incomplete"
    assert set(result.undecided) == {"ends", "passes_three"}
    assert "the successors of 1 state outside the constraint were not explored" in result.undecided["ends"]
    assert violated(decide(explore, Bounded().with_fairness({"increment": None}))) == {"ends": 1, "passes_three": 1}
    assert decide(explore, Bounded(most=9)).verdict == "holds"


def test_a_limit_leaves_a_property_undecided(explore):
    result = decide(explore, Retry(), "is_done", max_depth=2)
    assert (result.verdict, result.ended) == ("incomplete", "max_depth")
    assert "stopped at a limit" in result.undecided["is_done"]


def test_a_goal_that_leaves_its_bounds_is_an_error(explore):
    result = decide(explore, Overflow())
    assert result.verdict == "error"
    found = only(result)
    assert (found.kind, found.property, len(found.trace)) == ("bounds_error", "is_even", 3)
    assert "is_even(1) cannot be evaluated" in found.explanation


@pytest.mark.parametrize("names", [("ends", "overshoots", "is_even"), ("is_even", "overshoots", "ends")])
def test_a_goal_that_leaves_its_bounds_is_an_error_of_its_property_only(explore, names):
    result = decide(explore, OverflowBeside(), *names)
    kinds = {found.property: found.kind for found in result.violations}
    assert kinds == {"is_even": "bounds_error", "overshoots": "liveness"}
    assert violated(result)["overshoots"] == 4


def test_a_run_that_ends_at_another_violation_decides_nothing(explore):
    result = explore(Bounded(), Plan(("is_counted", "ends"), stop="first"))
    assert set(result.undecided) == {"ends"}
    result = explore(Retry().with_fairness({"send": None}), Plan(tuple(Retry().properties), stop="first"))
    assert violated(result) == {"all_done": 1}
