"""The adapter between a spec and an implementation under test."""

from __future__ import annotations

from typing import Any


class Adapter:
    """Base class of adapters. Every test run creates one adapter with a new implementation.

    A subclass defines one method per action of the spec, with the name and the parameters of the action, that makes
    the implementation take this action. It also defines `observe` and `project`, whose values the test compares after
    every step. Arguments are members of the spec's domains and enums: `str(replica)` is `b1`.
    """

    leaves_out: tuple[str, ...] = ()
    """Names of actions that the test cannot make the implementation take."""

    def start(self, state: Any) -> None:
        """Bring the implementation into an initial state of the spec; `state` is read as in `project`."""

    def observe(self) -> Any:
        """Return the observable part of the implementation: a dict, or any value with `==`."""
        raise NotImplementedError

    def project(self, state: Any) -> Any:
        """Return the same part of the spec's state; `state` is read like `self` in the spec, including helpers."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the resources of the implementation; called at the end of each test run."""
