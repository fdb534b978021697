"""Routing: murmur2 with Kafka's values, and the rules of BuiltInPartitioner step by step."""

import pytest

from checker.testing import is_enabled, play
from specs.producer.routing.routing import GrowWhenConsumed, GrowWhenConsumedAndPaused, Routing
from specs.producer.routing.routing import partition_for_key as partition_in_spec
from tests.specs.murmur2 import murmur2, partition_for_key, to_positive

PERIOD = 12
"""The specs identify a key by its hash modulo this number, for 1, 2, 3, 4, 6 and 12 partitions."""


def logs(state):
    return str(state.log)


# The hash.


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2(data, value):
    """UtilsTest.testMurmur2: the six values of Kafka's test."""
    assert murmur2(data) == value


@pytest.mark.parametrize("length", range(9))
def test_murmur2_has_32_bits(length):
    """Utils.murmur2 returns an int for any length and any bytes."""
    for byte in (0x00, 0x7F, 0x80, 0xFF):
        assert -(2**31) <= murmur2(bytes([byte]) * length) < 2**31


def test_to_positive_is_not_the_absolute_value():
    """Utils.toPositive clears the sign bit, so that even the smallest integer becomes nonnegative."""
    assert to_positive(-(2**31)) == 0
    assert to_positive(-1) == 2**31 - 1
    assert to_positive(-973932308) == -973932308 + 2**31
    assert to_positive(479470107) == 479470107


def test_partition_of_a_key_is_stable():
    """DefaultPartitionerTest.testKeyPartitionIsStable: the same key, the same partition; all are within the count."""
    keys = [f"order-{number}".encode() for number in range(200)]
    for partitions in (1, 2, 3, 7):
        chosen = [partition_for_key(key, partitions) for key in keys]
        assert chosen == [partition_for_key(key, partitions) for key in keys]
        assert set(chosen) == set(range(partitions))


def real_keys():
    """Return a real key for each hash modulo PERIOD."""
    found = {}
    for number in range(1000):
        key = f"order-{number}".encode()
        found.setdefault(to_positive(murmur2(key)) % PERIOD, key)
    return found


def test_keys_of_the_spec_are_real_keys():
    """Every key of the spec has a real key with the same partition, before and after any growth."""
    keys = real_keys()
    assert set(keys) == set(range(PERIOD))
    for name, key in keys.items():
        for partitions in (1, 2, 3, 4, 6, 12):
            assert partition_in_spec(name, partitions) == partition_for_key(key, partitions)


# The choice of a partition.


def test_key_determines_the_partition():
    """KafkaProducer.partition: the hash of a key determines its partition, always the same one."""
    state = play(Routing(partitions=2, keys=3), "send_with_key 1", "send_with_key 2", "send_with_key 1")
    assert logs(state) == "{0: [r1(key 2)], 1: [r0(key 1), r2(key 1)]}"


def test_named_partition_wins_over_the_sticky_one():
    """KafkaProducer.partition: a named partition is used; the sticky one stays."""
    state = play(Routing(explicit=True), "send_to 1", "send_without_key 0")
    assert logs(state) == "{0: [r1(key none)], 1: [r0(key none)]}"


def test_named_partition_must_be_known():
    """KafkaProducerTest.testMetadataWithPartitionOutOfRange: `send` waits for metadata that have the partition."""
    spec = Routing(partitions=2, grown_to=3, explicit=True)
    state = play(spec, "grow")
    assert not is_enabled(spec, state, "send_to 2")
    assert is_enabled(spec, play(spec, "learn", state=state), "send_to 2")


def test_sticky_partition_changes_when_it_is_full():
    """BuiltInPartitionerTest.testStickyPartitioning: three records go to one partition, the fourth may go elsewhere."""
    spec = Routing(records=4, sticky_records=3)
    state = play(spec, "send_without_key 0", "send_without_key 0")
    assert not is_enabled(spec, play(spec, "send_without_key 0"), "send_without_key 1")
    state = play(spec, "send_without_key 1", "send_without_key 1", state=state)
    assert logs(state) == "{0: [r0(key none), r1(key none), r2(key none)], 1: [r3(key none)]}"


def test_single_partition_stays_sticky():
    """BuiltInPartitionerTest.testStickyPartitioning, last part: with one partition the next one is the same again."""
    spec = Routing(partitions=1, grown_to=1, records=3, sticky_records=1)
    state = play(spec, "send_without_key 0", "send_without_key 0", "send_without_key 0")
    assert len(state.log.items_in_order()[0]) == 3


def test_keyed_records_do_not_move_the_sticky_partition():
    """RecordAccumulator.append: only records without a key and a named partition count for the sticky one."""
    state = play(Routing(records=3, sticky_records=2), "send_with_key 1", "send_with_key 1", "send_without_key 0")
    assert (state.sticky, state.sent_to_sticky) == (0, 1)


def test_partition_without_leader_is_not_chosen():
    """BuiltInPartitionerTest.unavailablePartitionsTest: among three, the one without a leader never becomes sticky."""
    spec = Routing(partitions=3, grown_to=3, sticky_records=1, leaders_fail=True)
    state = play(spec, "lose_leader 1")
    assert not is_enabled(spec, state, "send_without_key 1")
    assert is_enabled(spec, state, "send_without_key 2")


def test_sticky_partition_that_lost_its_leader_is_left():
    """BuiltInPartitionerTest.unavailablePartitionsTest: the only remaining choice is taken."""
    spec = Routing(partitions=2, grown_to=2, sticky_records=1, leaders_fail=True)
    state = play(spec, "lose_leader 0")
    assert not is_enabled(spec, state, "send_without_key 0")
    assert play(spec, "send_without_key 1", state=state).sticky == 1


def test_partition_is_chosen_even_if_none_has_a_leader():
    """BuiltInPartitionerTest.unavailablePartitionsTest, last part: the only partition is down and is chosen anyway."""
    spec = Routing(partitions=1, grown_to=1, sticky_records=1, leaders_fail=True)
    assert is_enabled(spec, play(spec, "lose_leader 0"), "send_without_key 0")


def test_key_goes_to_its_partition_with_or_without_leader():
    """BuiltInPartitioner.partitionForKey counts all partitions, otherwise keys would move whenever a leader fails."""
    spec = Routing(partitions=2, keys=2, leaders_fail=True)
    assert logs(play(spec, "lose_leader 1", "send_with_key 1")) == "{0: [], 1: [r0(key 1)]}"


# Growth.


def test_growth_moves_some_keys_and_not_others():
    """From two to three partitions: of the keys with hashes 0 to 5, only 0 and 1 keep their partition."""
    stay = [key for key in range(6) if partition_in_spec(key, 2) == partition_in_spec(key, 3)]
    assert stay == [0, 1]


def test_growth_reorders_a_key():
    """The counterexample of `partition_count_grows`: the key's second record is processed before its first."""
    spec = Routing(partitions=2, grown_to=3, records=2)
    state = play(spec, "send_with_key 2", "grow", "learn", "send_with_key 2", "consume 2", "consume 0")
    assert not spec.holds("no_reorder_of_a_key", state)
    assert spec.holds("key_that_stays_keeps_its_order", state)


def test_growth_after_everything_is_processed_is_not_enough():
    """With old metadata the producer may send to a key's old partition after the growth."""
    spec = GrowWhenConsumed(partitions=2, grown_to=3, records=2)
    assert not is_enabled(spec, play(spec, "send_with_key 2"), "grow")
    assert is_enabled(spec, play(spec, "grow"), "send_with_key 2")
    paused = GrowWhenConsumedAndPaused(partitions=2, grown_to=3, records=2)
    assert not is_enabled(paused, play(paused, "grow"), "send_with_key 2")
