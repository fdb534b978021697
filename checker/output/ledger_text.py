"""The verdict ledger on the command line: which runs are held against it, and how it is brought up to date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from checker.output.styled_lines import BLANK, Line, line
from checker.run import ledger
from checker.run.finished import FinishedRun
from checker.run.request import Request


@dataclass(frozen=True)
class LedgerUse:
    """Which ledger results are held against, and whether it is rewritten.

    `is_everything`: all scenarios below `specs/` are run, so that one which only the ledger knows is a difference.
    """

    path: Path
    update: bool
    is_everything: bool


def ledger_use(request: Request, is_limited: bool, path: Path | None, update: bool) -> LedgerUse | None:
    """Return how a command uses a ledger, None where it uses none.

    Without being asked for, the ledger is held against a run of everything, as everything is meant to be run. With
    other constants, properties or limits the counts are others.
    """
    is_changed = bool(request.settings or request.properties or request.deadlock or request.keep_going or is_limited)
    is_everything = not request.targets and not is_changed
    if is_changed or (request.targets and path is None and not update):
        return None
    return LedgerUse(path or ledger.default_path(), update, is_everything)


def hold(use: LedgerUse, finished: list[FinishedRun], is_cut_short: bool) -> tuple[list[Line], bool]:
    """Hold finished runs against a ledger, or rewrite it; return what there is to show, and whether that is drift.

    A run that was stopped early, or is not what its scenario expects, is not recorded. Raises UserError where the
    ledger cannot be read or written.
    """
    recorded = ledger.read(use.path)
    decided = {done.run.name: done for done in finished if done.run.scenario is not None and not done.is_open}
    found = {name: ledger.record_of(done.result, _expected(done)) for name, done in decided.items()}
    is_everything = use.is_everything and not is_cut_short and len(decided) == len(finished)
    if not use.update:
        sentences = ledger.differences(recorded, found, is_everything=is_everything)
        if not use.path.exists():
            sentences = [f"there is no ledger {use.path}: python -m checker run --update-ledger writes one"]
        return _shown(f"not as recorded in {use.path}:", sentences, "red"), bool(sentences)
    wrong = sorted(name for name, done in decided.items() if not done.is_fine)
    new = {name: record for name, record in found.items() if name not in wrong}
    kept = {name: recorded[name] for name in recorded if name in wrong or not is_everything}
    sentences = ledger.differences(recorded, kept | new, is_everything=True)
    ledger.write(use.path, kept | new)
    shown = _shown(f"recorded in {use.path}:", sentences or ["nothing has changed"], "")
    return shown + _shown("not recorded, for they are not as expected:", wrong, "red"), False


def _expected(done: FinishedRun) -> list[str]:
    return list(done.run.expected) if isinstance(done.run.expected, Mapping) else []


def _shown(heading: str, sentences: list[str], style: str) -> list[Line]:
    if not sentences:
        return []
    return [BLANK, line((heading, "bold")), *(line((f"  {sentence}", style)) for sentence in sentences)]
