"""What Kafka's PartitionChangeBuilder reads and writes, and the lines that `PartitionBridge.java` gets and sends.

A call is a line of 14 fields with `;` between them, an answer has 9; brokers are numbers with `,` between them:

    registration  replicas;isr;elr;last known;leader;adding;removing
    call          registration;inactive;min isr;elr on;election;target isr;unclean;target of a reassignment
    answer        registration;leader epoch raised;partition epoch raised
    answer        !the exception
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Brokers = frozenset[int]
Election = Literal["ONLINE", "UNCLEAN", "PREFERRED"]


@dataclass(frozen=True)
class Registration:
    """The fields of Kafka's PartitionRegistration that the specs have too. `leader` is None if there is none."""

    replicas: tuple[int, ...]
    isr: Brokers
    elr: Brokers = frozenset()
    last_known: Brokers = frozenset()
    leader: int | None = None
    adding: Brokers = frozenset()
    removing: Brokers = frozenset()

    def __str__(self) -> str:
        leader = "no leader" if self.leader is None else f"leader {self.leader}"
        parts = [leader, f"ISR {brokers_text(self.isr)}", f"ELR {brokers_text(self.elr)}"]
        optional = {"last known leader": self.last_known, "adding": self.adding, "removing": self.removing}
        return ", ".join(parts + [f"{name} {brokers_text(value)}" for name, value in optional.items() if value])


@dataclass(frozen=True)
class BuilderCall:
    """A call of the builder, as ReplicationControlManager makes it.

    `inactive` are the brokers that may not lead. `target_isr` is None if the ISR is not set, `unclean` are the replicas
    that were not shut down cleanly, `target` is the target of a reassignment (empty: none).
    """

    before: Registration
    inactive: Brokers
    min_isr: int
    has_elr: bool
    election: Election = "ONLINE"
    target_isr: Brokers | None = None
    unclean: Brokers = frozenset()
    target: tuple[int, ...] = ()

    @property
    def line(self) -> str:
        """The line for the bridge."""
        wanted = "=" if self.target_isr is None else commas(sorted(self.target_isr))
        options = [str(self.min_isr), str(int(self.has_elr)), self.election, wanted]
        brokers = [commas(sorted(self.unclean)), commas(self.target)]
        return ";".join([_registration_text(self.before), commas(sorted(self.inactive)), *options, *brokers])

    def __str__(self) -> str:
        parts = [f"replicas {brokers_text(self.before.replicas)}", str(self.before)]
        parts.append(f"may not lead {brokers_text(self.inactive)}")
        parts += [f"min ISR {self.min_isr}", f"ELR {'on' if self.has_elr else 'off'}", f"election {self.election}"]
        if self.target_isr is not None:
            parts.append(f"target ISR {brokers_text(self.target_isr)}")
        if self.unclean:
            parts.append(f"unclean shutdown of {brokers_text(self.unclean)}")
        return "; ".join(parts)


@dataclass(frozen=True)
class Change:
    """The registration after a call, and whether its two epochs were raised."""

    after: Registration
    raises_leader_epoch: bool
    raises_partition_epoch: bool

    def __str__(self) -> str:
        raised = {"leader epoch": self.raises_leader_epoch, "partition epoch": self.raises_partition_epoch}
        return "; ".join([str(self.after), *(f"{name} + 1" for name, is_raised in raised.items() if is_raised)])


def no_change(before: Registration) -> Change:
    """Return the change that changes nothing."""
    return Change(before, raises_leader_epoch=False, raises_partition_epoch=False)


def change_of(line: str) -> Change | str:
    """Return the answer in a line of the bridge: the change, or the exception as text."""
    if line.startswith("!"):
        return line[1:]
    *fields, leader_epoch, partition_epoch = line.split(";")
    return Change(registration_of(*fields), leader_epoch == "1", partition_epoch == "1")


def registration_of(
    replicas: str, isr: str, elr: str, last_known: str, leader: str, adding: str, removing: str
) -> Registration:
    """Return the registration that fields of a line describe: brokers as in "1,3", the leader "" if there is none."""
    return Registration(
        replicas=tuple(_numbers(replicas)),
        isr=frozenset(_numbers(isr)),
        elr=frozenset(_numbers(elr)),
        last_known=frozenset(_numbers(last_known)),
        leader=int(leader) if leader else None,
        adding=frozenset(_numbers(adding)),
        removing=frozenset(_numbers(removing)),
    )


def _registration_text(registration: Registration) -> str:
    sets = [registration.isr, registration.elr, registration.last_known]
    leader = "" if registration.leader is None else str(registration.leader)
    parts = [commas(registration.replicas), *(commas(sorted(each)) for each in sets), leader]
    return ";".join([*parts, *(commas(sorted(each)) for each in (registration.adding, registration.removing))])


def commas(brokers: Iterable[int]) -> str:
    """Return brokers as a driver reads them: 1,2,3."""
    return ",".join(map(str, brokers))


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def brokers_text(brokers: Brokers | tuple[int, ...]) -> str:
    """Return brokers as text: "1, 3", or "none"; those of a tuple in its order, which is that of the assignment."""
    return commas(brokers if isinstance(brokers, tuple) else sorted(brokers)).replace(",", ", ") or "none"
