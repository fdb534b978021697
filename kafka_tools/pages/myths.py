"""Common claims about Kafka, with the releases in which they were true and the scenarios that decide them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specs.hazards import known_hazards
from specs.kafka_releases import RELEASES, describe_releases
from specs.kafka_versions import (
    ACKS_ALL_BY_DEFAULT,
    CLEAN_ELECTIONS_BY_DEFAULT,
    CONSUMER_PROTOCOL,
    CONTROLLER_CHANGES_ISR,
    IDEMPOTENT_BY_DEFAULT,
    KRAFT_ONLY,
    RETRIES_UNLIMITED_BY_DEFAULT,
    STICKY_PARTITIONER,
    UNIFORM_STICKY_PARTITIONER,
    Change,
)

NEVER = "no release"


def before(change: Change) -> str:
    """Return the releases without a change as text: "0.10.0.0 to 2.0.1"."""
    return describe_releases([release for release in RELEASES if not change.applies_to(release)])


def between(first: Change, second: Change) -> str:
    """Return the releases that have the first change and not the second one, as text."""
    return describe_releases([release for release in first.releases if not second.applies_to(release)])


@dataclass(frozen=True)
class Denial:
    """What a claim says never happens, in the terms of `specs/catalogue.toml`: an outcome with some settings."""

    outcome: str
    config: Mapping[str, str]
    events: frozenset[str] | None = None

    def entries(self, release: str) -> list[str]:
        """Return the entries that say that it happens in a release."""
        return [each.name for each in known_hazards(release, self.config, self.outcome, self.events)]

    @property
    def true_in(self) -> str:
        """The releases in which no entry says that it happens, as text."""
        return describe_releases([release for release in RELEASES if not self.entries(release)]) or NEVER


@dataclass(frozen=True)
class Myth:
    """A claim.

    `true_in` are the releases in which it was true, as text. `today` says what is so in the latest release. `scenarios`
    show or refute the claim. `not_modelled` names what the specs leave out and the source of what `today` says of it.
    `denies` is what the claim says never happens: the entries that say otherwise follow from it.
    """

    claim: str
    true_in: str
    today: str
    scenarios: tuple[str, ...]
    not_modelled: str = ""
    denies: Denial | None = None


JAVA = {"client": "java", "transactional": "false", "replication.factor": "3"}

AS_ACKS_ALL = Denial("loss", JAVA | {"acks": "1", "min.insync.replicas": "3"}, frozenset({"crash"}))
LOSES_NOTHING = Denial("loss", JAVA | {"acks": "all"})
UNCLEAN = Denial("loss", JAVA | {"unclean.leader.election.enable": "true"}, frozenset({"unclean-election"}))
NEVER_TWICE = Denial("duplicates", JAVA | {"enable.idempotence": "true", "acks": "all"})

MYTHS = (
    Myth(
        "The default of retries is 0.",
        before(RETRIES_UNLIMITED_BY_DEFAULT),
        "The default is 2147483647, and delivery.timeout.ms (2 minutes) limits the time (KIP-91). After a lost "
        "response the producer sends again. Without idempotence the record is then in the log twice.",
        ("producer/plain_producer/p3_duplicate_on_lost_ack", "producer/producer_sessions/one_session"),
    ),
    Myth(
        "Idempotence is off unless it is enabled.",
        before(IDEMPOTENT_BY_DEFAULT),
        "It is on by default. KIP-679 declared that for 3.0.0, but 3.0.0 and 3.1.0 left it off (KAFKA-13598). acks=1, "
        "acks=0 or retries=0 still turn the default off, and only the log reports it. An explicit "
        "enable.idempotence=true makes Kafka refuse such a setting.",
        (
            "producer/configured_producer/p10_default_of_3_0_0",
            "producer/configured_producer/p10_fixed_default_of_3_0_1",
            "producer/configured_producer/p10_acks_1_turns_it_off",
        ),
    ),
    Myth(
        "The default of acks is 1.",
        before(ACKS_ALL_BY_DEFAULT),
        "The default is all (KIP-679). With acks=1 an acknowledged record is lost if the leader fails before a "
        "follower has fetched it.",
        ("producer/acks/p7_acks_1_loss_on_failover", "producer/acks/p7_fixed_acks_all"),
    ),
    Myth(
        "The high watermark is the minimum of the log end offsets of all replicas.",
        NEVER,
        "It is the minimum over the in-sync replicas and those that have caught up and are about to join them. A slow "
        "replica leaves the ISR after replica.lag.time.max.ms and no longer holds the high watermark back.",
        ("replication/beliefs/high_watermark_without_the_slow_replica",),
    ),
    Myth(
        "The leader pushes records to the followers in the ISR.",
        NEVER,
        "Followers fetch, as consumers do. The offset of a fetch is also the acknowledgement: it reports the "
        "follower's log end offset.",
        ("replication/beliefs/followers_fetch",),
    ),
    Myth(
        "The follower's high watermark is two fetches late.",
        "every release",
        "It is, while records keep coming: one fetch brings a record, the next one makes the leader commit it, and the "
        "answer to the one after tells the follower. A fetch that finds no record waits, and its answer has the newest "
        "high watermark. [A table](replication.md#how-the-high-watermark-reaches-a-follower) shows every step.",
        ("replication/high_watermark_walk/two_records",),
    ),
    Myth(
        "Clients ask the controller for the leader of a partition, through ZooKeeper.",
        NEVER,
        "A producer or a consumer asks any broker (a Metadata request), and learns the leaders from its answer. The "
        "consumer written in Scala, which 2.0.0 removed, read the brokers' addresses from ZooKeeper.",
        (),
        "How clients find brokers (NetworkClient.DefaultMetadataUpdater, KafkaApis.handleTopicMetadataRequest) is "
        "modelled only as far as producers wait for metadata: docs/producer.md.",
    ),
    Myth(
        "ZooKeeper finds failed brokers and keeps the ISR.",
        before(KRAFT_ONLY),
        "That was so in clusters with ZooKeeper, and the controller, not ZooKeeper, elected leaders. Leaders wrote the "
        f"ISR to ZooKeeper in {before(CONTROLLER_CHANGES_ISR)}; since {CONTROLLER_CHANGES_ISR.since} they ask the "
        "controller (KIP-497). Releases since 4.0 have no ZooKeeper (KIP-500): brokers send heartbeats to the "
        "controller, and the ISR is in the metadata log.",
        (
            "replication/partition/r20_registered_again_with_zookeeper",
            "replication/partition/kraft_partition_without_leader",
        ),
        "ZooKeeper itself is not modelled: no sessions, watches or znodes. With controller=zookeeper the model lets a "
        "broker restart before it is missed. Sources: KIP-500, KIP-497, BrokerHeartbeatManager.",
    ),
    Myth(
        "The controller assigns partitions to consumers.",
        NEVER,
        "The group coordinator does, a broker that has nothing to do with the controller. In the classic protocol it "
        "only passes on the assignment that one of the consumers computes. In the protocol of KIP-848, generally "
        f"available since {CONSUMER_PROTOCOL.since}, the coordinator computes it.",
        ("consumer/cooperative_group/c5_two_owners", "consumer/consumer_protocol/two_members"),
    ),
    Myth(
        "Records without a key go to the partitions in turn (round robin).",
        before(STICKY_PARTITIONER),
        f"In {between(STICKY_PARTITIONER, UNIFORM_STICKY_PARTITIONER)} they go to one partition until its batch is "
        f"complete (KIP-480). Since {UNIFORM_STICKY_PARTITIONER.since} the partition changes after batch.size "
        "bytes, and slow brokers may get less (KIP-794). partitioner.class=RoundRobinPartitioner takes turns.",
        ("producer/routing/partition_without_leader",),
        "The model lets records without a key take any partition that has a leader. When the partition changes is not "
        "modelled. Sources: KIP-480, KIP-794, BuiltInPartitioner, DefaultPartitioner.",
    ),
    Myth(
        "The broker checks that sequences rise from record to record inside a batch.",
        NEVER,
        "A batch carries one sequence, that of its first record; the others follow from their position. The broker "
        "compares the first sequence of a batch with the last one before it, and recognises a duplicate by the range "
        "of sequences, not by its records.",
        ("producer/sequence_read_twice/i11_same_sequence_twice",),
        "The format of a batch is not modelled. Sources: DefaultRecordBatch.lastSequence, "
        "ProducerAppendInfo.checkSequence, ProducerStateEntry.findDuplicateBatch.",
    ),
    Myth(
        "More than half of the replicas must acknowledge a record.",
        NEVER,
        "With acks=all every in-sync replica must have it, however many they are. The leader alone is enough if it is "
        "alone in the ISR and min.insync.replicas is 1. A majority is a choice: min.insync.replicas=2 of 3. Only the "
        "metadata log of KRaft is replicated by majority (KIP-595).",
        (
            "replication/beliefs/one_of_three_acknowledges",
            "replication/beliefs/four_of_five_acknowledge",
            "replication/partition/majority_loses_nothing",
        ),
    ),
    Myth(
        "min.insync.replicas equal to the replication factor has the effect of acks=all.",
        AS_ACKS_ALL.true_in,
        "min.insync.replicas only applies to writes with acks=all. With acks=1 the leader acknowledges alone. With "
        "acks=all and min.insync.replicas equal to the replication factor, one broker that is down stops all writes.",
        (
            "producer/acks/p8_min_isr_ignored_by_acks_1",
            "replication/beliefs/all_in_sync_refuses_writes",
            "replication/beliefs/majority_refuses_writes",
        ),
        denies=AS_ACKS_ALL,
    ),
    Myth(
        "acks=all with replication factor 3 loses nothing, even if all machines fail.",
        LOSES_NOTHING.true_in,
        "A broker acknowledges before it flushes. If all brokers lose power, the record was in page caches only. It is "
        "safe if the processes crash and the machines do not. Replicas in racks that do not share their power supply "
        "(broker.rack) prevent it. Eligible leader replicas (KIP-966) only help while fewer than min.insync.replicas "
        "replicas lose their page caches. flush.messages=1 flushes every append; Kafka's documentation advises against "
        "it.",
        ("replication/partition/all_lose_power", "replication/partition/majority_loses_nothing"),
        denies=LOSES_NOTHING,
    ),
    Myth(
        "An unclean election only loses records that were not acknowledged.",
        UNCLEAN.true_in,
        "The new leader lacks acknowledged records, and the other replicas truncate theirs. Unclean elections are off "
        f"by default since {CLEAN_ELECTIONS_BY_DEFAULT.since} (KIP-106).",
        ("replication/partition/r12_unclean_election", "replication/partition/r12_unclean_election_fixed"),
        denies=UNCLEAN,
    ),
    Myth(
        "An idempotent producer never duplicates.",
        NEVER_TWICE.true_in,
        "It recognises most retries. A restarted producer has another id (P9). A broker that restarts remembers the "
        "last batch of each producer only, so with more requests in flight a retry of an earlier one is appended again "
        "(I7). A refused first batch (I2), a rejected one (I3) and a batch that is split after a lost response "
        "(producer H-2) can also lead to two copies.",
        (
            "producer/producer_sessions/one_session",
            "producer/producer_sessions/p9_idempotent_within_a_session",
            "producer/idempotent_producer/i7_restart",
        ),
        denies=NEVER_TWICE,
    ),
)
