"""Validation of recorded traces on Spark: its rate, and the detection of corrupted traces.

Random walks are recorded as the events of examples/recorded/replication.py. One trace in a thousand is corrupted, and
all are validated. A corrupted trace may still be a behaviour of the spec. Therefore the interpreter, which is the
reference, must agree on every corrupted trace and on a sample of the others.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.values import show
from traces.validate.controls import controls_of
from traces.validate.events import UnparsedTrace
from traces.validate.mapping import Mapping
from traces.validate.moves import NativeMoves
from traces.validate.task import RunningValidation, ValidationTask

TARGET = "replication/kip320"
MAPPING = str(Path(__file__).resolve().parent.parent / "examples" / "recorded" / "replication.py")
LENGTH = 30
ONE_IN = 1000


def recorded_walk(moves: NativeMoves, initial: list[Any], generator: random.Random) -> list[dict[str, Any]]:
    """Return the events of a random walk of at most `LENGTH` steps."""
    key, events = generator.choice(initial), []
    for _ in range(LENGTH):
        expanded = moves.expand(key)
        steps = [(action, *move) for action, found in expanded.moves.items() for move in found]
        if not steps:
            break
        action, arguments, target = generator.choice(steps)
        event = event_of(action, arguments, moves.state(target))
        if event is not None:
            events.append(event)
        key = target
    return events


def event_of(action: str, arguments: tuple[Any, ...], after: State) -> dict[str, Any] | None:
    """Return the recorded event of a step; None for a silent step."""
    isr = sorted(map(show, after.quorum.field("isr")))
    first = show(arguments[0]) if arguments else ""
    match action:
        case "controller_elect_leader":
            return {"event": "elected", "leader": first, "epoch": len(after.requests) - 1}
        case "controller_shrink_isr" | "leader_shrink_isr":
            return {"event": "isr_shrunk", "isr": isr}
        case "leader_expand_isr":
            return {"event": "isr_expanded", "isr": isr}
        case "become_leader":
            return {
                "event": "leading",
                "broker": show(after.requests[arguments[0]].field("leader")),
                "epoch": arguments[0],
            }
        case "become_follower":
            return {"event": "following", "broker": first, "epoch": arguments[1], "end": len(after.log[arguments[0]])}
        case "leader_write":
            return {"event": "appended", "broker": first, "end": len(after.log[arguments[0]])}
        case "follower_fetch":
            replica = arguments[0]
            mark = after.high_watermark[replica]
            return {"event": "fetched", "broker": first, "end": len(after.log[replica]), "high_watermark": mark}
    return None


def traces(spec: Spec, mapping: Mapping, count: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Iterate over traces as (name, JSON texts); one in `ONE_IN` is corrupted, which its name shows."""
    moves = NativeMoves(spec)
    initial, generator = moves.initial(), random.Random(seed)
    made = 0
    while made < count:
        events = recorded_walk(moves, initial, generator)
        if len(events) < 5:
            continue
        texts = [json.dumps(event) for event in events]
        name = f"trace-{made:07}"
        if made % ONE_IN == ONE_IN // 2:
            recorded = UnparsedTrace(name, "", texts, list(range(1, len(texts) + 1))).recorded()
            *_, control = controls_of(mapping, recorded, generator.randrange(1, 10), seed)
            name, texts = f"{name}-{control.kind}", [json.dumps(event.found) for event in control.recorded.events]
        yield name, texts
        made += 1


def write_traces(target: Path, found: Iterator[tuple[str, list[str]]]) -> int:
    """Write traces to Parquet and return the number of their events."""
    schema = pyarrow.schema([("trace", pyarrow.string()), ("events", pyarrow.list_(pyarrow.string()))])
    rows, events = [], 0
    with parquet.ParquetWriter(target, schema) as writer:
        for name, texts in found:
            rows.append({"trace": name, "events": texts})
            events += len(texts)
            if len(rows) == 5000:
                writer.write_table(pyarrow.Table.from_pylist(rows, schema))
                rows = []
        writer.write_table(pyarrow.Table.from_pylist(rows, schema))
    return events


def main() -> int:
    """Measure and print; return 0 if every verdict is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--sample", type=int, default=50, help="number of good traces that the interpreter also validates"
    )
    parser.add_argument("--folder", type=Path, required=True, help="the folder for traces and report")
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    task = ValidationTask(TARGET, MAPPING)
    validation, reference = RunningValidation(task), RunningValidation(ValidationTask(TARGET, MAPPING, engine="python"))
    dataset = given.folder / "traces.parquet"

    started = time.monotonic()
    events = write_traces(dataset, traces(validation.entry.spec(), validation.mapping, given.traces, given.seed))
    print(f"recorded   {given.traces:,} traces, {events:,} events in {time.monotonic() - started:.1f} s")

    from spark_analysis.session import opened
    from spark_analysis.validate.validation import validate_on_spark
    from spark_analysis.validate.verdict_parts import VERDICTS

    starting = time.monotonic()
    with opened(given.master) as spark:
        started = time.monotonic()
        summary = validate_on_spark(task, (dataset,), out=given.folder, spark=spark)
        seconds = time.monotonic() - started
    print(
        f"validated  on {given.master} in {seconds:.1f} s: {given.traces / seconds:,.0f} traces a second, "
        f"{events / seconds:,.0f} events a second (Spark's start: {started - starting:.1f} s)"
    )
    print(f"verdicts   {dict(summary.verdicts)}, at most {summary.widest} candidate states at a time")

    columns = ["trace", "verdict"]
    verdicts = dict(
        zip(*parquet.read_table(given.folder / VERDICTS, columns=columns).to_pydict().values(), strict=True)
    )
    texts = dict(zip(*parquet.read_table(dataset).to_pydict().values(), strict=True))
    corrupted = [name for name in verdicts if name.count("-") == 2]
    good = [name for name in verdicts if name.count("-") == 1]
    wrong = [name for name in good if verdicts[name] != "conforms"]
    still = [name for name in corrupted if verdicts[name] == "conforms"]
    print(f"good       {len(good):,}, of which {len(wrong)} are not accepted")
    print(f"corrupted  {len(corrupted):,}: {len(corrupted) - len(still)} rejected, {len(still)} are still behaviours")
    sample = [*corrupted, *random.Random(given.seed).sample(good, min(given.sample, len(good)))]
    differ = [
        name
        for name in sample
        if reference.outcome(
            UnparsedTrace(name, "", texts[name], list(range(1, len(texts[name]) + 1))).recorded()
        ).verdict
        != verdicts[name]
    ]
    print(f"interpreter {len(sample)} traces, of which {len(differ)} have another verdict")
    return 1 if wrong or differ or set(verdicts.values()) - {"conforms", "rejected"} else 0


if __name__ == "__main__":
    raise SystemExit(main())
