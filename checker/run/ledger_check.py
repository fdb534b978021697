"""Comparison of the runs of a command with the ledger, and its update."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from checker.errors import InputError
from checker.run import ledger
from checker.run.finished import FinishedRun
from checker.run.request import Request


@dataclass(frozen=True)
class LedgerUse:
    """How a command uses a ledger.

    `update`: the ledger is rewritten. `is_everything`: all scenarios of `specs/` are run, so a scenario that only the
    ledger has is a difference.
    """

    path: Path
    update: bool
    is_everything: bool


@dataclass(frozen=True)
class LedgerCheck:
    """The differences between runs and a ledger, or those that an update recorded.

    `missing`: there is no ledger to compare with. `not_recorded`: the runs that an update did not record because they
    are not as expected.
    """

    differences: tuple[str, ...]
    missing: bool = False
    not_recorded: tuple[str, ...] = ()
    is_drift: bool = False


def ledger_use(request: Request, is_limited: bool, path: Path | None, update: bool) -> LedgerUse | None:
    """Return how a command uses a ledger, or None if it uses none.

    A run of all scenarios is always compared with the ledger. With other constants, fairness, properties or limits the
    results differ, so such a run is not compared; raises InputError if the command asks for it.
    """
    changes = (request.settings, request.fair, request.properties, request.deadlock, request.keep_going)
    is_changed = any(changes) or request.symmetry is not None or is_limited
    is_everything = not request.targets and not is_changed
    if is_changed and (path is not None or update):
        option = "--update-ledger" if update else "--ledger"
        raise InputError(
            f"{option} is for complete runs of scenarios: omit --set, --fair, --property, --deadlock, --keep-going, "
            "--symmetry, --no-symmetry, --max-states, --max-depth and --engine"
        )
    if is_changed or (request.targets and path is None and not update):
        return None
    return LedgerUse(path or ledger.default_path(), update, is_everything)


def check_ledger(use: LedgerUse, finished: list[FinishedRun], *, is_cut_short: bool) -> LedgerCheck:
    """Compare finished runs with a ledger, or update it.

    A run that was stopped early, or that is not as its scenario expects, is not recorded. Raises UserError if the
    ledger cannot be read or written.
    """
    recorded = ledger.read(use.path)
    decided = {done.run.name: done for done in finished if done.run.scenario is not None and not done.is_open}
    current = {name: ledger.record_of(done.result, _expectation(done)) for name, done in decided.items()}
    is_everything = use.is_everything and not is_cut_short and len(decided) == len(finished)
    if not use.update:
        if not use.path.exists():
            return LedgerCheck((), missing=True, is_drift=True)
        differences = ledger.differences(recorded, current, is_everything=is_everything)
        return LedgerCheck(tuple(differences), is_drift=bool(differences))
    wrong = sorted(name for name, done in decided.items() if not done.is_as_expected)
    new = {name: record for name, record in current.items() if name not in wrong}
    kept = {name: recorded[name] for name in recorded if name in wrong or not is_everything}
    differences = ledger.differences(recorded, kept | new, is_everything=True)
    ledger.write(use.path, kept | new)
    return LedgerCheck(tuple(differences), not_recorded=tuple(wrong))


def _expectation(done: FinishedRun) -> list[str]:
    return list(done.run.expected) if isinstance(done.run.expected, Mapping) else []
