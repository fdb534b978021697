"""A poll thread that hands records to worker threads: the order per key, and the offsets that are safe to commit.

Scenarios: entry C4 of docs/consumer.md, and the order of one key. Kafka's client has no worker threads; applications
build them around it (KafkaConsumer, class comment, "Multi-threaded Processing").
"""

from dataclasses import replace

from checker.language import Bug, Constant, Map, Range, Seq, action, invariant, reachable, require
from checker.language.drawing import Arrow, Drawing, Event, Lane, Log
from specs.consumer.commits import PollLoop
from specs.consumer.consumer import Consumer, Count, RecordId
from specs.scenario_forms import violates


class Key(Range):
    """Keys are numbered; a record's hash is its key."""

    low, high = 0, "keys - 1"


class Worker(Range):
    """A thread with its queue."""

    low, high = 0, "workers - 1"


class WorkerPool(Consumer):
    """The poll thread puts each record that poll returns into a worker's queue, and polls again.

    `dispatch`: "by_key" gives all records of a key to one worker, "round_robin" gives records to the workers in turn.
    `commit`: "auto" commits the position inside poll (enable.auto.commit, or commitSync without arguments in the poll
    thread); "each" commits the offset after each record when its worker has processed it; "contiguous" commits the
    offset of the first unprocessed record, regardless of later records.
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
    ).with_events(
        *(replace(event, at="'poll thread'") for event in Consumer.draws.events),
        Event("init", "The partition is empty, and no offset is committed"),
        Event("produce", "The leader appends record {len(key_of)} with key {key}", at="'partition'",
            leaves_out=("readable",)),
        Event("poll", "The poll thread gets {count} record{'s'[:count - 1]} from offset {position} on, and gives each "
            "to a worker", at="'poll thread'"),
        Event("process", "Worker {worker} processes record {queue[worker][0]}", at="worker", leaves_out=("processed",)),
        Event("commit_offset", "The poll thread commits {position if commit == 'auto' else contiguous_end()}", "commit",
            "'poll thread'"))  # fmt: skip

    @action
    def produce(self, key: Key):
        """The leader appends a record with this key."""
        require(len(self.key_of) < self.records)
        self.key_of.append(key)

    def readable_end(self):
        """Return the end of the log."""
        return len(self.key_of)

    def held_records(self):
        """Return the records in the queues of all workers."""
        return [record for record in RecordId if any(record in self.queue[worker] for worker in Worker)]

    def drop_held_records(self):
        """Drop all queues: the threads are gone."""
        for worker in Worker:
            self.queue[worker].clear()

    @action
    def poll(self, count: Count):
        """Poll returns records, and the poll thread gives each to a worker."""
        for record in self.next_records(count):
            self.queue[self.worker_of(record)].append(record)
        self.position += count

    def worker_of(self, record):
        """Return the worker that receives a record."""
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
        """The poll thread commits inside or before its next poll."""
        require(self.position is not None and self.commit != "each")
        end = self.position if self.commit == "auto" else self.contiguous_end()
        require(self.committed != end)
        self.committed = end

    def contiguous_end(self):
        """Return the offset of the first record that is still in a queue, or the position."""
        held = self.held_records()
        return min(held) if len(held) > 0 else self.position

    # Properties.

    @invariant(says="record {self.processed[i]} is processed after {self.processed[j]} of its key: {self.processed}")
    def no_reorder(self):
        """A record that is processed for the first time is later than all records of its key processed before."""
        return all(
            self.key_of[self.processed[j]] != self.key_of[self.processed[i]]
            or self.processed[j] < self.processed[i]
            or self.processed[i] in self.processed[:i]
            for i in range(len(self.processed))
            for j in range(i)
        )

    @invariant(says="record {self.processed[i]} is processed after {self.processed[j]} of its key: {self.processed}")
    def no_late_copy(self):
        """No record, new or repeated, is processed after a later record of its key."""
        return all(
            self.key_of[self.processed[j]] != self.key_of[self.processed[i]] or self.processed[j] <= self.processed[i]
            for i in range(len(self.processed))
            for j in range(i)
        )

    @reachable
    def records_overtake(self):
        """With several workers, a record is processed before an earlier record."""
        return self.workers == 1 or any(
            self.processed[i] < self.processed[i - 1] for i in range(1, len(self.processed))
        )

    everything_is_committed = PollLoop.everything_is_committed


REACHED = ["every_record_is_processed", "successor_finishes", "everything_is_committed", "records_overtake"]

scenarios = [
    Bug("c4_auto_commit_with_workers", WorkerPool, violates={"no_gap": 6}, size=dict(dispatch="round_robin"),
        faulty=dict(keys=1, commit="auto"), fixed=dict(commit="contiguous"),
        larger=dict(dispatch="round_robin", records=3, crashes=2), promises=["no_gap", *REACHED],
        fixed_name="c4_fixed_contiguous",
        description="C4: poll commits records that are still in worker queues, and the process dies.",
        remedy="C4 with commits only up to the first unprocessed record: no gap."),
    violates(WorkerPool, "c4_each_commits_its_own", dict(keys=1, dispatch="round_robin", commit="each"), {"no_gap": 7},
        "C4: a worker commits after its record while another worker still holds the record before."),
    Bug("keys_round_robin", WorkerPool, violates={"no_reorder": 6}, faulty=dict(dispatch="round_robin", crashes=0),
        fixed=dict(dispatch="by_key"), larger=dict(records=4, keys=3), promises=["no_gap", "no_reorder", *REACHED],
        fixed_name="keys_by_key", description="Two threads process two records of one key, the second record first.",
        remedy="One thread processes all records of a key: their order is kept, records of other keys may overtake."),
]  # fmt: skip
