"""Values of constants that are members of enums or domains, structs, or collections, and their texts.

A spec keeps such a value as its text, `{State.A, State.B}` or `{n1: {n2}, n2: set()}`: every output can print it, and
`--set` takes it. The text is a Python display in which a member of a domain has the name that traces show.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Mapping
from typing import Any

from checker.errors import SpecError
from checker.language.declared_types import Domain, Struct, fields_of_struct

Classes = dict[str, type[Any]]
"""The enums, domains and structs that a value of a constant contains, by name."""


def constant_text(value: int | bool | str) -> str:
    """Return the value of a constant as `--set` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def setting_text(name: str, value: int | bool | str) -> str:
    """Return a constant and its value as `--set` takes them."""
    return f"{name}={constant_text(value)}"


def is_structured(value: Any) -> bool:
    """Return whether a value is written as text: anything but an int, a bool or a name."""
    return isinstance(value, (enum.Enum, Domain, Struct, tuple, set, frozenset, Mapping))


def written(value: Any) -> str:
    """Return the text of a value; equal values have equal texts. Raise SpecError for a value outside the language."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, (int, Domain)):
        return str(value)
    if isinstance(value, Struct):
        fields = (f"{name}={written(value.field(name))}" for name in fields_of_struct(type(value)))
        return f"{type(value).__name__}({', '.join(fields)})"
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(_in_order(value))}}}" if value else "set()"
    if isinstance(value, Mapping):
        texts = {written(key): written(item) for key, item in value.items()}
        return f"{{{', '.join(f'{key}: {texts[key]}' for key in _in_order(value))}}}"
    raise SpecError(f"{value!r} cannot be in a constant: use ints, bools, members, and tuples, sets and dicts of them")


def _in_order(values: Any) -> list[str]:
    """Return the texts of values in an order that depends on the values only: integers ascend."""
    return sorted(map(written, values), key=lambda text: (int(text) if text.lstrip("-").isdigit() else 0, text))


def classes_in(value: Any) -> Classes:
    """Return the enums, domains and structs that a value contains."""
    classes: Classes = {}
    for part in _parts(value):
        if isinstance(part, (enum.Enum, Domain, Struct)):
            classes[type(part).__name__] = type(part)
    return classes


def _parts(value: Any) -> Iterator[Any]:
    yield value
    inner: list[Any] = []
    if isinstance(value, Struct):
        inner = [value.field(name) for name in fields_of_struct(type(value))]
    elif isinstance(value, Mapping):
        inner = [*value, *value.values()]
    elif isinstance(value, (tuple, set, frozenset)):
        inner = list(value)
    for part in inner:
        yield from _parts(part)


def is_like(value: Any, example: Any) -> bool:
    """Return whether a value is of the kind of an example: an item of a collection like some item of the example."""
    if isinstance(example, Mapping):
        same = isinstance(value, Mapping)
        return same and _are_like(value, example) and _are_like(value.values(), example.values())
    for kinds in ((set, frozenset), (tuple,)):
        if isinstance(example, kinds):
            return isinstance(value, kinds) and _are_like(value, example)
    return type(value) is type(example)


def _are_like(values: Any, examples: Any) -> bool:
    return not examples or all(any(is_like(value, example) for example in examples) for value in values)


def parsed(text: str, classes: Classes) -> Any:
    """Return the value of a text (see `written`); raise ValueError if it is not the text of a value."""
    try:
        return _value(ast.parse(text.strip(), mode="eval").body, classes)
    except (SyntaxError, TypeError, SpecError) as error:
        raise ValueError(str(error)) from None


def _value(node: ast.expr, classes: Classes) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | None):
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -number
        case ast.Tuple(elts=items):
            return tuple(_value(item, classes) for item in items)
        case ast.Set(elts=items):
            return frozenset(_value(item, classes) for item in items)
        case ast.Call(func=ast.Name(id="set"), args=[], keywords=[]):
            return frozenset()
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_value(key, classes): _value(item, classes) for key, item in zip(keys, values, strict=True) if key}
        case ast.Call(func=ast.Name(id=name), args=[], keywords=fields) if name in classes:
            return classes[name](**{field.arg: _value(field.value, classes) for field in fields if field.arg})
        case ast.Attribute(value=ast.Name(id=name), attr=member) if issubclass(classes.get(name, Domain), enum.Enum):
            return _member(classes[name], member)
        case ast.Name(id=name):
            return _member_by_name(name, classes)
    raise ValueError(f"{ast.unparse(node)} is not a value")


def _member(kind: type[Any], name: str) -> Any:
    if name not in kind.__members__:
        raise ValueError(f"{kind.__name__} has no member {name}; its members are {', '.join(kind.__members__)}")
    return kind[name]


def _member_by_name(name: str, classes: Classes) -> Any:
    """Return the member that a name stands for: `n1` of a domain, `LEADER` or `leader` of an enum."""
    members: list[Any] = []
    for kind in classes.values():
        if issubclass(kind, enum.Enum):
            members += [member for member in kind if name in (member.name, member.name.lower())]
        elif issubclass(kind, Domain):
            prefix = str(kind(0)).removesuffix("1")
            number = name.removeprefix(prefix)
            if name.startswith(prefix) and number.isdigit() and int(number) >= 1:
                members.append(kind(int(number) - 1))
    if len(members) != 1:
        raise ValueError(f"{name} is {'ambiguous' if members else 'not the name of a member'}")
    return members[0]
