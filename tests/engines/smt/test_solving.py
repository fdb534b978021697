"""Queries to a solver: their limits, their answers, and the reasons why there is none."""

import threading
from types import SimpleNamespace

import pytest
import z3

from checker.engines.smt.solving import QueryLimits, Solver, ask, guarded, satisfiable, seeded, was_interrupted

YES, NO, UNKNOWN = z3.Z3_L_TRUE, z3.Z3_L_FALSE, z3.Z3_L_UNDEF


class Scripted:
    """A solver with one answer, or with an exception; it notes what it is asked."""

    def __init__(self, answer, reason=""):
        self.answer, self.reason = answer, reason
        self.options, self.asked, self.added = {}, [], []

    def set(self, name, value):
        self.options[name] = value

    def add(self, *terms):
        self.added += terms

    def check(self, *assumptions):
        self.asked.append(assumptions)
        if isinstance(self.answer, Exception):
            raise self.answer
        return SimpleNamespace(r=self.answer)

    def model(self):
        return "a model"

    def reason_unknown(self):
        return self.reason


@pytest.mark.parametrize(("seconds", "options"), [(None, {}), (1.5, {"timeout": 1500}), (0.0001, {"timeout": 1})])
def test_a_query_has_a_limit_and_leaves_out_what_is_true(seconds, options):
    solver = Scripted(YES)
    found = ask(solver, QueryLimits(seconds), True, "a", "b")
    assert (found.answer, found.model, found.reason, solver.asked) == ("yes", "a model", "", [("a", "b")])
    assert solver.options == options and 0 <= found.seconds < 60


def test_a_query_that_is_cancelled_or_false_is_not_asked():
    cancelled, solver = threading.Event(), Scripted(YES)
    assert ask(solver, QueryLimits(None, cancelled)).answer == "yes"
    assert ask(solver, QueryLimits(), "a", False).answer == "no"
    cancelled.set()
    found = ask(solver, QueryLimits(None, cancelled))
    assert (found.answer, found.reason, found.seconds) == ("unknown", "interrupted", 0) and len(solver.asked) == 1


@pytest.mark.parametrize(
    ("answer", "reason", "seconds", "shown"),
    [
        (NO, "", 2, ""),
        (UNKNOWN, "timeout", 2, "timeout: no answer within 2 s"),
        (UNKNOWN, "timeout", None, "timeout"),
        (UNKNOWN, "incomplete", 2, "incomplete"),
        (z3.Z3Exception("out of memory"), "", 2, "out of memory"),
    ],
)
def test_a_solver_without_an_answer_is_made_again(answer, reason, seconds, shown):
    """Z3 forgets an assertion that it did not finish to read."""
    made = []
    solver = Solver(lambda: made.append(Scripted(answer, reason)) or made[-1])
    solver.add("one", "two")
    found = ask(solver, QueryLimits(seconds))
    assert (found.answer, found.reason) == ("no" if answer == NO else "unknown", shown)
    assert [each.added for each in made] == [["one", "two"]] * (1 if answer == NO else 2)


@pytest.mark.parametrize("answer", [UNKNOWN, z3.Z3Exception("canceled")])
def test_an_interrupt_ends_a_query(answer):
    with pytest.raises(KeyboardInterrupt):
        ask(Scripted(answer, "canceled"), QueryLimits(9))


@pytest.mark.parametrize(
    ("reason", "seconds", "limit", "is_interrupt"),
    [
        ("canceled", 0.79, 1, True),
        ("canceled", 0.8, 1, False),
        ("canceled", 9, None, True),
        ("interrupted from keyboard", 0.9, 1, True),
        ("timeout", 0.1, 1, False),
    ],
)
def test_an_interrupt_comes_before_the_limit(reason, seconds, limit, is_interrupt):
    assert was_interrupted(reason, seconds, QueryLimits(limit)) is is_interrupt


def test_conditions_are_asked_of_z3():
    one = z3.Bool("one")
    for is_finite in (True, False):
        assert satisfiable([True, one], QueryLimits(), is_finite=is_finite).answer == "yes"
        assert satisfiable([one, z3.Not(one)], QueryLimits(), is_finite=is_finite).answer == "no"
    assert satisfiable([one, False], QueryLimits(), is_finite=True).answer == "no"
    solver = z3.Solver()
    literal = guarded(solver, z3.Not(one))
    assert ask(solver, QueryLimits(), one).answer == "yes" and ask(solver, QueryLimits(), one, literal).answer == "no"
    assert guarded(solver, True) is True and len(solver.assertions()) == 1


def test_a_seed_is_that_of_all_solvers_and_ends_with_the_block():
    names = ("smt.random_seed", "sat.random_seed", "fp.spacer.random_seed")
    with seeded(7):
        assert [z3.get_param(name) for name in names] == ["7"] * 3
    assert [z3.get_param(name) for name in names] == ["0"] * 3
