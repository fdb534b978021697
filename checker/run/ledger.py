"""The ledger: the recorded result of every scenario, in one file beside the specs.

A scenario declares its expected verdict. The ledger records the result with its exact counts, so that the diff of one
file shows every change of a number that a change of a spec or an engine causes.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checker.data_files import read_data_text
from checker.errors import InputError, OutputError
from checker.run.registry import PACKAGE
from checker.run.result import Result

NEVER = "never"
"""In place of a length: a `@reachable` that is never reached has no counterexample."""

_HEADER = """\
# The result of every scenario, recorded with `python -m checker run --update-ledger`. A run of all scenarios is
# compared with it. A complete exploration has counts; a run that ends at a violation has its counterexamples only.
"""


@dataclass(frozen=True)
class LedgerRecord:
    """The recorded result of a scenario.

    `violations` maps each violated property to the number of states of its counterexample, or to "never". The counts
    are None if the exploration ended at a violation, since they then depend on the engine. `symmetry` names the
    symmetric domains of a scenario that is explored with symmetry: its counts of states are counts of orbits.
    """

    verdict: str
    distinct_states: int | None = None
    generated_states: int | None = None
    depth: int | None = None
    violations: Mapping[str, int | str] = field(default_factory=dict)
    symmetry: tuple[str, ...] = ()


Ledger = dict[str, LedgerRecord]
"""Records by the full names of their scenarios: `replication/kip320/two_replicas`."""


def record_of(result: Result, expected: Iterable[str] = ()) -> LedgerRecord:
    """Return the record of a result.

    `expected` names the violations that the run was asked to find; other violations are recorded only of a complete
    exploration.
    """
    named = set(expected)
    violations: dict[str, int | str] = {
        violation.property: violation.length if violation.kind != "reachable" else NEVER
        for violation in result.violations
        # Which other violations a run finds before it ends depends on the engine.
        if not named or result.ended == "complete" or violation.property in named
    }
    if result.ended != "complete":
        return LedgerRecord(result.verdict, violations=violations, symmetry=result.symmetry)
    return LedgerRecord(
        result.verdict, result.distinct_states, result.generated_states, result.depth, violations, result.symmetry
    )


def default_path() -> Path:
    """Return the path of the ledger: `ledger.toml` in the package of the specs."""
    try:
        package = importlib.import_module(PACKAGE)
    except ModuleNotFoundError:
        return Path("ledger.toml")
    return Path(next(iter(package.__path__))) / "ledger.toml"


def read(path: Path) -> Ledger:
    """Return the ledger in a file, empty if the file does not exist; raise InputError if it is not a ledger."""
    # Imported here: only a run of all scenarios reads the ledger.
    import tomllib

    try:
        content = tomllib.loads(read_data_text(path))
        return {name: _record(fields) for name, fields in content.items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"the ledger {path} cannot be read: {error.strerror}") from None
    except (TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"{path} is not a ledger ({error}): restore it, or remove it and run --update-ledger"
        ) from None


def _record(fields: Mapping[str, Any]) -> LedgerRecord:
    record = LedgerRecord(**{**fields, "symmetry": tuple(fields.get("symmetry", ()))})
    numbers = (record.distinct_states, record.generated_states, record.depth)
    if not isinstance(record.verdict, str) or not all(number is None or isinstance(number, int) for number in numbers):
        raise ValueError("a record has a verdict and counts")
    dict(record.violations)
    return record


def write(path: Path, ledger: Ledger) -> None:
    """Write a ledger, sorted by name, one line per scenario; raise OutputError if the file cannot be written."""
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
    if record.symmetry:
        fields.append(f"symmetry = {json.dumps(list(record.symmetry))}")
    if record.violations:
        violations = ", ".join(f"{key} = {json.dumps(length)}" for key, length in sorted(record.violations.items()))
        fields.append(f"violations = {{ {violations} }}")
    return f"{json.dumps(name)} = {{ {', '.join(fields)} }}"


def differences(recorded: Ledger, current: Ledger, *, is_everything: bool) -> list[str]:
    """Return the differences between the recorded and the found results, a sentence each.

    `is_everything`: all scenarios were run, so a record of any other scenario is a difference too.
    """
    sentences = []
    for name in sorted(current):
        if name not in recorded:
            sentences.append(f"{name} is not in the ledger: {_text(current[name])}")
        else:
            sentences += [f"{name}: {change}" for change in _changes(recorded[name], current[name])]
    gone = sorted(recorded.keys() - current.keys()) if is_everything else []
    return sentences + [f"{name} is in the ledger, but the scenario does not exist" for name in gone]


def _changes(before: LedgerRecord, after: LedgerRecord) -> list[str]:
    changes = []
    if before.verdict != after.verdict:
        changes.append(f"verdict {before.verdict} is now {after.verdict}")
    if before.symmetry != after.symmetry:
        old_domains, new_domains = (", ".join(record.symmetry) or "none" for record in (before, after))
        changes.append(f"symmetry {old_domains} is now {new_domains}")
    for key, words in (
        ("distinct_states", "distinct states"),
        ("generated_states", "generated states"),
        ("depth", "levels"),
    ):
        if before.symmetry != after.symmetry:
            # Orbits are not compared with states.
            continue
        old, new = getattr(before, key), getattr(after, key)
        # A run that ended at a violation has no counts; the verdicts show the difference.
        if old != new and None not in (old, new):
            changes.append(f"{old:,} {words} are now {new:,}")
    for name in sorted({*before.violations, *after.violations}):
        old, new = before.violations.get(name), after.violations.get(name)
        if old is None:
            changes.append(f"{name} is now violated ({_length(new)})")
        elif new is None:
            changes.append(f"{name} is no longer violated ({_length(old)})")
        elif old != new:
            changes.append(f"the counterexample to {name} has {_length(new)}, not {_length(old)}")
    return changes


def _length(length: int | str | None) -> str:
    return "never reached" if length == NEVER else f"{length} states"


def _text(record: LedgerRecord) -> str:
    counts = "" if record.distinct_states is None else f", {record.distinct_states:,} states, {record.depth} levels"
    violated = ", ".join(f"{name} {length}" for name, length in sorted(record.violations.items()))
    return f"{record.verdict}{counts}{f', {violated}' if violated else ''}"
