"""The account of a run: each declared property was checked, is undecided, or was not selected.

The names come from the class of the spec, and what was evaluated from the engine, so that a property which is lost
between the two never counts as one that holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checker.errors import InternalError
from checker.language.roles import DEADLOCK, LIVENESS_ROLES
from checker.language.spec import Spec
from checker.run.expectation import property_names
from checker.run.result import Result


@dataclass(frozen=True)
class PropertyAccount:
    """The declared properties of a spec and `deadlock`, by what a run did with them.

    `checked` names those that the run decided, violated ones included, and `undecided` those that it was asked for and
    did not decide. The run was not asked for those that are `not_selected`.
    """

    checked: tuple[str, ...]
    undecided: tuple[str, ...]
    not_selected: tuple[str, ...]


def account_of(spec: Spec, selected: Sequence[str], result: Result) -> PropertyAccount:
    """Return the account of a run of which some properties were selected.

    Raises InternalError if the engine evaluated no trace of a selected property.
    """
    declared = [*property_names(type(spec)), DEADLOCK]
    asked = [name for name in declared if name in selected]
    lost = [name for name in asked if not _is_accounted(spec, name, result)]
    lost += [name for name in selected if name not in declared]
    if lost:
        raise InternalError(f"the engine {result.engine} did not evaluate {', '.join(lost)} of {spec.name}")
    return PropertyAccount(
        checked=tuple(name for name in asked if result.is_decided(name)),
        undecided=tuple(name for name in asked if not result.is_decided(name)),
        not_selected=tuple(name for name in declared if name not in selected),
    )


def _is_accounted(spec: Spec, name: str, result: Result) -> bool:
    """Return whether a run evaluated a property, or ended before it could."""
    if name in result.evaluated or name in result.undecided or any(work.property == name for work in result.liveness):
        return True
    # Liveness is decided after the exploration, which a violation ends. A wrong initial state ends it at once.
    is_over = bool(result.violations) and (type(spec).roles[name] in LIVENESS_ROLES if name != DEADLOCK else False)
    return is_over or (result.ended == "violation" and not result.generated_states)


def account_text(account: PropertyAccount) -> str:
    """Return an account in one line: `checked: one, other; undecided: third; not selected: deadlock`."""
    parts = {"checked": account.checked, "undecided": account.undecided, "not selected": account.not_selected}
    return "; ".join(f"{label}: {_names(names)}" for label, names in parts.items() if names)


_MOST_NAMES = 8


def _names(names: Sequence[str]) -> str:
    others = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {others} more" if others > 0 else "")
