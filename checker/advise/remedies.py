"""The changes of settings that the search tries, and what they cost beside what exploring tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checker.advise import versions
from checker.advise.cluster import Cluster
from checker.advise.keys import Role
from checker.advise.questions import Question
from checker.advise.settled import Settled, settle

_IN_FLIGHT = "max.in.flight.requests.per.connection"


@dataclass(frozen=True)
class Change:
    """A setting and its new value. `cost`: what it costs, where that is not a matter of which brokers are down."""

    role: Role
    name: str
    value: str
    cost: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


_ACKS = Change("producer", "acks", "all", "an acknowledgement waits for every replica in sync")
_IDEMPOTENCE = Change("producer", "enable.idempotence", "true")
_FIVE_IN_FLIGHT = Change("producer", _IN_FLIGHT, "5")
_ONE_IN_FLIGHT = Change("producer", _IN_FLIGHT, "1", "one request at a time on each connection")
_RETRIES = Change("producer", "retries", "2147483647")
_NO_RETRIES = Change("producer", "retries", "0", "every passing failure reaches the application")
_MIN_ISR = Change("topic", "min.insync.replicas", "2")
_NO_UNCLEAN = Change(
    "topic",
    "unclean.leader.election.enable",
    "false",
    "while every replica in sync is down the partition has no leader",
)
_REPLICAS = Change("topic", "replication.factor", "3", "three copies on disk and on the network")
_ELR = Change("broker", "eligible.leader.replicas.version", "1")
_FLUSH = Change("topic", "flush.messages", "1", "every append waits for the disk")
_EARLIEST = Change(
    "consumer", "auto.offset.reset", "earliest", "without a committed offset everything is read from the beginning"
)
_MANUAL = Change("consumer", "enable.auto.commit", "false", "the application commits, after processing")
_STORE = Change("consumer", "enable.auto.offset.store", "false", "the application stores offsets, after processing")

_DURABLE = (_ACKS, _MIN_ISR, _NO_UNCLEAN, _ELR, _REPLICAS, _FLUSH)

_CHANGES: Mapping[str, tuple[Change, ...]] = {
    "loss": _DURABLE,
    "duplicates": (_IDEMPOTENCE, _ACKS, _FIVE_IN_FLIGHT, _RETRIES, _NO_RETRIES),
    "reorder": (_IDEMPOTENCE, _ACKS, _FIVE_IN_FLIGHT, _RETRIES, _ONE_IN_FLIGHT, _NO_RETRIES),
    "vanishing-reads": (_MIN_ISR, _NO_UNCLEAN, _ELR, _REPLICAS, _FLUSH),
    "gaps": (_EARLIEST, _STORE, _MANUAL),
    "reprocessing": (_MANUAL,),
}
"""By question, what may help; of two changes of one size the one that stands first is found."""


def changes_for(question: Question, cluster: Cluster) -> list[Change]:
    """Return the changes to try: not to what is in effect, to fewer replicas, or to what the version does not have."""
    settled = settle(cluster)
    return [change for change in _CHANGES[question.name] if _is_sensible(change, cluster, settled)]


def _is_sensible(change: Change, cluster: Cluster, settled: Settled) -> bool:
    if change is _ELR and not versions.at_least(cluster.version, "4.0"):
        return False
    if change in (_REPLICAS, _MIN_ISR) and int(settled[change.name]) >= int(change.value):
        return False
    choice = settled.choices.get(change.name)
    return choice is not None and choice.value != change.value
