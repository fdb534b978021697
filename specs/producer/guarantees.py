"""The table of docs/producer.md: which guarantees each combination of a producer's settings gives.

The documented answers are from Kafka's documentation of `acks`, `retries`, `enable.idempotence` and
`max.in.flight.requests.per.connection`, and from the class comment of KafkaProducer, for 4.x. It promises an idempotent
producer exactly one copy of each record, and the order of a partition's records; it does not mention gaps.
"""

from itertools import product

from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeRow
from specs.broker.network import BrokerNetwork
from specs.broker.versions import KAFKA_1_1, KAFKA_2_5, KAFKA_4_5
from specs.kafka_releases import RELEASES, release_line
from specs.known_exceptions import exceptions, noted_table, unexplored
from specs.producer.acks import Acks
from specs.producer.guarantee_notes import NOTES
from specs.producer.idempotent.failover import IdempotentFailover
from specs.producer.idempotent.fair import FairFailover
from specs.producer.plain.configured import ConfiguredProducer
from specs.producer.plain.fair import FairProducer, FairSessions
from specs.producer.plain.producer import PlainProducer
from specs.producer.plain.sessions import ProducerSessions

ACKS, RETRIES, IN_FLIGHT = ("0", "1", "all"), (0, 3), (1, 2, 5, 6)
"""Three retries stand for any number above 0: the faults of a row cannot exhaust them."""

BROKERS = {"2.5 to 4.4": KAFKA_2_5, "2.1 to 2.4": KAFKA_1_1, "4.5 (unreleased)": KAFKA_4_5}
"""The brokers that a 4.x client connects to, by their rules for a producer without state; the released ones first."""


def released_between(first, last):
    """Return each release of the brokers from one line to another, with each client of 4.x."""
    brokers = [release for release in RELEASES if release_line(first) <= release_line(release) <= release_line(last)]
    return tuple(product(brokers, (client for client in RELEASES if client.startswith("4."))))


RELEASES_OF = {
    **{brokers: released_between(*brokers.split(" to ")) for brokers in ("2.5 to 4.4", "2.1 to 2.4")},
    "4.5 (unreleased)": (("4.5.0", RELEASES[-1]),),
    "any": released_between("2.1", "4.4"),
}
"""The releases of the brokers and of the client of each row: pairs of which any is possible."""

COLUMNS = {"loss": "loses an acknowledged record", "duplicate": "duplicates", "reorder": "reorders",
    "stuck": "gets stuck", "gap": "leaves a gap"}  # fmt: skip

OUTCOMES = {"loss": "loss", "duplicate": "duplicates", "reorder": "reorder", "stuck": "stuck", "gap": "stuck"}
"""The outcome of each column, as `specs.hazards` names it."""

RARER = frozenset({"crash", "leader-changes", "network-delay", "delivery-timeout", "state-expiry", "split"})
"""Rarer events that no check of a cell has; an entry of the catalogue that they cause is an exception to a "no"."""

SETTINGS_OF_ALL = {"client": "java", "transactional": "false", "replication.factor": "3", "min.insync.replicas": "2",
    "unclean.leader.election.enable": "false"}  # fmt: skip
"""The settings that all rows have; any value is possible of a setting that is neither here nor in a row."""

SENDER_PROPERTIES = {"loss": ("no_acked_loss", "ack_true"), "duplicate": ("no_duplicate",),
    "reorder": ("no_reorder", "no_late_copy"), "stuck": ("record_is_completed",), "gap": ("no_gap",)}  # fmt: skip
"""The properties that a column checks of a spec that derives from `Sender`; `FairProducer` has that of "stuck"."""

IDEMPOTENT_PROPERTIES = {"loss": ("no_acked_loss", "ack_true"), "duplicate": ("no_duplicate",),
    "reorder": ("no_reorder",), "stuck": ("batch_is_completed",), "gap": ("no_gap",)}  # fmt: skip
"""The properties that a column checks of a spec that derives from `IdempotentProducer`; `FairFailover` for "stuck"."""

LEGEND = (
    "An acknowledged record is one whose future succeeded. Reorders: a copy of a record, first or not, is after a "
    "later record. Gap: a record is in the log while an earlier one is neither in the log nor known to have failed.",
    "Stuck: the future of a sent record is never completed, although the application, the client and the brokers are "
    "fair. Weakly fair are: the application's sends, the drain, the receipt of responses, the update of the metadata, "
    "a due epoch bump, and the broker's handling of a request; with a failover also the follower's fetch. No fault is "
    "fair, and each ends: brokers do not refuse forever, as they do with fewer than min.insync.replicas in sync. "
    "Retries are not exhausted, and delivery.timeout.ms does not pass: if it does, it completes every future.",
    "Broker: the version of the brokers, which matters only to an idempotent producer. The client is that of 4.x.",
    "Explored: one partition, and one fault of each kind at any moment. Without idempotence: six records, a retriable"
    " refusal and a connection that closes and loses its contents; and three records, a connection that closes, a "
    "leader that moves, and (acks=all) a refusal after the append. With idempotence: six batches, a refusal, a "
    "connection that closes, and a failover to a follower; the producer is new to the partition. For loss also: two "
    "records, three brokers, "
    "min.insync.replicas=2, one crash, no unclean election. For a restart also: six records, a refusal, and one crash"
    " of the producer's process, whose successor sends unacknowledged records again. With acks=0 also (except for "
    "stuck): three records, and a connection that closes, whose requests the broker may still read and handle. With "
    "acks=0 at most one request of a connection is in flight, since a request is complete once it is written.",
    "The notes describe rarer faults and other settings.",
)


def plain_checks(acks, retries, in_flight, restart, column):
    """Yield the explorations of a producer without idempotence."""
    spec, properties = FairProducer if column == "stuck" else PlainProducer, SENDER_PROPERTIES[column]
    if acks == "0":
        # At most one request of a connection is in flight. With 1 the client also mutes the partition.
        in_flight = min(in_flight, 2)
    settings = dict(acks=acks, retries=retries)
    yield GuaranteeCheck(
        spec, dict(settings, records=6, max_in_flight=in_flight, refusals=1, disconnects=1), properties
    )
    # At most three of three records are in flight.
    moves = dict(records=3, max_in_flight=min(in_flight, 3), nodes=2, leader_moves=1, disconnects=1, late_refusals=1)
    yield GuaranteeCheck(spec, dict(settings, **moves), properties)
    if acks == "0" and column != "stuck":
        late = dict(records=3, max_in_flight=in_flight, disconnects=1)
        yield GuaranteeCheck(BrokerNetwork, dict(settings, **late), properties)
    if restart:
        faults = dict(records=6, refusals=1, restarts=1)
        yield GuaranteeCheck(spec, dict(settings, max_in_flight=in_flight, **faults), properties)


def idempotent_checks(in_flight, broker, restart, column):
    """Yield the explorations of an idempotent producer."""
    size = dict(BROKERS[broker], batches=6, max_in_flight=in_flight, log_size=12, max_epoch=2)
    faults = dict(max_refusals=1, max_disconnects=1, max_failovers=1, max_follower_restarts=0)
    failover = FairFailover if column == "stuck" else IdempotentFailover
    yield GuaranteeCheck(failover, dict(size, **faults), IDEMPOTENT_PROPERTIES[column])
    if restart:
        sessions = dict(records=6, retries=3, max_in_flight=in_flight, refusals=1, restarts=1)
        spec = FairSessions if column == "stuck" else ProducerSessions
        yield GuaranteeCheck(spec, sessions, SENDER_PROPERTIES[column])


def replication_check(acks):
    """Return the exploration of the partition's replicas."""
    sizes = dict(records=2, replication_factor=3, min_insync_replicas=2, broker_crashes=1)
    return GuaranteeCheck(Acks, dict(sizes, acks=acks), ("no_acked_loss",))


def documented(column, acks, retries, in_flight, idempotent, broker, restart):
    """Return the answer of Kafka's documentation; None: it gives none."""
    if column == "loss":
        return acks != "all"
    if column == "duplicate":
        # acks=0 gives retries no effect; idempotence holds within a session.
        return restart or (acks != "0" and retries > 0 and not idempotent)
    if column == "reorder" and not restart:
        return acks != "0" and retries > 0 and in_flight > 1 and not idempotent
    return None


def differs(column, acks, in_flight, idempotent, broker, restart):
    """Return the name of the note that explains why the answer is not the documented one; else an empty text."""
    if acks == "0" and column == "reorder" and not restart:
        return "unread"
    if not idempotent or restart or in_flight == 1:
        return ""
    if broker == "2.5 to 4.4" and column in ("duplicate", "reorder"):
        return "I2"
    return "unknown" if broker == "2.1 to 2.4" and column == "duplicate" else ""


def notes(column, acks, retries, in_flight, idempotent, broker, restart):
    """Return the names of the notes of a cell on other settings, or on the cause of a yes."""
    if acks == "0":
        return ("unread",) if column == "reorder" else ()
    if column == "loss":
        return ("replicas",) if acks == "all" else ()
    if column == "duplicate" and idempotent and broker == "2.1 to 2.4":
        return ("I13",)  # the client of 4.x has it with these brokers too
    if column not in ("stuck", "gap") or not idempotent or in_flight == 1:
        return ()
    first = ("I2",) if broker == "2.5 to 4.4" else ()
    return (*first, "stall") if column == "stuck" else first


def facts_of(acks, retries, in_flight, idempotent):
    """Return the effective settings of a row, as the conditions of `specs/catalogue.toml` name them."""
    return {"acks": acks, "retries": str(retries), "max.in.flight.requests.per.connection": str(in_flight),
        "enable.idempotence": str(idempotent).lower(), **SETTINGS_OF_ALL}  # fmt: skip


def events_of(column, restart):
    """Return the events that the checks of a column have, and rarer ones that they lack."""
    explored = {"refused-request", "lost-response", "leader-change"}
    explored |= {"crash"} if column == "loss" else set()
    explored |= {"producer-restart"} if restart else set()
    # A delivery timeout completes every future, and a record whose future failed leaves no gap.
    rarer = {event for event in RARER if event != "delivery-timeout" or column not in ("stuck", "gap")}
    return explored, rarer - explored


def known(column, acks, retries, in_flight, idempotent, broker, restart):
    """Return the entries of the catalogue that say yes for a cell with some of its brokers and clients."""
    explored, rarer = events_of(column, restart)
    return exceptions(
        OUTCOMES[column], explored, facts_of(acks, retries, in_flight, idempotent), RELEASES_OF[broker], rarer
    )


def row(acks, retries, in_flight, idempotent, broker, restart):
    """Return the row of a combination."""
    settings = {"acks": acks, "retries": "0" if retries == 0 else ">0", "in flight": str(in_flight),
        "idempotence": "on" if idempotent else "off", "broker": broker,
        "restart": "yes" if restart else "no"}  # fmt: skip
    if idempotent:
        refusal = refusal_of(acks, retries, in_flight)
        if refusal:
            return GuaranteeRow(settings, refused=refusal)
    combination = (acks, retries, in_flight, idempotent, broker, restart)
    return GuaranteeRow(settings, {column: cell(column, *combination) for column in COLUMNS})


def cell(column, acks, retries, in_flight, idempotent, broker, restart):
    """Return one cell of a row."""
    checks = [replication_check(acks)] if column == "loss" else []
    if idempotent:
        checks += idempotent_checks(in_flight, broker, restart, column)
    else:
        checks += plain_checks(acks, retries, in_flight, restart, column)
    combination = (column, acks, retries, in_flight, idempotent, broker, restart)
    explained = differs(column, acks, in_flight, idempotent, broker, restart)
    return GuaranteeCell(tuple(checks), documented(*combination), notes(*combination), explained, known(*combination))


def refusal_of(acks, retries, in_flight):
    """Return why Kafka refuses a producer with these settings and enable.idempotence=true; else an empty text."""
    asked = dict(version="4.0.0", enable_idempotence="true", acks=acks, retries=retries, max_in_flight=in_flight)
    if not ConfiguredProducer(**asked).is_refused():
        return ""
    return "enable.idempotence=true requires acks=all, retries>0 and at most 5 in flight (ConfigException)"


def combinations():
    """Yield every combination of settings; the version of the brokers matters only to an idempotent producer."""
    for acks, retries, in_flight, idempotent in product(ACKS, RETRIES, IN_FLIGHT, (False, True)):
        is_checked = idempotent and not refusal_of(acks, retries, in_flight)
        for broker, restart in product(BROKERS if is_checked else ("any",), (False, True)):
            yield acks, retries, in_flight, idempotent, broker, restart


def left_out():
    """Return what the table does not explore, for any of its settings."""
    answered = {"producer-restart"}.union(*(events for column in COLUMNS for events in events_of(column, True)))
    settings = {name: value for name, value in SETTINGS_OF_ALL.items() if name != "unclean.leader.election.enable"}
    return unexplored(OUTCOMES.values(), answered, settings, RELEASES_OF["any"])


tables = [noted_table("guarantees", COLUMNS, (row(*each) for each in combinations()), NOTES, (*LEGEND, left_out()))]
