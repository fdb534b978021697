"""What walks come to, in a few numbers: every part carries those of its own walks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from checker.errors import InputError

SUMMARY = b"summary"
"""The key of a part's summary in the metadata of its schema."""

VERDICTS = ("holds", "violated", "error")


@dataclass(frozen=True)
class WalkTotals:
    """Counts of walks: all of them, those of each verdict, and those that violate or reach each property.

    A walk may violate several properties in one step: it counts for each. `errors`: by the action, property or
    constraint that left its bounds.
    """

    walks: int = 0
    steps: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    violated: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def failures(self) -> int:
        """How many walks violate a property or leave a type's bounds."""
        return self.verdicts["violated"] + self.verdicts["error"]

    def to_text(self) -> str:
        """Return the summary as a part carries it."""
        # Not `asdict`: it takes a Counter apart wrongly.
        return json.dumps(vars(self), sort_keys=True)


def add_totals(summaries: Iterable[WalkTotals]) -> WalkTotals:
    """Return the summary of all the walks of some summaries."""
    found = list(summaries)
    return WalkTotals(
        sum(summary.walks for summary in found),
        sum(summary.steps for summary in found),
        *(
            sum((getattr(summary, name) for summary in found), Counter())
            for name in ("verdicts", "violated", "reached", "errors")
        ),
    )


def read_totals(part: Path) -> WalkTotals:
    """Return the summary that a part of `walks` carries; raise UserError where it cannot be read."""
    try:
        content = json.loads((pq.read_schema(part).metadata or {})[SUMMARY])
        counters = {name: Counter(content[name]) for name in ("verdicts", "violated", "reached", "errors")}
        return WalkTotals(walks=content["walks"], steps=content["steps"], **counters)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{part} is cut off or no part of walks ({reason}): remove it and simulate again") from None
