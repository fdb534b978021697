"""Runs that are killed or starved at random moments leave whole reports, no process and no file behind."""

from __future__ import annotations

import pytest

from tests.robustness.chaos import WAYS, ChaosRun, can_make_places


@pytest.mark.slow
@pytest.mark.parametrize("number", range(24))
def test_a_run_that_is_ended(number, tmp_path):
    run = ChaosRun(number, tmp_path / "run")
    if run.way.place is not None and not can_make_places():
        pytest.skip("control groups and mounts need the rights of root")
    assert run.execute() == [], run


def test_all_ways_occur_in_the_first_runs(tmp_path):
    assert {ChaosRun(number, tmp_path).way.name for number in range(24)} == {way.name for way in WAYS}
