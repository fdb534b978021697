"""The classes that a spec derives its types from: Range, Domain and Struct.

`for r in Replica` and `len(Replica)` depend on the spec's constants. The resolver that is in force (see
`resolving_with`) holds them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Protocol

from checker.errors import BoundsError, SpecError
from checker.language.source import line_error
from checker.language.values import attach, plain, show

Bound = int | str
"""An int, or an expression over the spec's constants."""


class TypeResolver(Protocol):
    """Gives declarations their resolved types, for one choice of constants."""

    def resolve(self, declaration: Any) -> Any:
        """Return the resolved type of a declaration."""


# A context variable and not a global: threads may run specs with different constants at the same time.
_active: ContextVar[TypeResolver | None] = ContextVar("active_resolver", default=None)


@contextmanager
def resolving_with(resolver: TypeResolver) -> Iterator[None]:
    """While this holds, the members of ranges and domains are those that `resolver` gives."""
    token = _active.set(resolver)
    try:
        yield
    finally:
        _active.reset(token)


def _current(name: str) -> TypeResolver:
    """Return the resolver in force; raise SpecError, naming the class, if the code runs outside a spec."""
    resolver = _active.get()
    if resolver is None:
        raise SpecError(f"{name} has no members outside a spec: write `with spec.bound():` around it")
    return resolver


class _RangeMeta(type):
    low: Bound
    high: Bound

    def __call__(cls, low: Bound, high: Bound) -> type[Range]:
        """Return a new range, as in `Range(0, "log_size")`."""
        return _RangeMeta("Range", (Range,), {"low": low, "high": high})  # type: ignore[return-value]

    def __iter__(cls) -> Iterator[int]:
        return iter(_current(cls.__name__).resolve(cls).values())


class Range(metaclass=_RangeMeta):
    """The integers from `low` to `high`, both included: derive a class, or write `Range(low, high)`."""

    low: ClassVar[Bound] = 0
    high: ClassVar[Bound] = 0


class _DomainMeta(type):
    def __iter__(cls) -> Iterator[Any]:
        return iter(_current(cls.__name__).resolve(cls).values())

    def __len__(cls) -> int:
        return int(_current(cls.__name__).resolve(cls).cardinality())

    def __getitem__(cls, index: int) -> Any:
        resolver = _active.get()
        if resolver is None and index >= 0:
            # Outside a spec, as in the value of a constant: the size is checked when the value is used.
            return cls(index)
        members = _current(cls.__name__).resolve(cls).members
        if not 0 <= index < len(members):
            raise BoundsError(f"{cls.__name__}[{index}]: it has {len(members)} members, numbered from 0")
        return members[index]


class Domain(metaclass=_DomainMeta):
    """A finite set of interchangeable names: derive a class with `size`, an int or an expression over constants.

    `prefix` is the start of each name (default: the name of the class).
    """

    size: ClassVar[Bound] = 1
    prefix: ClassVar[str] = ""
    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.index == self.index

    def __hash__(self) -> int:
        return self.index

    def __repr__(self) -> str:
        return f"{self.prefix or type(self).__name__.lower()}{self.index + 1}"


class _FieldDeclarations(dict[str, Any]):
    """The annotations in the body of a struct; Python lets a second one of a name replace the first one."""

    def __init__(self, struct: str):
        super().__init__()
        self._struct = struct

    def __setitem__(self, name: str, annotation: Any) -> None:
        if name in self:
            frame = sys._getframe(1)
            message = f"{self._struct}.{name} is declared twice: a struct has one field of a name"
            raise line_error(frame.f_code.co_filename, frame.f_lineno, message)
        super().__setitem__(name, annotation)


class _StructMeta(type):
    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **_: Any) -> dict[str, Any]:
        # From Python 3.14 on, annotations are not evaluated one by one in the body.
        return {"__annotations__": _FieldDeclarations(name)} if sys.version_info < (3, 14) else {}

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **keywords: Any) -> Any:
        annotations = body.pop("__annotations__", None)
        if annotations:
            body["__annotations__"] = dict(annotations)
        return super().__new__(cls, name, bases, body, **keywords)


class Struct(metaclass=_StructMeta):
    """An immutable value with named fields: `class Record(Struct): id: RecordId`, then `Record(id=0)`.

    `shows` is a format string for traces: `"r{id}@{epoch}"`. Public attributes of an instance are its fields, so all
    other names begin with an underscore, except `field` and `of`.
    """

    shows: ClassVar[str] = ""
    _fields: ClassVar[dict[str, Any]] = {}
    __slots__ = ("_key", "_owner", "_values")

    def __init_subclass__(cls) -> None:
        fields: dict[str, Any] = dict(cls._fields)
        namespace = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
        for name, annotation in inspect.get_annotations(cls).items():
            if hasattr(Struct, name):
                raise SpecError(f"{cls.__name__}.{name}: the name is reserved by the language, choose another")
            fields[name] = eval(annotation, dict(namespace)) if isinstance(annotation, str) else annotation
        cls._fields = fields
        try:
            cls.shows.format(**dict.fromkeys(fields, ""))
        except (LookupError, ValueError, AttributeError) as error:
            known = ", ".join(f"{{{name}}}" for name in fields) or "none"
            message = f"{cls.__name__}.shows is {cls.shows!r}, a format string over the fields {known}: {error!r}"
            raise SpecError(message) from None

    def __init__(self, *positional: Any, **named: Any):
        names = list(self._fields)
        if len(positional) > len(names):
            raise SpecError(f"{type(self).__name__} has {len(names)} fields, {len(positional)} values were given")
        values = dict(zip(names, positional, strict=False)) | named
        if values.keys() != self._fields.keys():
            missing = [f"{name} is missing" for name in names if name not in values]
            unknown = [f"{name} is unknown" for name in values if name not in self._fields]
            problems = ", ".join(missing + unknown)
            raise SpecError(f"{type(self).__name__} takes the fields {', '.join(names)}: {problems}")
        self._hold({name: values[name] for name in names})
        resolver = _active.get()
        if resolver is not None:
            # While a spec runs, the fields' types are checked here and not when the struct is stored: it may never be.
            self._hold(resolver.resolve(type(self)).coerce(self)._values)

    @classmethod
    def of(cls, values: dict[str, Any], owner: Any = None, key: Any = None) -> Any:
        """Return the struct with these values without checking them: they have the fields' types and order."""
        made = object.__new__(cls)
        made._hold(values, owner, key)
        return made

    def _hold(self, values: dict[str, Any], owner: Any = None, key: Any = None) -> None:
        # Past `__setattr__`, which writes a field of a struct in the state.
        for slot, content in (("_values", values), ("_owner", owner), ("_key", key)):
            object.__setattr__(self, slot, content)

    def field(self, name: str) -> Any:
        """Return the value of the field `name`."""
        return self._values[name]

    def _plain_value(self) -> Any:
        return {name: plain(value) for name, value in self._values.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"{type(self).__name__} has no field {name}")
        return attach(self._values[name], self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._put(name, value)

    def _put(self, name: str, value: Any) -> None:
        if self._owner is None:
            raise SpecError(f"the {type(self).__name__} is not in the state and cannot be changed: use replace(...)")
        if name not in self._values:
            raise SpecError(f"{type(self).__name__} has no field {name}")
        # The owner checks the type of the new struct when it stores it.
        self._owner._put(self._key, self.of(self._values | {name: value}))

    def __reduce__(self) -> tuple[Any, ...]:
        return _build, (type(self), self._values)

    def _with_owner(self, owner: Any, key: Any) -> Struct:
        return self.of(self._values, owner, key)  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._values == self._values

    def __hash__(self) -> int:
        # The values are in the order of the fields, so equal structs have equal hashes.
        return hash(tuple(self._values.values()))

    def __repr__(self) -> str:
        shown = {name: show(value) for name, value in self._values.items()}
        if self.shows:
            return self.shows.format(**shown)
        return f"{type(self).__name__}({', '.join(f'{name}={text}' for name, text in shown.items())})"


def _build(struct: type[Struct], values: dict[str, Any]) -> Struct:
    return struct(**values)


def fields_of_struct(struct: type[Struct]) -> dict[str, Any]:
    """Return the declarations of a struct's fields by name, those of its bases first."""
    return struct._fields


def replace(record: Any, /, **fields: Any) -> Any:
    """Return a copy of a struct with some fields changed; raise SpecError for an unknown field."""
    values = {name: record.field(name) for name in fields_of_struct(type(record))}
    return type(record)(**(values | fields))
