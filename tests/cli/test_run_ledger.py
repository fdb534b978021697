"""`run --ledger` and `--update-ledger`: differences fail a run."""

import json
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.run import ledger, registry
from tests.cli.conftest import TOY


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The ledger of all toys."""
    path = tmp_path_factory.mktemp("recorded") / "ledger.toml"
    assert main(["run", TOY, "--ledger", str(path), "--update-ledger"]) == 0
    return path.read_text()


@pytest.fixture
def path(recorded, tmp_path):
    """A ledger that a test may change."""
    path = tmp_path / "ledger.toml"
    path.write_text(recorded)
    return path


def test_an_update_names_what_it_adds(checker, tmp_path, recorded):
    path = tmp_path / "ledger.toml"
    outcome = checker("run", f"{TOY}/bounded", "--ledger", path, "--update-ledger")
    assert outcome.status == 0
    assert "toy/bounded/bounded is not in the ledger: holds, 3 states, 3 levels" in outcome.out
    assert path.read_text() in recorded


def edit(path, **changes):
    records = ledger.read(path)
    for name in records:
        if name.startswith("toy/bounded"):
            records[name] = ledger.LedgerRecord(**(vars(records[name]) | changes))
    ledger.write(path, records)


def test_no_drift(checker, path):
    before = path.read_text()
    assert checker("run", TOY, "--ledger", path).status == 0
    again = checker("run", TOY, "--ledger", path, "--update-ledger")
    assert (again.status, path.read_text()) == (0, before)
    assert "no changes" in again.out


def test_drift_fails_and_an_update_records_it(checker, path):
    edit(path, distinct_states=5)
    outcome = checker("run", TOY, "--ledger", path)
    assert outcome.status == 1
    assert "toy/bounded/bounded: 5 distinct states are now 3" in outcome.out
    update = checker("run", TOY, "--ledger", path, "--update-ledger")
    assert update.status == 0
    assert "toy/bounded/bounded: 5 distinct states are now 3" in update.out
    assert checker("run", TOY, "--ledger", path).status == 0


def test_json_is_alone_on_standard_output(checker, path):
    edit(path, depth=9)
    outcome = checker("run", TOY, "--ledger", path, "--json", "-")
    assert outcome.status == 1
    assert all(json.loads(line) for line in outcome.out.splitlines())
    assert "9 levels are now 3" in outcome.err


def test_a_scenario_missing_in_the_ledger_is_a_difference(checker, path):
    records = ledger.read(path)
    del records["toy/bounded/bounded"]
    ledger.write(path, records)
    outcome = checker("run", f"{TOY}/bounded", "--ledger", path)
    assert outcome.status == 1
    assert "toy/bounded/bounded is not in the ledger" in outcome.out
    assert checker("run", f"{TOY}/overflow", "--ledger", path).status == 0


def test_an_update_of_a_part_keeps_the_rest(checker, path):
    names = set(ledger.read(path))
    edit(path, depth=9)
    checker("run", f"{TOY}/bounded", "--ledger", path, "--update-ledger")
    records = ledger.read(path)
    assert set(records) == names
    assert records["toy/bounded/bounded"].depth == 3


def test_unexpected_results_are_not_recorded(checker, tmp_path, path):
    spec = tmp_path / "toy.py"
    with open(TOY) as source:
        spec.write_text(source.read().replace('{"logs_agree": 5}', '{"logs_agree": 4}'))
    before = path.read_text()
    outcome = checker("run", spec, "--ledger", path, "--update-ledger")
    assert outcome.status == 1
    assert "not recorded, because they are not as expected:\n  toy/log/two_leaders" in outcome.out
    assert path.read_text() == before


@pytest.mark.parametrize(
    "options", [["--max-states", "2"], ["--set", "limit=2"], ["--property", "never_falls"], ["--engine", "python"]]
)
def test_limited_runs_are_not_compared_with_the_ledger(checker, path, options):
    edit(path, depth=9)
    assert "not as recorded" not in checker("run", f"{TOY}/bounded", "--ledger", path, *options).out


@pytest.fixture
def few_specs(monkeypatch, tmp_path):
    """Register the toys alone, with a separate ledger."""
    monkeypatch.setattr(registry, "families", lambda: [registry.load_file(Path(TOY))])
    path = tmp_path / "ledger.toml"
    monkeypatch.setattr(ledger, "default_path", lambda: path)
    return path


def test_a_run_of_all_scenarios_is_compared_with_the_ledger(checker, few_specs):
    outcome = checker("run")
    assert outcome.status == 1
    assert f"there is no ledger {few_specs}: python -m checker run --update-ledger writes one" in outcome.out
    assert checker("run", TOY).status == 0
    assert checker("run", "--update-ledger").status == 0
    assert checker("run").status == 0
    ledger.write(few_specs, ledger.read(few_specs) | {"toy/gone/s": ledger.LedgerRecord("holds", 1, 1, 1)})
    outcome = checker("run")
    assert outcome.status == 1
    assert "toy/gone/s is in the ledger, but the scenario does not exist" in outcome.out
    assert checker("run", TOY).status == 0
    checker("run", "--update-ledger")
    assert "toy/gone/s" not in ledger.read(few_specs)


def test_a_ledger_that_cannot_be_read_or_written(checker, tmp_path):
    path = tmp_path / "ledger.toml"
    path.write_text("nonsense")
    outcome = checker("run", f"{TOY}/bounded", "--ledger", path)
    assert (outcome.status, "Traceback" in outcome.err) == (2, False)
    assert "is not a ledger" in outcome.err
    outcome = checker("run", f"{TOY}/bounded", "--ledger", "/dev/null/x", "--update-ledger")
    assert outcome.status == 2
    assert "the ledger /dev/null/x cannot be" in outcome.err
