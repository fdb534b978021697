"""Mutation campaigns: killed mutants with the properties that kill them, and reasons for survivors."""

from pathlib import Path

import pytest

from checker.evidence.mutation import campaign
from checker.evidence.mutation.campaign import MutationTask, run_campaign, try_mutant, type_mutants
from checker.evidence.mutation.verdicts import MutantRun, mutant_run_of, verdict_of

TOY = str(Path(__file__).parent / "toy.py")
TASK = MutationTask(f"{TOY}/even", (), ("at_most_two", "never_negative", "is_two"))


@pytest.fixture(scope="module")
def report():
    return run_campaign(TASK, workers=2)


def verdict_in(report, operator, before, method=None):
    (found,) = [
        outcome
        for mutant, outcome in zip(report.mutants, report.outcomes.values(), strict=True)
        if (mutant.mutation.operator, mutant.mutation.before) == (operator, before)
        and method in (None, mutant.method.name)
    ]
    return found


def test_verdicts_of_a_campaign(report):
    report.outcomes = dict(sorted(report.outcomes.items()))
    dropped = verdict_in(report, "drop require", "require(self.may_count(node))")
    assert dropped.status == "killed"
    assert set(dropped.killed_by) == {"at_most_two", "bounds"}
    unchanging = verdict_in(report, "drop assignment", "self.count[node] = successor(self.count[node])")
    assert (unchanging.status, unchanging.killed_by) == ("killed", ("is_two",))
    same = verdict_in(report, "swap < and <=", "self.count[node] < self.limit")
    assert (same.status, same.why) == (
        "equivalent",
        "the same initial states, states and steps, with the same actions and arguments",
    )


def test_kills_by_property(report):
    assert report.kills["never_negative"] == 0
    assert report.kills["at_most_two"] > 0
    assert report.sole_kills["is_two"] > 0


def test_verdicts_do_not_depend_on_the_number_of_workers(report):
    again = run_campaign(TASK, workers=1)
    assert dict(sorted(again.outcomes.items())) == dict(sorted(report.outcomes.items()))
    assert again.kills == report.kills


def test_limited_campaign_is_spread_over_the_spec():
    few = run_campaign(TASK, workers=1, most=3)
    assert len(few.outcomes) == 3
    assert few.total == len(few.mutants) > 10
    assert len({few.mutants[number].method for number in few.outcomes}) > 1


POOL = MutationTask(f"{TOY}/buffer", (), ("in_bounds",))


def verdicts_of_buffer():
    """Return the original of the buffer, and the verdict on each mutant by its method and its text."""
    original = mutant_run_of(campaign._explore(POOL.spec(), POOL, None, None))
    mutants = campaign._mutate(POOL.target).mutants
    return original, {
        (mutant.method.name, str(mutant.mutation)): try_mutant(POOL, original, number)
        for number, mutant in enumerate(mutants)
    }


def test_buffer_that_gives_nothing_back_is_not_equivalent():
    """The mutant has the counts of the original: only the graphs differ."""
    original, verdicts = verdicts_of_buffer()
    dropped = verdicts["Buffer.give_back", "drop assignment: self.free = 1"]
    assert dropped.status == "survived"
    assert dropped.why == "the same numbers of states and steps, but other states or steps"
    assert dropped.found == original


def test_equivalence_is_undecided_if_a_graph_is_not_complete(monkeypatch):
    monkeypatch.setattr(campaign, "_graph", lambda task, most: None)
    _, verdicts = verdicts_of_buffer()
    assert verdicts["Buffer.give_back", "drop assignment: self.free = 1"].status == "undecided"


def test_only_mutants_that_the_front_end_takes_are_made():
    task = MutationTask(f"{TOY}/typed", (), ("fine",))
    mutants = campaign._mutate(task.target).mutants
    typed = type_mutants(task, range(len(mutants)))
    refused = {str(mutant.mutation) for number, mutant in enumerate(mutants) if number not in typed}
    # A set has no `+ 1`, and Node has no member 1.
    assert refused == {
        "shift a bound: self.some <= self.all  ->  self.some <= self.all + 1",
        "shift a literal: 0  ->  1",
    }
    # A local that only the dropped statement reads does not make a mutant wrong.
    assert "drop require: require(first not in self.all)" in {str(mutants[number].mutation) for number in typed}


def test_mutant_is_stopped_at_the_limit_of_states(monkeypatch):
    monkeypatch.setattr(campaign, "FEWEST_STATES", 1)
    monkeypatch.setattr(campaign, "STATES_FACTOR", 0)
    task = MutationTask(f"{TOY}/even", (), ("never_negative",))
    original = MutantRun(9, 9, (1,) * 9, {}, {}, True)
    statuses = {
        try_mutant(task, original, number).status for number in range(len(campaign._mutate(task.target).mutants))
    }
    assert "undecided" in statuses


def summary(distinct=5, generated=9, levels=(1, 4), violated=None, is_complete=True):
    return MutantRun(distinct, generated, levels, {"go": (generated, distinct)}, violated or {}, is_complete)


def no_comparison():
    raise AssertionError("the counts decide")


@pytest.mark.parametrize(
    ("same", "status", "why"),
    [
        (True, "equivalent", "the same initial states, states and steps"),
        (False, "survived", "other states or steps"),
        (None, "undecided", "not compared completely"),
    ],
)
def test_graphs_decide_if_the_counts_are_the_same(same, status, why):
    outcome = verdict_of(summary(), summary(), lambda: same)
    assert (outcome.status, outcome.killed_by) == (status, ())
    assert why in outcome.why


@pytest.mark.parametrize(
    ("original", "found", "status", "killed_by", "why"),
    [
        (summary(), summary(levels=(2, 3)), "survived", (), "by other actions or at other depths"),
        (summary(), summary(distinct=4), "survived", (), "no invariant can detect"),
        (summary(), summary(distinct=6), "survived", (), "no property forbids"),
        (summary(), summary(generated=8), "survived", (), "8 steps instead of 9"),
        (summary(), summary(is_complete=False), "undecided", (), "no property is violated in the 5 explored states"),
        (summary(), summary(violated={"a": 3}), "killed", ("a",), ""),
        (summary(violated={"a": 3}), summary(violated={"a": 3, "b": 2}), "killed", ("b",), ""),
        (summary(violated={"a": 3}), summary(), "killed", ("a",), ""),
        (summary(violated={"a": 3}), summary(violated={"a": 4}), "killed", ("a",), ""),
        (summary(violated={"a": 3}), summary(is_complete=False), "undecided", (), "no property is violated"),
    ],
)
def test_verdict_by_comparison_with_the_original(original, found, status, killed_by, why):
    outcome = verdict_of(original, found, no_comparison)
    assert (outcome.status, outcome.killed_by) == (status, killed_by)
    assert why in outcome.why
