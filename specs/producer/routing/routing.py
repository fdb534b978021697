"""The choice of a record's partition, and the order of a key's records when the topic gets more partitions."""

from checker.language import Constant, Map, Option, Range, Scenario, Seq, Spec, Struct
from checker.language.roles import action, invariant, reachable, require, step_invariant


class Key(Range):
    """A key, identified by its hash modulo 12: `key % n` is its partition for n = 1, 2, 3, 4, 6 and 12."""

    low, high = 0, "keys - 1"


class Partition(Range):
    """A partition of the topic, before or after the growth."""

    low, high = 0, "max(partitions, grown_to) - 1"


class Record(Struct):
    """A record in a log; `id` is its number in send order."""

    id: Range(0, "records - 1")
    key: Option(Key)
    shows = "r{id}(key {key})"


def partition_for_key(key: Key, partitions: int):
    """Return the partition of a key, in terms of its hash modulo 12 (BuiltInPartitioner.partitionForKey)."""
    return key % partitions


class Routing(Spec):
    """A producer sends records, the topic may grow, and consumers read the partitions independently of each other.

    A record goes to the partition that the application names. Otherwise a record with a key goes to the hash of its key
    modulo the number of partitions in the producer's metadata, with or without a leader. A record without a key goes to
    the sticky partition; after `sticky_records` records another partition with a leader becomes the sticky one. Each
    partition's log keeps the send order; other specs model retries. The producer's metadata have new partitions some
    time after their creation.

    Source: Apache Kafka, KafkaProducer.partition, BuiltInPartitioner (KIP-480, KIP-794).
    """

    partitions = Constant(2, at_least=1)
    grown_to = Constant(2, at_least=1)  # the number of partitions after the growth
    keys = Constant(3, at_least=1, at_most=12)
    records = Constant(3, at_least=1)
    sticky_records = Constant(2, at_least=1)  # batch.size, in records
    explicit = Constant(False)  # whether the application may name a partition
    leaders_fail = Constant(False)

    partition_count = Range(1, "max(partitions, grown_to)")
    known_count = Range(1, "max(partitions, grown_to)")  # the count in the producer's metadata
    sent = Range(0, "records")
    log = Map(Partition, Seq(Record, "records"))
    position = Map(Partition, Range(0, "records"))  # the number of consumed records
    consumed = Seq(Record, "records")  # by all consumers, in processing order
    has_leader = Map(Partition, bool)
    sticky = Partition
    sent_to_sticky = Range(0, "sticky_records")

    def init(self):
        self.partition_count = self.partitions
        self.known_count = self.partitions
        for partition in Partition:
            self.has_leader[partition] = True

    def put(self, partition: Partition, record: Record):
        """Append a record to a partition's log."""
        self.log[partition].append(record)
        self.sent += 1

    def everything_is_consumed(self):
        """Return whether the consumers have read every sent record."""
        return len(self.consumed) == self.sent

    def may_grow(self):
        """Return whether the topic may get its new partitions now."""
        return True

    def may_learn(self):
        """Return whether the producer's metadata may be updated now."""
        return True

    @action
    def send_with_key(self, key: Key):
        """The producer sends a record with a key."""
        require(self.sent < self.records)
        self.put(partition_for_key(key, self.known_count), Record(id=self.sent, key=key))

    @action
    def send_without_key(self, following: Partition):
        """The producer sends a record without a key; if it fills the sticky partition, `following` is the next."""
        require(self.sent < self.records and self.is_choice(following))
        is_enough = self.sent_to_sticky + 1 == self.sticky_records
        require(is_enough or following == self.sticky)
        self.put(self.sticky, Record(id=self.sent, key=None))
        self.sent_to_sticky = 0 if is_enough else self.sent_to_sticky + 1
        self.sticky = following

    def is_choice(self, partition: Partition):
        """Return whether this may be the sticky partition: it has a leader, or no partition has, or it is not full."""
        if partition >= self.known_count:
            return False
        none_has_leader = not any(self.has_leader[other] for other in range(self.known_count))
        return self.has_leader[partition] or none_has_leader or (partition == self.sticky and not self.sticky_is_full())

    def sticky_is_full(self):
        """Return whether the next record is the sticky partition's last."""
        return self.sent_to_sticky + 1 == self.sticky_records

    @action
    def send_to(self, partition: Partition):
        """The producer sends a record to a named partition; it waits for metadata if the partition is unknown."""
        require(self.explicit and self.sent < self.records and partition < self.known_count)
        self.put(partition, Record(id=self.sent, key=None))

    @action
    def grow(self):
        """The topic gets more partitions."""
        require(self.partition_count < self.grown_to and self.may_grow())
        self.partition_count = self.grown_to

    @action
    def learn(self):
        """The producer's metadata are updated."""
        require(self.known_count != self.partition_count and self.may_learn())
        self.known_count = self.partition_count

    @action
    def lose_leader(self, partition: Partition):
        """A partition temporarily loses its leader."""
        require(self.leaders_fail and partition < self.known_count)
        require(all(self.has_leader[other] for other in Partition))
        self.has_leader[partition] = False

    @action
    def consume(self, partition: Partition):
        """The consumer of a partition processes its next record."""
        require(self.position[partition] < len(self.log[partition]))
        self.consumed.append(self.log[partition][self.position[partition]])
        self.position[partition] += 1

    def is_in_order(self, one: Record, next_one: Record):
        """Return whether `one` may be processed before `next_one`: another key, no key, or sent earlier."""
        return one.key is None or one.key != next_one.key or one.id < next_one.id

    def stays(self, key: Key):
        """Return whether a key has the same partition before and after the growth."""
        return partition_for_key(key, self.partitions) == partition_for_key(key, self.grown_to)

    @invariant(says="{self.consumed[later]} was processed after {self.consumed[earlier]}, which was sent later")
    def no_reorder_of_a_key(self):
        """Records of one key are processed in the order in which they were sent."""
        return all(
            self.is_in_order(self.consumed[earlier], self.consumed[later])
            for later in range(len(self.consumed))
            for earlier in range(later)
        )

    @invariant(says="{self.consumed[later]} was processed after {self.consumed[earlier]}; its key has not moved")
    def key_that_stays_keeps_its_order(self):
        """A key whose partition is the same before and after the growth keeps its order."""
        return all(
            self.is_in_order(self.consumed[earlier], self.consumed[later]) or not self.stays(self.consumed[earlier].key)
            for later in range(len(self.consumed))
            for earlier in range(later)
        )

    @step_invariant
    def sticky_partition_stays_until_it_is_full(self, old):
        """The sticky partition changes only with the record that fills it up."""
        filled_it = old.sent_to_sticky + 1 == self.sticky_records and self.sent == old.sent + 1
        return self.sticky == old.sticky or filled_it

    @step_invariant
    def new_sticky_partition_has_a_leader(self, old):
        """A partition without a leader does not become the sticky one."""
        return self.sticky == old.sticky or self.has_leader[self.sticky]

    @invariant
    def partitions_are_known(self):
        """A partition that does not exist has no records."""
        return all(len(self.log[partition]) == 0 or partition < self.partition_count for partition in Partition)

    @reachable
    def everything_was_processed(self):
        """Every record is sent and processed."""
        return len(self.consumed) == self.records

    @reachable
    def sticky_partition_changes(self):
        """Records without a key went to one partition until it was full, and then to another."""
        used = sum(1 for partition in Partition if any(record.key is None for record in self.log[partition]))
        return used >= 2


class GrowWhenConsumed(Routing):
    """An insufficient remedy: add partitions when every sent record is processed.

    The producer's metadata are still old: it uses the old count for the records that it sends before the update.
    """

    def may_grow(self):
        """Return whether every sent record is processed."""
        return self.everything_is_consumed()


class GrowWhenConsumedAndPaused(GrowWhenConsumed):
    """A remedy: add partitions when every record is processed, and send nothing until the metadata are updated."""

    @action
    def send_with_key(self, key: Key):
        """The producer sends a record with a key, but not between the growth and the metadata update."""
        require(self.known_count == self.partition_count)
        super().send_with_key(key)


GROWTH = dict(partitions=2, grown_to=3, keys=3, records=2)
ORDER = ["no_reorder_of_a_key", "key_that_stays_keeps_its_order", "partitions_are_known", "everything_was_processed"]

scenarios = [
    Scenario(Routing, "fixed_partition_count", dict(partitions=2, grown_to=2, keys=3, records=3),
        description="With a fixed number of partitions, each key has one partition and keeps its order."),
    Scenario(Routing, "fixed_partition_count_larger", dict(partitions=3, grown_to=3, keys=4, records=4),
        description="The same with three partitions, four keys and four records."),
    Scenario(Routing, "partition_without_leader",
        dict(partitions=3, grown_to=3, keys=1, records=3, explicit=True, leaders_fail=True),
        description="A partition loses its leader: records without a key avoid it, other records do not."),
    Scenario(Routing, "partition_count_grows", GROWTH, expect={"no_reorder_of_a_key": 7},
        description="The topic grows, a key moves, and its second record is processed before its first."),
    Scenario(Routing, "keys_that_stay", GROWTH | dict(records=3), properties=ORDER[1:],
        description="Keys whose partition is the same before and after the growth keep their order."),
    Scenario(GrowWhenConsumed, "producer_learns_late", GROWTH, expect={"no_reorder_of_a_key": 7},
        description="Everything is processed when the topic grows, but the producer still uses the old count once."),
    Scenario(GrowWhenConsumedAndPaused, "same_size", GROWTH, properties=ORDER,
        description="With a pause the order is kept."),
    Scenario(GrowWhenConsumedAndPaused, "larger", GROWTH | dict(keys=4, records=4), properties=ORDER,
        description="The same with four keys and four records."),
]  # fmt: skip
