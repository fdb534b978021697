"""Rules that differ between releases of Apache Kafka: one table for specs, tools and docs.

Plain Python without imports from the checker, so that every tool can import it. To add a rule, add a constant: every
`Change` of this module is part of the table `CHANGES`. Say in tests/golden/kafka_changes.toml where the change is found
and run collect_kafka_changes.py there: a test compares the table with what it found in the history and the jars of
Apache Kafka.
"""

from dataclasses import dataclass
from functools import cache, cached_property

from specs.kafka_releases import RELEASES, describe_releases, release_line, release_number

MAX_IN_FLIGHT_WITH_IDEMPOTENCE = 5
"""The largest max.in.flight.requests.per.connection of an idempotent producer: the broker caches five batches."""

ZOOKEEPER, KRAFT = "zookeeper", "kraft"
CONTROLLER_NAMES = {ZOOKEEPER: "ZooKeeper", KRAFT: "KRaft"}

KRAFT_SINCE, KRAFT_ALONE_SINCE = "3.3.0", "4.0.0"
"""The first release in which KRaft is ready for production (KIP-833), and the first without ZooKeeper (KIP-500)."""


@cache
def controller_modes(version: str) -> tuple[str, ...]:
    """Return the controller modes in which a release such as "3.7" may run: "zookeeper", "kraft", or both."""
    release = release_number(version)
    if release < release_number(KRAFT_SINCE):
        return (ZOOKEEPER,)
    return (KRAFT,) if release >= release_number(KRAFT_ALONE_SINCE) else (ZOOKEEPER, KRAFT)


def default_controller(version: str) -> str:
    """Return the controller mode to assume if it is unknown: ZooKeeper where a release has both.

    From 3.3 to 3.9 most clusters still ran with ZooKeeper, and KIP-903 protects those with KRaft alone.
    """
    return controller_modes(version)[0]


@dataclass(frozen=True)
class Change:
    """A change of Kafka's behaviour.

    `since` is the release from which on all later releases have the change, `backports` the first patch releases of
    earlier branches that have it. A `since` after the last release says that no release has the change yet.

    `concerns` names the part that has to be of such a release: producer, consumer, broker, controller, connect or
    streams. `opens` are the entries of the catalogue of bugs that exist because of this change, `closes` those that
    exist no longer where this change and all others that close the entry apply. An entry is a name such as R8 (the
    scenarios `r8_...`), or a ticket.

    `controller` is the one controller mode that has the change; empty if it does not depend on the mode.
    """

    summary: str
    ticket: str
    since: str
    backports: tuple[str, ...] = ()
    concerns: str = ""
    opens: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    controller: str = ""

    def applies_to(self, version: str, controller: str = "") -> bool:
        """Return whether a release such as "3.7" or "3.0.1" has the change in a controller mode, by default in any."""
        if self.controller and self.controller not in ((controller,) if controller else controller_modes(version)):
            return False
        release = release_number(version)
        return release >= release_number(self.since) or any(
            release_line(version) == release_line(patch) and release >= release_number(patch)
            for patch in self.backports
        )

    def applies_between(self, broker: str, client: str, controller: str = "") -> bool:
        """Return whether brokers and clients of two releases have the change: each side that it concerns has it."""
        sides = {client if part in ("producer", "consumer") else broker for part in self.concerns.split(" and ")}
        return all(self.applies_to(side, controller if side == broker else "") for side in sides)

    @property
    def releases(self) -> list[str]:
        """Every release that has the change."""
        return [release for release in RELEASES if self.applies_to(release)]


# Defaults of the producer's settings, and the conditions of idempotence. The table is laid out by hand.
# fmt: off

RETRIES_UNLIMITED_BY_DEFAULT = Change(
    "the default of retries is 2147483647 instead of 0; delivery.timeout.ms limits the time",
    "KIP-91", "2.1.0", concerns="producer")
ACKS_ALL_BY_DEFAULT = Change("the default of acks is all instead of 1", "KIP-679", "3.0.0", concerns="producer")
IDEMPOTENCE_DECLARED_DEFAULT = Change("enable.idempotence is documented as true by default", "KIP-679", "3.0.0",
    concerns="producer", opens=("P10",))
IDEMPOTENT_BY_DEFAULT = Change("a producer is idempotent by default", "KAFKA-13598", "3.2.0",
    backports=("3.0.1", "3.1.1"), concerns="producer", closes=("P10",))
CONFLICT_TURNS_DEFAULT_OFF = Change(
    "a setting that conflicts with idempotence turns the default off, and only the log reports it",
    "KAFKA-13673", "3.2.0", backports=("3.0.1", "3.1.1"), concerns="producer", opens=("KAFKA-13673",))
REFUSES_DEFAULT_IN_CONFLICT = Change(
    "more requests in flight than idempotence allows are refused; before, they turned the default off",
    "KAFKA-17927", "4.0.0", concerns="producer")
LINGER_5_BY_DEFAULT = Change("the default of linger.ms is 5 instead of 0", "KIP-1030", "4.0.0", concerns="producer")

# The producer's queue, buffers and partitioner.

MUTES_PARTITION_IN_FLIGHT = Change(
    "with one request in flight, a partition is muted while one of its batches is in flight",
    "KAFKA-3197", "0.10.0.0", concerns="producer", closes=("P4",))
STICKY_PARTITIONER = Change("records without a key go to one partition until its batch is full, instead of round robin",
    "KIP-480", "2.4.0", concerns="producer")
UNIFORM_STICKY_PARTITIONER = Change(
    "the partition for records without a key changes after batch.size bytes and may depend on the brokers' load",
    "KIP-794", "3.3.0", concerns="producer")
DRAIN_INDEX_PER_NODE = Change("a drain remembers the next partition of each node instead of one for all nodes",
    "KAFKA-13834", "3.3.0", concerns="producer", closes=("P14",))
RETURNS_MEMORY_AFTER_FAILURE = Change("an allocation of buffer memory that times out returns what it has gathered",
    "KAFKA-3651", "0.10.1.0", backports=("0.10.0.0",), concerns="producer")
POOL_SURVIVES_ERRORS = Change("an error during an allocation leaves no memory and no waiting thread behind",
    "KAFKA-4840", "0.11.0.0", concerns="producer")
CLOSE_WAKES_ALLOCATION = Change("closing the producer wakes the threads that wait for buffer memory",
    "KAFKA-9449", "2.5.0", backports=("2.4.1",), concerns="producer", closes=("KAFKA-9449",))
SENDS_FROM_POOLED_BUFFER = Change("a produce request is written from the batch's buffer instead of from a copy",
    "KAFKA-10818", "2.8.0", concerns="producer", opens=("P13",))
EXPIRED_BATCH_KEEPS_BUFFER = Change("a batch that expires in flight keeps its buffer until its request completes",
    "KAFKA-19012", "4.2.0", backports=("3.9.2", "4.0.2", "4.1.2"), concerns="producer", closes=("P13",))
SPLITS_LARGE_BATCHES = Change("a batch that is too large for the broker is split and sent again", "KIP-126", "0.11.0.0",
    concerns="producer", opens=("KAFKA-19479",))
FLUSH_AWAITS_PARTS = Change("flush also waits for the parts of a batch that is split meanwhile", "KAFKA-19479", "4.2.0",
    backports=("3.9.2", "4.0.2", "4.1.1"), concerns="producer", closes=("KAFKA-19479",))
FLUSH_REFUSED_IN_CALLBACK = Change("flush throws an exception in a callback of the producer; before, it waited forever",
    "KAFKA-10790", "4.1.0", concerns="producer", closes=("KAFKA-10790",))
EXPONENTIAL_RETRY_BACKOFF = Change("retry.backoff.ms grows exponentially up to retry.backoff.max.ms",
    "KIP-580", "3.7.0", concerns="producer")
RETRIES_AT_ONCE_AFTER_ELECTION = Change("a retry does not wait for its backoff if the leader has changed",
    "KIP-951", "3.7.0", concerns="producer")

# Idempotence.

IDEMPOTENT_PRODUCER = Change("producers may be idempotent: the broker checks sequences", "KIP-98", "0.11.0.0",
    concerns="producer and broker", opens=("I1", "I4", "I16"))
CACHES_FIVE_BATCHES = Change("the broker caches five batches of a producer, and five requests may be in flight",
    "KAFKA-5494", "1.0.0", concerns="producer and broker", opens=("I5", "I12", "I15"), closes=("I1",))
REPORTS_UNKNOWN_PRODUCER = Change(
    "a broker without state for a producer answers a first sequence above 0 with UNKNOWN_PRODUCER_ID; before, it "
    "answered out of order",
    "KAFKA-5793", "1.0.0", concerns="producer and broker")
STATE_CHANGES_AFTER_APPEND = Change(
    "the broker changes its producer state only after the append; a sequence below the cached ones is out of order "
    "instead of a duplicate",
    "KAFKA-6683", "1.1.0", backports=("1.0.2",), concerns="broker", closes=("I15",))
SEQUENCES_RESET_IN_ORDER = Change("after a reset of sequences the batches in flight keep their order",
    "KAFKA-8483", "2.3.0", concerns="producer", closes=("I5",))
STATE_OUTLIVES_RETENTION = Change("the broker keeps a producer's state when retention deletes its records",
    "KAFKA-7190", "2.4.0", concerns="broker", closes=("I4",))
BUMPS_EPOCH_ON_LOST_STATE = Change(
    "an idempotent producer raises its epoch after a lost or rejected sequence; a broker without state for a producer "
    "accepts any first sequence",
    "KIP-360", "2.5.0", concerns="producer and broker", opens=("I2", "I3", "I6", "I7", "I13"), closes=("I4",))
BUMP_RESETS_IDLE_PARTITIONS = Change("a raised epoch resets the sequences of idle partitions too",
    "KAFKA-12152", "2.8.0", backports=("2.7.1",), concerns="producer", closes=("I6",))
SNAPSHOT_FORCED_TO_DISK = Change("a snapshot of producer state is forced to disk", "KAFKA-9892", "2.8.0",
    concerns="broker")
PRODUCER_EXPIRATION_SETTING = Change(
    "producer.id.expiration.ms (1 day) limits the age of producer state; before, transactional.id.expiration.ms did (7 "
    "days)",
    "KIP-854", "3.4.0", concerns="broker")
EMPTY_STATE_NEEDS_SEQUENCE_0 = Change(
    "with transaction version 2, a transactional batch of a producer without state has to begin at sequence 0",
    "KAFKA-18202", "4.1.0", concerns="broker", closes=("KAFKA-18202",))
EMPTY_LOG_NEEDS_SEQUENCE_0 = Change(
    "a log that never held a record accepts only sequence 0 from a producer without state",
    "KAFKA-15591", "4.5.0", concerns="broker", closes=("I2",))

# Transactions.

TRANSACTIONS = Change("producers may be transactional", "KIP-98", "0.11.0.0", concerns="producer and broker",
    opens=("T1", "T2", "T3", "T4", "T8", "T9", "T11"))
DELAYED_FETCH_HAS_ABORTED_LIST = Change(
    "the answer to a fetch that waited at the broker has the list of aborted transactions",
    "KAFKA-5376", "0.11.0.0", concerns="broker", closes=("T11",))
TIMEOUT_RAISES_EPOCH = Change("a transaction that times out is aborted with a higher epoch, which fences its producer",
    "KAFKA-6119", "1.1.0", backports=("0.11.0.2", "1.0.0"), concerns="broker", closes=("T8",))
STATE_KEEPS_TIME_OF_MARKER = Change(
    "the leader keeps a producer's state for the whole retention after a marker; before, it could forget the "
    "coordinator's epoch early",
    "KAFKA-9144", "2.5.0", backports=("2.4.1",), concerns="broker", closes=("T8",))
PRODUCER_CONTINUES_WITH_NEW_EPOCH = Change(
    "a transactional producer may continue after an error with a new epoch from the coordinator",
    "KIP-360", "2.5.0", concerns="producer and broker")
GROUP_METADATA_IN_TRANSACTION = Change(
    "offsets that are committed in a transaction carry the member and the generation of the consumer group",
    "KIP-447", "2.5.0", concerns="producer and broker")
FETCH_WAITS_FOR_PENDING_OFFSETS = Change(
    "a consumer may wait for offsets of an open transaction instead of reading the offsets before them",
    "KAFKA-9346", "2.5.0", concerns="consumer and broker")
COMPLETION_WAITS_FOR_LOCK = Change(
    "the coordinator tests for the completion of a transaction even if another thread holds the lock",
    "KAFKA-9777", "2.6.0", concerns="broker", closes=("T4",))
END_NEEDS_EQUAL_EPOCH = Change(
    "EndTxn of a client needs the epoch of the transaction; before, a higher one was accepted",
    "KAFKA-9600", "2.6.0", concerns="broker", closes=("T8",))
MARKER_ENTRY_HAS_OWNER = Change("the answer to a marker removes only the entry of its coordinator epoch",
    "KAFKA-16352", "3.8.0", concerns="broker", closes=("T4",))
VERIFIES_TRANSACTIONS = Change(
    "the leader verifies with the coordinator that a partition is part of a transaction before it appends",
    "KIP-890, part 1", "3.6.0", concerns="broker", opens=("T10",), closes=("T1",))
VERIFICATION_KEEPS_LOWEST_SEQUENCE = Change(
    "while batches of a transaction are verified, the leader accepts no sequence above the lowest it has seen",
    "KAFKA-14920", "3.6.0", concerns="broker", closes=("T10",))
VERIFICATION_KEEPS_BUFFER = Change("an append after the verification uses the buffers of the thread that runs it",
    "KAFKA-15653", "3.7.0", backports=("3.6.1",), concerns="broker", closes=("T10",))
TRANSACTIONS_POLL_WITHOUT_FREE_NODE = Change(
    "a transactional producer polls if no node is free for a request to the coordinator; before, it only slept",
    "KAFKA-10520", "2.7.0", concerns="producer", closes=("I16",))
EPOCH_PER_TRANSACTION = Change("transaction version 2 can be enabled: every transaction raises the producer's epoch",
    "KIP-890, part 2", "4.0.0", concerns="producer and broker", opens=("KAFKA-18202", "T5", "T6"), closes=("T2", "T3"))
OPEN_TRANSACTION_HAS_EPOCH = Change(
    "a transaction is open at a leader for an epoch; an append with a higher one is verified",
    "KAFKA-18575", "4.0.0", concerns="broker", closes=("T5",))
END_RETURNS_NEXT_IDENTITY = Change(
    "EndTxn returns the id and the epoch of the next transaction, also when the epochs are exhausted",
    "KAFKA-18660", "4.0.0", concerns="broker", closes=("T6",))
LOST_ID_IS_FATAL = Change("INVALID_PRODUCER_ID_MAPPING is fatal for a producer; before, it continued with a new id",
    "KAFKA-18019", "4.0.0", concerns="producer", closes=("T8",))
FENCE_RAISES_EPOCH_ONCE = Change(
    "with transaction version 2, an abort that fences a producer raises the epoch once instead of twice",
    "KAFKA-19367", "4.1.0", backports=("4.0.1",), concerns="broker", closes=("T6",))
TWO_PHASE_COMMIT_SETTING = Change("the producer has the setting transaction.two.phase.commit.enable",
    "KIP-939", "4.1.0", concerns="producer and broker")
MARKER_NEEDS_HIGHER_EPOCH = Change(
    "with transaction version 2, a marker needs a higher epoch than the records of its transaction",
    "KAFKA-19446", "4.2.0", concerns="broker", opens=("T7",))
MARKER_MAY_BE_REPEATED = Change("a leader accepts a marker with the epoch that it has if no transaction is open",
    "KAFKA-19999", "4.2.0", concerns="broker", closes=("T7",))
FENCE_ROTATES_EXHAUSTED_ID = Change(
    "with transaction version 2, an abort that fences a producer replaces an exhausted producer id",
    "KAFKA-20090", "4.3.0", concerns="broker", closes=("T6",))

# Truncation, leader epochs and fetches of followers.

CLEAN_ELECTIONS_BY_DEFAULT = Change("the default of unclean.leader.election.enable is false instead of true",
    "KIP-106", "0.11.0.0", concerns="broker")
TRUNCATES_BY_EPOCH = Change("a follower truncates to the end of its last leader epoch instead of to its high watermark",
    "KIP-101", "0.11.0.0", concerns="broker", opens=("R3", "R4", "KAFKA-10706"), closes=("R1", "R2"))
ANSWER_NAMES_EPOCH = Change("the leader's answer on the end of an epoch names the epoch too", "KIP-279", "2.0.0",
    concerns="broker", closes=("R3",))
EPOCH_BEGINS_AT_ELECTION = Change("a leader epoch begins with the election instead of with the first record",
    "KAFKA-7415", "2.1.0", backports=("2.0.1",), concerns="broker", opens=("KAFKA-7897",), closes=("R3", "R4"))
TRUNCATES_IN_EVERY_EPOCH = Change(
    "a follower truncates in every new leader epoch, even if the leader is the same broker",
    "KAFKA-7164", "2.1.0", backports=("2.0.1",), concerns="broker", closes=("R6",))
JOINS_AT_EPOCH_START = Change("a follower joins the ISR only with the log with which the leader's epoch began",
    "KAFKA-7128", "2.1.0", backports=("2.0.1",), concerns="broker", closes=("R7",))
REQUESTS_CARRY_EPOCH = Change("fetches and questions of followers carry the leader epoch, and others are rejected",
    "KIP-320", "2.1.0", concerns="broker", opens=("R24",), closes=("R5",))
IGNORES_EPOCH_0_IN_RECOVERY = Change(
    "the epoch cache is disabled for old message formats; by mistake, recovery skips leader epoch 0",
    "KAFKA-7897", "2.2.0", backports=("2.1.1",), concerns="broker", opens=("R16",), closes=("KAFKA-7897",))
RECOVERS_EPOCH_0 = Change("recovery of the epoch cache includes leader epoch 0", "KAFKA-10432", "2.7.0",
    backports=("2.6.1",), concerns="broker", closes=("R16",))
TRUNCATES_CACHE_AT_END = Change("the epoch cache is truncated even if the log is not", "KAFKA-10706", "2.7.0",
    backports=("2.6.1",), concerns="broker", closes=("KAFKA-10706",))
READS_SIZE_ONCE = Change("a read takes the size of the log file once", "KAFKA-9835", "2.6.0", backports=("2.5.1",),
    concerns="broker", closes=("R15",))
TRUNCATES_ON_FETCH = Change("a follower truncates by the answer to its fetch instead of asking before it fetches",
    "KAFKA-10554", "2.8.0", concerns="broker", opens=("R8", "R9", "R23", "KAFKA-15510", "KAFKA-15608"))
HIGH_WATERMARK_FOLLOWS_LOG_START = Change(
    "a follower that starts at its leader's log start raises its high watermark to it",
    "KAFKA-9491", "2.5.0", backports=("2.4.1",), concerns="broker", closes=("R22",))
OUT_OF_RANGE_BEFORE_DIVERGENCE = Change("a fetch below the log start is out of range, whatever its epoch is",
    "KAFKA-12996", "3.0.0", backports=("2.7.2", "2.8.1"), concerns="broker", closes=("R23",))
IGNORES_DIVERGING_FETCH = Change("a diverging fetch does not count as progress of the follower", "KAFKA-13141", "3.0.0",
    backports=("2.7.2", "2.8.1"), concerns="broker", closes=("R8",))
TRUNCATES_BEFORE_HIGH_WATERMARK = Change("a follower truncates before it adopts the leader's high watermark",
    "KAFKA-14704", "3.5.0", backports=("3.4.1",), concerns="broker", closes=("R9",))
REMEMBERS_LAST_FETCHED_EPOCH = Change("an empty answer does not make a follower forget its last epoch",
    "KAFKA-15510", "3.7.0", concerns="broker", closes=("KAFKA-15510",))
REJECTS_NEWER_RECORDS = Change(
    "a follower ignores an answer to a fetch of another leader epoch, and appends no record of a newer epoch",
    "KAFKA-18723", "4.0.1", backports=("3.9.1",), concerns="broker", closes=("R14",))
KEEPS_FOLLOWERS = Change(
    "a leader that is elected again keeps its followers' log end offsets, also if it has missed an epoch",
    "KAFKA-2721", "0.10.0.0", concerns="broker", opens=("R18",))
FENCES_APPENDS_AFTER_IO_ERROR = Change("a log rejects appends after a failed write", "KAFKA-10778", "2.8.0",
    concerns="broker", closes=("R17",))

# The ISR, the high watermark and elections.

LAG_TIME_30_S = Change("the default of replica.lag.time.max.ms is 30 s instead of 10 s", "KIP-537", "2.5.0",
    concerns="broker")
CONTROLLER_CHANGES_ISR = Change(
    "a leader asks the controller to change the ISR (AlterPartition); before, it wrote to ZooKeeper",
    "KIP-497", "2.7.0", concerns="broker and controller")
FENCED_MAY_NOT_JOIN = Change(
    "a broker that is fenced, not alive or in controlled shutdown does not join the ISR (with ZooKeeper: KAFKA-14140)",
    "KIP-841", "3.3.0", concerns="broker and controller", closes=("KIP-841",))
CHECKS_BROKER_EPOCHS = Change("a broker joins the ISR only with the broker epoch of its fetch", "KIP-903", "3.5.0",
    concerns="broker and controller", closes=("R10",), controller=KRAFT)
SHRINK_KEEPS_LEADER_EPOCH = Change("a smaller ISR alone does not raise the leader epoch", "KAFKA-15021", "3.6.0",
    concerns="controller", controller=KRAFT)
HIGH_WATERMARK_WAITS_FOR_MIN_ISR = Change(
    "the high watermark does not advance while the ISR is below min.insync.replicas",
    "KAFKA-15583", "3.7.0", concerns="broker", closes=("R13",))
MIN_ISR_CAPPED = Change("min.insync.replicas is capped at the number of replicas; before, acks=all was refused",
    "KAFKA-15583", "3.7.0", concerns="broker")
REMEMBERS_WRITTEN_EPOCH = Change(
    "during a reassignment the ZooKeeper controller remembers the leader epoch that it has written, as KRaft's does",
    "KAFKA-9212", "2.4.0", concerns="controller", closes=("R24",))
KRAFT_ONLY = Change("brokers do not start with ZooKeeper", "KIP-500", KRAFT_ALONE_SINCE,
    concerns="broker and controller")
LEADER_AND_ISR_REMOVED = Change(
    "brokers learn of leaders from the metadata log only; LeaderAndIsr requests are not accepted",
    "KAFKA-18399", "4.0.0", concerns="broker and controller", controller=KRAFT)
DETECTS_UNCLEAN_SHUTDOWN = Change("the controller recognizes a broker that restarts after an unclean shutdown",
    "KAFKA-18635", "4.0.0", concerns="controller", controller=KRAFT)
REGISTRATION_LEAVES_ISR = Change("a broker that registers again leaves every ISR", "KAFKA-18106", "4.0.0",
    concerns="controller", closes=("R20",), controller=KRAFT)
ELIGIBLE_LEADER_REPLICAS = Change("eligible leader replicas can be enabled", "KIP-966", "4.0.0", concerns="controller",
    opens=("KAFKA-19522", "R21"), controller=KRAFT)
CLEARS_ELR_WITH_MIN_ISR = Change("a change of min.insync.replicas clears the eligible leader replicas (ClearElrRecord)",
    "KIP-966", "4.0.0", concerns="controller", closes=("R21",), controller=KRAFT)
ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT = Change("a new cluster has eligible leader replicas", "KIP-966", "4.1.0",
    concerns="controller", controller=KRAFT)
LAST_KNOWN_LEADER_MUST_LIVE = Change("a last known leader that is fenced is not elected; before, the test was inverted",
    "KAFKA-19522", "4.1.0", concerns="controller", closes=("KAFKA-19522",), controller=KRAFT)

# Settings that Kafka Connect and Kafka Streams give their clients.

CONNECT_OVERRIDES = Change("a connector may override client settings", "KIP-458", "2.3.0", concerns="connect")
CONNECT_OVERRIDES_BY_DEFAULT = Change("every override is allowed by default", "KIP-722", "3.0.0", concerns="connect")
CONNECT_IDEMPOTENCE_OFF = Change("Connect turns the idempotence of its producers off", "KAFKA-13759", "3.2.0",
    backports=("3.0.2", "3.1.1"), concerns="connect")
CONNECT_EXACTLY_ONCE = Change("exactly.once.source.support", "KIP-618", "3.3.0", concerns="connect")
CONNECT_DELIVERY_TIMEOUT = Change("Connect sets delivery.timeout.ms instead of retries", "KIP-91", "2.1.0",
    concerns="connect")
CONNECT_KEEPS_REQUEST_TIMEOUT = Change("Connect no longer sets request.timeout.ms", "KAFKA-12361", "3.0.0",
    concerns="connect")
STREAMS_DELIVERY_TIMEOUT = Change("Streams sets delivery.timeout.ms instead of retries", "KIP-91", "2.1.0",
    concerns="streams")
STREAMS_EXACTLY_ONCE_BETA = Change("processing.guarantee=exactly_once_beta", "KIP-447", "2.6.0", concerns="streams")
STREAMS_EXACTLY_ONCE_V2 = Change("processing.guarantee=exactly_once_v2", "KIP-732", "3.0.0", concerns="streams")
STREAMS_EXACTLY_ONCE_V2_ALONE = Change("exactly_once and exactly_once_beta are refused", "KAFKA-16331", "4.0.0",
    concerns="streams")

# Consumers.

COMMITS_CARRY_EPOCH = Change("a committed offset carries the leader epoch", "KIP-320", "2.1.0",
    concerns="consumer and broker")
OFFSETS_EXPIRE_WITH_GROUP = Change("committed offsets expire only after the group is empty", "KIP-211", "2.1.0",
    concerns="broker", closes=("KAFKA-4682",))
CONSUMER_DETECTS_TRUNCATION = Change(
    "a consumer detects by leader epochs that records below its position were truncated",
    "KIP-320", "2.3.0", concerns="consumer", closes=("C6",))
STATIC_MEMBERS = Change("a consumer with group.instance.id keeps its partitions during a restart", "KIP-345", "2.3.0",
    concerns="consumer and broker")
COOPERATIVE_REBALANCE = Change("a consumer may keep the partitions that do not move during a rebalance",
    "KIP-429", "2.4.0", concerns="consumer", opens=("C5",))
READS_FROM_FOLLOWERS = Change("a consumer may read from a follower", "KIP-392", "2.4.0", concerns="consumer and broker")
SESSION_TIMEOUT_45_S = Change("the default of session.timeout.ms is 45 s instead of 10 s", "KIP-735", "3.0.0",
    concerns="consumer")
REVOKES_BEFORE_REJOIN = Change("an evicted consumer gives its partitions up before it joins again",
    "KAFKA-12983", "3.0.0", backports=("2.7.2", "2.8.1"), concerns="consumer", closes=("KAFKA-12983",))
CHECKS_CLAIMS_BY_GENERATION = Change(
    "the sticky assignor accepts only a single claim of the latest generation on a partition",
    "KAFKA-12984", "3.0.0", concerns="consumer", closes=("C5",))
CONSUMER_PROTOCOL_EARLY_ACCESS = Change(
    "the consumer group protocol of KIP-848 can be tried (early access; a preview from 3.8)", "KIP-848", "3.7.0",
    concerns="consumer and broker", opens=("C8", "C9", "C10", "C11", "C12", "C13"), controller=KRAFT)
PARTITION_EPOCHS_SURVIVE = Change("a partition that a member gives up and is assigned again keeps its epoch",
    "KAFKA-16147", "3.8.0", concerns="broker", closes=("C8",), controller=KRAFT)
REPORT_FREES_PARTITIONS = Change("a partition that a member does not report is free at once", "KAFKA-16615", "3.8.0",
    concerns="broker", controller=KRAFT)
RETRIES_WITH_LATEST_POSITION = Change(
    "a retry of a commit before a rebalance has the latest position (consumer protocol)",
    "KAFKA-16033", "3.8.0", concerns="consumer", opens=("C15",), controller=KRAFT)
POLL_WAITS_FOR_COMMIT = Change("poll of the consumer protocol waits until an automatic commit has read the position",
    "KAFKA-18641", "4.0.0", concerns="consumer", closes=("C12",))
POLL_SKIPS_WAIT = Change("poll of the consumer protocol takes records at once if all positions are valid",
    "KAFKA-18376", "4.2.0", concerns="consumer", opens=("C14",))
MEMBER_MAY_REJOIN = Change("a member of the consumer protocol may join again with epoch 0 at any time",
    "KAFKA-19233", "4.2.0", concerns="broker", closes=("C9",))
MEMBER_GETS_PARTITION_BACK = Change("a member gets a partition back that it is giving up", "KAFKA-19449", "4.2.0",
    backports=("4.0.2", "4.1.2"), concerns="broker")
EPOCH_STAYS_BETWEEN_REVOCATIONS = Change("a member's epoch does not change between two revocations",
    "KAFKA-19974", "4.2.0", concerns="broker")
CONSUMER_PROTOCOL = Change(
    "the consumer group protocol of KIP-848 is generally available: the broker assigns partitions",
    "KIP-848", "4.0.0", concerns="consumer and broker")
RESET_BY_DURATION = Change("auto.offset.reset may be a duration", "KIP-1106", "4.0.0", concerns="consumer")
COMMIT_FENCED_BY_ASSIGNMENT_EPOCH = Change(
    "a commit with an older member epoch is accepted if the partition was assigned in that epoch or before",
    "KIP-1251", "4.3.0", concerns="broker", closes=("C13",))

# fmt: on
CHANGES: dict[str, Change] = {name: value for name, value in globals().items() if isinstance(value, Change)}
"""Every rule of this module by the name of its constant."""


@dataclass(frozen=True)
class CatalogueEntry:
    """An entry of the catalogue of bugs with the changes that opened and closed it."""

    name: str
    opened_by: tuple[Change, ...]
    closed_by: tuple[Change, ...]

    def exists_in(self, version: str, controller: str = "", client: str = "") -> bool:
        """Return whether a release has the bug: a change that opens it applies, and not all that close it do.

        Without a controller mode, return whether the release has the bug in any of its modes. `client` is the release
        of the clients, if it is not that of the brokers.
        """
        releases = (version, client or version)
        return any(self._exists_with(releases, mode) for mode in controller_modes(version) if controller in ("", mode))

    def _exists_with(self, releases: tuple[str, str], controller: str) -> bool:
        is_open = not self.opened_by or any(each.applies_between(*releases, controller) for each in self.opened_by)
        is_closed = bool(self.closed_by) and all(each.applies_between(*releases, controller) for each in self.closed_by)
        return is_open and not is_closed

    @property
    def releases(self) -> list[str]:
        """Every release that has the bug in a controller mode."""
        return [release for release in RELEASES if self.exists_in(release)]

    def modes_with(self, version: str) -> tuple[str, ...]:
        """Return the controller modes of a release that have the bug, nothing if all of them have it or none."""
        modes = tuple(mode for mode in controller_modes(version) if self.exists_in(version, mode))
        return modes if len(modes) < len(controller_modes(version)) else ()

    @property
    def description_of_releases(self) -> str:
        """The releases that have the bug, such as "0.10.0.0 to 3.4.1, with ZooKeeper 3.5.0 to 3.9.2"."""
        texts = [describe_releases([release for release in self.releases if not self.modes_with(release)])]
        for mode, name in CONTROLLER_NAMES.items():
            alone = [release for release in self.releases if self.modes_with(release) == (mode,)]
            texts += [f"with {name} {describe_releases(alone)}"] if alone else []
        return ", ".join(filter(None, texts))

    @cached_property
    def fixed_in(self) -> list[str]:
        """The first release without the bug on each branch that had it, or nothing if no release fixes it.

        A bug of one controller mode is gone with the mode.
        """
        ends = set(self._repairs)
        if any(self.modes_with(release) == (ZOOKEEPER,) for release in RELEASES):
            ends.add(KRAFT_ALONE_SINCE)
        return [release for release in RELEASES if release in ends and not self.exists_in(release)]

    @cached_property
    def description_of_fixes(self) -> str:
        """The first releases without the bug, such as "4.0.0, with KRaft 3.5.0"; empty if no release fixes it."""
        texts = list(self.fixed_in)
        for mode, name in CONTROLLER_NAMES.items():
            gone = [
                release
                for release in self._repairs
                if self.exists_in(release) and mode in controller_modes(release) and not self.exists_in(release, mode)
            ]
            texts += [f"with {name} {', '.join(gone)}"] if gone else []
        return ", ".join(texts)

    @property
    def _repairs(self) -> list[str]:
        """The first releases of each branch with a change that closes the bug."""
        ends = {patch for change in self.closed_by for patch in (change.since, *change.backports)}
        return [release for release in RELEASES if release in ends]


@cache
def catalogue_entry(name: str) -> CatalogueEntry:
    """Return an entry of the catalogue, such as R8. No change opens or closes an entry that all releases have."""
    opening = tuple(change for change in CHANGES.values() if name in change.opens)
    closing = tuple(change for change in CHANGES.values() if name in change.closes)
    return CatalogueEntry(name, opening, closing)


@cache
def entry_exists_in(name: str, version: str, controller: str = "", client: str = "") -> bool:
    """Return whether a release has an entry of the catalogue. A search for remedies asks ten thousands of times."""
    return catalogue_entry(name).exists_in(version, controller, client)


@cache
def fixed_bugs(version: str, controller: str = "") -> tuple[CatalogueEntry, ...]:
    """Return the entries of the catalogue that a release has, in a controller mode or in any, and a later one fixes."""
    names = dict.fromkeys(name for change in CHANGES.values() for name in change.closes)
    entries = map(catalogue_entry, names)
    return tuple(entry for entry in entries if entry.exists_in(version, controller) and entry.fixed_in)


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
