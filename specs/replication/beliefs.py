"""Common beliefs about Kafka's reliability, and the counterexamples to them."""

from checker.language import Scenario, invariant, step_invariant
from specs.replication.partition import Partition
from specs.replication.state import Replica
from specs.scenario_forms import violates


class Beliefs(Partition):
    """A replicated partition, with common beliefs about it as properties; each belief has a counterexample.

    If a scenario loses no record, its counterexample shows the price: which replica waits, which one leaves the ISR,
    which write is refused.

    Source: KIP-101, KIP-966, KAFKA-10751; Kafka's documentation of acks, min.insync.replicas and
    unclean.leader.election.enable.
    """

    @invariant(says="record r{record} was acknowledged, and no replica has it any more: {self.log}")
    def some_replica_has_acknowledged(self):
        """Every acknowledged record is in some replica's log."""
        return all(
            any(found.id == record for replica in Replica for found in self.log[replica]) for record in self.acked
        )

    @invariant(says="record r{record} was acknowledged, and {replica} does not have it: its log is {self.log[replica]}")
    def every_replica_has_acknowledged(self):
        """Every acknowledged record is in every replica's log."""
        return all(
            any(found.id == record for found in self.log[replica]) for record in self.acked for replica in Replica
        )

    @invariant(says="record r{record} was acknowledged, and only a minority has it: {self.log}")
    def majority_has_acknowledged(self):
        """Every acknowledged record is in the logs of more than half of the replicas."""
        return all(
            2 * len([replica for replica in Replica if any(found.id == record for found in self.log[replica])])
            > self.replicas
            for record in self.acked
        )

    @invariant(says="{leader}'s high watermark is {self.high_watermark[leader]}, and {replica} has {self.log[replica]}")
    def high_watermark_is_below_every_log_end(self):
        """The high watermark of a leader is not above the log end offset of any replica."""
        return all(
            self.high_watermark[leader] <= len(self.log[replica])
            for leader in self.alive
            if self.is_true_leader(leader)
            for replica in Replica
        )

    @step_invariant(says="{replica} has an answer, and it had not sent a fetch")
    def answers_follow_fetches(self, old):
        """A leader sends a follower records or a high watermark only as the answer to a fetch."""
        return all(
            self.answers[replica] is None
            or self.answers[replica] == old.answers[replica]
            or old.fetches[replica] is not None
            for replica in Replica
        )

    @step_invariant(says="{replica} has {self.log[replica]}, and it had no answer to a fetch")
    def records_come_in_answers(self, old):
        """A follower's log grows only by the answer to its fetch."""
        return all(
            len(self.log[replica]) <= len(old.log[replica]) or old.leads(replica) or old.answers[replica] is not None
            for replica in Replica
        )

    @invariant(says="{leader} leads, and refuses writes: {self.isr[leader]} are too few for min.insync.replicas")
    def leader_takes_writes(self):
        """A live leader accepts writes with acks=all."""
        return all(
            len(self.isr[leader]) >= self.min_isr(leader) for leader in self.alive if self.is_true_leader(leader)
        )


FAIL_OVER = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1, lagging=False)
FIVE = dict(replicas=5, log_size=1, max_records=1, max_leader_epoch=0, max_partition_epoch=1, crashes=0) | dict(
    min_insync_replicas=3, late_requests=False
)
MAJORITY = dict(replicas=3, log_size=1, max_records=1, max_leader_epoch=1, max_partition_epoch=4) | dict(
    min_insync_replicas=2, late_requests=False
)

scenarios = [
    violates(Partition, "acks_1_lost_at_failover", dict(FAIL_OVER, acks="1"), {"no_acked_loss": 5},
        "acks=1: the leader acknowledges, and dies before its follower has fetched; the election is clean."),
    Scenario(Partition, "acks_all_not_lost_at_failover", FAIL_OVER,
        properties=["no_acked_loss", "record_is_acknowledged", "another_replica_leads"],
        description="The same with acks=all: every member of the ISR has the acknowledged records."),
    violates(Beliefs, "four_of_five_acknowledge", FIVE, {"every_replica_has_acknowledged": 20},
        "acks=all waits for the ISR: the fifth replica is slow and leaves it, and four acknowledge."),
    violates(Beliefs, "high_watermark_without_the_slow_replica", FIVE, {"high_watermark_is_below_every_log_end": 20},
        "The high watermark is the minimum of the ISR: the slow fifth replica leaves the ISR."),
    violates(Beliefs, "one_of_three_acknowledges", dict(MAJORITY, min_insync_replicas=1),
        {"majority_has_acknowledged": 7},
        "min.insync.replicas=1: the ISR is the leader alone, and it acknowledges alone."),
    Scenario(Beliefs, "followers_fetch", dict(FAIL_OVER, max_records=2, max_partition_epoch=4, lagging=True),
        properties=["answers_follow_fetches", "records_come_in_answers", "record_is_acknowledged"],
        description="A leader sends nothing unasked: every record and high watermark is the answer to a fetch."),
    violates(Beliefs, "majority_refuses_writes", MAJORITY, {"leader_takes_writes": 7},
        "min.insync.replicas=2 of 3: with two replicas gone, the leader refuses writes."),
    violates(Beliefs, "all_in_sync_refuses_writes", dict(MAJORITY, min_insync_replicas=3), {"leader_takes_writes": 4},
        "min.insync.replicas=3 of 3: with one replica gone, the leader refuses writes."),
    violates(Partition, "all_lose_power",
        dict(MAJORITY, crashes=0, power_failures=3, max_partition_epoch=6, lagging=False), {"no_acked_loss": 20},
        "acks=all, min.insync.replicas=2 of 3: every broker loses power, and the record was in page caches only."),
    Scenario(Partition, "majority_loses_nothing", dict(MAJORITY, crashes=2, max_leader_epoch=2, max_partition_epoch=5),
        properties=["no_acked_loss", "record_is_acknowledged", "another_replica_leads"],
        description="min.insync.replicas=2 of 3, clean elections only, two crashes: no acknowledged record is lost."),
    violates(Beliefs, "unclean_election_truncates",
        dict(FAIL_OVER, unclean_elections=True, starts_in_sync=False, max_partition_epoch=3),
        {"some_replica_has_acknowledged": 11},
        "Unclean election: the old leader restarts as a follower, and truncates its record."),
]  # fmt: skip
