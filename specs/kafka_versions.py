"""Rules that differ between releases of Apache Kafka, and the conditions of idempotence: one table for specs and tools.

Plain Python without imports from the checker, so that every tool can import it.
"""

from dataclasses import dataclass

MAX_IN_FLIGHT_WITH_IDEMPOTENCE = 5
"""The largest max.in.flight.requests.per.connection of an idempotent producer: the broker caches five batches."""


@dataclass(frozen=True)
class Change:
    """A change of behaviour: its ticket, its first release, and the patch releases of earlier branches that have it."""

    summary: str
    ticket: str
    since: str
    backports: tuple[str, ...] = ()

    def applies_to(self, version: str) -> bool:
        """Return whether a release such as "3.7" or "3.0.1" has the change."""
        release = release_number(version)
        return release >= release_number(self.since) or any(
            release[:2] == release_number(patch)[:2] and release >= release_number(patch) for patch in self.backports
        )


def release_number(version: str) -> tuple[int, int, int]:
    """Return a version as a number that can be compared; raise ValueError if it is not of the form 3.7 or 3.0.1."""
    major, minor, patch = (*map(int, version.split(".")), 0, 0)[:3]
    return major, minor, patch


ACKS_ALL_BY_DEFAULT = Change("the default of acks is all", "KIP-679", "3.0")
IDEMPOTENT_BY_DEFAULT = Change(
    # KIP-679 declares it for 3.0; 3.0.0 and 3.1.0 leave it off by mistake.
    "a producer is idempotent by default",
    "KAFKA-13598",
    "3.2",
    backports=("3.0.1", "3.1.1"),
)
REFUSES_DEFAULT_IN_CONFLICT = Change(
    "more requests in flight than idempotence allows are refused; before, they turned the default off",
    "KAFKA-17927",
    "4.0",
)
HIGH_WATERMARK_WAITS_FOR_MIN_ISR = Change(
    "the high watermark does not advance while the ISR is below min.insync.replicas", "KAFKA-15583", "3.7"
)
MIN_ISR_CAPPED = Change(
    "min.insync.replicas is capped at the number of replicas; before, acks=all was refused", "KAFKA-15583", "3.7"
)
LINGER_5_BY_DEFAULT = Change("the default of linger.ms is 5", "KIP-1030", "4.0")
RESET_BY_DURATION = Change("auto.offset.reset may be a duration", "KIP-1106", "4.0")
KRAFT_ONLY = Change("brokers do not start with ZooKeeper", "KIP-500", "4.0")
ELIGIBLE_LEADER_REPLICAS = Change("eligible leader replicas can be enabled", "KIP-966", "4.0")
ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT = Change("a new cluster has eligible leader replicas", "KIP-966", "4.1")


@dataclass(frozen=True)
class Conflict:
    """A producer setting whose value is incompatible with idempotence. `requirement` is Kafka's condition as text."""

    setting: str
    requirement: str


def idempotence_conflicts(acks: str | None, retries: int | None, in_flight: int | None) -> list[Conflict]:
    """Return the explicit producer settings that are incompatible with idempotence; None stands for a default.

    Source: ProducerConfig.postProcessAndValidateIdempotenceConfigs.
    """
    found = []
    if acks not in (None, "all", "-1"):
        found.append(Conflict("acks", "acks has to be all"))
    if retries == 0:
        found.append(Conflict("retries", "retries has to be above 0"))
    if in_flight is not None and in_flight > MAX_IN_FLIGHT_WITH_IDEMPOTENCE:
        setting = "max.in.flight.requests.per.connection"
        found.append(Conflict(setting, f"{setting} has to be {MAX_IN_FLIGHT_WITH_IDEMPOTENCE} or less"))
    return found
