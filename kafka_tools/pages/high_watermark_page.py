"""The page docs/high-watermark.md: how a follower learns that its records are committed, step by step."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from checker.run.result import TraceStep
from kafka_tools.pages.markdown import page, paragraph, table
from kafka_tools.pages.scenario_runs import run_scenario

WALK = "replication/high_watermark_walk/two_records"

CONSEQUENCES = (
    "replication/high_watermark_walk/kafka_4_1",
    "replication/partition/r1_truncate_to_high_watermark",
    "replication/partition/r1_truncate_to_high_watermark_fixed",
    "replication/partition/r7_joins_at_lagging_high_watermark",
    "replication/partition/r7_joins_at_lagging_high_watermark_fixed",
)

INTRODUCTION = """
**A follower learns that a record is committed up to two fetches after it has the record, because Kafka has no message
for it.** A record is committed when every in-sync replica has it. The leader knows that first: its high watermark (HW)
is the smallest log end offset (LEO) of the in-sync replicas. The offset of a fetch is the follower's log end offset,
which the leader remembers as the remote LEO. The answer to a fetch carries the leader's high watermark.
"""

READING = """
The steps below are a shortest trace of the specification, `{walk}`: one leader, one follower, two records, no failure.
Each row shows the state after its step. The model answers a fetch with one record at most. A real answer has many
records, which changes none of the delays.
"""

DELAY = """
The leader first reads the records and its high watermark for the answer, and only then counts the fetch. So the answer
to a fetch that finds records has the high watermark from before this fetch. The first record above shows it: one fetch
brings it, the next one makes the leader commit it, and only the answer to the one after tells the follower. While
records keep coming, the follower's high watermark is two fetches behind its log.
"""

IDLE = """
A fetch that finds no record waits at the leader until a record arrives or replica.fetch.wait.max.ms (500 ms) has
passed. Then the leader reads again, so this answer has the high watermark to which the fetch itself has led. The last
record before a pause is one fetch late, and the wait.
"""

WITH_MORE_REPLICAS = """
With more followers the leader waits for the slowest one in the ISR before it commits, and the others learn it with
their next fetch. The spec `replication/partition` always counts the fetch first, so its followers are one fetch late.
The walk's spec has Kafka's order. With the rules of Kafka 4.1 and a crash both keep every promise.
"""

AFTERWARDS = """
Until that answer, the follower's high watermark is below the leader's, and the record above it may be acknowledged.
Before KIP-101 (0.11) a follower that restarted truncated its log to its high watermark, and could then be elected (R1).
A new leader begins with its own high watermark, which may be behind as well: a follower without the committed record
must not join the ISR on the strength of it (R7, KAFKA-7128). A consumer that reads from a follower (KIP-392) sees a
record later than a consumer of the leader, by these fetches.
"""

SOURCES = """
Sources: ReplicaManager.readFromLog, Partition.fetchRecords, Partition.updateFollowerFetchState,
DelayedFetch.onComplete, ReplicaFetcherThread.processPartitionData; read in 0.10.2.0, 2.0.0, 2.4.0 and 4.3.1. In 2.4 and
2.5 a fetch that waits is also answered when the high watermark has changed (Replica.lastSentHighWatermark).
"""


def render() -> str:
    """Return the page."""
    walk = _Walk(run_scenario(WALK).steps)
    consequences = [run_scenario(target) for target in CONSEQUENCES]
    return page(
        "# How the high watermark reaches a follower",
        paragraph(INTRODUCTION),
        "## Step by step",
        paragraph(READING.format(walk=WALK)),
        table(
            ("step", "what happens", "leader LEO", "remote LEO", "leader HW", "follower LEO", "follower HW"),
            walk.rows,
        ),
        "## The delay",
        table(
            ("record", "appended", "the follower has it", "the leader commits it", "the follower knows"),
            (
                (f"r{record}", way.appended, way.copied, way.committed, way.known)
                for record, way in enumerate(walk.ways)
            ),
        ),
        paragraph(DELAY),
        paragraph(IDLE),
        paragraph(WITH_MORE_REPLICAS),
        "## What follows from it",
        paragraph(AFTERWARDS),
        table(
            ("scenario", "what happens", "result"),
            ((f"`{run.target}`", run.scenario.description, run.verdict) for run in consequences),
        ),
        paragraph(SOURCES),
    )


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
