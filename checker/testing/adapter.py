"""What a test says about an implementation so that it can be driven along a spec."""

from __future__ import annotations

from typing import Any


class Adapter:
    """The base of adapters: one is made for each test run, and drives one implementation made anew.

    A subclass has a method for each action, with the action's name and parameters, that makes the implementation do
    what the action does; and `observe` and `project`, whose values are compared after every step. Members of domains
    and enums arrive as they are in the spec: `str(replica)` is `b1`.
    """

    leaves_out: tuple[str, ...] = ()
    """Names of actions that are not driven: the implementation cannot be made to take them."""

    def start(self, state: Any) -> None:
        """Bring the implementation into an initial state of the spec, which is read as in `project`."""

    def observe(self) -> Any:
        """Return what can be seen of the implementation: a dict, or any value that can be compared."""
        raise NotImplementedError

    def project(self, state: Any) -> Any:
        """Return the same of the spec's state, which is read like `self` in the spec, helpers included."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what the implementation holds; called at the end of each test run."""
