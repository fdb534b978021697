"""A run that is stopped at random moments and resumed gives the result of an uninterrupted one, on random specs."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

from checker.engines.native.engine import (
    CompiledSpec,
    compile_native,
    compile_program,
    explore_compiled,
)
from checker.engines.native.explore import memory_layout
from checker.engines.native.explore.results import initial_states
from checker.errors import BoundsError
from checker.frontend import compile_spec
from checker.language import Domain, Spec
from checker.run.plan import CheckpointPlan, Plan, properties_to_search
from checker.run.result import Result
from checker.run.symmetry import require_symmetry
from specs.examples.echo import Echo
from specs.examples.two_phase import TwoPhase
from specs.pipeline.partition import Broker
from specs.pipeline.pipeline import Pipeline
from tests.agreement.spec_source import spec_source
from tests.engines.test_views import Token
from tests.support.source_modules import load

SEEDS, SLOW_SEEDS = 2, 100


@pytest.fixture(autouse=True)
def small_outboxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make rounds short: a run can be stopped only between two of them."""
    monkeypatch.setattr(memory_layout, "MAXIMUM_OUTBOX_ENTRIES", 4)


def without_times(result: Result) -> Result:
    """Return a result without its times, workers, and texts with addresses of objects."""
    violations = [dataclasses.replace(found, explanation="") for found in result.violations]
    liveness = tuple(dataclasses.replace(found, seconds=0.0) for found in result.liveness)
    return dataclasses.replace(
        result,
        seconds=0.0,
        compile_seconds=0.0,
        memory_bytes=0,
        workers=0,
        liveness=liveness,
        violations=violations,
    )


def stopped_and_resumed(compiled: CompiledSpec, plan: Plan, folder: Path, chosen: random.Random) -> int:
    """Compare a run with one that is stopped at random numbers of states; return how often it was stopped."""
    initial = initial_states(compiled.spec)
    expected, _ = explore_compiled(compiled, plan, initial, 0.0)
    stops = sorted(chosen.randint(1, expected.distinct_states) for _ in range(4))
    notices: list[str] = []
    checkpoint = CheckpointPlan(folder, every=3600, on_notice=notices.append)
    reached = 0
    for most in stops:
        # A round may find more states than the limit, so that the next limit is below the checkpoint.
        if most > reached:
            limited = dataclasses.replace(plan, max_states=most, checkpoint=checkpoint, workers=chosen.randint(1, 2))
            reached = explore_compiled(compiled, limited, initial, 0.0)[0].distinct_states
    resumed = dataclasses.replace(plan, checkpoint=checkpoint)
    found, _ = explore_compiled(compiled, resumed, initial, 0.0)
    assert without_times(found) == without_times(expected)
    return len(notices)


def random_run(seed: int, folder: Path) -> int:
    """Stop and resume the exploration of a random spec; return how often it was resumed."""
    chosen = random.Random(seed)
    spec = load(spec_source(chosen.randrange), folder).Random()
    plan = Plan(tuple(spec.properties), "all", 1, max_depth=chosen.randint(3, 6), deadlock=True)
    if seed % 5 == 1:
        plan.store = "compact"
    compiled = compile_native(spec, properties_to_search(spec, plan.properties), quick=True)
    try:
        return stopped_and_resumed(compiled, plan, folder / f"kept-{seed}", chosen)
    except BoundsError:
        # `init` leaves its bounds: there is no exploration.
        return 0


def test_random_specs(tmp_path: Path) -> None:
    assert sum(random_run(seed, tmp_path) for seed in range(SEEDS)) > 0


@pytest.mark.slow
def test_many_random_specs(tmp_path: Path) -> None:
    assert sum(random_run(seed, tmp_path) for seed in range(SEEDS, SEEDS + SLOW_SEEDS)) > SLOW_SEEDS / 2


REAL: dict[str, tuple[Spec, type[Domain] | None]] = {
    "symmetry": (Pipeline(acks="1", idempotent=False, records=1), Broker),
    "a view": (Token(steps=6), None),
    "liveness": (Echo(), None),
    "a refinement": (TwoPhase(managers=4), None),
}


@pytest.mark.parametrize("name", REAL)
def test_specs_with(name: str, tmp_path: Path) -> None:
    spec, domain = REAL[name]
    plan = Plan(tuple(spec.properties), "all")
    names = properties_to_search(spec, plan.properties)
    program = compile_spec(spec, names)
    symmetry = None if domain is None else require_symmetry(program, spec.resolved_type(domain))
    compiled = compile_program(spec, program, names, quick=True, symmetry=symmetry)
    assert stopped_and_resumed(compiled, plan, tmp_path, random.Random(name)) >= 2
