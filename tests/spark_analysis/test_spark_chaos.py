"""A command of which the driver is killed ends with the same bytes when it runs again.

The other places and victims: `python -m tests.spark_analysis.spark_chaos`.
"""

from pathlib import Path

import pytest

from tests.spark_analysis.spark_chaos import chaos


@pytest.mark.slow
def test_a_killed_driver_without_java(tmp_path: Path) -> None:
    names = ("simulate", "run")
    assert chaos(tmp_path, ["in process"], names, kills=1, seed=1, scale=1) == []
