"""Every row of the ledger: what it selects and what it says to be violated is a declaration of its spec."""

import pytest

from checker.language.roles import DEADLOCK
from checker.run import ledger
from checker.run.expectation import property_names
from checker.run.request import Request, runs_for
from witness_check import LIVENESS, SAFETY, declared_roles


@pytest.fixture(scope="module")
def rows():
    recorded = ledger.read(ledger.default_path())
    runs = {run.name: run for run in runs_for(Request(()))}
    assert recorded.keys() <= runs.keys()
    return [(runs[name], record) for name, record in recorded.items()]


def declared(run):
    """Return the names by the marks of the decorators, which neither a plan nor an engine has read."""
    return {name for name, role in declared_roles(type(run.spec)).items() if role in SAFETY | LIVENESS}


def test_what_a_row_has_was_declared_and_selected(rows):
    for run, record in rows:
        assert set(run.properties) <= {*declared(run), DEADLOCK}, run.name
        assert set(record.violations) <= set(run.properties), run.name


ELSEWHERE = {
    ("record_deletion", "deleted_records_were_read"): "`advise` asks it; tests/specs/test_consumer.py checks it",
    ("worker_pool", "no_late_copy"): "a copy after a crash violates it; tests/specs/test_consumer.py checks it",
}
"""Properties that no row selects, of the class or of a class with the same method, and where they are checked."""


def test_each_declared_property_is_selected_in_a_row(rows):
    """A row of the class selects it, or one of another class that has it from the same method."""
    selected = {(defining(type(run.spec), name), name) for run, _ in rows for name in run.properties}
    specs = {type(run.spec) for run, _ in rows}
    names = {(spec, name) for spec in specs for name in property_names(spec)}
    lost = {(spec.name, name) for spec, name in names if (defining(spec, name), name) not in selected}
    assert lost == ELSEWHERE.keys()


def defining(spec, name):
    """Return the class that defines a method of a spec."""
    return next((base for base in spec.__mro__ if name in vars(base)), None)
