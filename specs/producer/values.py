"""The values that specs of the producer share: partitions, brokers and threads."""

from checker.language import Domain, Range


class Partition(Range):
    """The number of a partition, from 0."""

    low, high = 0, "partitions - 1"


class Node(Domain):
    """A broker that the client is connected to."""

    size, prefix = "nodes", "n"


class Thread(Domain):
    """A thread of the application that calls `send`."""

    size, prefix = "threads", "t"
