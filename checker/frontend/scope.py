"""What a function's body sees: its locals and their types, the names of its module, and which state `self` is."""

from __future__ import annotations

import ast
import builtins
import enum
import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checker.errors import SpecError
from checker.frontend.type_relations import NONE, NOTHING, can_become, is_bounded, join, join_integers
from checker.ir import nodes
from checker.language.declared_types import Domain
from checker.language.source import Source, source_of
from checker.language.symbols import OpenNumber
from checker.language.types import LARGEST, BoolType, EnumType, IntType, NameType, Type

if TYPE_CHECKING:
    from checker.language.spec import Spec

WIDEN_AFTER = 3
"""After this many passes a local integer that still grows loses its bounds."""


@functools.lru_cache(maxsize=1 << 16)
def _text(node: ast.expr) -> str:
    """Return an expression's text, which every pass over a function asks for, and every spec that inherits it."""
    return ast.unparse(node)


@dataclass
class TypingScope:
    """The state of typing one function."""

    spec: Spec
    function: Any
    owner: type | None
    roots: dict[str, str]
    """Parameter names that stand for a state: `self`, and `old` in a step invariant."""
    locals: dict[str, nodes.Local] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    writes: bool = False
    requires: bool = False
    standing_alone: set[ast.expr] = field(default_factory=set)
    """The expressions of the statement at hand in which a call may change the state."""
    changed: bool = False
    passes: int = 0

    def __post_init__(self) -> None:
        self.source: Source = source_of(self.function)

    def error(self, node: ast.AST, message: str) -> SpecError:
        """Return a SpecError that points at `node`."""
        return self.source.error(node, message)

    def site(self, node: ast.AST) -> nodes.Site:
        """Return the place of `node`."""
        line = getattr(node, "lineno", self.source.tree.lineno)
        text = _text(node) if isinstance(node, ast.expr) else ""
        return nodes.Site(self.source.file, line, text)

    def begin_pass(self, parameters: set[str]) -> None:
        """Start another pass over the body; locals keep the types found so far."""
        self.passes += 1
        self.changed = False
        self.assigned = set(parameters)

    def assign(self, node: ast.AST, name: str, kind: Type) -> nodes.Local:
        """Note that a local is given a value of `kind`; raise SpecError if it had one of another kind."""
        if name in self.roots:
            raise self.error(node, f"{name} cannot be assigned")
        known = self.locals.get(name)
        if known is None:
            known = self.locals[name] = nodes.Local(name, kind)
            self.changed = True
        else:
            joined = join(known.type, kind)
            if joined is None:
                raise self.error(node, f"{name} is a {known.type} elsewhere and a {kind} here: use two names")
            if joined != known.type:
                self.changed = True
                known.type = self._widened(known.type, joined)
        self.assigned.add(name)
        return known

    def bind(self, node: ast.AST, name: str, kind: Type) -> nodes.Local:
        """Return a variable of a comprehension, which hides a local of the same name until the comprehension ends."""
        if name in self.roots:
            raise self.error(node, f"{name} cannot be assigned")
        bound = self.locals[name] = nodes.Local(name, kind)
        self.assigned.add(name)
        return bound

    def hide(self, names: set[str]) -> None:
        """Note that names are variables of a comprehension, not bound yet: locals of these names are not seen."""
        for name in names - self.roots.keys():
            self.locals[name] = nodes.Local(name, NOTHING)
            self.assigned.discard(name)

    def _widened(self, before: Type, after: Type) -> Type:
        if self.passes < WIDEN_AFTER or not isinstance(before, IntType) or not isinstance(after, IntType):
            return after
        low = None if after.low != before.low else after.low
        high = None if after.high != before.high else after.high
        return join_integers(after, IntType(low, high, "int"))

    def read(self, node: ast.Name) -> nodes.Expr | None:
        """Return the value of a local, or None if the name is not one."""
        known = self.locals.get(node.id)
        if known is None:
            return None
        if node.id not in self.assigned:
            raise self.error(node, f"{node.id} may have no value here: give it one before the branch or loop")
        return nodes.LocalRead(known.type, self.site(node), known)

    def object_of(self, node: ast.expr) -> Any:
        """Return the Python object that a name, or an attribute of a module or enum, stands for, if any."""
        if isinstance(node, ast.Name):
            if node.id in self.locals or node.id in self.roots:
                return None
            return self._global(node)
        if isinstance(node, ast.Attribute):
            base = self.object_of(node.value)
            if base is not None and (type(base).__name__ == "module" or isinstance(base, type)):
                return getattr(base, node.attr, None)
        return None

    def _global(self, node: ast.Name) -> Any:
        closure = self.function.__closure__ or ()
        free = dict(zip(self.function.__code__.co_freevars, closure, strict=True))
        if node.id in free:
            return free[node.id].cell_contents
        found = self.function.__globals__.get(node.id, getattr(builtins, node.id, None))
        if found is None:
            raise self.error(node, f"{node.id} is not defined")
        return found

    def literal(self, node: ast.expr, value: Any) -> nodes.Literal | None:
        """Return a Python object as a literal, or None if the language has no such value."""
        kind = literal_type(self.spec, value)
        if isinstance(kind, IntType) and abs(value) > LARGEST:
            raise self.error(node, f"{value} is beyond 62 bits: use nearer numbers")
        return None if kind is None else nodes.Literal(kind, self.site(node), value)

    def convert(self, node: ast.AST, value: nodes.Expr, wanted: Type) -> nodes.Expr:
        """Return `value` as one of `wanted`; raise SpecError if no value of its type can be one."""
        if value.type == wanted:
            return value
        if not is_bounded(wanted) and not isinstance(wanted, IntType):
            raise self.error(node, f"the type {wanted} cannot be stored: keep numbers in a Range")
        if not can_become(value.type, wanted):
            raise self.error(node, f"expected {wanted}, found {value.type}")
        return nodes.Convert(wanted, value.site, value)


def literal_type(spec: Spec, value: Any) -> Type | None:
    """Return the type of a Python object as a literal, or None if the language has no such value."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return BoolType()
    if isinstance(value, OpenNumber):
        return IntType(value.least, value, "int")
    if isinstance(value, int):
        return IntType(value, value, "int")
    if isinstance(value, enum.Enum):
        return EnumType(type(value))
    if isinstance(value, str):
        return NameType((value,))
    if isinstance(value, Domain):
        return spec.resolved_type(type(value))  # type: ignore[no-any-return]
    return None
