"""The roles of a spec's methods, the decorators that assign them, and the functions `require` and `implies`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeVar

from checker.errors import Disabled

Method = TypeVar("Method", bound=Callable[..., Any])


class Role(enum.Enum):
    """The role of a decorated method."""

    ACTION = "action"
    INVARIANT = "invariant"
    STEP_INVARIANT = "step invariant"
    REACHABLE = "reachable"
    CONSTRAINT = "constraint"
    LEMMA = "lemma"


PROPERTY_ROLES = (Role.INVARIANT, Role.STEP_INVARIANT, Role.REACHABLE)


def require(condition: bool) -> None:
    """Disable the action instance if `condition` is false."""
    if not condition:
        raise Disabled


def implies(premise: bool, conclusion: bool) -> bool:
    """Return whether `premise` implies `conclusion`; both are evaluated."""
    return not premise or conclusion


def _marked(method: Method, role: Role, says: str = "") -> Method:
    method._role, method._says = role, says  # type: ignore[attr-defined]
    return method


def role_of(method: Any) -> Role | None:
    """Return the role that a decorator gave a method, or None for any other object."""
    return getattr(method, "_role", None) if callable(method) else None


def message_of(method: Any) -> str:
    """Return the `says=` text of a property, or "" if it has none."""
    return getattr(method, "_says", "")


def action(method: Method) -> Method:
    """Mark a method as an action: one atomic step, with an instance for each choice of arguments."""
    return _marked(method, Role.ACTION)


def _property(method: Method | None, role: Role, says: str) -> Any:
    return _marked(method, role, says) if method is not None else lambda found: _marked(found, role, says)


def invariant(method: Method | None = None, *, says: str = "") -> Any:
    """Mark a method as an invariant: true in every reachable state.

    `says` is the message of a failure, an f-string over `self` and the bindings of the `all(...)` that failed.
    """
    return _property(method, Role.INVARIANT, says)


def step_invariant(method: Method | None = None, *, says: str = "") -> Any:
    """Mark a method `(self, old)` as a step invariant: true for every step from `old` to `self`."""
    return _property(method, Role.STEP_INVARIANT, says)


def reachable(method: Method) -> Method:
    """Mark a method as reachable: true in at least one reachable state."""
    return _marked(method, Role.REACHABLE)


def lemma(method: Method | None = None, *, says: str = "") -> Any:
    """Mark a method as a lemma: an invariant for the prover only, which proves it together with the invariants."""
    return _property(method, Role.LEMMA, says)


def constraint(method: Method) -> Method:
    """Mark a method as a constraint: a state in which it is false is checked, but its successors are not explored."""
    return _marked(method, Role.CONSTRAINT)
