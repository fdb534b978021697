"""Dataclasses that are declared in an eighth of the time.

`dataclasses.dataclass` compiles up to six methods for each class, of which a command calls few: this took a quarter of
the time of all imports. The `dataclass` of this module has the same meaning, for the options that are used here. It
compiles only `__init__`, and only when a class needs it (`_first_init`). Classes that inherit from each other must use
the same `dataclass`, and a class with `slots` that of the standard library.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, init=True, kw_only=False):
        """Return a class as a dataclass, or a decorator with these options, as `dataclasses.dataclass` does."""

        def declared(cls):
            return _declared(cls, frozen=frozen, eq=eq, init=init, kw_only=kw_only)

        return declared if cls is None else declared(cls)


def _declared(cls: Any, *, frozen: bool, eq: bool, init: bool, kw_only: bool) -> Any:
    own = vars(cls)
    # Read before the standard library's decorator, which replaces defaults.
    has_hash = own.get("__hash__") is not None
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    # The digest of a program reads it. `frozen` stays False there: the standard library would refuse a frozen base.
    cls.__dataclass_params__.eq = eq
    fields = dataclasses.fields(cls)
    if init:
        cls.__init__ = _first_init(cls, frozen=frozen)
    if "__repr__" not in own:
        cls.__repr__ = _repr_of(tuple(field.name for field in fields if field.repr))
    if eq:
        compared = tuple(field.name for field in fields if field.compare)
        values = _values_of(compared)
        if "__eq__" not in own:
            cls.__eq__ = _equality_of(values)
        if not has_hash:
            cls.__hash__ = _hash_of(values) if frozen else None
    if frozen:
        names = frozenset(field.name for field in fields)
        cls.__setattr__, cls.__delattr__ = _refusing_setattr(cls, names), _refusing_delattr(cls, names)
    return cls


_CALLS_BEFORE_COMPILING = 20
"""Compiling an `__init__` takes as long as about this many calls of one that is not compiled."""


def _first_init(cls: Any, *, frozen: bool) -> Callable[..., None]:
    """Return an `__init__` that compiles the class's own after some calls.

    It compiles it at once if a call names a field or omits one: the call may need defaults, or be an error.
    """
    names: tuple[str, ...] | None = None
    calls = 0
    assign = object.__setattr__ if frozen else setattr

    def first_init(self: Any, /, *values: Any, **named: Any) -> None:
        nonlocal names, calls
        names = _plain_fields(cls) if names is None else names
        calls += 1
        if not named and values and len(values) == len(names) and calls <= _CALLS_BEFORE_COMPILING:
            for name, value in zip(names, values, strict=True):
                assign(self, name, value)
            if hasattr(cls, "__post_init__"):
                self.__post_init__()
            return
        if vars(cls).get("__init__") is first_init:
            cls.__init__ = _compiled_init(cls, frozen=frozen)
        cls.__init__(self, *values, **named)

    return first_init


def _plain_fields(cls: Any) -> tuple[str, ...]:
    """Return the names of the fields, in order, if all of them can be given by position; otherwise nothing."""
    fields = dataclasses.fields(cls)
    return tuple(field.name for field in fields) if all(field.init and not field.kw_only for field in fields) else ()


def _compiled_init(cls: Any, *, frozen: bool) -> Callable[..., None]:
    """Return the `__init__` of a class, with a parameter for each field."""
    # Not through `__dict__`: Python reads attributes faster that were set one by one.
    assigned = "__set__(self, {0!r}, {1})" if frozen else "self.{0} = {1}"
    fields = [field for field in dataclasses.fields(cls) if field.init or _has_default(field)]
    known: dict[str, Any] = {"__missing__": dataclasses.MISSING, "__set__": object.__setattr__}
    parameters: list[str] = []
    keywords: list[str] = []
    lines: list[str] = []
    for field in fields:
        name = field.name
        default = f"__default_{name}__"
        if field.default_factory is not dataclasses.MISSING:
            known[default] = field.default_factory
            value = f"{default}() if {name} is __missing__ else {name}" if field.init else f"{default}()"
            parameter = f"{name}=__missing__"
        elif field.default is not dataclasses.MISSING:
            known[default] = field.default
            value, parameter = name if field.init else default, f"{name}={default}"
        else:
            value = parameter = name
        lines.append(assigned.format(name, value))
        if field.init:
            (keywords if field.kw_only else parameters).append(parameter)
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    head = ", ".join(["self", *parameters, *(["*", *keywords] if keywords else [])])
    source = f"def __init__({head}):\n" + "".join(f"    {line}\n" for line in lines or ["pass"])
    exec(source, known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _values_of(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function from an object to the tuple of some of its attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda record: ()
    value = attrgetter(*names)
    return lambda record: (value(record),)


def _repr_of(names: tuple[str, ...]) -> Callable[[Any], str]:
    @reprlib.recursive_repr()
    def text(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return text


def _equality_of(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], Any]:
    def is_equal(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or values(self) == values(other)

    return is_equal


def _hash_of(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def hashed(self: Any) -> int:
        return hash(values(self))

    return hashed


def _refusing_setattr(cls: Any, names: frozenset[str]) -> Callable[[Any, str, Any], None]:
    def set_attribute(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    return set_attribute


def _refusing_delattr(cls: Any, names: frozenset[str]) -> Callable[[Any, str], None]:
    def delete_attribute(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return delete_attribute
