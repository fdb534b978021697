"""The roles of a spec's methods, the decorators that give them, and the functions that methods call."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeVar

from checker.errors import Disabled

Method = TypeVar("Method", bound=Callable[..., Any])


class Role(enum.Enum):
    """What a decorated method is to the checker."""

    ACTION = "action"
    INVARIANT = "invariant"
    STEP_INVARIANT = "step invariant"
    REACHABLE = "reachable"
    CONSTRAINT = "constraint"
    LEMMA = "lemma"


PROPERTY_ROLES = (Role.INVARIANT, Role.STEP_INVARIANT, Role.REACHABLE)


def require(condition: bool) -> None:
    """Disable the action instance where `condition` is false."""
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
    """Mark a method as an action: one atomic step, an instance for each choice of its parameters."""
    return _marked(method, Role.ACTION)


def _property(method: Method | None, role: Role, says: str) -> Any:
    return _marked(method, role, says) if method is not None else lambda found: _marked(found, role, says)


def invariant(method: Method | None = None, *, says: str = "") -> Any:
    """Mark a method as true in every reachable state. `says`: words for a failure, an f-string over its bindings."""
    return _property(method, Role.INVARIANT, says)


def step_invariant(method: Method | None = None, *, says: str = "") -> Any:
    """Mark a method `(self, old)` as true of every step from `old` to `self`."""
    return _property(method, Role.STEP_INVARIANT, says)


def reachable(method: Method) -> Method:
    """Mark a method as true in some reachable state."""
    return _marked(method, Role.REACHABLE)


def lemma(method: Method | None = None, *, says: str = "") -> Any:
    """Mark a method as a lemma: always true, and proved by the prover together with the invariants that it helps."""
    return _property(method, Role.LEMMA, says)


def constraint(method: Method) -> Method:
    """Mark a method as a bound: states in which it is false are checked, but not explored further."""
    return _marked(method, Role.CONSTRAINT)
