"""Comparison of a state with observations: expressions over the state and the values that they must have."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from checker.errors import BoundsError, Disabled, InputError
from checker.language.declared_types import Struct
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.types import (
    BagType,
    DomainType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    Type,
    UnionType,
)
from checker.language.values import BagValue, MapValue, SeqValue, SetValue, show
from traces.validate.contrasts import contrasts_with, require_comparable
from traces.validate.expressions import compiled, require_attributes

_BUILTINS = {
    function.__name__: function for function in (abs, all, any, len, list, max, min, range, set, sorted, str, sum)
}


class Observer:
    """Evaluates expressions in states of a spec; raises InputError for an expression that is not valid there."""

    def __init__(self, spec: Spec):
        self._spec = spec
        kinds = [*spec.variables.values(), *(part.type for shape in spec.shapes() for part in shape.parameters)]
        members = {show(member): member for kind in kinds for member in _members(kind)}
        self._fixed = members | spec.constant_values
        self._prefixes = {show(member).rstrip("0123456789") for member in members.values()}
        # By expression: each is evaluated in many candidates.
        self._missing: dict[str, str | None] = {}
        own = [
            name for base in type(spec).__mro__ if issubclass(base, Spec) and base is not Spec for name in vars(base)
        ]
        helpers = [
            name
            for name in own
            if not name.startswith("_") and name not in spec.actions and callable(getattr(type(spec), name, None))
        ]
        self._of_state = {*helpers, *spec.variables}
        self._fields = frozenset(name for struct in _structs(type(spec)) for name in struct._fields)

    def value(self, expression: str, state: State, given: Mapping[str, Any]) -> Any:
        """Return the value of an expression in a state; raise BoundsError or LookupError if it has none there."""
        spec = self._spec
        with spec.bound():
            working = spec.in_state(state)
            code, attributes = compiled(expression)
            require_attributes(expression, attributes, self._fields)
            if expression not in self._missing:
                self._missing[expression] = self.missing_member([*_names(code)])
            if (missing := self._missing[expression]) is not None:
                raise LookupError(f"there is no {missing}")
            names = {name: getattr(working, name) for name in _names(code) if name in self._of_state}
            try:
                return eval(code, {"__builtins__": _BUILTINS, **self._fixed, **names, **given})
            except (BoundsError, LookupError, Disabled):
                raise
            except Exception as error:
                raise InputError(f"the mapping's {expression} cannot be evaluated in {spec.name}: {error}") from None

    def require_argument(self, action: str, name: str, kind: Type, observed: Any) -> None:
        """Raise InputError if a mapping gives a parameter of a type an argument that no value of it can equal."""
        if observed is None and not isinstance(kind, OptionType):
            raise InputError(
                f"the mapping gives {action} None as {name}, which is never None: leave out what is unknown"
            )
        for contrast in contrasts_with(kind, observed, self._fields):
            raise InputError(f"the mapping gives {action} an argument {name} that it never has: {contrast}")

    def missing_member(self, observed: Any) -> str | None:
        """Return a name in an observed value that a member of a larger Domain of the spec would have, or None."""
        match observed:
            case str():
                prefix, digits = re.fullmatch(r"(.*?)(\d*)", observed, re.DOTALL).groups()  # type: ignore[union-attr]
                is_missing = prefix in self._prefixes and digits[:1] not in ("", "0") and observed not in self._fixed
                return observed if is_missing else None
            case dict():
                observed = [*observed, *observed.values()]
        names = map(self.missing_member, observed) if isinstance(observed, list) else ()
        return next((name for name in names if name is not None), None)

    def missing_in(self, expression: str, observed: Any) -> str | None:
        """Return a name in an expression or its observed value that a member of a larger Domain would have, or None."""
        return self.missing_member([*_names(compiled(expression)[0]), observed])

    def mismatch(
        self, expectations: Mapping[str, Any], state: State, given: Mapping[str, Any]
    ) -> tuple[str, str] | None:
        """Return the first expression that differs from its observed value, and both values as text, or None."""
        for expression, observed in expectations.items():
            try:
                value = self.value(expression, state, given)
            except (BoundsError, LookupError, Disabled) as error:
                return expression, f"{expression} has no value ({error}); the event says {plain_text(observed)}"
            if not matches(value, observed):
                require_comparable(expression, value, observed, self._fields)
                return expression, f"{expression} is {show(value)}; the event says {plain_text(observed)}"
        return None


@functools.cache
def _names(code: CodeType) -> frozenset[str]:
    """Return the names that an expression uses, including those inside its comprehensions."""
    inner = [_names(part) for part in code.co_consts if isinstance(part, CodeType)]
    return frozenset(code.co_names).union(*inner)


def _structs(spec: type[Spec]) -> Iterator[type[Struct]]:
    """Iterate over the structs that a spec can name: those of the modules that define it."""
    for base in spec.__mro__:
        module = sys.modules.get(base.__module__)
        for member in vars(module).values() if module is not None else ():
            if isinstance(member, type) and issubclass(member, Struct) and hasattr(member, "_fields"):
                yield member


def _members(kind: Type) -> Iterator[Any]:
    """Iterate over the members of the domains that a type contains."""
    match kind:
        case DomainType():
            yield from kind.values()
        case MapType():
            yield from _members(kind.key)
            yield from _members(kind.value)
        case SetType() | SeqType() | BagType() | OptionType():
            yield from _members(kind.item)
        case UnionType():
            for alternative in kind.alternatives:
                yield from _members(alternative)
        case StructType():
            for _, part in kind.fields:
                yield from _members(part)


def matches(value: Any, observed: Any) -> bool:
    """Return whether a value matches plain JSON; of structs and maps, only the named parts are compared."""
    match value:
        case None | bool():
            return value is observed
        case int():
            return type(observed) is int and value == observed
        case str():
            return bool(value == observed)
        case Struct():
            known = type(value)._fields
            return isinstance(observed, dict) and all(
                name in known and matches(value.field(name), part) for name, part in observed.items()
            )
        case MapValue():
            items = dict(zip(map(show, value.type.key.values()), value.items_in_order(), strict=True))
            return isinstance(observed, dict) and all(
                key in items and matches(items[key], part) for key, part in observed.items()
            )
        case SeqValue() | list() | tuple():
            is_as_long = isinstance(observed, list) and len(observed) == len(value)
            return is_as_long and all(map(matches, value, observed))
        case SetValue() | BagValue() | set() | frozenset():
            return _same_items(list(value), observed)
    return bool(show(value) == observed)


def _same_items(items: list[Any], observed: Any) -> bool:
    """Return whether items and observed values match one to one, in any order."""
    if not isinstance(observed, list) or len(observed) != len(items):
        return False
    left = list(observed)
    for item in items:
        match = next((position for position, part in enumerate(left) if matches(item, part)), None)
        if match is None:
            return False
        del left[match]
    return True


def plain_text(observed: Any) -> str:
    """Return observed JSON as text in the notation of traces."""
    if isinstance(observed, list):
        return "[" + ", ".join(map(plain_text, observed)) + "]"
    if isinstance(observed, dict):
        return "{" + ", ".join(f"{name}: {plain_text(part)}" for name, part in observed.items()) + "}"
    return show(observed)
