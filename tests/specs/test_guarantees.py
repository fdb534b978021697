"""The table of guarantees compared with Kafka's documentation, and the page compared with the table."""

from itertools import product
from pathlib import Path

import pytest

from checker.engines.native.engine import explore
from checker.run.plan import Plan
from specs.broker.network import BrokerNetwork
from specs.broker.versions import producer_state
from specs.producer import guarantees
from specs.producer.idempotent.fair import FairFailover
from specs.producer.plain.producer import PlainProducer
from tests.support.short_tables import computed_table

PAGE = Path(__file__).parent.parent.parent / "docs" / "producer.md"
(TABLE,) = guarantees.tables
TODAY, LATER = "2.5 to 4.4", "4.5 (unreleased)"


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """The rows of the table, computed once, and the page with its section rewritten."""
    status, rows, page = computed_table("producer", PAGE, tmp_path_factory.mktemp("guarantees"))
    return status, {tuple(row["settings"].values()): row for row in rows}, page


def answers(computed, *settings):
    """Return the answer of each column, with the length of its counterexample."""
    cells = computed[1][settings]["cells"]
    return {column: cell["length"] if cell["answer"] == "yes" else cell["answer"] for column, cell in cells.items()}


def test_every_combination_has_a_row():
    """A row of an idempotent producer exists for each range of broker versions."""
    settings = product(("0", "1", "all"), ("0", ">0"), ("1", "2", "5", "6"), ("off", "on"))
    is_checked = {("all", ">0", in_flight, "on") for in_flight in ("1", "2", "5")}
    expected = [
        (*setting, broker, restart)
        for setting in settings
        for broker in (guarantees.BROKERS if setting in is_checked else ["any"])
        for restart in ("no", "yes")
    ]
    assert [tuple(row.settings.values()) for row in TABLE.rows] == expected


@pytest.mark.parametrize(
    ("brokers", "same", "different"),
    [
        ("2.5 to 4.4", ("2.5", "3.0", "4.0", "4.4"), ("2.4", "4.5")),
        ("2.1 to 2.4", ("1.1", "2.1", "2.4"), ("1.0", "2.5")),
        ("4.5 (unreleased)", ("4.5",), ("4.4",)),
    ],
)
def test_the_brokers_of_a_row_are_those_of_the_table_of_versions(brokers, same, different):
    assert all(producer_state(version) == guarantees.BROKERS[brokers] for version in same)
    assert all(producer_state(version) != guarantees.BROKERS[brokers] for version in different)


def test_released_brokers_come_first():
    ranges = list(guarantees.BROKERS)
    assert ["unreleased" in brokers for brokers in ranges] == sorted("unreleased" in brokers for brokers in ranges)
    assert ranges[0].endswith("4.4")


def test_refused_are_the_combinations_that_kafka_4_refuses():
    """ProducerConfig.postProcessAndValidateIdempotenceConfigs, with enable.idempotence=true."""
    for row in TABLE.rows:
        acks, retries, in_flight, idempotence, *_ = row.settings.values()
        is_refused = idempotence == "on" and (acks != "all" or retries == "0" or in_flight == "6")
        assert bool(row.refused) == is_refused, row.settings


@pytest.mark.slow
def test_every_answer_is_the_documented_one_unless_a_note_explains_it(computed):
    """The documentation is wrong about producers that are new to a partition, and about the order with acks=0."""
    status, rows, _ = computed
    assert status == 0
    documented = [
        (settings[0], *settings[4:], settings[2], column, cell)
        for settings, row in rows.items()
        for column, cell in row["cells"].items()
        if cell["documented"] is not None
    ]
    assert len(documented) == 165
    refuted = {tuple(where) for *where, cell in documented if cell["answer"] != cell["documented"]}
    assert refuted == {
        ("all", *broker, in_flight, column)
        for in_flight in ("2", "5")
        for broker, column in (
            (("2.5 to 4.4", "no"), "duplicate"),
            (("2.5 to 4.4", "no"), "reorder"),
            (("2.1 to 2.4", "no"), "duplicate"),
        )
    } | {("0", "any", "no", in_flight, "reorder") for in_flight in ("1", "2", "5", "6")}
    assert all(cell["differs"] for *where, cell in documented if tuple(where) in refuted)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (("0", ">0", "5", "off", "any", "no"), dict(loss=4, duplicate="no", reorder=14, stuck="no", gap=9)),
        (("0", "0", "1", "off", "any", "yes"), dict(loss=4, duplicate=10, reorder=14, stuck="no", gap=9)),
        (("1", "0", "1", "off", "any", "no"), dict(loss=5, duplicate="no", reorder="no", stuck="no", gap="no")),
        (("all", ">0", "1", "off", "any", "no"), dict(loss="no", duplicate=7, reorder="no", stuck="no", gap="no")),
        (("all", ">0", "5", "off", "any", "no"), dict(loss="no", duplicate=7, reorder=10, stuck="no", gap=7)),
        (("all", "0", "5", "off", "any", "yes"), dict(loss="no", duplicate=8, reorder=11, stuck="no", gap=7)),
        (("all", ">0", "1", "on", TODAY, "no"), dict(loss="no", duplicate="no", reorder="no", stuck="no", gap="no")),
        (("all", ">0", "1", "on", TODAY, "yes"), dict(loss="no", duplicate=8, reorder="no", stuck="no", gap="no")),
        (("all", ">0", "2", "on", TODAY, "no"), dict(loss="no", duplicate=17, reorder=13, stuck=8, gap=5)),
        (("all", ">0", "5", "on", TODAY, "no"), dict(loss="no", duplicate=17, reorder=13, stuck=8, gap=5)),
        (("all", ">0", "2", "on", LATER, "no"), dict(loss="no", duplicate="no", reorder="no", stuck="no", gap="no")),
        (("all", ">0", "5", "on", LATER, "no"), dict(loss="no", duplicate="no", reorder="no", stuck=27, gap="no")),
        (("all", ">0", "5", "on", LATER, "yes"), dict(loss="no", duplicate=8, reorder=11, stuck=27, gap="no")),
    ],
)
@pytest.mark.slow
def test_answers(computed, settings, expected):
    """acks=1 loses, retries duplicate and (in flight > 1) reorder, and idempotence prevents both within a session.

    Not on the released brokers: a producer that is new to the partition needs one request in flight. acks=0 loses and
    reorders with any settings.
    """
    assert answers(computed, *settings) == expected


@pytest.mark.parametrize("in_flight", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_with_state_of_the_producer_the_versions_agree(in_flight):
    """After the first acknowledged batch every version has the answers of a new producer on a broker of 4.5."""
    (check,) = guarantees.idempotent_checks(in_flight, LATER, False, "duplicate")
    expected = explored(check.constants)
    known = dict(first_sequence=1, batches=7, log_size=13)
    for rules in guarantees.BROKERS.values():
        assert explored({**check.constants, **rules, **known}) == expected


def explored(constants):
    """Return the number of states of a failover and the violated properties."""
    properties = tuple(name for names in guarantees.IDEMPOTENT_PROPERTIES.values() for name in names)
    result = explore(FairFailover(**constants), Plan(properties, stop="all", quick=True))
    return result.distinct_states, {violation.property: violation.length for violation in result.violations}


@pytest.mark.slow
@pytest.mark.parametrize("in_flight", [1, 2, 5])
@pytest.mark.parametrize("broker", guarantees.BROKERS)
def test_a_batch_is_stuck_exactly_if_it_is_refused_forever(in_flight, broker):
    """The liveness property of the column agrees with the invariants that find such a batch state by state."""
    (check,) = guarantees.idempotent_checks(in_flight, broker, False, "stuck")
    properties = (*check.properties, "no_endless_retry", "no_dead_end")
    result = explore(check.spec(**check.constants), Plan(properties, stop="all", quick=True))
    found = {violation.property for violation in result.violations}
    assert ("batch_is_completed" in found) == bool(found & {"no_endless_retry", "no_dead_end"})
    assert result.undecided == {}


@pytest.mark.slow
def test_a_no_reports_its_explorations(computed):
    cell = computed[1]["all", ">0", "5", "on", LATER, "no"]["cells"]["duplicate"]
    (explored,) = cell["explored"]
    assert (explored["spec"], explored["ended"]) == ("producer/idempotent_failover", "complete")
    assert explored["constants"]["batches"] == 6
    assert explored["distinct_states"] == cell["distinct_states"] > 9000


@pytest.mark.slow
def test_the_page_equals_the_output_of_the_command(computed):
    assert computed[2] == PAGE.read_text(), (
        "rewrite the section: python -m checker table producer --update-docs docs/producer.md"
    )


@pytest.mark.parametrize("spec", [PlainProducer, BrokerNetwork])
def test_with_acks_0_more_than_two_requests_in_flight_have_the_effect_of_two(spec):
    """The table explores two for all of them."""
    faults = dict(acks="0", records=3, refusals=1, disconnects=1, restarts=1)
    moves = dict(nodes=2, leader_moves=1) if spec is PlainProducer else {}
    one, two, five = (
        explore(spec(max_in_flight=in_flight, **faults, **moves), Plan((), quick=True)).distinct_states
        for in_flight in (1, 2, 5)
    )
    assert two == five > 100
    assert (one < two) == (spec is PlainProducer)  # only a second connection depends on the mute
