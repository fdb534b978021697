"""The roles of a spec's methods, the decorators that assign them, and the functions `require` and `implies`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from checker.errors import Disabled, SpecError
from checker.language.fairness import Fairness, Strength
from checker.language.source import source_of

Method = TypeVar("Method", bound=Callable[..., Any])


class Role(enum.Enum):
    """The role of a decorated method."""

    ACTION = "action"
    INVARIANT = "invariant"
    STEP_INVARIANT = "step invariant"
    REACHABLE = "reachable"
    CONSTRAINT = "constraint"
    ASSUMPTION = "assumption"
    LEMMA = "lemma"
    VIEW = "view"
    REFINEMENT = "refinement"
    EVENTUALLY = "eventually"
    ALWAYS_EVENTUALLY = "always eventually"
    EVENTUALLY_ALWAYS = "eventually always"
    LEADS_TO = "leads to"


SAFETY_ROLES = (Role.INVARIANT, Role.STEP_INVARIANT, Role.REACHABLE, Role.REFINEMENT)
"""Roles of properties that a state or a step decides."""

STEP_ROLES = (Role.STEP_INVARIANT, Role.REFINEMENT)
"""Roles of properties that a step decides. A refinement also concerns the initial states."""

LIVENESS_ROLES = (Role.EVENTUALLY, Role.ALWAYS_EVENTUALLY, Role.EVENTUALLY_ALWAYS, Role.LEADS_TO)
"""Roles of properties that only a whole behaviour decides."""

PROPERTY_ROLES = (*SAFETY_ROLES, *LIVENESS_ROLES)

DEADLOCK = "deadlock"
"""The built-in property that a state without successors violates; no declaration of a spec has this name."""


def require(condition: bool) -> None:
    """Disable the action instance if `condition` is false."""
    if not condition:
        raise Disabled


def implies(premise: bool, conclusion: bool) -> bool:
    """Return whether `premise` implies `conclusion`; both are evaluated."""
    return not premise or conclusion


def _mark(method: Method, role: Role, says: str = "") -> Method:
    if not isinstance(method, FunctionType):
        raise SpecError(f"@{_decorator(role)} is for methods, not for {method!r}: write it above `def name(self):`")
    other = role_of(method)
    if other is not None:
        source = source_of(method)
        what = "twice" if other is role else f"with @{_decorator(other)} and @{_decorator(role)}"
        raise source.error(source.tree, f"{method.__name__} is decorated {what}: a method has one role, keep one")
    method._role, method._says = role, says  # type: ignore[attr-defined]
    return method


def _decorator(role: Role) -> str:
    return role.value.replace(" ", "_")


def role_of(method: Any) -> Role | None:
    """Return the role that a decorator gave a method, or None for any other object."""
    return getattr(method, "_role", None) if callable(method) else None


def message_of(method: Any) -> str:
    """Return the `says=` text of a property, or "" if it has none."""
    return getattr(method, "_says", "")


def fairness_of(method: Any) -> Fairness | None:
    """Return the fairness that `@action` gave a method, or None."""
    return getattr(method, "_fairness", None)


def premise_of(method: Any) -> str:
    """Return the name of the premise that `@leads_to` gave a method, or ""."""
    return getattr(method, "_premise", "")


def action(
    method: Method | None = None, *, fair: Strength | None = None, for_each: tuple[str, ...] | str | None = None
) -> Any:
    """Mark a method as an action: one atomic step, with an instance for each choice of arguments.

    `fair` is None (no promise), "weak" or "strong". `for_each` names the parameters of which each choice is fair by
    itself; the default is all parameters, and `()` makes the action as a whole fair.
    """

    def mark(function: Method) -> Method:
        try:
            if for_each is not None and fair is None:
                raise SpecError('for_each needs fair="weak" or fair="strong"')
            fairness = Fairness(fair, for_each) if fair is not None else None
            if fairness is not None:
                fairness.require_parameters(function.__name__, _parameters(function))
        except SpecError as error:
            source = source_of(function)
            raise source.error(source.tree, f"@action of {function.__name__}: {error.message}") from None
        function._fairness = fairness  # type: ignore[attr-defined]
        return _mark(function, Role.ACTION)

    return mark(method) if method is not None else mark


def _parameters(method: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a method's parameters after `self`."""
    code = method.__code__
    return code.co_varnames[1 : code.co_argcount]


def _property(method: Method | None, role: Role, says: str) -> Any:
    return _mark(method, role, says) if method is not None else lambda found: _mark(found, role, says)


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
    return _mark(method, Role.REACHABLE)


def lemma(method: Method | None = None, *, says: str = "") -> Any:
    """Mark a method as a lemma: an invariant for the prover only, which proves it together with the invariants."""
    return _property(method, Role.LEMMA, says)


def constraint(method: Method) -> Method:
    """Mark a method as a constraint: a state in which it is false is checked, but its successors are not explored."""
    return _mark(method, Role.CONSTRAINT)


def assume(method: Method | None = None, *, says: str = "") -> Any:
    """Mark a method as an assumption about the constants; `says` is the message if they do not satisfy it."""
    return _property(method, Role.ASSUMPTION, says)


def view(method: Method | None = None, *, unchecked: bool = False) -> Any:
    """Mark a method as the view: states with the same value of it count as one.

    With `unchecked`, actions and properties may read variables that the view does not have as a whole, and a violation
    may be missed.
    """

    def mark(function: Method) -> Method:
        function._unchecked = unchecked  # type: ignore[attr-defined]
        return _mark(function, Role.VIEW)

    return mark(method) if method is not None else mark


def is_unchecked(method: Any) -> bool:
    """Return whether a view allows reads of the variables that it leaves out."""
    return getattr(method, "_unchecked", False)


def eventually(method: Method | None = None, *, says: str = "") -> Any:
    """Mark a method as an eventuality: every fair behaviour comes to a state in which it is true."""
    return _property(method, Role.EVENTUALLY, says)


def always_eventually(method: Method | None = None, *, says: str = "") -> Any:
    """Mark a method as a recurrence: in every fair behaviour it is true again and again, for ever."""
    return _property(method, Role.ALWAYS_EVENTUALLY, says)


def eventually_always(method: Method | None = None, *, says: str = "") -> Any:
    """Mark a method as a stabilisation: in every fair behaviour it is true from some state on."""
    return _property(method, Role.EVENTUALLY_ALWAYS, says)


def leads_to(premise: str, *, says: str = "") -> Callable[[Method], Method]:
    """Mark a method as a response: in every fair behaviour, it becomes true at or after each state with the premise.

    `premise` is the name of a helper of the spec. Its parameters are also parameters of the method, by name.
    """
    if not isinstance(premise, str):
        raise SpecError('@leads_to needs the name of its premise, a helper of the spec: @leads_to("is_sent")')

    def mark(method: Method) -> Method:
        method._premise = premise  # type: ignore[attr-defined]
        return _mark(method, Role.LEADS_TO, says)

    return mark
