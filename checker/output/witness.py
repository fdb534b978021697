"""Witnesses of complete explorations: files with which `witness_check.py` verifies a result without the engines.

The states are packed by dictionaries: a variable of a state is the number of its value in a table of the values that
occur, and a state is the bits of these numbers, the first variable highest, as big-endian bytes of one width.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from checker.errors import OutputError
from checker.language.interpreter import State
from checker.language.roles import Role
from checker.run.account import account_of
from checker.run.endings import StoppedError
from checker.run.expectation import end_text
from checker.run.request import Run
from checker.run.result import Result
from traces.json_values import to_plain_json

FORMAT = 1
CHUNK_STATES = 65_536
"""States of one file."""


def require_witness(run: Run, result: Result) -> None:
    """Raise StoppedError if a result has no witness: its exploration is not complete, or has a view."""
    if result.ended != "complete":
        raise StoppedError(f"{run.name}: no witness, because the exploration is not complete: {end_text(result)}")
    if run.spec.names_of(Role.VIEW):
        raise StoppedError(f"{run.name}: no witness, because states with the same value of the view count as one")


def write_witness(folder: Path, run: Run, result: Result, states: Iterable[State]) -> None:
    """Write the witness of a complete exploration into an empty folder; raise OutputError if that fails."""
    kinds = run.spec.variables
    tables: dict[str, dict[str, int]] = {name: {} for name in kinds}
    rows: list[list[int]] = []
    for state in states:
        texts = {
            name: json.dumps(to_plain_json(kind, state.values[name]), sort_keys=True) for name, kind in kinds.items()
        }
        rows.append([tables[name].setdefault(text, len(tables[name])) for name, text in texts.items()])
    bits = [max(1, (len(table) - 1).bit_length()) for table in tables.values()]
    width = -(-sum(bits) // 8) or 1
    packed = sorted(_packed(row, bits).to_bytes(width, "big") for row in rows)
    assert len(set(packed)) == len(packed) == result.distinct_states, "two states have the same description"
    manifest = _manifest(run, result, width)
    manifest["variables"] = [
        {"name": name, "bits": count, "values": list(map(json.loads, table))}
        for (name, table), count in zip(tables.items(), bits, strict=True)
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise OutputError(f"{folder} is not empty: --witness needs a folder of its own")
        for number, first in enumerate(range(0, len(packed), CHUNK_STATES)):
            chunk = packed[first : first + CHUNK_STATES]
            content = b"".join(chunk)
            name = f"states-{number:05}.bin"
            (folder / name).write_bytes(content)
            digest = hashlib.sha256(content).hexdigest()
            manifest["chunks"].append({"file": name, "states": len(chunk), "sha256": digest})
        (folder / "witness.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"the witness cannot be written to {folder}: {error.strerror}") from None


def _packed(row: list[int], bits: list[int]) -> int:
    found = 0
    for number, count in zip(row, bits, strict=True):
        found = found << count | number
    return found


def _manifest(run: Run, result: Result, width: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "class": type(run.spec).__name__,
        "constants": run.spec.constants,
        "states": result.distinct_states,
        "state_bytes": width,
        "symmetry": list(result.symmetry),
        "verdict": result.verdict,
        "violated": sorted({violation.property for violation in result.violations}),
        "reached": sorted(result.reached),
        "account": dataclasses.asdict(account_of(run.spec, run.properties, result)),
        "chunks": [],
    }
