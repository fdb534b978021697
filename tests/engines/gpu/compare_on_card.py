"""Compare the engine on a card with the native engine: `python tests/engines/gpu/compare_on_card.py SECONDS TARGET...`.

The scenarios are explored one after the other, those with the fewest states first, until the seconds are over.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from checker.engines.gpu import engine
from checker.engines.gpu.driver import Card
from checker.engines.gpu.ptx import ptx_of, target_of
from checker.engines.native import engine as native
from checker.errors import UserError
from checker.run import ledger
from checker.run.plan import DEADLOCK, Plan, searched_properties
from checker.run.request import Request, Run, runs_for
from checker.run.result import Result


def plan_of(run: Run, **options: object) -> Plan:
    """Return the plan of a run."""
    names = tuple(name for name in run.properties if name != DEADLOCK)
    deadlock = DEADLOCK in run.properties
    return Plan(names, deadlock=deadlock, stop=run.stop, symmetry=run.symmetry, **options)  # type: ignore[arg-type]


def content_of(result: Result) -> dict[str, object]:
    """Return what two engines have in common in a result."""
    return {
        "distinct": result.distinct_states,
        "generated": result.generated_states,
        "levels": result.levels,
        "levels within": result.levels_within,
        "ended": result.ended,
        "violations": result.violations,
        "reached": result.reached,
        "unreached": result.unreached,
        "symmetry": (result.symmetry, result.asymmetries),
        "coverage": {name: coverage.generated for name, coverage in result.coverage.items()},
    }


def _write_ptx(target: str, name: str) -> None:
    """Let the cache have the PTX of a run."""
    run = runs_for(Request((name,)))[0]
    try:
        symmetric_in = run.spec.initial_states() if run.symmetry else None
        names = searched_properties(run.spec, run.properties)
        ptx_of(engine.lowered_for_card(run.spec, names, symmetric_in).text, target)
    except UserError:
        # The comparison reports it.
        return


def main(seconds: float, targets: list[str]) -> int:
    """Compare the scenarios; return 1 if one differs."""
    started = time.monotonic()
    rows = ledger.read(ledger.default_path())
    sizes = {name: row.distinct_states or 0 for name, row in rows.items()}
    runs = sorted(runs_for(Request(tuple(targets))), key=lambda run: sizes.get(run.name, 0))
    card = Card()
    target = target_of(card.capability)
    card.close()
    status, equal, states, refused = 0, 0, 0, []
    # Each process keeps what it lowers for itself: only the cache is shared.
    with ProcessPoolExecutor(12, get_context("spawn")) as writers:
        written = [writers.submit(_write_ptx, target, run.name) for run in runs]
        for run, ready in zip(runs, written, strict=True):
            if time.monotonic() - started > seconds:
                break
            try:
                ready.result(timeout=60)
                one = engine.explore(run.spec, plan_of(run, max_memory=4 * 10**9))
            except UserError as error:
                refused.append(f"{run.name}: {error}")
                continue
            except Exception as error:
                print(f"FAILED {run.name}: {type(error).__name__}: {error}", flush=True)
                status = 1
                continue
            other = native.explore(run.spec, plan_of(run, workers=8))
            mine, theirs = content_of(one), content_of(other)
            different = [part for part in mine if mine[part] != theirs[part]]
            if different:
                print(f"DIFFERENT {run.name}: {', '.join(different)}", flush=True)
                status = 1
            else:
                equal, states = equal + 1, states + one.distinct_states
        for future in written:
            future.cancel()
    print(f"{equal} of {len(runs)} scenarios equal, {states:,} states, {len(refused)} refused", flush=True)
    for line in refused:
        print(f"  refused: {line}")
    return status


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1]), sys.argv[2:]))
