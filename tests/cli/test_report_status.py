"""The exit status of `report`: an unexpected violation counts, whether a walk shows it or only the exploration."""

import pytest

from spark_analysis.commands.report_walks import is_as_expected


def report(expected, *, walks=0, missed=(), is_error=False):
    return {
        "expected": expected,
        "failures": [{"property": "safe", "is_error": is_error, "walks": walks}],
        "missed": [{"property": name, "kind": kind} for name, kind in missed],
    }


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (report(None), True),
        (report(None, walks=1), False),
        (report(["safe"], walks=1), True),
        (report("error", walks=1), False),
        (report("error", walks=1, is_error=True), True),
        (report(None, missed=[("safe", "invariant")]), False),
        (report(["safe"], missed=[("safe", "invariant")]), True),
        (report(["safe"], walks=1, missed=[("other", "deadlock")]), False),
        (report("error", missed=[("take", "bounds_error")]), True),
        (report(["take"], missed=[("take", "bounds_error")]), False),
    ],
)
def test_only_expected_violations_pass(data, expected):
    assert is_as_expected(data) is expected
