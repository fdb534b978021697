"""Totals of walks; every part holds those of its walks in its metadata."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from checker.errors import InputError
from spark_analysis.walks.digests import copy_unchanged
from traces.storage import Location

SUMMARY = b"summary"
"""The key of a part's totals in the metadata of its schema."""

VERDICTS = ("holds", "violated", "error")


@dataclass(frozen=True)
class WalkTotals:
    """Numbers of walks: in all, by verdict, and by violated or reached property.

    A walk may violate several properties in one step and counts for each of them. `errors` counts walks by the action,
    property or constraint that left its bounds.
    """

    walks: int = 0
    steps: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    violated: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def failures(self) -> int:
        """The number of walks that violate a property or leave a type's bounds."""
        return self.verdicts["violated"] + self.verdicts["error"]

    def to_text(self) -> str:
        """Return the totals as text for the metadata of a part."""
        # Not `asdict`: it rebuilds a Counter from its items and counts these.
        return json.dumps(vars(self), sort_keys=True)


def add_totals(totals: Iterable[WalkTotals]) -> WalkTotals:
    """Return the sum of some totals."""
    parts = list(totals)
    return WalkTotals(
        sum(part.walks for part in parts),
        sum(part.steps for part in parts),
        *(
            sum((getattr(part, name) for part in parts), Counter())
            for name in ("verdicts", "violated", "reached", "errors")
        ),
    )


def read_totals(part: Location) -> WalkTotals:
    """Return the totals in the metadata of a part of `walks`; raise InputError if they cannot be read."""
    copy = copy_unchanged(part)
    try:
        content = json.loads((pq.read_schema(copy).metadata or {})[SUMMARY])
        counters = {name: Counter(content[name]) for name in ("verdicts", "violated", "reached", "errors")}
        return WalkTotals(walks=content["walks"], steps=content["steps"], **counters)
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{part} is truncated or no part of walks ({reason}): remove it and simulate again") from None
