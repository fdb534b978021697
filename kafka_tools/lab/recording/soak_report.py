"""The report of a soak: verdicts of its windows, and the coverage of the spec by what real brokers did."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checker.data_files import read_data_text
from checker.errors import InputError, UserError
from checker.output.output_files import write_whole
from checker.output.page.render import render
from checker.output.styled_lines import BLANK, Line, line
from kafka_tools.lab.recording.partition_events import Event
from kafka_tools.lab.recording.recorder import ClusterLogs, as_json, read_cluster_logs, record_partition
from kafka_tools.lab.recording.soak import SoakPlan, SoakRound
from traces.validate.behaviour_coverage import BehaviourCoverage, BranchOutcome, coverage_gaps
from traces.validate.events import read_many
from traces.validate.task import RunningValidation, ValidationTask
from traces.validate.totals import Row

SPEC, MAPPING = "replication/partition", "kafka_tools.lab.recording.partition"
WINDOWS = "windows.jsonl"
REPORT = "soak.json"

_SHOWN = 12


@dataclass(frozen=True)
class SoakWindow:
    """The events of a partition in a leader epoch: the lines `first` to `last` of the file of windows.

    The epoch begins when the controller elects. So a window may have the last steps of brokers in the epoch before.
    """

    partition: str
    leader_epoch: int
    first: int
    last: int

    def verdict(self, row: Row) -> str:
        """Return the verdict, by the row of the validated partition.

        A window begins in the candidate states that the one before it has left. After a rejected window there are none,
        so that the rest of the partition is not examined.
        """
        line = row["line"]
        if row["verdict"] == "conforms" or (line is not None and self.last < line):
            return "conforms"
        return "not examined" if line is not None and self.first > line else str(row["verdict"])


@dataclass
class SoakReport:
    """A soak: its rounds, the windows, a row for each validated partition, and the coverage of the spec.

    `unrecorded` are the partitions whose log lines are no recording, with the reason.
    """

    plan: SoakPlan
    rounds: list[SoakRound]
    events: Counter[str]
    lines: int
    unparsed: tuple[str, ...]
    unrecorded: dict[str, str] = field(default_factory=dict)
    windows: list[SoakWindow] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    taken: Counter[str] = field(default_factory=Counter)
    never: list[str] = field(default_factory=list)
    missing: list[BranchOutcome] = field(default_factory=list)
    outcomes: int = 0

    @property
    def verdicts(self) -> Counter[str]:
        """The number of windows by verdict."""
        rows = {row["trace"]: row for row in self.rows}
        return Counter(each.verdict(rows[each.partition]) for each in self.windows if each.partition in rows)

    @property
    def faults(self) -> Counter[str]:
        """The number of faults by kind."""
        return Counter(fault.rstrip(" 0123456789") for each in self.rounds for fault in each.faults)

    @property
    def violated(self) -> Counter[str]:
        """The invariants that are false in every candidate state after some event, and in how many partitions."""
        counts: Counter[str] = Counter()
        for row in self.rows:
            counts.update(json.loads(row["violated"] or "{}").keys())
        return counts

    @property
    def refused(self) -> list[Row]:
        """The partitions that do not conform as a whole."""
        return [row for row in self.rows if row["verdict"] != "conforms"]


def read_soak(folder: Path) -> tuple[SoakPlan, list[SoakRound]]:
    """Return plan and rounds of a soak from its report; raise InputError if the folder has none."""
    path = folder / REPORT
    try:
        content = json.loads(read_data_text(path))
        return SoakPlan(**content["plan"]), [SoakRound(**each) for each in content["rounds"]]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; name the folder of a soak that has ended") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{path} is not the report of a soak") from None


def write_windows(plan: SoakPlan, rounds: Sequence[SoakRound], cluster: Path, folder: Path) -> SoakReport:
    """Write the recordings of all partitions of a cluster to a folder, and return the report without verdicts."""
    logs = read_cluster_logs(cluster)
    report = SoakReport(plan, list(rounds), Counter(), logs.lines, logs.unparsed)
    texts: list[str] = []
    for partition in logs.partitions:
        events = list(_events(logs, partition, report))
        report.events.update(event["event"] for event in events)
        report.windows += _windows(partition, events, len(texts))
        texts += [json.dumps({"trace": partition, **event}) + "\n" for event in events]
    write_whole(folder / WINDOWS, "".join(texts))
    return report


def _windows(partition: str, events: Sequence[Event], lines: int) -> Iterator[SoakWindow]:
    """Yield the windows of a partition's events, which the file has after so many lines."""
    epoch, first = 0, 1
    for number, event in enumerate(events, 1):
        if event["event"] == "changed" and event["leader_epoch"] != epoch:
            yield SoakWindow(partition, epoch, lines + first, lines + number - 1)
            epoch, first = event["leader_epoch"], number
    if events:
        yield SoakWindow(partition, epoch, lines + first, lines + len(events))


def _events(logs: ClusterLogs, partition: str, report: SoakReport) -> Iterator[Event]:
    try:
        recording = record_partition(logs, partition)
    except UserError as error:
        report.unrecorded[partition] = error.message
        return
    topic = partition.rpartition("-")[0]
    acks = next((each.acks for each in report.rounds if each.topic == topic), None)
    if acks is None:
        # Ctrl-C has interrupted this round.
        report.unrecorded[partition] = "its round did not end"
        return
    recording.events[0]["acks"] = acks
    yield from as_json(recording.events)


def validate_windows(report: SoakReport, folder: Path, master: str | None) -> None:
    """Validate the partitions on Spark, each with all its windows, and add the verdicts to the report."""
    from spark_analysis.validate.validation import validate_on_spark

    task = ValidationTask(SPEC, MAPPING)
    validate_on_spark(task, (folder / WINDOWS,), "trace", master=master, out=folder, write=report.rows.append)


def cover(report: SoakReport, folder: Path) -> None:
    """Add to the report what the behaviours of the conforming partitions cover of the spec."""
    conforming = {row["trace"] for row in report.rows if row["verdict"] == "conforms"}
    validation, coverage = RunningValidation(ValidationTask(SPEC, MAPPING)), BehaviourCoverage()
    for raw in read_many(folder / WINDOWS, "trace"):
        if raw.name in conforming:
            recorded = raw.recorded()
            explanation = validation.explanation(recorded, validation.outcome(recorded))
            if explanation is not None:
                spec, violation = explanation
                coverage.add(spec, violation.trace)
    report.taken = coverage.steps
    report.never, report.missing, report.outcomes = coverage_gaps(validation.entry.spec, coverage)


def report_lines(report: SoakReport, folder: Path) -> Iterator[Line]:
    """Yield the lines of the terminal: faults, verdicts, and the coverage of the spec."""
    plan, verdicts = report.plan, report.verdicts
    yield line((f"Soak of {plan.minutes:g} minutes, seed {plan.seed}", "bold"), f"  (Kafka {plan.kafka}, 3 brokers)")
    yield BLANK
    acknowledged = sum(each.acknowledged for each in report.rounds)
    healed = sum(each.is_healed for each in report.rounds)
    yield line(f"  {len(report.rounds)} rounds, {healed} healed; {acknowledged} records acknowledged")
    yield line(f"  faults: {_counts(report.faults)}")
    yield line(
        f"  {len(report.rows)} partitions, {len(report.windows)} windows (a partition in a leader epoch); "
        f"{sum(report.events.values()):,} events from {report.lines:,} log lines, of which {len(report.unparsed)} look "
        "like an event and could not be parsed"
    )
    for partition, reason in report.unrecorded.items():
        yield line((f"  {partition} is not recorded: {reason}", "yellow"))
    yield line((f"  windows: {_counts(verdicts)}", "bold"))
    for row in report.refused[:_SHOWN]:
        yield line((f"    {row['trace']}, line {row['line']} of {WINDOWS}: {row['cause'] or row['message']}", "red"))
    yield line(f"  violated invariants, by partitions: {_counts(report.violated) or 'none'}")
    taken = len(report.taken)
    yield BLANK
    yield line((f"  real brokers took {taken} of {taken + len(report.never)} actions of {SPEC}", "bold"))
    for name, count in report.taken.most_common():
        yield line(f"    {name:36} {count:6,}")
    yield line(f"    never: {', '.join(report.never)}")
    seen = report.outcomes - len(report.missing)
    yield line(f"  and {seen} of {report.outcomes} outcomes of the spec's if statements")
    yield line((f"  files in {folder}: soak.html, soak.json, {WINDOWS}", "dim"))


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def write_report(report: SoakReport, folder: Path) -> None:
    """Write the report as a page and as JSON."""
    content = {
        "version": 1,
        "plan": dataclasses.asdict(report.plan),
        "rounds": [dataclasses.asdict(each) for each in report.rounds],
        "faults": report.faults,
        "events": report.events,
        "log_lines": report.lines,
        "unparsed": report.unparsed,
        "unrecorded": report.unrecorded,
        "verdicts": report.verdicts,
        "violated": report.violated,
        "windows": [dataclasses.asdict(each) for each in report.windows],
        "partitions": report.rows,
        "actions": report.taken,
        "actions_never_taken": report.never,
        "outcomes": report.outcomes,
        "outcomes_never_seen": [dataclasses.asdict(each) for each in report.missing],
    }
    write_whole(folder / REPORT, json.dumps(content, indent=1) + "\n")
    page = render(
        "soak.html.j2", package="kafka_tools.lab.recording", title="Soak of real brokers", report=report, spec=SPEC
    )
    write_whole(folder / "soak.html", page)
