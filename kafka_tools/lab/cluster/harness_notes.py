"""Notes of what the harness did to brokers, by the clock of the machine: a recording learns of crashes from them."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from checker.data_files import read_data_text

FILE = "harness.jsonl"
_TIME = "%Y-%m-%d %H:%M:%S.%f"


class HarnessNotes:
    """The notes of a cluster, one JSON object per line of `harness.jsonl`.

    `starting` is written before a process starts, `stopped`, `killed` and `paused` after a process ended or stopped
    running, `resumed` before it goes on.
    """

    def __init__(self, folder: Path):
        self._path = folder / FILE

    def write(self, event: str, broker: int | None = None, **fields: Any) -> None:
        """Add a note with the local time in milliseconds, as brokers write it."""
        time = datetime.now().strftime(_TIME)[:-3]
        named = {} if broker is None else {"broker": broker}
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"time": time, "event": event, **named, **fields}) + "\n")

    def read(self) -> list[dict[str, Any]]:
        """Return all notes in the order in which they were written."""
        if not self._path.exists():
            return []
        return [json.loads(line) for line in read_data_text(self._path).splitlines()]
