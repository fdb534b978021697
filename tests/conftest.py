"""How the tests are spread over processes (`pytest -n auto`)."""

import pytest

SPREAD = ("tests/agreement/test_real_specs.py", "tests/golden/", "tests/frontend/test_odd_sources.py")
"""Many slow tests that share nothing: each may run anywhere."""


def pytest_collection_modifyitems(items):
    """Keep the tests of a file in one process, for what they share; and all of Spark's, for the one Java machine."""
    for item in items:
        if not item.nodeid.startswith(SPREAD):
            group = "spark" if item.nodeid.startswith("tests/spark_analysis/") else item.location[0]
            item.add_marker(pytest.mark.xdist_group(group))
