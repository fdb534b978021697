"""The adapter between a spec and an implementation under test."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

from checker.errors import SpecError
from checker.language.spec import Spec


class Adapter:
    """Base class of adapters. Every test run creates one adapter with a new implementation.

    A subclass defines one method per action of the spec, with the name and the parameters of the action, that makes
    the implementation take this action. It also defines `observe` and `project`, whose values the test compares after
    every step. Arguments are members of the spec's domains and enums: `str(replica)` is `b1`.
    """

    spec: type[Spec] | None = None
    """The spec with which `python -m checker conform FILE.py` compares the implementation."""

    leaves_out: tuple[str, ...] = ()
    """Names of actions that the test cannot make the implementation take."""

    refuses: tuple[type[Exception], ...] = ()
    """Exceptions with which the methods refuse a step. `conform` then also takes the steps that the spec forbids."""

    def start(self, state: Any) -> None:
        """Bring the implementation into an initial state of the spec; `state` is read as in `project`."""

    def observe(self) -> Any:
        """Return the observable part of the implementation: a dict, or any value with `==`."""
        raise NotImplementedError

    def project(self, state: Any) -> Any:
        """Return the same part of the spec's state; `state` is read like `self` in the spec, including helpers."""
        raise NotImplementedError

    def fork(self) -> Self:
        """Return an independent copy, for `conform`. If `copy` cannot make one, a new one takes all steps again."""
        return copy.deepcopy(self)

    def identity(self) -> Any:
        """Return the whole state of the implementation, for `conform`: a value that pickle can store.

        Two states with equal values must behave alike from here on. State outside the attributes is not seen: a
        global, a file, a thread, a clock.
        """
        return object.__getstate__(self)  # vars has no __slots__

    def close(self) -> None:
        """Release the resources of the implementation; called at the end of each test run."""


def require_methods(spec: Spec, adapter: type[Adapter]) -> None:
    """Raise SpecError if an adapter has no method for an action of the spec, or leaves out an unknown one."""
    for action in adapter.leaves_out:
        if action not in spec.actions:
            raise SpecError(f"{adapter.__name__}.leaves_out names {action}: {spec.name} has no such action")
    for action in spec.actions:
        if hasattr(Adapter, action):
            raise SpecError(f"{spec.name} has the action {action}, which is a name of Adapter: rename the action")
        if action not in adapter.leaves_out and not callable(getattr(adapter, action, None)):
            parameters = ", ".join(["self", *(parameter.name for parameter in spec.parameters_of(action))])
            raise SpecError(
                f"{adapter.__name__} has no method for {action}: "
                f"add def {action}({parameters}), or list it in leaves_out"
            )


def differences(expected: Any, seen: Any) -> list[str]:
    """Return the differences between two observations: one line per differing entry if both are mappings."""
    if isinstance(expected, Mapping) and isinstance(seen, Mapping):
        keys = list(dict.fromkeys([*expected, *seen]))
        return [
            f"{key}: {_entry(seen, key)}, but in the spec {_entry(expected, key)}"
            for key in keys
            if key not in expected or key not in seen or expected[key] != seen[key]
        ]
    return [f"{seen!r}, but in the spec {expected!r}"]


def _entry(values: Mapping[Any, Any], key: Any) -> str:
    return repr(values[key]) if key in values else "missing"
