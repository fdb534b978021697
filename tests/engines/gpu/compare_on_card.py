"""Compare the engine on a card with the native engine: `python tests/engines/gpu/compare_on_card.py SECONDS TARGET...`.

Several processes compare the scenarios, in a random order, until the seconds are over.
"""

import random
import sys
import time
from contextlib import suppress
from multiprocessing import TimeoutError, get_context

from checker.engines.gpu import engine
from checker.engines.native import engine as native
from checker.errors import UserError
from checker.run import ledger
from checker.run.plan import DEADLOCK, Plan
from checker.run.request import Request, Run, runs_for
from checker.run.result import Result

_PROCESSES = 14
_CARD_BYTES = 4 * 10**9


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
        "evaluated": set(result.evaluated),
        "symmetry": (result.symmetry, result.asymmetries),
        "coverage": {name: coverage.generated for name, coverage in result.coverage.items()},
    }


def _compared(name: str) -> str:
    """Compare the engines on a run; return how they differ, why the run is refused, or "" if they agree."""
    run = runs_for(Request((name,)))[0]
    try:
        one = engine.explore(run.spec, plan_of(run, max_memory=_CARD_BYTES))
    except UserError as error:
        return f"refused: {error}"
    except Exception as error:
        return f"FAILED: {type(error).__name__}: {error}"
    mine, theirs = content_of(one), content_of(native.explore(run.spec, plan_of(run)))
    different = [part for part in mine if mine[part] != theirs[part]]
    return f"DIFFERENT: {', '.join(different)}" if different else ""


def main(seconds: float, targets: list[str]) -> int:
    """Compare the scenarios; return 1 if one differs."""
    started = time.monotonic()
    rows = ledger.read(ledger.default_path())
    sizes = {name: row.distinct_states or 0 for name, row in rows.items()}
    names = [run.name for run in runs_for(Request(tuple(targets)))]
    random.Random(1).shuffle(names)
    answers: dict[str, str] = {}
    processes = get_context("spawn").Pool(_PROCESSES)
    waiting = [(name, processes.apply_async(_compared, (name,))) for name in names]
    for name, answer in waiting:
        with suppress(TimeoutError):
            answers[name] = answer.get(timeout=max(0.01, seconds - (time.monotonic() - started)))
    processes.terminate()
    equal = [name for name, answer in answers.items() if not answer]
    refused = [name for name, answer in answers.items() if answer.startswith("refused")]
    wrong = {name: answer for name, answer in answers.items() if answer and name not in refused}
    states = sum(sizes.get(name, 0) for name in equal)
    print(f"{len(equal)} of {len(names)} scenarios are equal, with {states:,} states; {len(refused)} are refused")
    for reason in sorted({answers[name] for name in refused}):
        print(f"  {reason}")
    for name, answer in wrong.items():
        print(f"{name}: {answer}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1]), sys.argv[2:]))
