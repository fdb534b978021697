"""A cluster of brokers on this machine: combined brokers and controllers (KRaft) on the loopback address.

The folder of a cluster has `cluster.json` and a folder for each node: `server.properties`, `data` (log.dirs),
`metadata` (metadata.log.dir), and the output of the broker. Each node has three listeners: one for brokers, one for the
controller quorum, and CLIENT. A cluster with proxies advertises the port of a proxy for each of them.
"""

from __future__ import annotations

import base64
import functools
import json
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from checker.data_files import read_data_text
from checker.errors import InputError
from checker.output.output_files import write_whole
from checker.run.endings import StoppedError
from kafka_tools.experiments.releases import build_text, release
from kafka_tools.lab.cluster.distribution import class_path, require_java
from kafka_tools.lab.cluster.event_loggers import event_loggers
from kafka_tools.lab.cluster.harness_notes import HarnessNotes
from kafka_tools.lab.cluster.process import (
    LOOPBACK,
    ProcessId,
    free_ports,
    is_listening,
    owner_of_connection,
    require_free,
    started,
)
from kafka_tools.lab.cluster.proxy import OTHER, Link

BROKER, CONTROLLER, CLIENT = "PLAINTEXT", "CONTROLLER", "CLIENT"
"""The names of the listeners."""

MOST_BROKERS = 7
MEMORY_MB = 512
START_SECONDS, STOP_SECONDS = 180, 60

_FILE = "cluster.json"
_POLL = 0.1

# Without `disable`, log4j 2 stops logging at SIGTERM, while the broker goes on for seconds.
_LOG4J2 = """Configuration:
  shutdownHook: disable
  Appenders:
    File:
      name: file
      fileName: "{file}"
      PatternLayout:
        pattern: "%d{{yyyy-MM-dd HH:mm:ss.SSS}} %p [%t] %c %m%n"
  Loggers:
    Root:
      level: INFO
      AppenderRef:
        ref: file
{loggers}"""

_LOG4J2_LOGGERS = "    Logger:\n"
_LOG4J2_LOGGER = '      - {{name: "{name}", level: {level}}}\n'

_LOG4J = """log4j.rootLogger=INFO, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={file}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d{{yyyy-MM-dd HH:mm:ss.SSS}} %p [%t] %c %m%n
{loggers}"""

_LOG4J_LOGGER = "log4j.logger.{name}={level}\n"


@dataclass
class Node:
    """A node: its number from 1, its ports by listener, and its process, None while it is not running.

    Others connect to the `advertised` ports: those of proxies, or `ports` themselves.
    """

    number: int
    ports: dict[str, int]
    advertised: dict[str, int]
    process: ProcessId | None = None

    @property
    def state(self) -> str:
        """Whether the node is running, paused or stopped."""
        if self.process is None or not self.process.is_alive:
            return "stopped"
        return "paused" if self.process.is_paused else "running"


@dataclass
class Cluster:
    """A cluster in a folder. Every method that changes it writes `cluster.json`."""

    folder: Path
    version: str
    nodes: list[Node]
    identifier: str
    settings: dict[str, str] = field(default_factory=dict)
    has_proxies: bool = False
    proxies: ProcessId | None = None
    ends_with_parent: bool = False
    is_traced: bool = False
    lib: str = ""
    """The folder with the jars of a local build, which `version` names the nearest release of; empty: the release."""

    @staticmethod
    def create(
        folder: Path,
        version: str,
        brokers: int,
        settings: Mapping[str, str] | None = None,
        *,
        has_proxies: bool = False,
        ends_with_parent: bool = False,
        is_traced: bool = False,
        lib: str = "",
    ) -> Cluster:
        """Create the folder of a cluster; start nothing. Raises InputError if the folder has other contents.

        With `has_proxies`, the nodes advertise ports at which the caller runs a `ProxyNetwork` of `links`.
        The brokers of a traced cluster log the events of replication (`kafka_tools.lab.recording`).
        """
        if not 1 <= brokers <= MOST_BROKERS:
            raise InputError(f"a cluster has 1 to {MOST_BROKERS} brokers, not {brokers}")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder} exists and is not an empty folder: name a new one")
        class_path(version, lib)
        folder.mkdir(parents=True, exist_ok=True)
        listeners = (BROKER, CONTROLLER, CLIENT)
        free = iter(free_ports(2 * len(listeners) * brokers))
        nodes = []
        for number in range(1, brokers + 1):
            ports = {name: next(free) for name in listeners}
            nodes.append(Node(number, ports, {name: next(free) for name in listeners} if has_proxies else ports))
        cluster = Cluster(
            folder,
            version,
            nodes,
            cluster_identifier(),
            dict(settings or {}),
            has_proxies=has_proxies,
            ends_with_parent=ends_with_parent,
            is_traced=is_traced,
            lib=lib and str(Path(lib).absolute()),
        )
        cluster._save()
        cluster._format(nodes)
        return cluster

    @staticmethod
    def open(folder: Path) -> Cluster:
        """Return the cluster of a folder; raise InputError if there is none."""
        file = folder / _FILE
        try:
            content = json.loads(read_data_text(file))
            return Cluster(
                folder,
                str(content["version"]),
                [_node(number, node) for number, node in enumerate(content["nodes"], 1)],
                str(content["identifier"]),
                {str(name): str(value) for name, value in dict(content["settings"]).items()},
                bool(content["has_proxies"]),
                _process(content["proxies"]),
                is_traced=bool(content.get("is_traced", False)),
                lib=str(content.get("lib", "")),
            )
        except FileNotFoundError:
            raise InputError(f"{folder} has no cluster: `python -m checker cluster up {folder}` makes one") from None
        except (ValueError, KeyError, TypeError, OSError, RecursionError):
            raise InputError(f"{file} is not the file of a cluster") from None

    @property
    def build(self) -> str:
        """What runs, for messages: a release, or a local build."""
        return build_text(self.version, self.lib)

    @property
    def bootstrap(self) -> str:
        """The addresses for clients."""
        return ",".join(f"{LOOPBACK}:{node.advertised[CLIENT]}" for node in self.nodes)

    @property
    def direct(self) -> str:
        """The addresses of the running brokers for administration, which no fault of a proxy concerns."""
        running = [node for node in self.nodes if node.state == "running"] or self.nodes
        return ",".join(f"{LOOPBACK}:{node.ports[BROKER]}" for node in running)

    def links(self, nodes: Callable[[], Sequence[Node]] | None = None) -> list[Link]:
        """Return the proxies that the advertised ports need.

        `nodes` returns the nodes with their present processes, for proxies that run in another process.
        """
        current = nodes or (lambda: self.nodes)
        return [
            Link(
                node.advertised[name],
                node.number,
                (LOOPBACK, port),
                None if name == CLIENT else functools.partial(_opener, current, node.advertised[name]),
            )
            for node in self.nodes
            for name, port in node.ports.items()
        ]

    def set_proxies(self, process: ProcessId) -> None:
        """Remember the process of the proxies."""
        self.proxies = process
        self._save()

    def node(self, number: int) -> Node:
        """Return a node by its number; raise InputError if there is none."""
        if not 1 <= number <= len(self.nodes):
            raise InputError(f"the cluster has the brokers 1 to {len(self.nodes)}, not {number}")
        return self.nodes[number - 1]

    def home(self, node: Node) -> Path:
        """Return the folder of a node."""
        return self.folder / f"broker{node.number}"

    def data(self, node: Node) -> Path:
        """Return the log directory of a node."""
        return self.home(node) / "data"

    def start(self, nodes: Sequence[Node]) -> None:
        """Start nodes, and wait until all accept connections.

        Raises InputError if one ends, StoppedError if one takes too long.
        """
        java, path = require_java(), class_path(self.version, self.lib)
        starting = [node for node in nodes if node.state == "stopped"]
        require_free({port: f"broker {node.number}" for node in starting for port in node.ports.values()})
        for node in nodes:
            if node in starting:
                self.notes.write("starting", node.number)
                node.process = self._launch(node, java, path)
                self._save()
        end = time.monotonic() + START_SECONDS
        for node in nodes:
            self._wait_until_up(node, end)

    def mark_traced(self) -> None:
        """Let brokers that start from now on log the events of replication."""
        self.is_traced = True
        self._save()

    @property
    def notes(self) -> HarnessNotes:
        """The notes of what was done to the brokers."""
        return HarnessNotes(self.folder)

    def stop(self, nodes: Sequence[Node]) -> list[Node]:
        """Stop nodes cleanly (SIGTERM), all at once: the last one of a quorum would wait for a controller.

        Returns the nodes that were killed, because they did not stop in time.
        """
        return self._end(nodes, signal.SIGTERM)

    def kill(self, nodes: Sequence[Node]) -> None:
        """Kill nodes (SIGKILL), as a crash of their processes does."""
        self._end(nodes, signal.SIGKILL)

    def pause(self, nodes: Sequence[Node]) -> None:
        """Pause nodes (SIGSTOP), as a long garbage collection does."""
        for node in nodes:
            if node.process is not None and node.process.is_alive:
                node.process.send(signal.SIGSTOP)
                while node.state == "running":
                    time.sleep(_POLL)
                self.notes.write("paused", node.number)

    def resume(self, nodes: Sequence[Node]) -> None:
        """Let paused nodes go on (SIGCONT)."""
        for node in nodes:
            if node.process is not None and node.state == "paused":
                self.notes.write("resumed", node.number)
                node.process.send(signal.SIGCONT)

    def forget(self, node: Node, partition: str) -> None:
        """Remove a partition from the disk of a stopped node, as a power failure loses what was not written yet."""
        if node.state != "stopped":
            raise InputError(f"broker {node.number} is {node.state}: stop it before its disk loses data")
        self.notes.write("forgot", node.number, partition=partition)
        shutil.rmtree(self.data(node) / partition, ignore_errors=True)
        # After a power failure there is no mark of a clean shutdown.
        (self.data(node) / ".kafka_cleanshutdown").unlink(missing_ok=True)

    def wipe(self, node: Node) -> None:
        """Replace the disk of a stopped node by an empty, formatted one. The controller's log is on another disk."""
        if node.state != "stopped":
            raise InputError(f"broker {node.number} is {node.state}: stop it before its disk is replaced")
        self.notes.write("forgot", node.number)
        shutil.rmtree(self.data(node), ignore_errors=True)
        self._format([node])

    def down(self) -> list[Node]:
        """End all nodes cleanly; return those that were killed, because that took too long. A recording ends here."""
        self.notes.write("ending")
        self.resume(self.nodes)
        killed = self._end(self.nodes, signal.SIGTERM, seconds=10)
        if self.proxies is not None:
            self.proxies.send(signal.SIGTERM)
            self.proxies.wait(STOP_SECONDS)
            self.proxies = None
            self._save()
        return killed

    def _end(self, nodes: Sequence[Node], number: signal.Signals, seconds: float = STOP_SECONDS) -> list[Node]:
        """Send a signal to nodes, and kill those that are alive after some time; return those that this killed."""
        killed: list[Node] = []
        ending = [node for node in nodes if node.state != "stopped"]
        for node in nodes:
            if node.process is not None:
                node.process.send(number)
                # A paused process gets other signals when it goes on.
                node.process.send(signal.SIGCONT)
        for node in nodes:
            is_killed = number == signal.SIGKILL
            if node.process is not None and not node.process.wait(seconds):
                is_killed = True
                killed.append(node)
                node.process.send(signal.SIGKILL)
                node.process.wait(seconds)
            if node in ending:
                self.notes.write("killed" if is_killed else "stopped", node.number)
            node.process = None
        # The sockets of a killed JVM outlive its main thread. Another process may have taken a port meanwhile.
        end = time.monotonic() + STOP_SECONDS
        for node in nodes:
            while is_listening(node.ports[BROKER]) or is_listening(node.ports[CONTROLLER]):
                if time.monotonic() > end:
                    break
                time.sleep(_POLL)
        self._save()
        return killed

    def _launch(self, node: Node, java: str, path: str) -> ProcessId:
        home = self.home(node)
        # The arguments after the class path configure logging: log4j 1 until 3.9, log4j 2 from 4.0.
        # A level can be set later, while the broker runs, only for a logger that exists.
        loggers = event_loggers(self.version)
        loggers = loggers if self.is_traced else dict.fromkeys(loggers, "INFO")
        if release(self.version)[0] < 4:
            logging = home / "log4j.properties"
            lines = "".join(_LOG4J_LOGGER.format(name=name, level=level) for name, level in loggers.items())
            logging.write_text(_LOG4J.format(file=home / "server.log", loggers=lines))
            option = f"-Dlog4j.configuration=file:{logging}"
        else:
            logging = home / "log4j2.yaml"
            lines = "".join(_LOG4J2_LOGGER.format(name=name, level=level) for name, level in loggers.items())
            lines = _LOG4J2_LOGGERS + lines
            logging.write_text(_LOG4J2.format(file=home / "server.log", loggers=lines))
            option = f"-Dlog4j2.configurationFile={logging}"
        memory = [f"-Xmx{MEMORY_MB}m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command = [java, *memory, option, f"-Dkafka.logs.dir={home}", "-cp", path, "kafka.Kafka"]
        output = home / "output.log"
        return started([*command, str(home / "server.properties")], output, ends_with_parent=self.ends_with_parent)

    def _wait_until_up(self, node: Node, end: float) -> None:
        while not is_listening(node.ports[CLIENT]):
            if node.state == "stopped":
                raise InputError(f"broker {node.number} ended while it started: see {self.home(node) / 'output.log'}")
            if time.monotonic() > end:
                raise StoppedError(
                    f"broker {node.number} does not listen after {START_SECONDS} s: see "
                    f"{self.home(node) / 'output.log'}"
                )
            time.sleep(_POLL)

    def _format(self, nodes: Sequence[Node]) -> None:
        """Format the disks of nodes, all at once; raise InputError if the tool refuses one."""
        command = [require_java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        path = class_path(self.version, self.lib)
        command += ["-cp", path, "kafka.tools.StorageTool", "format", "-t", self.identifier]
        # After `wipe`, the folder of the controller's log is formatted already.
        command += ["--ignore-formatted"]
        tools: list[subprocess.Popen[str]] = []
        try:
            for node in nodes:
                self.home(node).mkdir(exist_ok=True)
                settings = self.home(node) / "server.properties"
                write_whole(settings, "".join(f"{name}={value}\n" for name, value in self._properties(node).items()))
                tools.append(
                    subprocess.Popen(
                        [*command, "-c", str(settings)],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        text=True,
                    )
                )
            for node, tool in zip(nodes, tools, strict=True):
                output, _ = tool.communicate(timeout=START_SECONDS)
                if tool.returncode:
                    reason = " ".join(output.strip().splitlines()[-1:])
                    raise InputError(f"the disk of broker {node.number} cannot be formatted: {reason}")
        except subprocess.TimeoutExpired:
            raise StoppedError(f"a disk is not formatted after {START_SECONDS} s: the machine is too busy") from None
        finally:
            for tool in tools:
                tool.kill()
                tool.wait()

    def _properties(self, node: Node) -> dict[str, str]:
        brokers = len(self.nodes)
        voters = ",".join(f"{each.number}@{LOOPBACK}:{each.advertised[CONTROLLER]}" for each in self.nodes)
        copies = str(min(brokers, 3))
        return {
            "process.roles": "broker,controller",
            "node.id": str(node.number),
            "controller.quorum.voters": voters,
            "listeners": _addresses(node.ports),
            "advertised.listeners": _addresses(node.advertised),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in node.ports),
            "inter.broker.listener.name": BROKER,
            "controller.listener.names": CONTROLLER,
            "log.dirs": str(self.data(node)),
            "metadata.log.dir": str(self.home(node) / "metadata"),
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": str(max(1, int(copies) - 1)),
            "group.initial.rebalance.delay.ms": "0",
            "num.network.threads": "2",
            "num.io.threads": "4",
            "auto.create.topics.enable": "false",
            # In the model an answer to a fetch has one record.
            **({"replica.fetch.max.bytes": "1"} if self.is_traced else {}),
            **self.settings,
        }

    def _save(self) -> None:
        content: dict[str, Any] = {
            "version": self.version,
            "identifier": self.identifier,
            "settings": self.settings,
            "has_proxies": self.has_proxies,
            "proxies": asdict(self.proxies) if self.proxies is not None else None,
            "is_traced": self.is_traced,
            "lib": self.lib,
            "nodes": [asdict(node) for node in self.nodes],
        }
        write_whole(self.folder / _FILE, json.dumps(content, indent=1) + "\n")


def _opener(nodes: Callable[[], Sequence[Node]], to_port: int, port: int) -> int:
    """Return the broker that opened a connection, by its two ports."""
    pids = {node.process.pid: node.number for node in nodes() if node.process is not None}
    owner = owner_of_connection(port, to_port, pids)
    return OTHER if owner is None else pids[owner]


def cluster_identifier() -> str:
    """Return a new identifier, 16 random bytes in base64. `kafka-storage` takes a leading `-` for an option.

    Source: `org.apache.kafka.common.Uuid.randomUuid`, which avoids it too.
    """
    while True:
        identifier = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not identifier.startswith("-"):
            return identifier


def _addresses(ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in ports.items())


def _node(number: int, content: Mapping[str, Any]) -> Node:
    """Return a node of a file; raise ValueError, KeyError or TypeError if it is not one."""
    if content["number"] != number:
        raise ValueError(number)
    return Node(number, _ports(content["ports"]), _ports(content["advertised"]), _process(content["process"]))


def _ports(content: Mapping[str, object]) -> dict[str, int]:
    return {name: _natural(content[name]) for name in (BROKER, CONTROLLER, CLIENT)}


def _process(content: Mapping[str, object] | None) -> ProcessId | None:
    return None if content is None else ProcessId(_natural(content["pid"]), _natural(content["started"]))


def _natural(number: object) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(number)
    return number


@contextmanager
def running(cluster: Cluster) -> Iterator[Cluster]:
    """Start all nodes of a cluster, and end them when the block ends."""
    try:
        cluster.start(cluster.nodes)
        yield cluster
    finally:
        cluster.down()
