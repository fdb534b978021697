"""`list`, and the imports at start-up."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import TOY

ROOT = Path(__file__).parent.parent.parent


def test_text(checker):
    outcome = checker("list", TOY)
    assert outcome.status == 0
    assert "  Counts up to a limit, and can be reset at the limit.\n" in outcome.out
    assert "      constants   limit=3, resets=false\n" in outcome.out
    names = "below_limit, never_falls (step), is_two (reachable), is_over (reachable)"
    assert names in " ".join(outcome.out.split())
    assert "reaches_limit  limit=2  -> violated: below_limit 3\n" in outcome.out


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
    monkeypatch.setenv("COLUMNS", "80")
    lines = checker("list", "producer").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(re.match(r" {18}version=\S+ \(\d+ values: 2.0.0, ..., \S+\)", line) for line in lines)
