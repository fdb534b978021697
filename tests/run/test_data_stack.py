"""The frames of deep calls are in one chunk of memory."""

import resource

import pytest

from checker.run.data_stack import call_in_large_chunk

DEPTHS = range(20, 220)
"""The calls below a function: CPython's own chunks have room for about a hundred frames."""


def called(depth: int) -> int:
    return depth and 1 + called(depth - 1)


def page_faults_of_calls() -> int:
    """Return the pages that the system gave this process while functions called each other to many depths."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        for depth in DEPTHS:
            assert called(depth) == depth
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_calls_and_returns_map_no_memory() -> None:
    # Once before, so that the pages of the chunk are there.
    assert call_in_large_chunk(lambda: [page_faults_of_calls(), page_faults_of_calls()])[1] < len(DEPTHS)


def test_the_result_and_the_error_of_the_function_are_its_own() -> None:
    assert call_in_large_chunk(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        call_in_large_chunk(lambda: 1 // 0)
