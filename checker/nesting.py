"""The limit of nested calls, which Python sets too low for nested expressions and helpers."""

import sys

_NESTED_CALLS = 20_000
"""A nested expression takes about four calls for each of its levels, and a helper that calls another one about ten."""


def allow_nested_calls() -> None:
    """Raise Python's limit of nested calls, if it is lower, for the rest of the process."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _NESTED_CALLS))
