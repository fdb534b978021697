"""Runs that share lowered code, compared with runs that are compiled alone."""

import pytest

from checker import frontend
from checker.engines.native import engine
from checker.engines.native.cache.shared_lowering import MOST_TOGETHER, SharedLowering, groups
from checker.engines.native.explore import lowered_spec, search
from checker.engines.native.llvm import code_cache
from checker.engines.python import explorer
from checker.errors import SpecError
from checker.run import command_process
from checker.run.plan import Plan
from tests.engines.native.tank_specs import OneOfTwoTanks, OtherTank, Tank, WrongBranchTank

ALL = ("full", "below_limit", "even")
RUNS = [
    (Tank(), ALL),
    (Tank(litres=2), ("even",)),
    (Tank(limit=3, litres=2), ("below_limit", "full")),
    (Tank(leaks=True), ("full",)),
    # The level leaves its range.
    (Tank(limit=6, litres=4), ALL),
    (Tank(limit=0), ALL),
]


def outline(result):
    violations = [(found.property, found.kind, found.trace) for found in result.violations]
    return (result.ended, result.levels, result.generated_states, result.reached, violations)


@pytest.fixture
def lowerings(monkeypatch):
    """Return the list of the specs that are lowered, alone or for a group."""
    found = []
    lowered = lowered_spec.lower_with_kernels

    def noted(spec, *more, **named):
        found.append(spec)
        return lowered(spec, *more, **named)

    monkeypatch.setattr(lowered_spec, "lower_with_kernels", noted)
    return found


@pytest.fixture(params=[False, True], ids=["without cache", "with cache"])
def cached(request, tmp_path, monkeypatch):
    """Run as a command, with an empty cache or without one; return whether there is a cache."""
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path / "cache") if request.param else code_cache.OFF)
    monkeypatch.setattr("checker.engines.native.cache.source_index.PROCESS_START", 2**63)
    monkeypatch.setattr("checker.language.source_digest.PROCESS_START", 2**63)
    monkeypatch.setattr(command_process, "_is_command", True)
    return request.param


def plan(names, stop="all"):
    return Plan(tuple(names), stop, quick=True)


@pytest.mark.parametrize("stop", ["first", "all"])
def test_runs_with_shared_code_have_the_results_of_runs_alone(cached, lowerings, stop):
    shared = SharedLowering(RUNS).lowered
    together = [outline(engine.explore(spec, plan(names, stop), shared)) for spec, names in RUNS]
    assert len(lowerings) == 1
    again = [outline(engine.explore(spec, plan(names, stop), SharedLowering(RUNS).lowered)) for spec, names in RUNS]
    assert again == together
    assert len(lowerings) == 1 if cached else len(lowerings) > 1
    for (spec, names), found in zip(RUNS, together, strict=True):
        alone = Tank(**spec.constants)
        assert found == outline(engine.explore(alone, Plan(tuple(names), stop)))
        if stop == "all":
            assert found == outline(explorer.explore(alone, plan(names)))


@pytest.mark.parametrize("times", [1, 2])
def test_a_long_run_gets_optimised_code_of_its_own(cached, lowerings, monkeypatch, times):
    monkeypatch.setattr(search, "IMPROVE_SECONDS", 0.0)
    for _ in range(times):
        shared = SharedLowering(RUNS).lowered
        together = [outline(engine.explore(spec, plan(names), shared)) for spec, names in RUNS]
    if cached:
        # For all together, and for each run, unless it is improved after its last round.
        assert len(lowerings) <= 1 + len(RUNS)
    monkeypatch.setattr(search, "IMPROVE_SECONDS", 60.0)
    assert together == [outline(explorer.explore(spec, plan(names))) for spec, names in RUNS]


def test_groups_have_one_class_and_the_same_constants_of_types():
    wanted = [(Tank(), ALL), (OtherTank(), ALL), (Tank(size=7), ALL), (Tank(limit=2), ()), (OtherTank(leaks=True), ALL)]
    assert groups(wanted) == [[0, 3], [1, 4], [2]]
    many = groups([(Tank(limit=limit % 6), ()) for limit in range(MOST_TOGETHER + 2)])
    assert many == [list(range(MOST_TOGETHER)), [MOST_TOGETHER, MOST_TOGETHER + 1]]


def test_a_spec_alone_is_lowered_alone():
    assert SharedLowering([(Tank(), ALL)]).lowered(Tank(), list(ALL)) is None


def test_a_constant_that_fits_into_no_word_is_lowered_alone():
    large = Tank(limit=2**62 + 1)
    assert SharedLowering([*RUNS, (large, ALL)]).lowered(large, list(ALL)) is None


def test_a_spec_outside_the_language_has_its_own_error(monkeypatch):
    monkeypatch.setenv(code_cache.VARIABLE, code_cache.OFF)
    right, wrong = WrongBranchTank(), WrongBranchTank(leaks=True)
    shared = SharedLowering([(right, ("full",)), (wrong, ("full",))]).lowered
    assert engine.explore(right, plan(["full"]), shared).distinct_states == 5
    with pytest.raises(SpecError) as found:
        engine.explore(wrong, plan(["full"]), shared)
    with pytest.raises(SpecError) as alone:
        frontend.compile_spec(wrong, ["full"])
    assert str(found.value) == str(alone.value)


def test_code_is_kept_only_for_runs_to_come():
    shared = SharedLowering([(OneOfTwoTanks(), ()), (OneOfTwoTanks(first=1), ())])
    assert shared.lowered(OneOfTwoTanks(), []) is not None
    assert shared._known == []
