"""State counts, depths and liveness verdicts of Vanlightly's transaction diary, compared with those of TLC."""

import json
from pathlib import Path

import pytest

from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.explain.lassos import check_lasso
from checker.language.fairness import Fairness
from checker.run.plan import Plan
from tests.golden.transaction_diary_1 import TransactionDiary1
from tests.golden.transaction_diary_2 import TransactionDiary2

GOLDEN = json.loads((Path(__file__).parent / "transaction-diary.json").read_text())
SPECS = {"part 1": TransactionDiary1, "part 2": TransactionDiary2}
INTERPRETED = 75
"""The interpreter explores rows with at most this many states; the usual suite leaves larger rows out."""


def cases():
    """Yield each row with each engine that is to explore it."""
    for part, spec in SPECS.items():
        for row in GOLDEN[part]:
            constants = {name: row[name] for name in spec.declared_constants}
            label = f"{part}-{'-'.join(map(str, constants.values()))}"
            yield pytest.param(native, spec(**constants), row, id=f"native-{label}", marks=pytest.mark.slow)
            if row["distinct_states"] <= INTERPRETED:
                yield pytest.param(explorer, spec(**constants), row, id=f"python-{label}")


@pytest.mark.parametrize(("engine", "spec", "row"), list(cases()))
def test_states_depth_and_verdicts_are_those_of_tlc(engine, spec, row):
    result = engine.explore(spec, Plan(tuple(spec.properties), stop="all"))
    assert (result.ended, result.undecided) == ("complete", {})
    assert (result.distinct_states, result.depth) == (row["distinct_states"], row["depth"])
    lassos = {found.property: found for found in result.violations if found.kind == "liveness"}
    assert {name: "violated" if name in lassos else "holds" for name in row["fair"]} == row["fair"]
    for lasso in lassos.values():
        check_lasso(spec, lasso)
    lengths = {found.property: found.length for found in result.violations if found.kind != "liveness"}
    assert lengths == {name: row[name] for name in spec.safety_properties if name in row}


@pytest.mark.parametrize("row", GOLDEN["part 1"][:2], ids=lambda row: f"{row['distinct_states']}-states")
def test_without_fairness_no_client_needs_to_get_a_producer_id(row):
    spec = TransactionDiary1(**{name: row[name] for name in TransactionDiary1.declared_constants})
    spec = spec.with_fairness(dict.fromkeys(spec.fairness))
    (lasso,) = explorer.explore(spec, Plan(tuple(row["unfair"]), stop="all")).violations
    assert row["unfair"] == {lasso.property: "violated"}


@pytest.mark.parametrize(
    "row", [row for row in GOLDEN["part 1"] if "weak" in row], ids=lambda row: f"{row['distinct_states']}-states"
)
@pytest.mark.slow
def test_a_client_that_tries_brokers_needs_strong_fairness(row):
    """A send to one broker disables the sends to the others, so weak fairness of each does not suffice."""
    spec = TransactionDiary1(**{name: row[name] for name in TransactionDiary1.declared_constants})
    spec = spec.with_fairness({"send_init_pid_request": Fairness("weak", for_each=("client", "broker"))})
    found = native.explore(spec, Plan(tuple(row["weak"]), stop="all")).violations
    assert list(row["weak"].values()) == ["violated" if found else "holds"]
