"""What messages tell the author of a spec to write instead of a construct of Python that the language does not have."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable
from typing import Any

from checker.errors import nearest_names
from checker.language.declared_types import Domain, Range
from checker.language.spec import Spec
from checker.language.types import (
    BagType,
    BoolType,
    EnumType,
    IntType,
    MapType,
    NameType,
    OptionType,
    SeqType,
    SetType,
    Type,
)

FUNCTIONS = {
    "bool": "a comparison is a bool already",
    "breakpoint": "debug the interpreter, as docs/language.md describes under From Python",
    "choice": "give the action a parameter: each of its values is a choice",
    "deepcopy": "a local holds a value and not a reference, so no copy is needed",
    "copy": "a local holds a value and not a reference, so no copy is needed",
    "dict": "write a comprehension, as in {r: 0 for r in Replica}",
    "divmod": "write // and %",
    "filter": "write a comprehension with `if`",
    "float": "the language has integers only",
    "frozenset": "write set(...)",
    "getattr": "write the attribute",
    "input": "give the action a parameter: each of its values is a choice",
    "int": "an integer needs no conversion, and a bool becomes one with `1 if flag else 0`",
    "isinstance": "every variable has one type: compare its values with ==",
    "iter": "write a `for` loop or a comprehension",
    "list": "write a comprehension, as in [x for x in self.log]",
    "map": "write a comprehension",
    "next": "give the action a parameter and `require` its property, or use min(...) of the candidates",
    "open": "a spec has no input and output",
    "pow": "write a product",
    "print": "traces show every change of the state: remove it",
    "randint": "give the action a parameter: each of its values is a choice",
    "random": "give the action a parameter: each of its values is a choice",
    "reversed": "count the index down: for i in range(len(self.log)), then self.log[len(self.log) - 1 - i]",
    "round": "the language has integers only",
    "setattr": "write self.variable = value",
    "str": "the language has no texts: use an Enum",
    "tuple": "write a list display or comprehension",
    "type": "every variable has one type: compare its values with ==",
    "zip": "iterate over the indices: for i in range(len(self.log))",
}
"""For each function of Python that the language does not have."""

METHODS = {
    "copy": "a value needs no copy: use it as it is",
    "count": "count with sum(1 for x in ... if x == item)",
    "difference": "write a - b",
    "difference_update": "write self.set -= other",
    "extend": "add the items one by one",
    "get": "a Map has a value for every key: write self.map[key], with an Option as its value type",
    "index": "use the items themselves, or a Seq",
    "intersection": "write a & b",
    "intersection_update": "write self.set &= other",
    "isdisjoint": "write len(a & b) == 0",
    "issubset": "write a <= b",
    "issuperset": "write a >= b",
    "items": "iterate over the keys: for key in {key}, and write self.map[key]",
    "keys": "iterate over the keys: for key in {key}",
    "pop": "write self.queue.pop() for a Seq; of a set, choose the item with a parameter of the action",
    "popleft": "write self.queue.pop(0)",
    "appendleft": "write self.queue.insert(0, x)",
    "reverse": "assign a comprehension over the indices",
    "setdefault": "a Map has a value for every key: write self.map[key] = value",
    "sort": "assign the sorted sequence: self.log = sorted(self.log)",
    "symmetric_difference": "write a ^ b",
    "union": "write a | b",
    "update": "write self.set |= other; of a Map, assign self.map[key] = value",
    "values": "iterate over the keys: for key in {key}, and write self.map[key]",
}
"""For each method of Python's collections that the language does not have; `{key}` is the key type of a map."""

_OWN_METHODS: dict[type[Type], tuple[str, ...]] = {
    SeqType: ("append", "insert", "pop", "extend", "clear", "index", "count"),
    SetType: ("add", "discard", "remove", "clear"),
    BagType: ("add", "remove", "clear", "count"),
}

SYNTAX = {
    "Await": ("await", "remove it"),
    "Dict": ("a dict", "assign it to a Map"),
    "GeneratorExp": ("a generator", "use it inside all, any, sum, min, max, set or sorted"),
    "Invert": ("`~`", "write `not x` for a bool, or -x - 1 for an integer"),
    "JoinedStr": ("an f-string", "use an Enum; texts belong into says="),
    "Lambda": ("a lambda", "write a helper, a method without a decorator"),
    "NamedExpr": ("`:=`", "assign in a statement before"),
    "Starred": ("`*`", "write the items one by one"),
    "UAdd": ("unary `+`", "remove it"),
    "Yield": ("yield", "assign to the state, and return a value from helpers only"),
    "YieldFrom": ("yield", "assign to the state, and return a value from helpers only"),
}
"""For each kind of expression that the language does not have: its name in messages, and what to write instead."""


def syntax_refusal(node: ast.AST) -> str:
    """Return the message about an expression or operator that the language does not have."""
    kind = type(node).__name__
    name, hint = SYNTAX.get(kind, (f"`{kind}`", "docs/language.md lists the expressions"))
    return f"{name} is not part of the language: {hint}"


def call_refusal(function: ast.expr, callee: Any) -> str:
    """Return the message about the call of a function that a spec cannot call; `found` is its Python object."""
    name = ast.unparse(function)
    if isinstance(callee, type) and issubclass(callee, (Domain, Range, enum.Enum)):
        return f"{name} cannot be called: {member_hint(callee)}"
    hint = FUNCTIONS.get(name.rpartition(".")[2], "write a helper, or see docs/language.md for the functions")
    return f"{name} cannot be called in a spec: {hint}"


def member_hint(declared: type) -> str:
    """Return how a spec writes a value of a Domain, Range or Enum."""
    if issubclass(declared, enum.Enum):
        first = next(iter(declared), None)
        return f"write a member, as in {declared.__name__}.{first.name if first is not None else 'LEADER'}"
    return f"write a member, as in {declared.__name__}[0]" if issubclass(declared, Domain) else "write the integer"


def type_refusal(actual: Type, wanted: Type) -> str:
    """Return the message about a value of a type that cannot become one of the wanted type."""
    message, inner = f"expected {wanted}, found {actual}", wanted.item if isinstance(wanted, OptionType) else wanted
    if isinstance(actual, NameType) and isinstance(inner, EnumType):
        return f"{message}: {member_hint(inner.declared)}"
    if isinstance(actual, BoolType) and isinstance(inner, IntType):
        return f"{message}: write `1 if ... else 0`"
    if isinstance(inner, BoolType):
        return f"{message}: write a comparison"
    if isinstance(inner, (SetType, SeqType, BagType)) and actual == inner.item:
        brackets = "{...}" if isinstance(inner, SetType) else "[...]"
        return f"{message}: write {brackets} around the item"
    return message


def operator_refusal(text: str, operator: ast.operator, left: Type, right: Type) -> str:
    """Return the message about an operator that does not take values of these types."""
    hint = ""
    if isinstance(left, IntType) and isinstance(right, IntType):
        hint = {ast.Div: "write // for the quotient", ast.Pow: "write a product"}.get(type(operator), "")
        hint = hint or "integers have + - * // %"
    elif isinstance(left, SetType):
        hint = "sets have | & - ^, and a set of one item is {x}"
    elif isinstance(left, SeqType):
        hint = "sequences have +, and a sequence of one item is [x]"
    elif isinstance(left, BoolType) or isinstance(right, BoolType):
        hint = "bools have `and`, `or` and `not`"
    return f"the operator in `{text}` does not take {left} and {right}{': ' if hint else ''}{hint}"


def method_refusal(kind: Type, name: str) -> str:
    """Return the message about a method that the values of a type do not have in the language."""
    hint = METHODS.get(name, "").replace("{key}", str(kind.key) if isinstance(kind, MapType) else "Replica")
    own = _OWN_METHODS.get(type(kind))
    if not hint and own:
        hint = choose(name, own, "methods")
    if not hint:
        hint = "write a helper that takes the value"
    return f"{kind:a} has no method {name} in this language: {hint}"


def unknown_attribute(spec: Spec, name: str) -> str:
    """Return the message about `self.name`, which is no attribute of the spec."""
    hint = _similar(name, [*spec.variables, *spec.constants])
    return (
        f"{name} is neither a state variable nor a constant of {type(spec).__name__}: "
        f"{hint or f'declare it in the class, as in {name} = Range(0, 3)'}"
    )


def unknown_name(spec: Spec, name: str, local_names: Iterable[str]) -> str:
    """Return the message about a name that is neither a local nor a global."""
    if name in spec.variables or name in spec.constants:
        return f"{name} is not defined: write self.{name}"
    hint = _similar(name, [*local_names, *spec.variables])
    return f"{name} is not defined: {hint or 'assign it first, import it, or declare it in the class'}"


def unknown_member(declared: Any, name: str) -> str:
    """Return the message about an attribute that a class or module does not have."""
    if isinstance(declared, type) and issubclass(declared, enum.Enum):
        members = [member.name for member in declared]
        return f"{declared.__name__} has no member {name}: {choose(name, members, 'members')}"
    owner = getattr(declared, "__name__", repr(declared))
    return f"{owner} has no attribute {name}: {_similar(name, dir(declared)) or 'declare it there'}"


def non_value(name: str, value: Any) -> str:
    """Return the message about a Python object that is used as a value."""
    if isinstance(value, list):
        hint = "a list may change: write a tuple"
    elif isinstance(value, dict):
        hint = "a dict needs a value for each key of a Domain, Enum or bool, or of consecutive integers"
    elif isinstance(value, type):
        hint = "it is a type: write one of its values, or annotate with a type of the language"
    elif callable(value):
        hint = f"it is a function: call it, {name}(...)"
    else:
        hint = "it is not a value of the language; use ints, bools, None, and members of an Enum or a Domain"
    return f"{name} cannot be used here: {hint}"


def choose(name: str, known: Iterable[str], what: str) -> str:
    """Return the end of a sentence about an unknown name: the most similar known name, and all of them."""
    names = list(known)
    close = _similar(name, names)
    return f"{close} The {what} are {', '.join(names)}" if close else f"the {what} are {', '.join(names)}"


def _similar(name: str, known: Iterable[str]) -> str:
    """Return "did you mean x?" with the most similar name, or "" if none is similar."""
    close = nearest_names(name, known)
    return f"did you mean {close[0]}?" if close else ""
