"""The hash with which a producer chooses a partition for a key: plain functions, not part of any spec.

Source: Apache Kafka, Utils.murmur2, Utils.toPositive and BuiltInPartitioner.partitionForKey; the algorithm is Austin
Appleby's MurmurHash2 with 32 bits and a fixed seed.
"""

SEED = 0x9747B28C
MULTIPLIER = 0x5BD1E995
WORD = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the hash of some bytes, as a signed integer of 32 bits."""
    mixed = SEED ^ len(data)
    whole = len(data) - len(data) % 4
    for start in range(0, whole, 4):
        chunk = int.from_bytes(data[start : start + 4], "little") * MULTIPLIER & WORD
        chunk = (chunk ^ chunk >> 24) * MULTIPLIER & WORD
        mixed = mixed * MULTIPLIER & WORD ^ chunk
    if whole < len(data):
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * MULTIPLIER & WORD
    mixed = (mixed ^ mixed >> 13) * MULTIPLIER & WORD
    mixed ^= mixed >> 15
    return mixed - (1 << 32) if mixed >> 31 else mixed


def to_positive(number: int) -> int:
    """Return an integer of 32 bits without its sign bit. It is not the absolute value."""
    return number & 0x7FFFFFFF


def partition_for_key(key: bytes, partitions: int) -> int:
    """Return the partition of a serialized key in a topic of `partitions` partitions."""
    return to_positive(murmur2(key)) % partitions
