"""Tidemark: executable protocol specifications and the engines that check them.

`from checker import check` is the library for scripts, notebooks and tests; see `checker.api`.
"""

from typing import Any

__all__ = [
    "CheckFailed",
    "CheckResult",
    "Edge",
    "ExploredPath",
    "SpecChecks",
    "StateGraph",
    "Trace",
    "check",
    "explore",
]


def __getattr__(name: str) -> Any:
    # Imported on first use: specs and the command line import `checker`, and need none of it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from checker import api

    return getattr(api, name)
