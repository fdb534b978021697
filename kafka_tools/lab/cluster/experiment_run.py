"""Runs of experiments: a cluster, a producer, the steps, and what is in the logs at the end."""

from __future__ import annotations

import functools
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from checker.errors import InputError
from checker.output.files import make_folder
from checker.run.endings import StoppedError
from kafka_tools.experiments.experiment import CLIENT_SETTINGS, Experiment, least_count
from kafka_tools.experiments.steps import FAULTS, fault_rule
from kafka_tools.lab.cluster.administration import (
    admin_client,
    consumable_end,
    create_topic,
    elect_preferred_leaders,
)
from kafka_tools.lab.cluster.cluster import BROKER, Cluster, Node, running
from kafka_tools.lab.cluster.distribution import local_build
from kafka_tools.lab.cluster.partition_metadata import PartitionMetadata, leader_of, newest, partition_metadata
from kafka_tools.lab.cluster.process import LOOPBACK
from kafka_tools.lab.cluster.producer_process import (
    ProducerCall,
    ProducerProcess,
    RecordFuture,
    java_driver,
    librdkafka_driver,
)
from kafka_tools.lab.cluster.proxy import ProxyNetwork, TrafficObserver
from kafka_tools.lab.cluster.reassignment import reassign
from kafka_tools.lab.cluster.traffic import ObserverGroup, TrafficJournal
from kafka_tools.lab.cluster.transaction_outcome import (
    open_transactions,
    records_of_committed,
    transaction_counts,
)

_STEP_SECONDS = 120
_TOPIC = "experiment"
_POLL = 0.05


@dataclass(frozen=True)
class StepRun:
    """A step that was executed: its text, when it began, in seconds since the first, and how long it took."""

    step: str
    begun: float
    seconds: float


@dataclass
class Outcome:
    """What happened: the steps, the futures, and the values in the log of each partition's last leader.

    `log` is that of partition 0, `other_logs` has those of the others. `committed` are the records that a consumer with
    read_committed reads at the end, `open_transactions` the transactions without a marker: both are None without a
    transactional producer. `unfinished` is the step that did not end within its time, empty if all did.
    """

    experiment: Experiment
    steps: list[StepRun] = field(default_factory=list)
    futures: list[RecordFuture] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    other_logs: list[list[str]] = field(default_factory=list)
    calls: list[ProducerCall] = field(default_factory=list)
    committed: list[str] | None = None
    open_transactions: int | None = None
    leader: int = 0
    unfinished: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """The counts of `EXPECTATIONS` that the outcome has, of the logs of each partition's last leader."""
        logs = [self.log, *self.other_logs]
        acknowledged = [future.record for future in self.futures if not future.failure]
        failed = [future.record for future in self.futures if future.failure]
        in_log = Counter(itertools.chain(*logs))
        firsts = [[log.index(record) for record in self.sent if record in log] for log in logs]
        counts = {
            "acknowledged": len(acknowledged),
            "failed": len(failed),
            "duplicated": sum(count > 1 for count in in_log.values()),
            "lost": sum(record not in in_log for record in acknowledged),
            "failed_in_log": sum(record in in_log for record in failed),
            "reordered": sum(later < earlier for first in firsts for earlier, later in itertools.pairwise(first)),
        }
        if self.committed is not None and self.open_transactions is not None:
            counts |= transaction_counts(self.calls, self.committed, self.open_transactions)
        return counts

    @property
    def differences(self) -> list[str]:
        """Sentences about the counts that are not as expected."""
        return [
            f"{name.replace('_', ' ')}: {self.counts.get(name, 'unknown')}, expected {wanted}"
            for name, wanted in self.experiment.expect.items()
            if not _is_met(wanted, self.counts.get(name))
        ]


def _is_met(wanted: int | str, count: int | None) -> bool:
    if count is None:
        return False
    return count == wanted if isinstance(wanted, int) else count >= least_count(wanted)


class ExperimentRun:
    """Runs an experiment in a folder, which keeps the cluster's files.

    With an observer of the traffic, the brokers log the events of replication too.
    """

    def __init__(
        self,
        experiment: Experiment,
        folder: Path,
        progress: Callable[[str], None],
        *,
        observer: TrafficObserver | None = None,
    ):
        self.experiment, self._folder, self._progress, self._observer = experiment, folder, progress, observer
        self.outcome = Outcome(experiment, leader=experiment.replicas[0])
        self._records = 0
        self._producers: list[ProducerProcess] = []

    def run(self) -> Outcome:
        """Run all steps; raise InputError if the cluster cannot be started, StoppedError if it takes too long."""
        admin_client()
        wanted = self.experiment
        if wanted.lib:
            local_build(wanted.kafka, Path(wanted.lib))
        self._progress(f"starting {wanted.brokers} x Kafka {wanted.build}")
        folder = self._folder / "cluster"
        cluster = Cluster.create(
            folder,
            wanted.kafka,
            wanted.brokers,
            wanted.broker,
            has_proxies=True,
            ends_with_parent=True,
            is_traced=self._observer is not None,
            lib=wanted.lib,
        )
        with ExitStack() as stack:
            journal = stack.enter_context(TrafficJournal(self._folder / "traffic.jsonl"))
            observers = [journal, *([self._observer] if self._observer is not None else [])]
            self._network = stack.enter_context(ProxyNetwork(cluster.links(), ObserverGroup(observers)))
            self._cluster = stack.enter_context(running(cluster))
            self._create_topic()
            stack.callback(self._end_producers)
            self._start_producer()
            self._run_steps()
            if self.experiment.has_transactions:
                self.outcome.committed = records_of_committed(self._cluster.direct, _TOPIC, wanted.partitions)
            self._find_leader()
        self._collect()
        return self.outcome

    def _start_producer(self) -> None:
        wanted = self.experiment
        settings = {**CLIENT_SETTINGS[wanted.client], "bootstrap.servers": self._cluster.bootstrap, **wanted.producer}
        log = self._folder / f"producer{len(self._producers) + 1}.log"
        driver = librdkafka_driver() if wanted.client == "librdkafka" else java_driver(wanted, log)
        self._producer = ProducerProcess(driver, _TOPIC, settings, log.with_suffix(".out"))
        self._producers.append(self._producer)

    def _end_producers(self) -> None:
        for producer in self._producers:
            producer.end()

    def _run_steps(self) -> None:
        begin = time.monotonic()
        for step in self.experiment.steps:
            begun = time.monotonic()
            self._progress(step)
            is_done = self._step(step)
            self.outcome.steps.append(StepRun(step, begun - begin, time.monotonic() - begun))
            if not is_done:
                self.outcome.unfinished = step
                return

    def _step(self, step: str) -> bool:
        """Run a step; return whether it ended within its time."""
        match step.split():
            case ["send", number]:
                self._send(int(number))
            case ["send", number, "to", partition]:
                self._send(int(number), int(partition))
            case ["send", "again", record]:
                self._producer.send([record])
            case ["begin" | "commit" | "abort" as method]:
                return self._call(method)
            case ["restart", "producer"]:
                self._producer.end()
                self._start_producer()
            case ["lose" | "break" | "delay" | "duplicate" | "hold", *_]:
                self._network.add(fault_rule(step, self.experiment.brokers))
            case ["release"]:
                self._network.release()
            case ["await", "decided"]:
                return self._until(self._is_decided)
            case ["await", what, number]:
                return self._await(what, int(number))
            case ["forward"]:
                self._network.forward()
            case ["cut"]:
                self._network.disconnect_clients()
            case ["restore"]:
                self._network.restore_clients()
            case ["cut", one, other]:
                self._network.cut(int(one), int(other))
            case ["heal"]:
                self._network.heal()
            case ["sleep", number]:
                time.sleep(int(number))
            case ["finish"]:
                return self._producer.finish(_STEP_SECONDS)
            case ["forget", number]:
                for each in range(self.experiment.partitions):
                    self._cluster.forget(self._cluster.node(int(number)), f"{_TOPIC}-{each}")
            case ["wipe", number]:
                self._cluster.wipe(self._cluster.node(int(number)))
            case ["move", "leader", number]:
                self._move_leader(int(number))
            case [verb, which]:
                getattr(self._cluster, verb)(list(self._nodes(which)))
        return True

    def _nodes(self, which: str) -> Iterator[Node]:
        yield from self._cluster.nodes if which == "all" else [self._cluster.node(int(which))]

    def _send(self, count: int, partition: int = 0) -> None:
        producer = self._producer
        for number in range(len(producer.sent) + 1, len(producer.sent) + count + 1):
            self._records += 1
            producer.send([f"r{self._records}"], partition)
            # Each record is a batch of its own: the next one is made when the producer has this one.
            self._until(functools.partial(_has_sent, producer, number))

    def _call(self, method: str) -> bool:
        producer = self._producer
        calls = len(producer.calls)
        producer.call(method)
        return self._until(lambda: len(producer.calls) > calls or not producer.is_alive)

    def _await(self, what: str, number: int) -> bool:
        counts: dict[str, Callable[[], bool]] = {
            "acknowledged": lambda: sum(len(producer.acknowledged) for producer in self._producers) >= number,
            "failed": lambda: sum(len(producer.failed) for producer in self._producers) >= number,
            "isr": lambda: self._in_sync() == number,
            "watermark": lambda: self._end(read_committed=False) >= number,
            "handled": lambda: self._network.handled() >= number,
            "leader": lambda: self._leader() == number,
            **{name: functools.partial(self._has_faults, name, number) for name in FAULTS},
        }
        return self._until(counts[what])

    def _end(self, partition: int = 0, *, read_committed: bool) -> int:
        """Return the high watermark of a partition, or the last stable offset; -1 if no leader answers."""
        found = consumable_end(self._cluster.direct, _TOPIC, partition, read_committed=read_committed)
        return -1 if found is None else found

    def _is_decided(self) -> bool:
        """Return whether no transaction is open: the last stable offset has reached the high watermark."""
        partitions = range(self.experiment.partitions)
        return all(
            self._end(each, read_committed=True) >= self._end(each, read_committed=False) >= 0 for each in partitions
        )

    def _has_faults(self, name: str, number: int) -> bool:
        return self._network.count(FAULTS[name]) >= number

    def _move_leader(self, number: int) -> None:
        """Make a broker the preferred leader, and elect it."""
        found = newest(self._views())
        replicas = found.replicas if found is not None else ()
        if number not in replicas:
            raise InputError(f"move leader {number}: the replicas are {', '.join(map(str, replicas))}")
        others = [replica for replica in replicas if replica != number]
        alive = next(node for node in self._cluster.nodes if node.state == "running")
        partitions = range(self.experiment.partitions)
        for each in partitions:
            reassign((LOOPBACK, alive.ports[BROKER]), _TOPIC, each, [number, *others])
        elect_preferred_leaders(self._cluster.direct, _TOPIC, partitions)

    def _until(self, is_reached: Callable[[], bool]) -> bool:
        """Wait until something is reached; return whether it was in time. Raises StoppedError if a broker has died."""
        end = time.monotonic() + _STEP_SECONDS
        while not is_reached():
            for node in self._cluster.nodes:
                # A broker that a step has ended has no process.
                if node.process is not None and not node.process.is_alive:
                    log = self._cluster.home(node) / "output.log"
                    raise StoppedError(f"broker {node.number} has died, and no step ended it: see {log}")
            if time.monotonic() > end:
                return False
            time.sleep(_POLL)
        return True

    def _create_topic(self) -> None:
        brokers = self.experiment.replicas
        create_topic(self._cluster.direct, _TOPIC, [brokers] * self.experiment.partitions, self.experiment.topic)
        if not self._until(lambda: self._leader() == brokers[0] and self._in_sync() == len(brokers)):
            raise StoppedError(f"the replicas of the topic are not in sync after {_STEP_SECONDS} s")

    def _views(self) -> dict[int, PartitionMetadata | None]:
        """Return what each running broker knows about partition 0."""
        running = [node for node in self._cluster.nodes if node.state == "running"]
        return {node.number: partition_metadata((LOOPBACK, node.ports[BROKER]), _TOPIC, 0) for node in running}

    def _leader(self) -> int | None:
        return leader_of(self._views())

    def _in_sync(self) -> int:
        """Return the number of in-sync replicas."""
        found = newest(self._views())
        return len(found.isr) if found is not None else 0

    def _find_leader(self) -> None:
        """Find the broker of which the log is read: the leader, or the first replica if no broker runs."""
        if not any(node.state == "running" for node in self._cluster.nodes):
            return
        end = time.monotonic() + (0 if self.outcome.unfinished else _STEP_SECONDS)
        while (leader := self._leader()) is None and time.monotonic() < end:
            time.sleep(_POLL)
        if leader is not None:
            self.outcome.leader = leader
        elif not self.outcome.unfinished:
            self.outcome.unfinished = "await a leader"

    def _collect(self) -> None:
        """Read the futures and the log of the last leader. The brokers have ended."""
        self.outcome.futures = [future for producer in self._producers for future in producer.futures]
        self.outcome.sent = [record for producer in self._producers for record in producer.sent]
        self.outcome.calls = [call for producer in self._producers for call in producer.calls]
        folders = [self.partition_folder(partition) for partition in range(self.experiment.partitions)]
        from kafka_tools.lab.cluster.log_records import values_of

        self.outcome.log, *self.outcome.other_logs = [values_of(folder) for folder in folders]
        if self.experiment.has_transactions:
            self.outcome.open_transactions = open_transactions(folders)

    def partition_folder(self, partition: int = 0) -> Path:
        """Return a partition's folder on the disk of the last leader of partition 0."""
        return self._cluster.data(self._cluster.node(self.outcome.leader)) / f"{_TOPIC}-{partition}"


def _has_sent(producer: ProducerProcess, count: int) -> bool:
    """Return whether a producer has sent so many records; raise InputError if it has ended before."""
    is_alive = producer.is_alive
    if len(producer.sent) >= count:
        return True
    if not is_alive:
        raise InputError(f"the producer has ended: {producer.last_words}")
    return False


def new_folder(folder: Path) -> None:
    """Create a folder, or take an empty one; raise InputError if it has files.

    An experiment removes nothing: the files may be an earlier result, or the data of a cluster that runs.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} has files, and an experiment replaces none: name a new folder")
    make_folder(folder)
