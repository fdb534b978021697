"""The checker as a library, for scripts, notebooks and tests. docs/python.md describes it."""

from checker.api.check_result import CheckResult
from checker.api.checking import CheckFailed, SpecChecks, check, explore
from checker.api.state_graph import Edge, StateGraph
from checker.api.trace import Trace
from checker.explorer.explored_path import ExploredPath

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
