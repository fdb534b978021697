"""A soak: three real brokers, random faults from a seed, and records, in rounds.

A round has topics of its own: each partition lives for a round, from its creation to the moment at which all brokers
run and all replicas are in sync again. Its recording is a window that begins in the initial state of the model.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checker.errors import InputError
from kafka_tools.lab.cluster.administration import admin_client, create_topic
from kafka_tools.lab.cluster.cluster import Cluster, Node, running

BROKERS = 3
SETTINGS = {
    "replica.lag.time.max.ms": "3000",
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "500",
    "leader.imbalance.check.interval.seconds": "5",
}
"""Short times, so that a fault has its consequences within seconds."""

FAULTS = ("kill", "stop", "pause", "short pause", "cut off suffix", "none")
_HEAL_SECONDS = 60
_SETTLE_SECONDS = 1.5
_RECORDS = 2


@dataclass(frozen=True)
class SoakPlan:
    """A soak: the release, how long it lasts, and the seed of its faults."""

    kafka: str
    minutes: float
    seed: int


@dataclass
class SoakRound:
    """A round: its topic, the producer's acks, min.insync.replicas, the faults, and whether all replicas came back."""

    topic: str
    acks: str
    min_insync_replicas: int
    faults: list[str] = field(default_factory=list)
    sent: int = 0
    acknowledged: int = 0
    is_healed: bool = False


class SoakRun:
    """Runs a soak in a folder, which keeps the cluster's files."""

    def __init__(self, plan: SoakPlan, folder: Path, progress: Callable[[str], None]):
        self._plan, self._folder, self._progress = plan, folder, progress
        self._random = random.Random(plan.seed)
        self.rounds: list[SoakRound] = []

    def run(self) -> list[SoakRound]:
        """Run rounds until the time is over, or Ctrl-C; raise InputError if the cluster cannot be started."""
        admin_client()
        self._progress(f"starting {BROKERS} x Kafka {self._plan.kafka}")
        self.cluster = Cluster.create(
            self._folder / "cluster", self._plan.kafka, BROKERS, SETTINGS, ends_with_parent=True, is_traced=True
        )
        with running(self.cluster):
            end = time.monotonic() + 60 * self._plan.minutes
            with suppress(KeyboardInterrupt):
                while time.monotonic() < end:
                    self._round()
        return self.rounds

    def _round(self) -> None:
        chosen = self._random
        # A record of acks=1 is appended although too few replicas are in sync.
        acks = chosen.choice(("all", "all", "1"))
        this = SoakRound(f"soak-{len(self.rounds) + 1}", acks, chosen.choice((1, 2)) if acks == "all" else 1)
        self._create(this)
        producer = self._producer(this)
        self._send(producer, this)
        for _ in range(chosen.choice((1, 1, 2))):
            fault = chosen.choice(FAULTS if acks == "1" else [name for name in FAULTS if name != "cut off suffix"])
            node = chosen.choice(self.cluster.nodes)
            this.faults.append(f"{fault} {node.number}" if fault != "none" else fault)
            self._progress(f"{this.topic}: acks={acks}, {this.faults[-1]}")
            self._fault(fault, node, producer, this)
            self._send(producer, this)
        this.is_healed = self._heal(this)
        producer.flush(_HEAL_SECONDS)
        time.sleep(_SETTLE_SECONDS)
        self.cluster.notes.write("ending", topic=this.topic)
        self.rounds.append(this)
        # The client must outlive the request.
        admin = self._admin()
        admin.delete_topics([this.topic])[this.topic].exception()

    def _fault(self, fault: str, node: Node, producer: Any, this: SoakRound) -> None:
        others = [other for other in self.cluster.nodes if other is not node]
        match fault:
            case "kill" | "stop":
                getattr(self.cluster, fault)([node])
                self._send(producer, this)
                time.sleep(self._random.choice((0, 2, 7)))
                self.cluster.start([node])
            case "pause" | "short pause":
                self.cluster.pause([node])
                self._send(producer, this)
                time.sleep(self._random.uniform(4, 9) if fault == "pause" else self._random.uniform(0.2, 2))
                self.cluster.resume([node])
            case "cut off suffix":
                # What this broker leads is appended by nobody else, and is truncated when it comes back.
                self.cluster.pause(others)
                time.sleep(1.2)
                self._send(producer, this)
                time.sleep(0.5)
                self.cluster.kill([node])
                self.cluster.resume(others)
                time.sleep(7)
                self._send(producer, this)
                self.cluster.start([node])

    def _heal(self, this: SoakRound) -> bool:
        self.cluster.resume(self.cluster.nodes)
        self.cluster.start([node for node in self.cluster.nodes if node.state == "stopped"])
        end = time.monotonic() + _HEAL_SECONDS
        while time.monotonic() < end:
            with suppress(Exception):
                metadata = self._admin().list_topics(this.topic, timeout=5).topics[this.topic]
                if all(len(partition.isrs) == BROKERS for partition in metadata.partitions.values()):
                    return True
            time.sleep(0.2)
        return False

    def _create(self, this: SoakRound) -> None:
        brokers = [node.number for node in self.cluster.nodes]
        # Each broker leads one partition.
        assignment = [brokers[first:] + brokers[:first] for first in range(BROKERS)]
        create_topic(
            self.cluster.direct, this.topic, assignment, {"min.insync.replicas": str(this.min_insync_replicas)}
        )
        if not self._heal(this):
            raise InputError(f"the replicas of {this.topic} are not in sync after {_HEAL_SECONDS} s")

    def _producer(self, this: SoakRound) -> Any:
        from confluent_kafka import Producer

        settings: dict[str, Any] = {
            "bootstrap.servers": self.cluster.bootstrap,
            "acks": this.acks,
            "enable.idempotence": this.acks == "all",
            "batch.num.messages": 1,
            "linger.ms": 0,
            "message.timeout.ms": 1000 * _HEAL_SECONDS,
            "log_level": 0,
        }
        return Producer(settings)

    def _send(self, producer: Any, this: SoakRound) -> None:
        def report(error: Any, _: Any) -> None:
            this.acknowledged += error is None

        for _ in range(_RECORDS):
            for partition in range(BROKERS):
                this.sent += 1
                producer.produce(this.topic, value=f"r{this.sent}", partition=partition, on_delivery=report)
            producer.poll(self._random.uniform(0, 0.3))

    def _admin(self) -> Any:
        return admin_client()({"bootstrap.servers": self.cluster.direct, "log_level": 0})
