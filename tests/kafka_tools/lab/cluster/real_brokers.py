"""Experiments on real brokers in tests, which are skipped if the machine cannot run them."""

from functools import cache
from pathlib import Path
from unittest import mock

import pytest

from checker.cli.app import main
from checker.errors import InputError
from checker.run.request import EXIT_STOPPED
from kafka_tools.lab.cluster import distribution

_FETCH_SECONDS = 180
"""How long a test waits for Maven: a repository that never answers must not block the suite."""

_MISSING = ("a broker needs Java", "no mvn is on the PATH", "Maven cannot fetch", "Maven did not fetch")


@cache
def why_no_brokers_run(version: str) -> str:
    """Return the reason why brokers of a release cannot run on this machine; an empty text if they can."""
    with mock.patch.object(distribution, "_SECONDS", _FETCH_SECONDS):
        try:
            distribution.libraries(version)
        except InputError as error:
            if not any(text in error.message for text in _MISSING):
                raise
            return error.message
    return ""


def run_on_real_brokers(name: str, version: str, out: Path, *options: str) -> None:
    """Run an experiment, which has to end as expected; skip the test if it cannot run, or a step does not end."""
    if reason := why_no_brokers_run(version):
        pytest.skip(reason)
    status = main(["experiment", name, "--kafka", version, "--out", str(out), *options])
    if status == EXIT_STOPPED:
        pytest.skip("the machine is too busy: a step of the experiment did not end within its time")
    assert status == 0
