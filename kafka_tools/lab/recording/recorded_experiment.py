"""An experiment that is recorded: the events of its partition, and those of its producer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from checker.output.output_files import write_whole
from checker.output.styled_lines import BLANK, Line, line
from checker.printable import quantity
from kafka_tools.lab.cluster.cluster_command import run_experiment
from kafka_tools.lab.cluster.experiment_run import Outcome
from kafka_tools.lab.cluster.harness_notes import HarnessNotes
from kafka_tools.lab.recording.produce_recorder import ProducerTraffic
from kafka_tools.lab.recording.record_command import summary, write_recording
from kafka_tools.lab.recording.recorder import read_cluster_logs, record_partition

PARTITION_LOG, PRODUCER_LOG = "partition.jsonl", "producer.jsonl"
_PARTITION = "experiment-0"


def record_experiment(name: str, version: str | None, out: Path, lib: str = "") -> int:
    """Run an experiment, write both recordings to its folder, and return the exit status of the experiment."""
    recorder = ProducerTraffic()

    def finish(outcome: Outcome, folder: Path) -> Sequence[Line]:
        return _write(recorder, outcome, folder)

    return run_experiment(name, version, out, observer=recorder, finish=finish, lib=lib)


def _write(recorder: ProducerTraffic, outcome: Outcome, folder: Path) -> list[Line]:
    logs = read_cluster_logs(folder / "cluster")
    recording = record_partition(logs, _PARTITION)
    recording.events[0]["acks"] = outcome.experiment.producer.get("acks", "all").replace("-1", "all")
    write_recording(folder / PARTITION_LOG, recording)
    events = recorder.result(HarnessNotes(folder / "cluster").read(), outcome.futures, outcome.log, _settings(outcome))
    write_whole(folder / PRODUCER_LOG, "".join(json.dumps(event) + "\n" for event in events))
    shown = [line(f"  {text}") for text in summary(logs, recording)]
    shown.append(line(f"  {PRODUCER_LOG}: {quantity(len(events), 'event')} of the producer, as the proxies saw it"))
    return [BLANK, *shown]


def _settings(outcome: Outcome) -> dict[str, object]:
    """Return the producer's settings that the mappings read."""
    producer = outcome.experiment.producer
    return {
        "kafka": outcome.experiment.kafka,
        "records": len(outcome.sent),
        "max_in_flight": int(producer.get("max.in.flight.requests.per.connection", 5)),
        "acks": producer.get("acks", "all"),
    }
