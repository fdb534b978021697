"""The guarantees of combinations of settings, from the most available to the most consistent: docs/guarantees.md.

Each cell is compared with Kafka's documentation of `acks`, `min.insync.replicas`, `enable.idempotence`,
`unclean.leader.election.enable` and eligible leader replicas.
"""

from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeNote, GuaranteeRow
from specs.known_exceptions import exceptions, noted_table, unexplored
from specs.pipeline.pipeline import Pipeline

COLUMNS = {"change": "lost: a planned leader change", "crash": "lost: one broker crashes",
    "crashes": "lost: two brokers crash", "power": "lost: one broker loses power",
    "both": "lost: one broker crashes, one loses power", "blackout": "lost: all brokers lose power",
    "slow_twice": "written twice: a slow follower",
    "change_twice": "written twice: a planned leader change",
    "changes_twice": "written twice: two planned leader changes", "crash_twice": "written twice: one broker crashes",
    "twice": "written twice: a response is lost", "restart": "written twice: the producer restarts",
    "slow_order": "out of order: a slow follower", "change_order": "out of order: a planned leader change",
    "changes_order": "out of order: two planned leader changes", "order": "out of order: a response is lost",
    "slow_missing": "never written, or retried without end: a slow follower",
    "change_missing": "never written, or retried without end: a planned leader change",
    "missing": "never written, or retried without end: one broker crashes",
    "vanish": "read, then gone: two brokers crash"}  # fmt: skip

FAILURES = {"change": dict(leader_moves=1), "crash": dict(broker_crashes=1), "crashes": dict(broker_crashes=2),
    "power": dict(power_failures=1), "both": dict(broker_crashes=1, power_failures=1), "blackout": dict(blackouts=1),
    "change_twice": dict(leader_moves=1), "changes_twice": dict(leader_moves=2), "crash_twice": dict(broker_crashes=1),
    "twice": dict(lost_responses=1, late_requests=True), "restart": dict(producer_restarts=1, late_requests=True),
    "change_order": dict(leader_moves=1), "changes_order": dict(leader_moves=2),
    "order": dict(lost_responses=1, late_requests=True), "change_missing": dict(leader_moves=1),
    "missing": dict(broker_crashes=1), "vanish": dict(broker_crashes=2, consumer="commits_last"),
    **{column: dict(slow_followers=3) for column in ("slow_twice", "slow_order", "slow_missing")}}  # fmt: skip
"""The failures of each column; in the other columns two followers may lag."""

PROPERTIES = {"twice": ("no_duplicate",), "restart": ("no_duplicate",), "order": ("no_reorder",),
    "missing": ("no_missing_earlier", "no_endless_retry"), "vanish": ("reads_are_stable",)}  # fmt: skip
"""The properties of a column, by the last word of its name; the other columns have `no_acked_loss`."""

EVENTS = {"change":("loss", "leader-change"), "crash":("loss", "crash"), "crashes":("loss", "crash", "two-crashes"),
    "power":("loss", "power-loss"), "both":("loss", "crash", "power-loss", "crash-and-power-loss"),
    "blackout":("loss", "blackout"), "change_twice":("duplicates", "leader-change"),
    "changes_twice":("duplicates", "leader-change", "leader-changes"), "crash_twice":("duplicates", "crash"),
    "twice":("duplicates", "lost-response"), "restart":("duplicates", "producer-restart"),
    "change_order":("reorder", "leader-change"), "changes_order":("reorder", "leader-change", "leader-changes"),
    "order":("reorder", "lost-response"), "change_missing":("stuck", "leader-change"), "missing":("stuck", "crash"),
    "vanish":("vanishing-reads", "crash", "two-crashes"),
    "slow_twice":("duplicates",), "slow_order":("reorder",), "slow_missing":("stuck",)}  # fmt: skip
"""The outcome and the events of each column, as `specs.hazards` names them."""

NOTES = {
    "I7": GuaranteeNote(
        "A broker that restarts loads the last batch of each producer only. Of two records whose responses were lost "
        "it recognises the second, refuses the first, and the producer sends both again in a new epoch (I7). The "
        "snapshot is the same in every release.",
        (GuaranteeCheck(Pipeline, dict(replication_factor=1, min_insync_replicas=1, slow_followers=0, broker_crashes=1),
             ("no_duplicate",)),)),
    "I2": GuaranteeNote(
        "A leader refuses the producer's first record: a new leader before it knows that it leads, any leader while "
        "fewer than min.insync.replicas have caught up with the records of other producers. It takes the second, since "
        "it has no state of the producer, and refuses the first from then on (I2; Kafka 2.5 to 4.4). If the producer "
        "raises its epoch after that, it writes the first record after the second, and the second once more.",
        (GuaranteeCheck(Pipeline, dict(min_insync_replicas=2, slow_followers=0, broker_crashes=1),
             ("no_missing_earlier",)),
         GuaranteeCheck(Pipeline, dict(min_insync_replicas=2, other_records=True), ("no_missing_earlier",)),
         GuaranteeCheck(Pipeline, dict(min_insync_replicas=2, leader_moves=1), ("no_reorder",)))),
}  # fmt: skip

SETTINGS = (dict(acks="0", idempotent=False), dict(acks="1", idempotent=False),
    dict(acks="1", idempotent=False, unclean_elections=True),
    dict(acks="all", min_insync_replicas=1, unclean_elections=True), dict(acks="all", min_insync_replicas=1),
    dict(acks="all", min_insync_replicas=2, idempotent=False),
    dict(acks="all", min_insync_replicas=2, idempotent=False, max_in_flight=1),
    dict(acks="all", min_insync_replicas=2, unclean_elections=True), dict(acks="all", min_insync_replicas=2),
    dict(acks="all", min_insync_replicas=2, eligible_leader_replicas=True),
    dict(acks="all", min_insync_replicas=2, flushes=True), dict(acks="all", min_insync_replicas=3))  # fmt: skip
"""From the most available to the most consistent; three replicas in each."""

LEGEND = (
    "Lost: an acknowledged record is not in the leader's log. Written twice, out "
    "of order: in the leader's log. Never written: a later record is in the leader's log, and the leader refuses each "
    "retry of an earlier one. Read, then gone: a consumer has read a record that the leader does not have.",
    "Explored: one partition with records of other producers too, three replicas, two records, Kafka 3.7 or later "
    "(strict min ISR), these failures at every moment, and two followers that may lag; a slow follower: "
    "one of them may lag again. When a connection closes, the broker may still handle requests that it had not read. "
    "May be down: how many of the three brokers may be down while a write can succeed.",
)


OF_IDEMPOTENCE = tuple(column for column in COLUMNS if column.endswith(("twice", "order")))
"""The columns about which the documentation of an idempotent producer says no."""


def facts_of(settings):
    """Return the effective settings of a row, as the conditions of `specs/catalogue.toml` name them."""
    return {"acks": settings["acks"], "replication.factor": "3",
        "min.insync.replicas": str(settings.get("min_insync_replicas", 2)),
        "unclean.leader.election.enable": str(settings.get("unclean_elections", False)).lower(),
        "eligible.leader.replicas.version": str(int(settings.get("eligible_leader_replicas", False))),
        "flush.messages": "1" if settings.get("flushes", False) else "never",
        "enable.idempotence": str(settings.get("idempotent", True)).lower(),
        "max.in.flight.requests.per.connection": str(settings.get("max_in_flight", 2)),
        "client": "java", "controller": "kraft", "transactional": "false", "group.protocol": "classic"}  # fmt: skip


def events_of(column, settings):
    """Return the outcome of a column, and the events that its checks have with some settings."""
    may_be_unclean = settings.get("unclean_elections", False) and "broker_crashes" in FAILURES[column]
    return (*EVENTS[column], *(["unclean-election"] if may_be_unclean else []))


def left_out():
    """Return what the table does not explore, for any of its settings."""
    outcomes = {outcome for outcome, *_ in EVENTS.values()}
    answered = {"unclean-election"}.union(*(events for _, *events in EVENTS.values()))
    return unexplored(outcomes, answered, {"client": "java", "controller": "kraft", "transactional": "false"})


def documented(column, settings):
    """Return the answer of Kafka's documentation, None if it has none."""
    acks, is_unclean = settings["acks"], settings.get("unclean_elections", False)
    if column in ("crash", "crashes") and acks != "all":
        return True
    if column in ("crash", "crashes"):
        # The documentation says that an unclean election may lose records, but not after how many crashes.
        return None if is_unclean else False
    if column in OF_IDEMPOTENCE and settings.get("idempotent", True):
        return False
    if column in ("crash_twice", "restart") and acks != "0":
        return True
    return None


def brokers_that_may_be_down(settings):
    """Return how many of three brokers may be down while writes succeed. Source: Partition.appendRecordsToLeader."""
    return 3 - settings["min_insync_replicas"] if settings["acks"] == "all" else 2


def row(settings):
    """Return the row of a combination of settings."""
    shown = {
        "acks": settings["acks"],
        "min ISR": str(settings.get("min_insync_replicas", 2)) if settings["acks"] == "all" else "-",
        "unclean": "on" if settings.get("unclean_elections", False) else "off",
        "ELR": "on" if settings.get("eligible_leader_replicas", False) else "off",
        "flush": "each" if settings.get("flushes", False) else "-",
        "idempotence": "on" if settings.get("idempotent", True) else "off",
        "in flight": "1" if settings.get("max_in_flight", 2) == 1 else "2",
        "may be down": str(brokers_that_may_be_down(settings)),
    }
    return GuaranteeRow(shown, {column: cell(column, settings) for column in COLUMNS})


def cell(column, settings):
    """Return one cell of a row."""
    is_idempotent = settings.get("idempotent", True)
    outcome, *events = events_of(column, settings)
    constants = {"other_records": True, **settings, **FAILURES[column]}
    check = GuaranteeCheck(Pipeline, constants, PROPERTIES.get(column.rpartition("_")[2], ("no_acked_loss",)))
    return GuaranteeCell(
        (check,),
        documented(column, settings),
        notes=("I2",) if column.endswith("missing") and is_idempotent else (),
        differs=broken_by(column, settings) if is_idempotent else "",
        exceptions=exceptions(outcome, events, facts_of(settings)),
    )


def broken_by(column, settings):
    """Return the entry of docs/idempotence.md that contradicts the documentation of an idempotent producer, or ""."""
    if column == "crash_twice":
        return "I7"
    if column in ("changes_twice", "changes_order"):
        return "I2"
    # The producer raises its epoch after NOT_ENOUGH_REPLICAS_AFTER_APPEND, which min.insync.replicas=1 excludes.
    return "I2" if column in OF_IDEMPOTENCE and settings["min_insync_replicas"] > 1 else ""


tables = [noted_table("guarantees", COLUMNS, map(row, SETTINGS), NOTES, (*LEGEND, left_out()))]
