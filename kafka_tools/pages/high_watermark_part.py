"""A part of docs/replication.md: how a follower learns that its records are committed, as two tables."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import specs
from checker.run.result import TraceStep
from kafka_tools.pages.markdown import table, with_part
from kafka_tools.pages.scenario_runs import run_scenario

WALK = "replication/high_watermark_walk/two_records"

_PAGE = Path(next(iter(specs.__path__))).parent / "docs" / "replication.md"


def render() -> str:
    """Return docs/replication.md with the present walk."""
    walk = _Walk(run_scenario(WALK).steps)
    rows = table(
        ("step", "what happens", "leader LEO", "remote LEO", "leader HW", "follower LEO", "follower HW"), walk.rows
    )
    ways = table(
        ("record", "appended", "the follower has it", "the leader commits it", "the follower knows"),
        ((f"r{record}", way.appended, way.copied, way.committed, way.known) for record, way in enumerate(walk.ways)),
    )
    return with_part(_PAGE, f"{rows}\n\n{ways}")


@dataclass
class _RecordWay:
    """The steps of a record's way, as text."""

    appended: str
    copied: str = ""
    committed: str = ""
    known: str = ""


class _Walk:
    """A trace with one leader and one follower: a row for each state, and the way of each record."""

    def __init__(self, steps: Sequence[TraceStep]):
        self.follower = next(step.arguments[0] for step in steps if step.action == "follower_fetch")
        self.leader = steps[0].state.leader[self.follower]
        self.fetches = 0
        self.ways: list[_RecordWay] = []
        self.rows = [self._row(1, "At first both logs are empty.", steps[0].state)]
        for number, (before, step) in enumerate(itertools.pairwise(steps), 2):
            self.rows.append(self._row(number, self._sentence(before.state, step, number), step.state))

    def _row(self, number: int, happens: str, state: Any) -> tuple[str, ...]:
        leader, follower = self.leader, self.follower
        numbers = (
            len(state.log[leader]),
            state.remote_end[leader][follower],
            state.high_watermark[leader],
            len(state.log[follower]),
            state.high_watermark[follower],
        )
        return str(number), happens, *map(str, numbers)

    def _sentence(self, before: Any, step: TraceStep, number: int) -> str:
        """Return what a step does as text, and note how far the records are."""
        leader, follower = self.leader, self.follower
        after = step.state
        if step.action == "leader_append":
            self.ways.append(_RecordWay(f"step {number}"))
            return f"{leader} appends r{len(before.log[leader])}."
        if step.action == "follower_fetch":
            self.fetches += 1
            return f"{follower} sends fetch {self.fetches} from offset {after.fetches[follower].offset}, its log end."
        if step.action == "leader_handle_fetch":
            for way in self.ways[before.high_watermark[leader] : after.high_watermark[leader]]:
                way.committed = f"step {number}, by fetch {self.fetches}"
            return self._handle(before, after)
        for way in self.ways[len(before.log[follower]) : len(after.log[follower])]:
            way.copied = f"step {number}, answer to fetch {self.fetches}"
        for way in self.ways[before.high_watermark[follower] : after.high_watermark[follower]]:
            way.known = f"step {number}, answer to fetch {self.fetches}"
        return self._receive(before, after)

    def _handle(self, before: Any, after: Any) -> str:
        """Return as text the answer to a fetch, and what the leader learns from the fetch."""
        leader, follower = self.leader, self.follower
        learned = ""
        if after.remote_end[leader][follower] != before.remote_end[leader][follower]:
            learned = f" {leader} notes that {follower} has {_records(before.log[follower])}"
            committed = after.log[leader][before.high_watermark[leader] : after.high_watermark[leader]]
            learned += f", and commits {_records(committed)}." if committed else "."
        handled = f"{leader} handles fetch {self.fetches}."
        if after.answers[follower].record is None:
            return f"{handled} No record: it waits.{learned} {self._answer(after)}"
        return f"{handled} {self._answer(after)}{learned and ' Then' + learned}"

    def _answer(self, state: Any) -> str:
        """Return the answer on its way to the follower as text."""
        answer = state.answers[self.follower]
        record = "no record" if answer.record is None else f"r{answer.record.id}"
        return f"The answer has {record} and HW {answer.high_watermark}."

    def _receive(self, before: Any, after: Any) -> str:
        """Return as text what a follower learns from an answer."""
        follower = self.follower
        learned = []
        if len(after.log[follower]) > len(before.log[follower]):
            learned.append(f"appends r{after.log[follower][len(before.log[follower])].id}")
        if after.high_watermark[follower] > before.high_watermark[follower]:
            committed = before.log[follower][: after.high_watermark[follower]]
            learned.append(f"learns that {_records(committed)} {'is' if len(committed) == 1 else 'are'} committed")
        return f"{follower} {' and '.join(learned)}."


def _records(log: Sequence[Any]) -> str:
    return " and ".join(f"r{record.id}" for record in log)
