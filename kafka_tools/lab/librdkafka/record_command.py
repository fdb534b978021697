"""The command `record`: runs a real producer against librdkafka's mock cluster and writes its log."""

from __future__ import annotations

import sys
from pathlib import Path

from checker.printable import quantity, shortened
from kafka_tools.lab.librdkafka.recorder import RecordingSetup, record, write

_LONGEST = 200
"""The most characters of the partition's contents that are printed."""

_SPECS = {"plain": "producer/plain_producer", "idempotent": "producer/idempotent_producer"}


def record_run(log: Path, setup: RecordingSetup) -> None:
    """Record a run to a file; print what it contains and the command that validates it."""
    events = record(setup)
    write(log, events)
    counts = {name: sum(fields["event"] == name for fields in events) for name in ("request", "delivered", "failed")}
    for fault in setup.faults:
        if fault.request > counts["request"]:
            print(f"{fault.what}@{fault.request} did not happen: the producer sent fewer requests", file=sys.stderr)
    mapping = "plain" if setup.producer == "plain" else "idempotent"
    print(
        f"{log}: {len(events)} events of {events[0]['client']}: {quantity(setup.records, 'record')} in "
        f"{quantity(counts['request'], 'request')}, {counts['delivered']} delivered, {counts['failed']} failed; "
        f"the partition holds {shortened(str(events[-1]['records']), _LONGEST)}"
    )
    print(f"python -m checker validate {_SPECS[mapping]} {log} --mapping kafka_tools.lab.librdkafka.{mapping}")
