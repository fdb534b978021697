"""The guarantees of each commit policy under each failure: the table of docs/consumer.md.

The cells are compared with the class comment of KafkaConsumer 4.x ("Offsets and Consumer Position", "Usage Examples",
"Storing Offsets Outside Kafka", "Multi-threaded Processing").
"""

from itertools import product

from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeNote, GuaranteeRow
from specs.consumer.background import BackgroundCommits
from specs.consumer.commits import OffsetsInSink, PollLoop
from specs.consumer.consumer_protocol import ConsumerProtocol
from specs.consumer.fencing import TransactionalSink
from specs.consumer.group import ConsumerGroup
from specs.consumer.offsets import OffsetExpiry, OffsetReset
from specs.consumer.truncation import TruncatedLog
from specs.consumer.workers import WorkerPool
from specs.hazards import hazards
from specs.kafka_releases import RELEASES, describe_releases
from specs.known_exceptions import exceptions, noted_table, unexplored

COLUMNS = {"gap": "leaves records out", "duplicate": "processes records twice",
    "reorder": "processes records out of order", "late": "processes an old record after a newer one"}  # fmt: skip

PROPERTIES = {"gap": ("no_gap",), "duplicate": ("no_duplicate",), "reorder": ("no_reorder",), "late": ("no_late_copy",)}

OUTCOMES = {"gap": "gaps", "duplicate": "reprocessing"}
"""The outcome of the columns that the catalogue has entries on, as `specs.hazards` names it."""

EVENTS = {"crash": "consumer-crash", "exception": "application-exception", "rebalance": "rebalance",
    "eviction": "eviction"}  # fmt: skip
"""The event of each failure."""

RARER = ("new-partition", "offsets-expire")
"""Events that leave the next consumer without an offset; no check of the table has them."""

POLICIES = {"before": "first", "after": "last", "automatically": "auto", "each": "last", "contiguous": "last"}
"""The pseudo setting `commits` of `specs/catalogue.toml`; a commit with the effect is none of its values."""

RELEASES_OF_ALL = tuple((release, release) for release in RELEASES if release.startswith("4."))

LEGEND = (
    "Out of order: a record is processed for the first time after a later "
    "one. An old record after a newer one: the same, for the first time or again. With threads, both columns compare "
    "records of one key only.",
    "Committed before: the position, right after the poll. After: the position, from time to time, when all returned "
    "records are processed. Automatically: enable.auto.commit. With the effect: in one transaction, or in the sink "
    "itself; a transaction carries member and generation (KIP-447). Threads commit the position (automatically), the "
    "offset after each processed record (each), or the offset of the first unprocessed record (contiguous).",
    "Explored: one partition. Crash: four records, polls of up to two, two crashes (with threads: three records, two "
    "keys, two threads, one crash). Exception: four records; processing throws once, and `finally` closes the "
    "consumer. Rebalance and eviction: three records, eager rebalances. Rebalance: three consumers, two rebalances, no "
    "eviction. Eviction: two consumers; one of them is evicted while it is slow (max.poll.interval.ms) or not "
    "(session.timeout.ms).",
    "Protocol: group.protocol=classic, the default. After a crash, the rows with threads hold for both protocols, and "
    "those with the effect also after an exception, except for automatic commits.",
)


def releases_of(name):
    """Return the releases of an entry of the catalogue as text."""
    return describe_releases(list(hazards()[name].releases))


NOTES = {
    "revoked": GuaranteeNote(
        "A consumer that commits in onPartitionsRevoked, or before every poll, repeats no record in a rebalance "
        "(`consumer_group/c2_fixed_commit_when_revoked`).",
        (GuaranteeCheck(ConsumerGroup, dict(evictions=0, commits_when_revoked=False), ("no_duplicate",)),)),
    "zombie": GuaranteeNote(
        "An evicted consumer continues to process the records that it holds; its commits are refused, its effects are "
        "not (C3). A sink that refuses earlier generations prevents these effects (`fenced_sink`).",
        (GuaranteeCheck(ConsumerGroup, {}, ("no_zombie_effect",)),)),
    "C7": GuaranteeNote(
        "Without a committed offset, auto.offset.reset=latest, the default, leaves records out: before the first "
        "commit, in a new partition, after offsets.retention.minutes without a member (C7).",
        (GuaranteeCheck(OffsetReset, dict(records=1, auto_offset_reset="latest"), ("no_gap",)),
         GuaranteeCheck(OffsetReset, dict(records=1, auto_offset_reset="latest", finds_partition_late=True),
             ("no_gap",)),
         GuaranteeCheck(OffsetExpiry, dict(auto_offset_reset="latest", commits_at_start=True, longest_outage=2),
             ("no_gap",)))),
    "background": GuaranteeNote(
        "With group.protocol=consumer another thread commits automatically. It may commit the position of records that "
        f"poll has taken and that are not processed, and a crash leaves them out (C12: {releases_of('C12')}; C14: "
        f"{releases_of('C14')}). A commit before a rebalance that is retried does that too (C15: "
        f"{releases_of('C15')}).", (GuaranteeCheck(BackgroundCommits, dict(commits="any_time"), ("no_gap",)),)),
    "truncation": GuaranteeNote(
        "A record that was read can vanish, and others take its place: after an unclean election, power loss, or R18. "
        "The client validates a position with a leader epoch (KIP-320; before: C6), but not a position without one, "
        "from ListOffsets or from a commit without an epoch (C16).",
        (GuaranteeCheck(TruncatedLog, dict(validates=False), ("no_gap",)),
         GuaranteeCheck(TruncatedLog, dict(restarts=1, commits_epoch=False), ("no_gap",)),
         GuaranteeCheck(TruncatedLog, dict(seeks_to_end=1), ("no_gap",)))),
}  # fmt: skip

COMMITS = ("before", "after", "automatically", "with the effect")
FAILURES = ("crash", "exception", "rebalance", "eviction")
GROUP = dict(records=3, max_generation=2)


def poll_thread_check(commit, failure, properties):
    """Return the exploration for a consumer that processes records in its poll thread."""
    if failure in ("crash", "exception"):
        faults = dict(crashes=2) if failure == "crash" else dict(crashes=0, failures=1)
        if commit == "with the effect":
            return GuaranteeCheck(OffsetsInSink, dict(records=4, **faults), properties)
        policy = "auto" if commit == "automatically" else commit
        return GuaranteeCheck(PollLoop, dict(records=4, commit=policy, **faults), properties)
    faults = dict(GROUP, **(dict(members=3, evictions=0) if failure == "rebalance" else dict(session_timeouts=1)))
    if commit == "with the effect":
        return GuaranteeCheck(TransactionalSink, faults, properties)
    policy = "before" if commit == "before" else "after"
    return GuaranteeCheck(
        ConsumerGroup, dict(faults, commit=policy, commits_when_revoked=commit == "automatically"), properties
    )


def threads_check(commit, dispatch, properties):
    """Return the exploration for a consumer with worker threads."""
    policy = "auto" if commit == "automatically" else commit
    dispatch = {"by key": "by_key", "in turn": "round_robin"}[dispatch]
    return GuaranteeCheck(WorkerPool, dict(records=3, commit=policy, dispatch=dispatch), properties)


def documented(column, commit, threads, failure):
    """Return the answer of Kafka's documentation for a cell, or None if it gives none.

    A commit before processing is at most once, a commit after processing at least once. Automatic commits are at least
    once if all returned records are processed before the next poll or close. A commit with the effect is exactly once.
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


def notes(column, commit, threads, failure):
    """Return the names of the notes of a cell."""
    if column == "gap" and commit in ("after", "automatically", "contiguous") and failure == "crash":
        return ("truncation",)
    if column == "duplicate" and commit == "after" and failure == "rebalance":
        return ("revoked",)
    if column in ("duplicate", "reorder", "late") and failure == "eviction" and commit != "with the effect":
        return ("zombie",)
    return ()


def known(column, commit, failure, protocol="classic"):
    """Return the entries of the catalogue that say yes for a cell in a release of 4.x."""
    if column not in OUTCOMES:
        return ()
    facts = {"commits": POLICIES.get(commit, commit), "client": "java", "group.protocol": protocol}
    facts["enable.auto.commit"] = str(commit == "automatically").lower()
    rarer = RARER
    if commit == "with the effect":
        # The sink has every offset; or a transaction has it, which may be aborted.
        facts |= {"auto.offset.reset": "none", "transactional": "true"}
        rarer = (*RARER, "abort")
    return exceptions(OUTCOMES[column], [EVENTS[failure]], facts, RELEASES_OF_ALL, rarer)


def row(commit, threads, failure):
    """Return the row for a commit policy, a use of threads and a failure."""
    cells = {}
    for column in COLUMNS:
        if threads == "none":
            check = poll_thread_check(commit, failure, PROPERTIES[column])
        else:
            check = threads_check(commit, threads, PROPERTIES[column])
        of_cell = (column, commit, threads, failure)
        cells[column] = GuaranteeCell(
            (check,), documented(*of_cell), notes(*of_cell), exceptions=known(column, commit, failure)
        )
    return GuaranteeRow({"committed": commit, "threads": threads, "failure": failure}, cells)


_OF_WORKERS = product(("automatically", "each", "contiguous"), ("by key", "in turn"))
ROWS = (
    *((commit, "none", failure) for commit, failure in product(COMMITS, FAILURES)),
    *((commit, dispatch, "crash") for commit, dispatch in _OF_WORKERS),
)

LEFT_OUT = unexplored(OUTCOMES.values(), (*EVENTS.values(), *RARER), {"client": "java"}, RELEASES_OF_ALL)


def consumer_protocol_check(commit, failure, column):
    """Return the exploration for a member of a group with group.protocol=consumer.

    A rebalance may give a partition to two members; both process its records, unless commits alone repeat them.
    """
    if failure == "rebalance" and column == "duplicate" and commit != "after":
        return GuaranteeCheck(ConsumerProtocol, dict(partitions=2, max_epoch=4), ("one_owner",))
    faults = dict(records=4, crashes=2) if failure == "crash" else dict(records=4, crashes=0, failures=1)
    if commit == "automatically":
        faults = dict(retries=1, rebalances=1) if failure == "rebalance" else faults
        return GuaranteeCheck(BackgroundCommits, dict(faults, commits="while_polling"), PROPERTIES[column])
    faults = dict(crashes=0, rebalances=2) if failure == "rebalance" else faults
    return GuaranteeCheck(PollLoop, dict(faults, commit=commit), PROPERTIES[column])


def consumer_protocol_row(commit, failure):
    """Return the row for a commit policy and a failure with group.protocol=consumer."""
    cells = {}
    for column in OUTCOMES:
        answer = documented(column, commit, "none", failure)
        differs = "background" if column == "gap" and commit == "automatically" and answer is False else ""
        check = consumer_protocol_check(commit, failure, column)
        exceptional = known(column, commit, failure, "consumer")
        cells[column] = GuaranteeCell((check,), answer, differs=differs, exceptions=exceptional)
    return GuaranteeRow({"committed": commit, "failure": failure}, cells)


OF_CONSUMER_PROTOCOL = (
    "Protocol: group.protocol=consumer of 4.2 and later, one thread. In a rebalance, records are processed twice if "
    "commits repeat them, or if two members own a partition (two members, two partitions; C10; until 4.2 also C13). "
    "With automatic commits, one commit before the rebalance may fail, and a crash may follow.",
    "Not explored here, and not safe: an eviction, commits with the effect in a rebalance, and the list above.",
)

tables = [
    noted_table("guarantees", COLUMNS, (row(*each) for each in ROWS), NOTES, (*LEGEND, LEFT_OUT)),
    noted_table("consumer_protocol", {column: COLUMNS[column] for column in OUTCOMES},
        (consumer_protocol_row(*each) for each in product(COMMITS[:3], FAILURES[:3])), NOTES, OF_CONSUMER_PROTOCOL),
]  # fmt: skip
