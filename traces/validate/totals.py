"""Totals of many validated traces: verdicts, rejections by cause, skipped events, results of the controls."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from traces.validate.controls import ControlResults
from traces.validate.verdict import TraceVerdict

Row = dict[str, Any]
"""One validated trace as a row of the Parquet and JSON reports; see `verdict_row`."""

EXAMPLES = 5
"""Number of traces that a cluster names, the first in alphabetical order."""


def verdict_row(outcome: TraceVerdict, controls: ControlResults | None = None) -> Row:
    """Return the row of a trace; `line`, `event`, `cause`, `reasons` and `candidates` describe the rejected event."""
    rejection = outcome.rejection
    return {
        "trace": outcome.name,
        "file": outcome.file,
        "verdict": outcome.verdict,
        "constants": json.dumps(dict(outcome.constants)),
        "events": outcome.total,
        "steps": outcome.steps,
        "seen": outcome.seen,
        "blank": outcome.blank,
        "widest": outcome.widest,
        "line": None if rejection is None else rejection.line,
        "event": None if rejection is None else json.dumps(dict(rejection.found)),
        "candidates": None if rejection is None else rejection.candidates,
        "cause": None if rejection is None else rejection.cause,
        "reasons": [] if rejection is None else [f"{reason.step}: {reason.text}" for reason in rejection.reasons],
        "limits": sorted(outcome.limits),
        "skipped": json.dumps(outcome.skipped),
        "violated": json.dumps(outcome.violated),
        "unchecked": list(outcome.unchecked),
        "forgotten": outcome.forgotten,
        "tried": json.dumps({} if controls is None else controls.tried),
        "caught": json.dumps({} if controls is None else controls.rejected),
        "survivors": []
        if controls is None
        else [f"{s.kind}: line {s.line}: {s.change}: {s.why}" for s in controls.survivors],
        "unread": [] if controls is None else list(controls.unread),
        "message": outcome.message,
    }


@dataclass
class RejectionCluster:
    """Traces that were not accepted for the same cause: their number, and the first ones by name."""

    verdict: str
    cause: str
    count: int = 0
    examples: list[Row] = field(default_factory=list)

    def add(self, count: int, examples: Iterable[Row]) -> None:
        """Add traces."""
        self.count += count
        known = sorted([*self.examples, *examples], key=lambda row: (str(row["trace"]), str(row["file"])))
        self.examples = known[:EXAMPLES]


@dataclass
class ValidationTotals:
    """Totals of many traces; they do not depend on the order of addition."""

    verdicts: Counter[str] = field(default_factory=Counter)
    totals: Counter[str] = field(default_factory=Counter)
    widest: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    violated: Counter[str] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    survivors: Counter[str] = field(default_factory=Counter)
    unread: set[str] = field(default_factory=set)
    clusters: dict[tuple[str, str], RejectionCluster] = field(default_factory=dict)
    is_interrupted: bool = False

    @property
    def traces(self) -> int:
        """The number of traces."""
        return sum(self.verdicts.values())

    @property
    def events(self) -> int:
        """The number of events, including skipped ones."""
        return self.totals["events"]

    def ranked(self) -> list[RejectionCluster]:
        """Return the clusters, the largest first."""
        return sorted(self.clusters.values(), key=lambda cluster: (-cluster.count, cluster.verdict, cluster.cause))

    def add(self, row: Row) -> None:
        """Add the row of a trace."""
        self.verdicts[row["verdict"]] += 1
        for name in ("events", "steps", "seen", "blank"):
            self.totals[name] += row[name]
        self.widest = max(self.widest, row["widest"])
        for name in ("skipped", "tried", "caught"):
            getattr(self, name).update(json.loads(row[name]))
        self.violated.update(json.loads(row["violated"]).keys())
        self.survivors.update(text.rpartition(": ")[2] for text in row["survivors"])
        self.unread.update(row["unread"])
        if row["verdict"] != "conforms":
            cause = row["message"].partition("\n")[0] if row["verdict"] == "unreadable" else _cause(row)
            cluster = self.clusters.setdefault((row["verdict"], cause), RejectionCluster(row["verdict"], cause))
            cluster.add(1, [row])

    def merge(self, other: ValidationTotals) -> None:
        """Add the traces of another summary."""
        for name in ("verdicts", "totals", "skipped", "violated", "tried", "caught", "survivors"):
            getattr(self, name).update(getattr(other, name))
        self.widest = max(self.widest, other.widest)
        self.unread |= other.unread
        for key, cluster in other.clusters.items():
            self.clusters.setdefault(key, RejectionCluster(*key)).add(cluster.count, cluster.examples)

    def to_json(self) -> dict[str, Any]:
        """Return the summary as a JSON object."""
        return {
            "traces": self.traces,
            "interrupted": self.is_interrupted,
            "events": self.events,
            "verdicts": dict(sorted(self.verdicts.items())),
            "totals": dict(sorted(self.totals.items())),
            "widest": self.widest,
            "skipped": dict(sorted(self.skipped.items())),
            "violated": dict(sorted(self.violated.items())),
            "controls": {
                "tried": dict(self.tried),
                "rejected": dict(self.caught),
                "conforming": dict(self.survivors.most_common()),
                "unread_fields": sorted(self.unread),
            },
            "clusters": [asdict(cluster) for cluster in self.ranked()],
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> ValidationTotals:
        """Return the summary that `to_json` wrote."""
        controls = content["controls"]
        return cls(
            Counter(content["verdicts"]),
            Counter(content["totals"]),
            content["widest"],
            Counter(content["skipped"]),
            Counter(content["violated"]),
            Counter(controls["tried"]),
            Counter(controls["rejected"]),
            Counter(controls["conforming"]),
            set(controls["unread_fields"]),
            {(part["verdict"], part["cause"]): RejectionCluster(**part) for part in content["clusters"]},
            content["interrupted"],
        )


def _cause(row: Row) -> str:
    if row["verdict"] == "undecided":
        cause = f"; {row['cause']}" if row["cause"] else ""
        return f"limits reached: {', '.join(row['limits'])}{cause}"
    return str(row["cause"])
