"""Experiments: a cluster, a producer, a schedule of faults, and what is expected in the log.

An experiment is a TOML file:

    entry = "I7"                           # of the catalogue
    title = "..."
    replicas = [1, 2]                      # default: all brokers
    kafka = "4.3.1"
    releases = "from 4.0"                  # or "before 4.0": the releases that [expect] describes; default: all
    client = "java"                        # or "librdkafka"
    brokers = 3
    steps = ["send 1", "await acknowledged 1", "lose Produce responses", "send 3", ...]

    [broker]                               # settings of the brokers

    partitions = 1                         # default: 1

    [topic]                                # settings of the topic; the first replica leads its partitions at first
    "min.insync.replicas" = "2"

    [producer]                             # settings of the producer
    acks = "all"

    [expect]
    duplicated = 3

`kafka_tools.cluster.steps` has the steps. Every batch has one record, unless the producer's settings say otherwise.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from checker.data_files import read_data_text
from checker.errors import InputError
from checker.output.files import make_folder
from checker.run.endings import StoppedError
from kafka_tools.cluster.administration import (
    admin_client,
    consumable_end,
    create_topic,
    elect_preferred_leaders,
)
from kafka_tools.cluster.cluster import BROKER, Cluster, Node, running
from kafka_tools.cluster.distribution import release
from kafka_tools.cluster.partition_metadata import PartitionMetadata, leader_of, newest, partition_metadata
from kafka_tools.cluster.process import LOOPBACK
from kafka_tools.cluster.producer_process import (
    ProducerCall,
    ProducerProcess,
    RecordFuture,
    java_driver,
    librdkafka_driver,
)
from kafka_tools.cluster.proxy import ProxyNetwork, TrafficObserver
from kafka_tools.cluster.reassignment import reassign
from kafka_tools.cluster.steps import FAULTS, check_step, fault_rule
from kafka_tools.cluster.traffic import ObserverGroup, TrafficJournal
from kafka_tools.cluster.transaction_outcome import (
    TRANSACTION_COUNTS,
    TRANSACTION_STEPS,
    committed_records,
    open_transactions,
    transaction_counts,
)

FOLDER = Path(__file__).with_name("experiments")

EXPECTATIONS = (
    *("acknowledged", "failed", "duplicated", "lost", "failed_in_log", "reordered"),
    *TRANSACTION_COUNTS,
)
"""The counts that an experiment may expect."""

HARM = (
    *("duplicated", "lost", "reordered"),
    *("aborted_read", "committed_unread", "torn", "open_transactions"),
)
"""The counts of records and transactions that show a bug or a hazard.

A failed record that is in the log shows none: a failure does not promise that the record is not there.
"""

_RELEASES = re.compile(r"(from|before) (\d{1,3})\.(\d{1,3})")
_OR_MORE = re.compile(r"\d+ or more")
_STEP_SECONDS = 120
_TOPIC = "experiment"
_POLL = 0.05

_CLIENTS = {
    "java": {"acks": "all", "batch.size": "1", "linger.ms": "0"},
    "librdkafka": {"acks": "all", "batch.num.messages": "1", "linger.ms": "0"},
}
"""The settings of a client unless an experiment has others: each record is a batch of its own."""


@dataclass(frozen=True)
class Experiment:
    """An experiment, as its file describes it."""

    name: str
    title: str
    entry: str
    kafka: str
    releases: str
    client: str
    brokers: int
    partitions: int
    replicas: tuple[int, ...]
    steps: tuple[str, ...]
    broker: dict[str, str]
    topic: dict[str, str]
    producer: dict[str, str]
    expect: dict[str, int | str]

    @property
    def has_transactions(self) -> bool:
        """Whether the producer is transactional."""
        return "transactional.id" in self.producer

    def describes(self, version: str) -> bool:
        """Return whether the expectation is about a release. Raises InputError if the version is not supported."""
        found = _RELEASES.fullmatch(self.releases)
        if found is None:
            return True
        return (release(version) >= (int(found[2]), int(found[3]))) is (found[1] == "from")

    @property
    def expects_harm(self) -> bool:
        """Whether a record is expected to be lost, duplicated, reordered or decided wrongly, so that a bug is shown."""
        return any(_least(self.expect.get(name, 0)) > 0 for name in HARM)


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


def _least(wanted: int | str) -> int:
    """Return the smallest count that meets an expectation: a number, or a text such as `1 or more`."""
    return wanted if isinstance(wanted, int) else int(wanted.split()[0])


def _is_met(wanted: int | str, count: int | None) -> bool:
    if count is None:
        return False
    return count == wanted if isinstance(wanted, int) else count >= _least(wanted)


def known_experiments() -> list[Path]:
    """Return the files of the experiments that belong to the project."""
    return sorted(FOLDER.glob("*.toml"))


def read_experiment(name: str, version: str | None = None) -> Experiment:
    """Return an experiment by the name of a known one or by its file; raise InputError if it is wrong."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(each.stem for each in known_experiments())
        raise InputError(f"there is no experiment {name}: name a TOML file or one of {known}")
    try:
        content = tomllib.loads(read_data_text(path))
    # A ValueError: not TOML, not UTF-8, or a number of too many digits.
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: {error}") from None
    except RecursionError:
        raise InputError(f"{path}: too many arrays and tables are within each other") from None
    try:
        found = _experiment(path.stem, content)
        release(found.kafka)
    except InputError as error:
        raise InputError(f"{path}: {error.message}") from None
    if version is None:
        return found
    release(version)
    return replace(found, kafka=version)


def _experiment(name: str, content: dict[str, Any]) -> Experiment:
    allowed = {field.name for field in dataclasses.fields(Experiment)} - {"name"}
    if unknown := sorted(content.keys() - allowed):
        raise InputError(f"unknown key {unknown[0]}: an experiment has {', '.join(sorted(allowed))}")
    steps, brokers = content.get("steps"), content.get("brokers", 1)
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) for step in steps):
        raise InputError('steps is a list of texts, such as steps = ["send 1", "finish"]')
    if not isinstance(brokers, int) or brokers < 1:
        raise InputError("brokers is a number from 1")
    partitions = content.get("partitions", 1)
    if not isinstance(partitions, int) or partitions < 1:
        raise InputError("partitions is a number from 1")
    replicas = content.get("replicas", list(range(1, brokers + 1)))
    if not isinstance(replicas, list) or not replicas or not set(replicas) <= set(range(1, brokers + 1)):
        raise InputError(f"replicas is a list of brokers from 1 to {brokers}")
    producer = _texts(content, "producer")
    for step in steps:
        check_step(step, brokers)
        words = step.split()
        if words[0] in TRANSACTION_STEPS and "transactional.id" not in producer:
            raise InputError(f"{step}: the producer has no transactional.id")
        if words[2:3] == ["to"] and int(words[3]) >= partitions:
            raise InputError(f"{step}: the partitions are 0 to {partitions - 1}")
    expect = content.get("expect", {})
    for key, wanted in expect.items():
        if key not in EXPECTATIONS or not (type(wanted) is int or _OR_MORE.fullmatch(str(wanted))):
            raise InputError(f'[expect] {key}: it has numbers, or "1 or more", for {", ".join(EXPECTATIONS)}')
        if key in TRANSACTION_COUNTS and "transactional.id" not in producer:
            raise InputError(f"[expect] {key}: the producer has no transactional.id")
    client = content.get("client", "java")
    if client not in _CLIENTS:
        raise InputError(f"client is one of {', '.join(_CLIENTS)}, not {client}")
    version = str(content.get("kafka", "4.3.1"))
    release(version)
    releases = str(content.get("releases", ""))
    if "releases" in content and not _RELEASES.fullmatch(releases):
        raise InputError(f'releases is a text such as "from 4.0" or "before 4.0", not {releases}')
    found = Experiment(
        name=name,
        title=str(content.get("title", name)),
        entry=str(content.get("entry", "")),
        kafka=version,
        releases=releases,
        client=client,
        brokers=brokers,
        partitions=partitions,
        replicas=tuple(replicas),
        steps=tuple(steps),
        broker=_texts(content, "broker"),
        topic=_texts(content, "topic"),
        producer=producer,
        expect=dict(expect),
    )
    if not found.describes(version):
        raise InputError(f"kafka is {version}, and releases is {releases}: the experiment runs on a release of these")
    return found


def _texts(content: dict[str, Any], key: str) -> dict[str, str]:
    found = content.get(key, {})
    if not isinstance(found, dict):
        raise InputError(f"[{key}] is a table of settings")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in found.items()}


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
        self._progress(f"starting {wanted.brokers} x Kafka {wanted.kafka}")
        folder = self._folder / "cluster"
        cluster = Cluster.create(
            folder,
            wanted.kafka,
            wanted.brokers,
            wanted.broker,
            has_proxies=True,
            ends_with_parent=True,
            is_traced=self._observer is not None,
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
                self.outcome.committed = committed_records(self._cluster.direct, _TOPIC, wanted.partitions)
            self._find_leader()
        self._collect()
        return self.outcome

    def _start_producer(self) -> None:
        wanted = self.experiment
        settings = {**_CLIENTS[wanted.client], "bootstrap.servers": self._cluster.bootstrap, **wanted.producer}
        log = self._folder / f"producer{len(self._producers) + 1}.log"
        driver = librdkafka_driver() if wanted.client == "librdkafka" else java_driver(wanted.kafka, log)
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
                self._network.cut_clients()
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
        from kafka_tools.cluster.log_records import values_of

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
