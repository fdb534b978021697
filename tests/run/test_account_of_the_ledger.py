"""Every row of the ledger: what it selects and what it says to be violated is a declaration of its spec."""

import pytest

from checker.language.roles import DEADLOCK
from checker.run import ledger
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
