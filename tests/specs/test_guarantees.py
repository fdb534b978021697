"""The table of guarantees compared with Kafka's documentation, and the page compared with the table."""

import json
import shutil
from itertools import product
from pathlib import Path

import pytest

from checker.engines.python.explorer import explore
from checker.execution.run_specs import RunSettings
from checker.execution.run_tables import tabulate
from checker.run.plan import Plan
from checker.run.request import Request
from specs.producer import guarantees
from specs.producer.plain.producer import PlainProducer

PAGE = Path(__file__).parent.parent.parent / "docs" / "producer.md"
(TABLE,) = guarantees.tables


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """The rows of the table, computed once, and the page with its section rewritten."""
    folder = tmp_path_factory.mktemp("guarantees")
    page = Path(shutil.copy(PAGE, folder))
    status = tabulate(
        Request(("producer",)),
        RunSettings(engine="native", workers=2, json=str(folder / "rows.jsonl")),
        page,
    )
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    return status, {tuple(row["settings"].values()): row for row in rows}, page.read_text()


def answers(computed, *settings):
    """Return the answer of each column, with the length of its counterexample."""
    cells = computed[1][settings]["cells"]
    return {column: cell["length"] if cell["answer"] == "yes" else cell["answer"] for column, cell in cells.items()}


def test_every_combination_has_a_row():
    combinations = product(("0", "1", "all"), ("0", ">0"), ("1", "2", "5", "6"), ("off", "on"), ("no", "yes"))
    assert [tuple(row.settings.values()) for row in TABLE.rows] == list(combinations)


def test_refused_are_the_combinations_that_kafka_4_refuses():
    """ProducerConfig.postProcessAndValidateIdempotenceConfigs, with enable.idempotence=true."""
    for row in TABLE.rows:
        acks, retries, in_flight, idempotence, _ = row.settings.values()
        is_refused = idempotence == "on" and (acks != "all" or retries == "0" or in_flight == "6")
        assert bool(row.refused) == is_refused, row.settings


def test_every_answer_is_the_documented_one(computed):
    status, rows, _ = computed
    assert status == 0
    documented = [cell for row in rows.values() for cell in row["cells"].values() if cell["documented"] is not None]
    assert len(documented) == 135
    assert all(cell["answer"] == cell["documented"] for cell in documented)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (("0", ">0", "5", "off", "no"), dict(loss=4, duplicate="no", reorder="no", stuck="no", gap=7)),
        (("1", "0", "1", "off", "no"), dict(loss=5, duplicate="no", reorder="no", stuck="no", gap="no")),
        (("all", ">0", "1", "off", "no"), dict(loss="no", duplicate=7, reorder="no", stuck="no", gap="no")),
        (("all", ">0", "5", "off", "no"), dict(loss="no", duplicate=7, reorder=10, stuck="no", gap=7)),
        (("all", "0", "5", "off", "yes"), dict(loss="no", duplicate=8, reorder=11, stuck="no", gap=7)),
        (("all", ">0", "2", "on", "no"), dict(loss="no", duplicate="no", reorder="no", stuck="no", gap="no")),
        (("all", ">0", "5", "on", "no"), dict(loss="no", duplicate="no", reorder="no", stuck=26, gap="no")),
        (("all", ">0", "1", "on", "yes"), dict(loss="no", duplicate=8, reorder="no", stuck="no", gap="no")),
        (("all", ">0", "5", "on", "yes"), dict(loss="no", duplicate=8, reorder=11, stuck=26, gap="no")),
    ],
)
def test_answers(computed, settings, expected):
    """acks=1 loses, retries duplicate and (in flight > 1) reorder, idempotence prevents both, within a session."""
    assert answers(computed, *settings) == expected


def test_a_no_reports_its_explorations(computed):
    cell = computed[1]["all", ">0", "5", "on", "no"]["cells"]["duplicate"]
    (explored,) = cell["explored"]
    assert (explored["spec"], explored["ended"]) == ("producer/idempotent_failover", "complete")
    assert explored["constants"]["batches"] == 6
    assert explored["distinct_states"] == cell["distinct_states"] > 9000


def test_the_page_equals_the_output_of_the_command(computed):
    assert computed[2] == PAGE.read_text(), (
        "rewrite the section: python -m checker run producer --table --update-docs docs/producer.md"
    )


def test_with_acks_0_retries_and_requests_in_flight_have_no_effect():
    """The table explores acks=0 once for all of them."""
    faults = dict(acks="0", records=3, refusals=1, disconnects=1, restarts=1)
    counts = {
        explore(PlainProducer(retries=retries, max_in_flight=in_flight, **faults), Plan(())).distinct_states
        for retries, in_flight in ((0, 1), (0, 2), (3, 1), (3, 2))
    }
    assert len(counts) == 1
