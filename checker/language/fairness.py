"""Fairness of actions and of unions of actions: the declarations, and the classes of steps that they make fair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from checker.errors import SpecError
from checker.language.values import show

Strength = Literal["weak", "strong"]

NEXT = "fair_next"
"""The class attribute that makes the whole next-state relation fair, and its name in `Scenario(fair=...)`."""


@dataclass(frozen=True)
class Fairness:
    """The fairness of an action or of a union: `Fairness("strong", for_each="replica")`.

    `for_each` names the parameters of which each choice is fair by itself, whatever the other parameters are. None
    names all parameters (of a union: all that each of its actions has); `()` makes the action as a whole fair.
    """

    strength: Strength
    for_each: tuple[str, ...] | str | None = None

    def __post_init__(self) -> None:
        if self.strength not in ("weak", "strong"):
            raise SpecError(f"fairness is 'weak' or 'strong', not {self.strength!r}")
        if isinstance(self.for_each, str):
            object.__setattr__(self, "for_each", (self.for_each,))
        elif self.for_each is not None:
            object.__setattr__(self, "for_each", tuple(self.for_each))

    def require_parameters(self, action: str, parameters: tuple[str, ...]) -> None:
        """Raise SpecError if `for_each` names something that is not one of the action's parameters."""
        for name in self.for_each or ():
            if name not in parameters:
                known = ", ".join(parameters) or "none"
                raise SpecError(f"for_each names {name}, but the parameters of {action} are: {known}")


@dataclass(frozen=True, init=False)
class FairUnion:
    """Several actions of a spec that are fair as one, TLA+'s `WF_vars(A \\/ B)`: a class attribute.

    `sending = FairUnion("send", "resend", fair="weak")` promises that a step of `send` or of `resend` happens if one of
    the two is enabled for ever. The attribute's name stands for the union in `Scenario(fair=...)`.
    """

    actions: tuple[str, ...]
    fairness: Fairness

    def __init__(self, *actions: str, fair: Strength, for_each: tuple[str, ...] | str | None = None):
        if len(set(actions)) < max(2, len(actions)):
            raise SpecError("a FairUnion needs the names of two or more actions; one action has @action(fair=...)")
        object.__setattr__(self, "actions", actions)
        object.__setattr__(self, "fairness", Fairness(fair, for_each))


@dataclass(frozen=True)
class FairClass:
    """A set of steps that is fair as one: the steps of an action with some of its arguments fixed.

    `choice` has the names and values of the fixed arguments. `is_complete`: they are all arguments of the action.
    `action` is None for the whole next-state relation. For a union it is the name of the union, and `union` has the
    actions.
    """

    strength: Strength
    action: str | None
    choice: tuple[tuple[str, Any], ...] = ()
    is_complete: bool = True
    union: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.action is None:
            return "every action"
        if self.union:
            named = ", ".join([" or ".join(self.union), *(f"{name}={show(value)}" for name, value in self.choice)])
            return f"{self.action} ({named})"
        if self.is_complete:
            return f"{self.action}({', '.join(show(value) for _, value in self.choice)})"
        named = ", ".join(f"{name}={show(value)}" for name, value in self.choice)
        return f"{self.action}({named})" if named else self.action


def fairness_from(value: Fairness | str | None, before: Fairness | None) -> Fairness | None:
    """Return the fairness that a scenario gives to an action: "weak" and "strong" keep the `for_each` of `before`."""
    if value is None or isinstance(value, Fairness):
        return value
    return Fairness(value, before.for_each if before is not None else None)  # type: ignore[arg-type]
