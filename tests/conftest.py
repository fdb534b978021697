"""The distribution of tests over processes (`pytest -n auto --dist loadgroup`)."""

import pytest

SPREAD = ("tests/agreement/test_real_specs.py", "tests/golden/", "tests/frontend/test_odd_sources.py")
"""Files with many slow tests that share nothing: each test may run in any process."""


# pytest-xdist reads the groups in the same hook: they must be there before.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Keep the tests of a file in one process: they share fixtures. All tests of Spark share one Java machine."""
    for item in items:
        if not item.nodeid.startswith(SPREAD):
            group = "spark" if item.nodeid.startswith("tests/spark_analysis/") else item.location[0]
            item.add_marker(pytest.mark.xdist_group(group))
