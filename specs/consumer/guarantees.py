"""What each way of committing is good for, failure by failure: the table of docs/consumer.md.

What the cells are held against is the class comment of KafkaConsumer ("Offsets and Consumer Position", "Usage
Examples", "Storing Offsets Outside Kafka", "Multi-threaded Processing"), for 4.x.
"""

from itertools import product

from checker.language.tables import Cell, Check, Note, Row, Table
from specs.consumer.commits import OffsetsInSink, PollLoop
from specs.consumer.fencing import TransactionalSink
from specs.consumer.group import ConsumerGroup
from specs.consumer.offsets import OffsetExpiry, OffsetReset
from specs.consumer.truncation import TruncatedLog
from specs.consumer.workers import WorkerPool

COLUMNS = {
    "gap": "leaves records out",
    "duplicate": "processes records twice",
    "reorder": "processes records out of order",
    "late": "processes an old record behind a newer one",
}

PROPERTIES = {
    "gap": ("no_gap",),
    "duplicate": ("no_duplicate",),
    "reorder": ("no_reorder",),
    "late": ("no_late_copy",),
}

LEGEND = (
    "Yes, with the number of states of the shortest counterexample, the initial state included; or no, with the number "
    "of distinct states that were explored, all that there are. Out of order: a record is processed for the first time "
    "behind a later one. An old record behind a newer one: the same, or again. With threads both are asked of the "
    "records of one key.",
    "Committed before: the position, right after the poll. After: the position, now and then, when everything returned "
    "is processed. Automatically: enable.auto.commit. With the effect: in one transaction, or in the sink itself; a "
    "transaction carries member and generation (KIP-447). Threads commit the position (automatically), or the offset "
    "behind each record when it is done (each), or that of the first record that is not done (contiguous).",
    "Explored: one partition. Crash: four records, polls of up to two, two crashes (with threads: three records, two "
    "keys, two threads, one crash). Exception: four records; processing throws once, and `finally` closes the "
    "consumer. Rebalance: three records, three consumers, two rebalances, nobody evicted. Eviction: three records, two "
    "consumers; one of them is evicted while it is slow (max.poll.interval.ms) or not (session.timeout.ms).",
)

NOTES = {
    "revoked": Note(
        "A consumer that commits in onPartitionsRevoked, or before every poll, repeats nothing in a rebalance "
        "(`consumer_group/c2_fixed_commit_when_revoked`).",
        (Check(ConsumerGroup, dict(evictions=0, commits_when_revoked=False), ("no_duplicate",)),),
    ),
    "zombie": Note(
        "An evicted consumer goes on with what it has in its hands; its commits are refused, its effects are not (C3). "
        "A sink that refuses earlier generations helps (`fenced_sink`).",
        (Check(ConsumerGroup, {}, ("no_zombie_effect",)),),
    ),
    "reset": Note(
        "Where there is no committed offset, auto.offset.reset=latest, the default, leaves records out: before the "
        "first commit, in a new partition, after offsets.retention.minutes without a member (C7).",
        (
            Check(OffsetReset, dict(records=1, auto_offset_reset="latest"), ("no_gap",)),
            Check(OffsetReset, dict(records=1, auto_offset_reset="latest", finds_partition_late=True), ("no_gap",)),
            Check(OffsetExpiry, dict(auto_offset_reset="latest", commits_at_start=True, longest_outage=2), ("no_gap",)),
        ),
    ),
    "truncation": Note(
        "An unclean election takes records away and puts others in their place. A position with a leader epoch is "
        "validated (KIP-320); one without, from ListOffsets or from an offset committed without it, is not (C6).",
        (
            Check(TruncatedLog, dict(validates=False), ("no_gap",)),
            Check(TruncatedLog, dict(restarts=1, commits_epoch=False), ("no_gap",)),
            Check(TruncatedLog, dict(seeks_to_end=1), ("no_gap",)),
        ),
    ),
}

COMMITS = ("before", "after", "automatically", "with the effect")
FAILURES = ("crash", "exception", "rebalance", "eviction")
GROUP = dict(records=3, max_generation=2)


def poll_thread_check(commit, failure, properties):
    """Return what is explored of a consumer that processes in the thread that polls."""
    if failure in ("crash", "exception"):
        faults = dict(crashes=2) if failure == "crash" else dict(crashes=0, failures=1)
        if commit == "with the effect":
            return Check(OffsetsInSink, dict(records=4, **faults), properties)
        policy = "auto" if commit == "automatically" else commit
        return Check(PollLoop, dict(records=4, commit=policy, **faults), properties)
    faults = dict(GROUP, **(dict(members=3, evictions=0) if failure == "rebalance" else dict(session_timeouts=1)))
    if commit == "with the effect":
        return Check(TransactionalSink, faults, properties)
    policy = "before" if commit == "before" else "after"
    return Check(ConsumerGroup, dict(faults, commit=policy, commits_when_revoked=commit == "automatically"), properties)


def threads_check(commit, dispatch, properties):
    """Return what is explored of a consumer that hands records to threads."""
    policy = "auto" if commit == "automatically" else commit
    dispatch = {"by key": "by_key", "in turn": "round_robin"}[dispatch]
    return Check(WorkerPool, dict(records=3, commit=policy, dispatch=dispatch), properties)


def documented(column, commit, threads, failure):
    """Return what Kafka's documentation says; None: nothing.

    At most once for a commit before the processing, at least once for one after, automatic commits included as long as
    everything that poll returned is processed before the next poll, or close. Exactly once with the effect.
    """
    if commit == "with the effect":
        return False if column in ("gap", "duplicate") else None
    if failure not in ("crash", "exception"):
        return False if column == "gap" and commit in ("after", "automatically") else None
    if column == "gap":
        breaks_the_rule = commit == "automatically" and (threads != "none" or failure == "exception")
        return {"before": True, "each": None, "contiguous": None}.get(commit, breaks_the_rule)
    if column == "duplicate" and threads == "none":
        return commit != "before" and not (commit == "automatically" and failure == "exception")
    if column == "reorder" and threads == "none":
        return False
    return None


def notes(column, commit, failure):
    """Return the names of the notes of a cell."""
    if column == "gap" and commit in ("after", "automatically", "contiguous") and failure == "crash":
        return ("reset", "truncation")
    if column == "duplicate" and commit == "after" and failure == "rebalance":
        return ("revoked",)
    if column in ("duplicate", "reorder", "late") and failure == "eviction" and commit != "with the effect":
        return ("zombie",)
    return ()


def row(commit, threads, failure):
    """Return the row of a combination."""
    cells = {}
    for column in COLUMNS:
        if threads == "none":
            check = poll_thread_check(commit, failure, PROPERTIES[column])
        else:
            check = threads_check(commit, threads, PROPERTIES[column])
        cells[column] = Cell((check,), documented(column, commit, threads, failure), notes(column, commit, failure))
    return Row({"committed": commit, "threads": threads, "failure": failure}, cells)


tables = [
    Table(
        "guarantees",
        COLUMNS,
        (
            *(row(commit, "none", failure) for commit, failure in product(COMMITS, FAILURES)),
            *(
                row(commit, dispatch, "crash")
                for commit, dispatch in product(("automatically", "each", "contiguous"), ("by key", "in turn"))
            ),
        ),
        NOTES,
        LEGEND,
    )
]
