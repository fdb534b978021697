"""State counts and depths of the published specs, compared with the published figures."""

import json
from pathlib import Path

import pytest

from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.run.plan import Plan
from specs.replication.async_isr import AsyncIsr
from specs.replication.kip101 import Kip101
from specs.replication.kip279 import Kip279
from specs.replication.kip320 import Kip320
from specs.replication.kip320_first_try import Kip320FirstTry
from specs.replication.truncate_to_high_watermark import TruncateToHighWatermark

GOLDEN = json.loads((Path(__file__).parent / "kafka-replication.json").read_text())
SPECS = {
    "KafkaTruncateToHighWatermark": TruncateToHighWatermark,
    "Kip101": Kip101,
    "Kip279": Kip279,
    "Kip320FirstTry": Kip320FirstTry,
    "Kip320": Kip320,
}
CONSTANTS = ("replicas", "log_size", "max_records", "max_leader_epoch")
PROPERTIES = ("weak_isr", "strong_isr")
INTERPRETED = 2_000
"""Rows with at most this many states are explored by the interpreter too."""
SMALL_ROWS = [row for row in GOLDEN["replication"] if row["distinct_states"] <= INTERPRETED]


def label(row):
    return "-".join([row.get("module", "AsyncIsr"), *(str(row[name]) for name in constants_of(row))])


def constants_of(row):
    return {name: row[name] for name in (*CONSTANTS, "max_offset", "max_version") if name in row}


def spec_of(row):
    return SPECS[row["module"]](**constants_of(row)) if "module" in row else AsyncIsr(**constants_of(row))


def engines(rows):
    """Return each row with each engine that is to explore it."""
    return [pytest.param(native, row, id=f"native-{label(row)}") for row in rows] + [
        pytest.param(explorer, row, id=f"python-{label(row)}") for row in rows if row["distinct_states"] <= INTERPRETED
    ]


def assert_counts(result, row):
    assert (result.ended, result.distinct_states, result.depth) == ("complete", row["distinct_states"], row["depth"])


def assert_violations(result, row, names):
    lengths = {violation.property: violation.length for violation in result.violations}
    for name in names:
        assert row[name]["verdict"] == ("violated" if name in lengths else "holds")
        assert lengths.get(name) == row[name].get("length")


@pytest.mark.parametrize("property_name", PROPERTIES)
@pytest.mark.parametrize("row", SMALL_ROWS, ids=label)
def test_a_property_alone_has_the_published_verdict_and_length(row, property_name):
    result = native.explore(spec_of(row), Plan(properties=(property_name,)))
    assert result.verdict == row[property_name]["verdict"]
    assert_violations(result, row, [property_name])


@pytest.mark.parametrize(("engine", "row"), engines(GOLDEN["replication"]))
def test_states_depth_and_verdicts_are_the_published_ones(engine, row):
    """All properties at once, to the last state: a violation changes neither the states nor the lengths."""
    spec = spec_of(row)
    result = engine.explore(spec, Plan(properties=tuple(spec.properties), stop="all"))
    assert_counts(result, row)
    assert_violations(result, row, PROPERTIES)


@pytest.mark.parametrize(("engine", "row"), engines(GOLDEN["async_isr"]))
def test_async_isr_is_the_published_one(engine, row):
    spec = spec_of(row)
    result = engine.explore(spec, Plan(properties=tuple(spec.properties), stop="all"))
    assert_counts(result, row)
    assert result.verdict == row["ValidHighWatermark"]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_largest_row_is_the_same_for_every_number_of_workers(workers):
    row = max(GOLDEN["replication"], key=lambda row: row["distinct_states"])
    assert_counts(native.explore(spec_of(row), Plan(properties=(), stop="all", workers=workers)), row)
