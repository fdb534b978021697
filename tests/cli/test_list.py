"""`list`, and the imports at start-up."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import TOY

ROOT = Path(__file__).parent.parent.parent


def test_several_specs_have_a_line_each(checker):
    outcome = checker("list", TOY)
    assert outcome.status == 0
    assert "/counter  Counts up to a limit, and can be reset at the limit.\n" in outcome.out
    assert "constants" not in outcome.out and "reaches_limit" not in outcome.out
    assert outcome.out.splitlines()[-1].startswith("4 specs, ")


def test_a_spec_has_everything(checker):
    outcome = checker("list", f"{TOY}/counter")
    assert "limit=" not in outcome.out and "2 constants; list --constants shows them\n" in outcome.out
    names = "below_limit, never_falls (step), is_two (reachable), is_over (reachable)"
    assert names in " ".join(outcome.out.split())
    assert "  reaches_limit  violated: below_limit 3\n" in outcome.out
    assert "overflow" not in outcome.out


def test_constants_are_behind_an_option(checker):
    outcome = checker("list", f"{TOY}/counter", "--constants")
    assert "  constants   limit=3, resets=false\n" in outcome.out
    assert "  reaches_limit  violated: below_limit 3\n    limit=2\n" in outcome.out
    assert "  constants   limit=3, resets=false\n" in checker("list", TOY, "--constants").out


def test_a_scenario_has_its_description_and_no_other_scenario(checker):
    outcome = checker("list", "replication/kip101/fast_elections")
    assert "    KIP-279's case: the leader answers for an epoch that it never saw" in outcome.out
    assert "two_replicas" not in outcome.out


def test_json(checker):
    outcome = checker("list", TOY, "--json", "-")
    (family,) = json.loads(outcome.out)["families"]
    specs = {spec["name"]: spec for spec in family["specs"]}
    assert list(specs) == ["toy/counter", "toy/overflow", "toy/bounded", "toy/log"]
    assert specs["toy/counter"]["constants"]["limit"] == {
        "default": 3,
        "at_least": 1,
        "at_most": 9,
        "one_of": None,
    }
    assert specs["toy/overflow"]["properties"] == {"never_falls": "step_invariant", "is_two": "reachable"}
    assert specs["toy/log"]["scenarios"][0]["expect"] == {"logs_agree": 5}


def test_every_family_of_the_package_can_be_listed(checker):
    outcome = checker("list")
    assert outcome.status == 0
    assert "replication/kip320" in outcome.out


def test_start_up_imports_no_engine():
    script = (
        "import sys; import checker.cli.app, checker.cli.run, checker.execution.run_specs, checker.language; "
        "print(*sorted({'numpy', 'llvmlite', 'numba', 'z3', 'pyspark', 'rich'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_selecting_one_family_imports_no_other():
    script = (
        "import sys; from checker.run import registry; registry.select('examples/peterson'); "
        "found = {name: module for name, module in sys.modules.items() if name.startswith('specs.')}; "
        "print(*sorted(name for name in found if name.count('.') == 1 and hasattr(found[name], '__path__')))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "specs.examples"


def test_lists_fit_in_80_columns(checker, monkeypatch):
    piped = checker("list").out.splitlines()
    monkeypatch.setenv("COLUMNS", "80")
    short = checker("list").out.splitlines()
    lines = short + checker("list", "producer/configured_producer", "--constants").out.splitlines()
    assert max(map(len, lines)) <= 80
    whole = [line for line in short if line]
    assert len(whole) == len([line for line in piped if line]) and sum(line.endswith(" …") for line in short) > 50
    assert all(cut.removesuffix(" …") in line for cut, line in zip(whole, filter(None, piped), strict=True))
    assert any(re.match(r" {14}version=\S+ \(\d+ values: 2.0.0, ..., \S+\)", line) for line in lines)
