"""A poll thread that hands records to worker threads: whose order is kept, and which offset may be committed.

Scenarios: entry C4 of docs/consumer.md, and the order of one key. Kafka's client has no worker threads: this is what
applications build around it (KafkaConsumer, class comment, "Multi-threaded Processing").
"""

from checker.language import (
    Arrow,
    Constant,
    Drawing,
    Lane,
    Log,
    Map,
    Range,
    Scenario,
    Seq,
    action,
    invariant,
    reachable,
    require,
)
from specs.consumer.consumer import Consumer, Count, RecordId


class Key(Range):
    """Keys are numbered; a record's hash is its key."""

    low, high = 0, "keys - 1"


class Worker(Range):
    """A thread with a queue of its own."""

    low, high = 0, "workers - 1"


class WorkerPool(Consumer):
    """The poll thread puts each record that poll returns into a worker's queue, and polls on meanwhile.

    `dispatch`: "by_key" gives all records of a key to one worker, "round_robin" gives each worker the next in turn.
    `commit`: "auto" commits the position inside poll (enable.auto.commit, or commitSync without arguments in the poll
    thread); "each" commits the offset behind each record when its worker is done with it; "contiguous" commits the
    offset of the first record that is not processed, whatever is done behind it.
    """

    keys = Constant(2, at_least=1)
    workers = Constant(2, at_least=1)
    dispatch = Constant("by_key", one_of=("by_key", "round_robin"))
    commit = Constant("contiguous", one_of=("auto", "each", "contiguous"))

    key_of = Seq(Key, "records")  # the log
    queue = Map(Worker, Seq(RecordId, "records"))

    draws = Drawing(
        Lane("partition", logs=(Log("readable", markers={"committed": "committed"}, colour="."),)),
        Lane("poll thread", facts={"position": "position", "committed": "committed"}),
        Lane("worker", each=Worker, boxes={"queue": "to do"}),
        Lane("effects", logs=(Log("processed", end="", colour=".", at=()),)),
        arrows=(
            Arrow("poll", "'partition'", "'poll thread'", "{count} from {position}"),
            Arrow("process", "worker", "'effects'", "record {queue[worker][0]}"),
        ),
    )

    @action
    def produce(self, key: Key):
        """A record of this key is appended."""
        require(len(self.key_of) < self.records)
        self.key_of.append(key)

    def readable_end(self):
        """Return the end of the log."""
        return len(self.key_of)

    def hands(self):
        """Return the records that are in some queue."""
        return [record for record in RecordId if any(record in self.queue[worker] for worker in Worker)]

    def empty_hands(self):
        """The threads are gone, and their queues."""
        for worker in Worker:
            self.queue[worker].clear()

    @action
    def poll(self, count: Count):
        """Return records and hand each to a worker."""
        for record in self.next_records(count):
            self.queue[self.worker_of(record)].append(record)
        self.position += count

    def worker_of(self, record):
        """Return whose queue a record goes to."""
        turn = self.key_of[record] if self.dispatch == "by_key" else record
        return turn % self.workers

    @action
    def process(self, worker: Worker):
        """A worker processes the next record of its queue."""
        require(len(self.queue[worker]) > 0)
        record = self.queue[worker].pop(0)
        self.processed.append(record)
        if self.commit == "each":
            self.committed = record + 1

    @action
    def commit_offset(self):
        """The poll thread commits inside, or before, its next poll."""
        require(self.position is not None and self.commit != "each")
        end = self.position if self.commit == "auto" else self.contiguous_end()
        require(self.committed != end)
        self.committed = end

    def contiguous_end(self):
        """Return the offset of the first record that is still in a queue, or the position."""
        return min(self.hands(), default=self.position)

    # Properties.

    @invariant(says="record {self.processed[i]} behind {self.processed[j]} of the same key: {self.processed}")
    def no_reorder(self):
        """What of a key is processed for the first time comes behind all of the key that was processed before."""
        return all(
            self.key_of[self.processed[j]] != self.key_of[self.processed[i]]
            or self.processed[j] < self.processed[i]
            or self.processed[i] in self.processed[:i]
            for i in range(len(self.processed))
            for j in range(i)
        )

    @invariant(says="record {self.processed[i]} behind {self.processed[j]} of the same key: {self.processed}")
    def no_late_copy(self):
        """No record, processed before or not, is processed behind a later one of its key."""
        return all(
            self.key_of[self.processed[j]] != self.key_of[self.processed[i]] or self.processed[j] <= self.processed[i]
            for i in range(len(self.processed))
            for j in range(i)
        )

    @reachable
    def records_overtake(self):
        """With several workers a record is processed before an earlier one."""
        return self.workers == 1 or any(
            self.processed[i] < self.processed[i - 1] for i in range(1, len(self.processed))
        )

    @reachable
    def everything_is_committed(self):
        """The committed offset is the end of the log."""
        return self.committed == self.records


REACHED = ["every_record_is_processed", "successor_finishes", "everything_is_committed", "records_overtake"]

scenarios = [
    Scenario(
        WorkerPool,
        "c4_auto_commit_with_workers",
        dict(keys=1, dispatch="round_robin", commit="auto"),
        expect={"no_gap": 6},
        properties=["no_gap"],
        description="C4: poll commits records that are still in worker queues, and the process dies.",
    ),
    Scenario(
        WorkerPool,
        "c4_each_commits_its_own",
        dict(keys=1, dispatch="round_robin", commit="each"),
        expect={"no_gap": 7},
        properties=["no_gap"],
        description="C4: a worker commits behind its record, while another still has the one before.",
    ),
    Scenario(
        WorkerPool,
        "c4_fixed_contiguous",
        dict(dispatch="round_robin"),
        properties=["no_gap", *REACHED],
        description="C4 where nothing is committed that has something unfinished before it: no gap.",
    ),
    Scenario(
        WorkerPool,
        "c4_fixed_contiguous_larger",
        dict(dispatch="round_robin", records=3, crashes=2),
        properties=["no_gap", *REACHED],
        description="C4 with contiguous commits, three records, two crashes.",
    ),
    Scenario(
        WorkerPool,
        "keys_round_robin",
        dict(dispatch="round_robin", crashes=0),
        expect={"no_reorder": 6},
        properties=["no_reorder"],
        description="Two records of one key go to two threads, and the second is done first.",
    ),
    Scenario(
        WorkerPool,
        "keys_by_key",
        dict(dispatch="by_key"),
        properties=["no_gap", "no_reorder", *REACHED],
        description="All records of a key go to one thread: its order is kept, other keys overtake.",
    ),
    Scenario(
        WorkerPool,
        "keys_by_key_larger",
        dict(dispatch="by_key", records=4, keys=3, crashes=1),
        properties=["no_gap", "no_reorder", *REACHED],
        description="The same with four records of three keys.",
    ),
]
