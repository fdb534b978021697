"""The mapping from the recording of an idempotent producer and real brokers to `producer/idempotent_failover`.

The events at the proxies are those of the mapping for librdkafka; restarts and the change of the leader are added. What
the follower fetches is not recorded here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kafka_tools.lab.librdkafka.idempotent import IdempotentClient
from traces.validate import Found, PossibleStep, event


class IdempotentClientOfCluster(IdempotentClient):
    """Events of `kafka_tools.lab.recording.produce_recorder`; one partition, one record per batch."""

    silent: ClassVar[tuple[str, ...]] = (*IdempotentClient.silent, "follower_fetch")

    def constants(self, events: Sequence[Found]) -> dict[str, int | bool | str]:
        """Return the constants of the client, and the number of restarts and failovers."""
        names = [fields["event"] for fields in events]
        return {
            **super().constants(events),
            "max_restarts": names.count("leader_restarted"),
            "max_follower_restarts": names.count("restarted"),
            "max_failovers": names.count("failed_over"),
        }

    @event("restarted")
    def restarted(self, fields: Found) -> PossibleStep:
        """The follower that leads later has restarted."""
        return PossibleStep("restart_follower")

    @event("leader_restarted")
    def leader_restarted(self, fields: Found) -> PossibleStep:
        """The leader has restarted, and leads again."""
        return PossibleStep("restart_broker")

    @event("failed_over")
    def failed_over(self, fields: Found) -> PossibleStep:
        """Another broker leads."""
        return PossibleStep("fail_over")
