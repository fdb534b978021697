"""The verdict ledger: what every scenario was last found to be, in one file that is kept with the specs.

A scenario's expectation says what must be true; the ledger says what was found, to the state. Where a spec or an
engine changes and the numbers move, the diff of one file shows it.
"""

from __future__ import annotations

import importlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checker.errors import InputError, OutputError
from checker.run.registry import PACKAGE
from checker.run.result import Result

NEVER = "never"
"""Stands for the length of the counterexample to a `@reachable` that nothing reaches: there is none."""

_HEADER = """\
# What every scenario was found to be, recorded with `python -m checker run --update-ledger`; a run of all scenarios is
# held against it. Counts are of complete explorations: a run that ends at a violation is known by its counterexamples.
"""


@dataclass(frozen=True)
class LedgerRecord:
    """What a scenario was found to be.

    `violations` maps each violated property to the number of states of its counterexample, or to "never". The counts
    are None where the exploration ended at a violation: what had been seen by then is no fact about the spec.
    """

    verdict: str
    distinct_states: int | None = None
    generated_states: int | None = None
    depth: int | None = None
    violations: Mapping[str, int | str] = field(default_factory=dict)


Ledger = dict[str, LedgerRecord]
"""Records by the full names of their scenarios: `replication/kip320/two_replicas`."""


def record_of(result: Result, expected: Iterable[str] = ()) -> LedgerRecord:
    """Return what is recorded of a result; `expected` names the violations that ended a run, if it waited for some."""
    named = set(expected)
    violations: dict[str, int | str] = {
        violation.property: violation.length if violation.kind != "reachable" else NEVER
        for violation in result.violations
        # Which others are found by the time the expected ones are depends on the engine.
        if not named or result.ended == "complete" or violation.property in named
    }
    if result.ended != "complete":
        return LedgerRecord(result.verdict, violations=violations)
    return LedgerRecord(result.verdict, result.distinct_states, result.generated_states, result.depth, violations)


def default_path() -> Path:
    """Return where the ledger of the specs is kept: `ledger.toml` beside them."""
    try:
        package = importlib.import_module(PACKAGE)
    except ModuleNotFoundError:
        return Path("ledger.toml")
    return Path(next(iter(package.__path__))) / "ledger.toml"


def read(path: Path) -> Ledger:
    """Return the ledger in a file, an empty one where there is no file; raise UserError where it is not a ledger."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: _record(found) for name, found in content.items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"the ledger {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"{path} is not a ledger ({error}): restore it, or remove it and run --update-ledger"
        ) from None


def _record(found: Mapping[str, Any]) -> LedgerRecord:
    record = LedgerRecord(**found)
    numbers = (record.distinct_states, record.generated_states, record.depth)
    if not isinstance(record.verdict, str) or not all(number is None or isinstance(number, int) for number in numbers):
        raise ValueError("a record has a verdict and counts")
    dict(record.violations)
    return record


def write(path: Path, ledger: Ledger) -> None:
    """Write a ledger, sorted by name, one line per scenario; raise UserError where the file cannot be written."""
    lines = [_row(name, ledger[name]) for name in sorted(ledger)]
    try:
        path.write_text("\n".join([_HEADER, *lines, ""]), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"the ledger {path} cannot be written: {error.strerror}") from None


def _row(name: str, record: LedgerRecord) -> str:
    fields = [f"verdict = {json.dumps(record.verdict)}"]
    for key in ("distinct_states", "generated_states", "depth"):
        value = getattr(record, key)
        if value is not None:
            fields.append(f"{key} = {value}")
    if record.violations:
        violations = ", ".join(f"{key} = {json.dumps(length)}" for key, length in sorted(record.violations.items()))
        fields.append(f"violations = {{ {violations} }}")
    return f"{json.dumps(name)} = {{ {', '.join(fields)} }}"


def differences(recorded: Ledger, found: Ledger, *, is_everything: bool) -> list[str]:
    """Return in words how what was found differs from what is recorded.

    `is_everything`: every scenario there is was run, so a record of another one is a difference too.
    """
    sentences = []
    for name in sorted(found):
        if name not in recorded:
            sentences.append(f"{name} is not in the ledger: {_text(found[name])}")
        else:
            sentences += [f"{name}: {change}" for change in _changes(recorded[name], found[name])]
    gone = sorted(recorded.keys() - found.keys()) if is_everything else []
    return sentences + [f"{name} is in the ledger, and there is no such scenario any more" for name in gone]


def _changes(before: LedgerRecord, after: LedgerRecord) -> list[str]:
    changes = []
    if before.verdict != after.verdict:
        changes.append(f"verdict {before.verdict} is now {after.verdict}")
    for key, words in (
        ("distinct_states", "distinct states"),
        ("generated_states", "generated states"),
        ("depth", "levels"),
    ):
        old, new = getattr(before, key), getattr(after, key)
        # Where one of the two ended at a violation there is nothing to compare, and the verdicts say so.
        if old != new and None not in (old, new):
            changes.append(f"{old:,} {words} are now {new:,}")
    for name in sorted({*before.violations, *after.violations}):
        old, new = before.violations.get(name), after.violations.get(name)
        if old is None:
            changes.append(f"{name} is now violated ({_length(new)})")
        elif new is None:
            changes.append(f"{name} is no longer violated ({_length(old)})")
        elif old != new:
            changes.append(f"the counterexample to {name} has {_length(new)} now, not {_length(old)}")
    return changes


def _length(length: int | str | None) -> str:
    return "never reached" if length == NEVER else f"{length} states"


def _text(record: LedgerRecord) -> str:
    counts = "" if record.distinct_states is None else f", {record.distinct_states:,} states, {record.depth} levels"
    violated = ", ".join(f"{name} {length}" for name, length in sorted(record.violations.items()))
    return f"{record.verdict}{counts}{f', {violated}' if violated else ''}"
