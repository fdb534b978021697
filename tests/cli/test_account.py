"""What a run checked: every declared property is checked, undecided or not selected, in every engine."""

import dataclasses
import itertools
import json
from xml.etree import ElementTree

import pytest

import checker.api.checking
from checker.api import SpecChecks
from checker.errors import InternalError, SpecError
from checker.execution import run_specs
from checker.run import registry
from checker.run.plan import Plan

KINDS = {
    "invariant": "self.x < 2",
    "step_invariant": "self.x != 2",
    "reachable": "self.x > 7",
    "eventually": "self.x > 7",
    "always_eventually": "self.x > 7",
    "eventually_always": "self.x > 7",
    'leads_to("is_two")': "self.x > 7",
}
"""A false property of each kind."""

NAMES = ["deadlock", "bounds", "init", "init_", "next", "never", "holds", "complete", "property", "state", "refinement"]
"""Names with which the language, an engine or an output may mean something else."""

SPEC = '''"""One property."""

from checker.language import *


class Cycle(Spec):
    x = Range(0, 3)

    @action(fair="weak")
    def go(self):
        self.x = (self.x + 1) % 4

    def is_two(self):
        return self.x == 2

    @{kind}
    def {name}(self{old}):
        return {body}
'''


@pytest.fixture
def written(tmp_path):
    def write(kind, name):
        old = ", old" if kind == "step_invariant" else ""
        path = tmp_path / f"cycle_{abs(hash((kind, name)))}.py"
        path.write_text(SPEC.format(kind=kind, name=name, old=old, body=KINDS[kind]))
        return path

    return write


def refused_or(path):
    """Return the spec of a file, or None if the class is refused."""
    try:
        return registry.select(str(path))[0].entry.spec
    except SpecError:
        return None


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_of_the_built_in_property_is_refused(written, kind):
    with pytest.raises(SpecError, match=r"Cycle\.deadlock: deadlock is the built-in property"):
        registry.select(str(written(kind, "deadlock")))


@pytest.mark.parametrize(("kind", "name"), [*itertools.product(KINDS, NAMES)])
def test_a_false_property_of_any_name_is_violated_or_refused(written, kind, name):
    spec = refused_or(written(kind, name))
    if spec is not None:
        found = SpecChecks(engine="python").explore(spec)
        assert [violation.property for violation in found.violations] == [name]
        assert found.account.checked == (name,)


@pytest.mark.parametrize("engine", ["native", "both", "spark"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_engine_accounts_for_every_kind(checker, written, engine, kind):
    outcome = checker("run", written(kind, "bounds_"), "--engine", engine, "--json", "-")
    account = json.loads(outcome.out)["account"]
    is_undecided = engine == "spark" and "reachable" not in kind and "invariant" not in kind
    assert account == {
        "checked": [] if is_undecided else ["bounds_"],
        "undecided": ["bounds_"] if is_undecided else [],
        "not_selected": ["deadlock"],
    }
    assert outcome.status == (3 if is_undecided else 1)


OPTIONS = [
    [],
    ["--workers", "2"],
    ["--engine", "python"],
    ["--engine", "both"],
    ["--engine", "spark"],
    ["--symmetry"],
    ["--symmetry", "--engine", "python"],
    ["--store", "compact"],
    ["--coverage"],
]


def without_first_property(plan):
    return dataclasses.replace(plan, properties=plan.properties[1:])


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_a_property_that_no_engine_evaluated_is_an_internal_error(checker, monkeypatch, options):
    plan = run_specs._plan
    monkeypatch.setattr(run_specs, "_plan", lambda *given: without_first_property(plan(*given)))
    outcome = checker(
        "run", "examples/transaction_commit" if "--symmetry" in options else "examples/peterson/exclusive", *options
    )
    assert outcome.status == 70
    assert "did not evaluate" in outcome.err


def test_a_resumed_run_accounts_for_its_properties(checker, tmp_path):
    target = ["run", "replication/kip320/two_replicas"]
    cut = checker(*target, "--checkpoint", tmp_path / "states", "--max-states", "300", "--json", "-")
    account = json.loads(cut.out)["account"]
    # Reached states decide a `@reachable`; invariants are open.
    assert {"weak_isr", "strong_isr"} <= set(account["undecided"])
    resumed = checker(*target, "--resume", tmp_path / "states", "--json", "-")
    complete = json.loads(resumed.out)["account"]
    assert set(complete["checked"]) == {*account["checked"], *account["undecided"]}
    assert (complete["undecided"], complete["not_selected"]) == ([], ["deadlock"])


@pytest.mark.parametrize("engine", ["native", "python"])
def test_the_library_accounts_too(monkeypatch, written, engine):
    spec = refused_or(written("invariant", "small"))
    assert SpecChecks(engine=engine).explore(spec).account.checked == ("small",)

    monkeypatch.setattr(checker.api.checking, "Plan", lambda **given: Plan(**(given | {"properties": ()})))
    with pytest.raises(InternalError, match="did not evaluate small of cycle"):
        SpecChecks(engine=engine).explore(spec)


def test_the_account_is_printed_and_reported(checker, tmp_path):
    report = tmp_path / "junit.xml"
    outcome = checker("run", "examples/peterson/exclusive", "--property", "mutual_exclusion", "--junit", report)
    others = "first_process_enters, second_process_enters, deadlock"
    assert f"  checked: mutual_exclusion; not selected: {others}\n" in outcome.out
    listed = {found.get("name"): found.get("value") for found in ElementTree.parse(report).iter("property")}
    assert listed == {"checked": "mutual_exclusion", "undecided": "", "not_selected": others.replace(",", "")}


def test_several_runs_count_what_they_checked(checker):
    outcome = checker("run", "examples/peterson/exclusive", "examples/die_hard")
    assert "properties: " in outcome.out and "checked" in outcome.out
