"""The work of the commands `cluster` and `experiment`."""

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from checker.errors import InputError
from checker.output import styled_lines
from checker.output.output_files import write_whole
from checker.output.styled_lines import BLANK, Line, line
from checker.printable import printable, quantity
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED
from kafka_tools.experiments.experiment import Experiment, experiment_files, read_experiment
from kafka_tools.experiments.steps import MESSAGES, STEPS
from kafka_tools.lab.cluster.cluster import CLIENT, Cluster, Node
from kafka_tools.lab.cluster.experiment_run import ExperimentRun, Outcome, new_folder
from kafka_tools.lab.cluster.producer_process import RecordFuture
from kafka_tools.lab.cluster.proposals import propose
from kafka_tools.lab.cluster.proxy import TrafficObserver
from kafka_tools.lab.cluster.proxy_process import send_command, start_proxies


def cluster_up(
    folder: Path,
    version: str,
    brokers: int,
    settings: Sequence[str],
    *,
    is_traced: bool = False,
    has_proxies: bool = False,
    lib: str = "",
) -> int:
    """Create a cluster in a folder and start it, or start the one that is there; return the exit status."""
    given = dict(_setting(text) for text in settings)
    if (folder / "cluster.json").exists():
        if given or has_proxies or lib:
            raise InputError(f"{folder} has a cluster, whose settings do not change: name a new folder")
        cluster = Cluster.open(folder)
        if is_traced:
            cluster.mark_traced()
    else:
        cluster = Cluster.create(folder, version, brokers, given, is_traced=is_traced, has_proxies=has_proxies, lib=lib)
    begun = time.monotonic()
    try:
        start_proxies(cluster)
        cluster.start(cluster.nodes)
    except BaseException:
        cluster.down()
        raise
    print(f"Kafka {cluster.build}: {len(cluster.nodes)} brokers listen after {time.monotonic() - begun:.1f} s")
    print(f"bootstrap.servers={cluster.bootstrap}")
    return EXIT_OK


def cluster_change(verb: str, folder: Path, numbers: Sequence[int]) -> int:
    """Do something with the brokers of a cluster, all of them if none is named; return the exit status."""
    cluster = Cluster.open(folder)
    nodes = [cluster.node(number) for number in numbers] or cluster.nodes
    if verb in ("cut", "heal"):
        return _change_network(cluster, verb, numbers)
    if verb == "down":
        if numbers:
            raise InputError("down stops all brokers: use stop or kill for some of them")
        _print_killed(cluster, cluster.down())
    elif verb == "stop":
        _print_killed(cluster, cluster.stop(nodes))
    elif verb != "status":
        if numbers:
            _check_states(verb, nodes)
        getattr(cluster, verb)(nodes)
    for node in nodes:
        print(_status(cluster, node))
    if cluster.proxies is not None:
        _print_cuts(send_command(cluster, "status"))
    return EXIT_OK


def _print_killed(cluster: Cluster, nodes: Sequence[Node]) -> None:
    for node in nodes:
        log = cluster.home(node) / "server.log"
        print(f"broker {node.number} was killed, because it did not stop cleanly in time: see {log}")


def _check_states(verb: str, nodes: Sequence[Node]) -> None:
    """Raise InputError if a broker has nothing to pause or to resume."""
    needed = {"pause": "running", "resume": "paused"}.get(verb)
    for node in nodes:
        if needed is not None and node.state != needed:
            raise InputError(f"broker {node.number} is {node.state}: {verb} needs a {needed} broker")


def _change_network(cluster: Cluster, verb: str, numbers: Sequence[int]) -> int:
    if verb == "cut" and (len(numbers) != 2 or len(set(numbers)) != 2):
        raise InputError("cut separates two brokers: write cut DIR 1 2")
    if verb == "heal" and numbers:
        raise InputError("heal ends every cut: write heal DIR")
    _print_cuts(send_command(cluster, verb, numbers))
    return EXIT_OK


def _print_cuts(cuts: Sequence[Sequence[int]]) -> None:
    for one, other in cuts:
        print(f"brokers {one} and {other} are cut off from each other")
    if not cuts:
        print("all brokers reach each other")


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise InputError(f"--set {text}: write NAME=VALUE")
    return name, value


def _status(cluster: Cluster, node: Node) -> str:
    pid = f", pid {node.process.pid}" if node.process is not None and node.state != "stopped" else ""
    return f"broker {node.number}: {node.state}{pid}, port {node.advertised[CLIENT]}, data in {cluster.data(node)}"


def list_experiments(version: str | None, out: Path | None) -> int:
    """Print the known experiments and the steps that a file may have; return the exit status."""
    if version is not None or out is not None:
        raise InputError("list runs nothing: it takes neither --kafka nor --out")
    rows = [read_experiment(str(path)) for path in experiment_files()]
    width = max(len(row.name) for row in rows)
    for row in rows:
        print(f"{row.name:{width}}  {row.entry:4} {row.title}")
    print("\nSteps of an experiment:")
    widest = max(map(len, STEPS)) + 1
    for step, text in STEPS.items():
        print(f"  {step:{widest}} {text}")
    print(f"\nMESSAGES is {MESSAGES}.")
    print("Default: requests of clients, all of them from now on. N: the next N. @N: the Nth of its kind.")
    return EXIT_OK


def propose_experiment(name: str, trace: Path) -> int:
    """Write the file of an experiment that is proposed for a trace, and print it; return the exit status."""
    if not name.endswith(".toml"):
        raise InputError(f"{name}: the proposed experiment is a new file whose name ends in .toml")
    if Path(name).exists():
        raise InputError(f"{name} exists: name a new file")
    text = propose(trace)
    write_whole(Path(name), text)
    print(text)
    print(f"written: {name}; python -m checker experiment {name} runs it")
    return EXIT_OK


def run_experiment(
    name: str,
    version: str | None,
    out: Path | None,
    *,
    observer: TrafficObserver | None = None,
    finish: Callable[[Outcome, Path], Sequence[Line]] | None = None,
    lib: str = "",
) -> int:
    """Run an experiment and return the exit status: 1 if the outcome is not the expected one.

    `observer` sees the traffic. `finish` is called with the outcome and its folder, and returns lines to print. `lib`
    is the folder of a local build.
    """
    experiment = dataclasses.replace(read_experiment(name, version), lib=lib)
    outcome = perform_experiment(experiment, out, observer=observer, finish=finish)
    if outcome.unfinished:
        return EXIT_STOPPED
    return EXIT_VIOLATED if outcome.differences else EXIT_OK


def perform_experiment(
    experiment: Experiment,
    out: Path | None,
    *,
    observer: TrafficObserver | None = None,
    finish: Callable[[Outcome, Path], Sequence[Line]] | None = None,
) -> Outcome:
    """Run an experiment, print what happened, write it to the folder `out`, if any, and return the outcome."""
    with tempfile.TemporaryDirectory(prefix="tidemark-experiment-") if out is None else nullcontext(out) as kept:
        folder = Path(kept)
        if out is not None:
            new_folder(folder)
        outcome = ExperimentRun(experiment, folder, _progress, observer=observer).run()
        if out is not None:
            write_whole(folder / "outcome.json", json.dumps(outcome_data(outcome), indent=1) + "\n")
            write_whole(folder / "audit.json", json.dumps(_audit(_partition(outcome, folder)), indent=1) + "\n")
        more = finish(outcome, folder) if finish is not None else ()
    styled_lines.write([*outcome_lines(outcome, out), *more], sys.stdout)
    return outcome


def _audit(partition: Path) -> dict[str, Any]:
    """Return the audit of the partition of the last leader, as plain data."""
    from kafka_tools.audit.audit import AuditTask, audit, in_processes
    from kafka_tools.audit.audit_text import report_data

    return report_data(audit(AuditTask((partition,)), in_processes(1, threading.Event())))


def _progress(text: str) -> None:
    print(f"  {printable(text)}", file=sys.stderr, flush=True)


def outcome_lines(outcome: Outcome, out: Path | None) -> list[Line]:
    """Return the futures, the log of the last leader, the counts, and the verdict."""
    experiment = outcome.experiment
    shown = [line((experiment.title, "bold"), f"  (Kafka {experiment.build}, {_brokers(experiment)})"), BLANK]
    shown += [
        line(f"  {future.record}: {_said(future)} after {future.milliseconds / 1000:.1f} s")
        for future in outcome.futures
    ]
    shown += [line(f"  {call.text}") for call in outcome.calls if call.method in ("commit", "abort") or call.failure]
    for number, log in enumerate([outcome.log, *outcome.other_logs]):
        partition = f", partition {number}" if outcome.other_logs else ""
        shown.append(line(f"  log of broker {outcome.leader}{partition}: {' '.join(log)}"))
    if outcome.committed is not None:
        shown.append(line(f"  read with read_committed: {' '.join(outcome.committed)}"))
    shown.append(BLANK)
    counts = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in outcome.counts.items())
    shown.append(line(f"  {counts}"))
    if out is not None:
        shown.append(line((f"  files in {out}; audit: python -m checker audit {_partition(outcome, out)}", "dim")))
    if outcome.unfinished:
        shown.append(line((f"undecided: the step `{outcome.unfinished}` did not end", "bold yellow")))
    elif outcome.differences:
        shown += [line((sentence, "red")) for sentence in outcome.differences]
        shown.append(line(("not as expected", "bold red")))
    else:
        entry = f"entry {experiment.entry} on " if experiment.entry else ""
        shown.append(line(("as expected", "bold green"), f": {entry}Kafka {experiment.build}"))
    return shown


def _said(future: RecordFuture) -> str:
    if future.failure:
        return f"failed with {future.failure}"
    return "acknowledged without an offset" if future.offset is None else f"acknowledged at offset {future.offset}"


def _brokers(experiment: Experiment) -> str:
    return quantity(experiment.brokers, "broker")


def _partition(outcome: Outcome, out: Path) -> Path:
    return out / "cluster" / f"broker{outcome.leader}" / "data" / "experiment-0"


def outcome_data(outcome: Outcome) -> dict[str, object]:
    """Return an outcome as plain data."""
    return {
        "version": 1,
        **dataclasses.asdict(outcome),
        "counts": outcome.counts,
        "differences": outcome.differences,
    }
