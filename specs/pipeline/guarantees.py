"""What each combination of settings is good for, from the most available to the most consistent: docs/guarantees.md.

What the cells are held against is Kafka's documentation of `acks`, `min.insync.replicas`, `enable.idempotence`,
`unclean.leader.election.enable` and eligible leader replicas.
"""

from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeRow, Table
from specs.pipeline.pipeline import Pipeline

COLUMNS = {
    "crash": "lost: one broker crashes",
    "crashes": "lost: two brokers crash",
    "power": "lost: one broker loses power",
    "both": "lost: one crashes, one loses power",
    "blackout": "lost: all brokers lose power",
    "twice": "written twice: a response is lost",
    "restart": "written twice: the producer starts again",
    "order": "out of order: a response is lost",
    "vanish": "read, then gone: two brokers crash",
}

FAILURES = {
    "crash": dict(broker_crashes=1),
    "crashes": dict(broker_crashes=2),
    "power": dict(power_failures=1),
    "both": dict(broker_crashes=1, power_failures=1),
    "blackout": dict(blackouts=1),
    "twice": dict(lost_responses=1, late_requests=True),
    "restart": dict(producer_restarts=1, late_requests=True),
    "order": dict(lost_responses=1, late_requests=True),
    "vanish": dict(broker_crashes=2, consumer="commits_last"),
}
"""What goes wrong in each column, beside two followers that fall behind."""

PROPERTIES = {"twice": "no_duplicate", "restart": "no_duplicate", "order": "no_reorder", "vanish": "reads_are_stable"}
"""What is asked; in the other columns, whether an acknowledged record is lost."""

SETTINGS = (
    dict(acks="0", idempotent=False),
    dict(acks="1", idempotent=False),
    dict(acks="1", idempotent=False, unclean_elections=True),
    dict(acks="all", min_insync_replicas=1, unclean_elections=True),
    dict(acks="all", min_insync_replicas=1),
    dict(acks="all", min_insync_replicas=2, idempotent=False),
    dict(acks="all", min_insync_replicas=2, idempotent=False, max_in_flight=1),
    dict(acks="all", min_insync_replicas=2, unclean_elections=True),
    dict(acks="all", min_insync_replicas=2),
    dict(acks="all", min_insync_replicas=2, eligible_leader_replicas=True),
    dict(acks="all", min_insync_replicas=2, flushes=True),
    dict(acks="all", min_insync_replicas=3),
)
"""From the most available to the most consistent; three replicas in all of them."""

LEGEND = (
    "Yes, with the number of states of the shortest counterexample, the initial state included; or no, with the number "
    "of distinct states that were explored, all that there are. Lost is an acknowledged record that is not in the log "
    "of whoever leads. Written twice, or out of order, is a record in the log of whoever leads. Read, then gone is a "
    "record that a consumer has read and whoever leads does not have.",
    "Explored: one partition, three replicas, two records, Kafka 3.7 or later (strict min ISR), the failures of the "
    "column at every moment, and two followers that fall behind; where a connection closes, what the broker had not "
    "read may be handled later. Writes go on: with so many of the three brokers down a write can still succeed.",
)


def documented(column, settings):
    """Return what Kafka's documentation says; None: nothing."""
    acks, is_unclean = settings["acks"], settings.get("unclean_elections", False)
    if column in ("crash", "crashes") and acks != "all":
        return True
    if column in ("crash", "crashes"):
        # An unclean election may lose, says the documentation, and not after how many crashes.
        return None if is_unclean else False
    if column in ("twice", "order") and settings.get("idempotent", True):
        return False
    if column == "restart" and acks != "0":
        return True
    return None


def writes_go_on(settings):
    """Return with how many of three brokers down a write succeeds. Source: Partition.appendRecordsToLeader."""
    return 3 - settings["min_insync_replicas"] if settings["acks"] == "all" else 2


def row(settings):
    """Return the row of a combination."""
    shown = {
        "acks": settings["acks"],
        "min ISR": str(settings.get("min_insync_replicas", 2)) if settings["acks"] == "all" else "-",
        "unclean": "on" if settings.get("unclean_elections", False) else "off",
        "ELR": "on" if settings.get("eligible_leader_replicas", False) else "off",
        "flush": "each" if settings.get("flushes", False) else "-",
        "idempotence": "on" if settings.get("idempotent", True) else "off",
        "in flight": "1" if settings.get("max_in_flight", 2) == 1 else "2",
        "writes go on with down": str(writes_go_on(settings)),
    }
    return GuaranteeRow(shown, {column: cell(column, settings) for column in COLUMNS})


def cell(column, settings):
    """Return one cell of a row."""
    check = GuaranteeCheck(Pipeline, {**settings, **FAILURES[column]}, (PROPERTIES.get(column, "no_acked_loss"),))
    return GuaranteeCell((check,), documented(column, settings))


tables = [Table("guarantees", COLUMNS, tuple(row(settings) for settings in SETTINGS), legend=LEGEND)]
