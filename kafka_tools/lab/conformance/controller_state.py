"""What Kafka's controller shows after a sequence of events, and the lines that `ControllerBridge.java` gets and sends.

A call is a sequence with `;` between its events. The first one makes a controller with one partition:

    start BROKERS REPLICAS MIN_ISR ELR UNCLEAN DIRECTORIES   as in "start 4 1,2,3 2 1 0 AB"
    stop B, fence B, unfence B                               a controlled shutdown, a lost session, a new one
    register B clean|unclean DIRECTORIES
    isr REPLICAS                                             the leader's AlterPartition
    reassign REPLICAS|cancel
    assign B DIRECTORY, offline B DIRECTORY                  a log is placed, a directory fails
    min-isr N, elr 0|1, delete                               min.insync.replicas, the feature level, the topic
    settle                                                   every election and completion that is due

An answer has 12 fields with `;` between them, or 2 if the topic is deleted:

    brokers;ELR;min ISR;replicas;directories;ISR;ELR;last known;leader;adding;removing;recovering
    -the error that the controller answers
    !the exception that it throws

A broker is a letter (active, fenced, shutting down), its online directories, and its partitions in `brokersToElrs`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kafka_tools.lab.conformance.registration import Brokers, Registration, brokers_text, registration_of


@dataclass(frozen=True, eq=False)
class ControllerState:
    """The partition and what the controller knows of the brokers, by their number.

    `directories` are those of the replicas, `min_isr` is the effective one, `mapped` has the brokers as often as
    `brokersToElrs` has a partition for them. `registration` is None if the topic is deleted. A line has one object.
    """

    line: str
    active: Brokers
    fenced: Brokers
    online: dict[int, str]
    mapped: tuple[int, ...]
    has_elr: bool
    min_isr: int = 0
    configured_min_isr: int = 0
    registration: Registration | None = None
    directories: tuple[tuple[int, str], ...] = ()
    is_recovering: bool = False

    def may_lead(self, broker: int) -> bool:
        """Return whether a replica is active and its directory online."""
        place = dict(self.directories).get(broker)
        return broker in self.active and place is not None and (place == "U" or place in self.online[broker])

    def __str__(self) -> str:
        if self.registration is None:
            return "the topic is deleted"
        parts = [f"replicas {brokers_text(self.registration.replicas)}", str(self.registration)]
        if any(place != "A" for _, place in self.directories):
            parts.append(f"directories {', '.join(place for _, place in self.directories)}")
        parts.append(f"active {brokers_text(self.active)}")
        return "; ".join([*parts, f"min ISR {self.configured_min_isr}", *([] if self.has_elr else ["ELR off"])])


def state_of(line: str) -> ControllerState:
    """Return the state in an answer that is no error."""
    brokers, has_elr, *fields = line.split(";")
    letters = dict(enumerate(brokers.split(","), start=1))
    shared = ControllerState(
        line,
        active=frozenset(broker for broker, text in letters.items() if text[0] == "a"),
        fenced=frozenset(broker for broker, text in letters.items() if text[0] == "f"),
        online={broker: text[1:-1] for broker, text in letters.items()},
        mapped=tuple(broker for broker, text in letters.items() for _ in range(int(text[-1]))),
        has_elr=has_elr == "1",
    )
    if not fields:
        return shared
    min_isr, replicas, places, *others, recovering = fields
    registration = registration_of(replicas, *others)
    return replace(
        shared,
        min_isr=min(int(min_isr), len(registration.replicas)),
        configured_min_isr=int(min_isr),
        registration=registration,
        directories=tuple(zip(registration.replicas, places, strict=True)),
        is_recovering=recovering == "1",
    )
