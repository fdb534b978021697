"""The names that are visible in a function's body: its locals and their types, the states, and its module's globals."""

from __future__ import annotations

import ast
import builtins
import functools
from dataclasses import dataclass, field
from typing import Any

from checker.errors import BoundsError, SpecError
from checker.frontend import hints
from checker.frontend.type_relations import can_become
from checker.ir import nodes
from checker.language.parameters import ParameterDeclaration
from checker.language.source import Source, child_nodes, segment, source_of
from checker.language.spec import Spec
from checker.language.type_joins import NOTHING, is_bounded, join, join_integers
from checker.language.types import LARGEST, IntType, StructType, Type
from checker.language.value_types import value_type

WIDEN_AFTER = 3
"""If the range of a local integer still grows in this pass, the local loses the bound that grows."""


_LARGE = 300
"""The nodes above which the text of an expression is that of its source, not that of its syntax tree."""


@functools.lru_cache(maxsize=1 << 16)
def _text(file: str, node: ast.expr) -> str:
    """Return the text of an expression.

    Cached: every pass over a function makes its sites again, and so does every spec with this function. The time for
    the text from a tree grows with the tree. Its sum over the parts of a nested expression would be quadratic.
    """
    return ast.unparse(node) if _size(node) <= _LARGE else " ".join(segment(file, node).split())


@functools.lru_cache(maxsize=1 << 16)
def _size(node: ast.AST) -> int:
    """Return the number of nodes of a syntax tree. Cached: the sizes of all parts are needed too."""
    return 1 + sum(map(_size, child_nodes(node)))


@dataclass
class TypingScope:
    """The state of typing one function.

    A body is typed in passes, since a loop may assign a local after an expression that reads it. The types of locals
    only grow from pass to pass; `changed` reports that one did.
    """

    spec: Spec
    function: Any
    owner: type | None
    roots: dict[str, str]
    """Parameter names that stand for a state: `self`, and `old` in a step invariant."""
    locals: dict[str, nodes.Local] = field(default_factory=dict)
    parts: dict[nodes.Local, nodes.Expr] = field(default_factory=dict)
    """The values of the variables of a comprehension that are parts of another one: `for a, b in pairs`."""
    alternatives: dict[nodes.Local, list[StructType]] = field(default_factory=dict)
    """The structs that a local with a union can be at the current expression, as far as a test says so."""
    assigned: set[str] = field(default_factory=set)
    """The locals that have a value on every path to the current statement."""
    writes: bool = False
    requires: bool = False
    write_positions: set[ast.expr] = field(default_factory=set)
    """The expressions of the current statement in which a call may change the state."""
    changed: bool = False
    passes: int = 0

    def __post_init__(self) -> None:
        self.source: Source = source_of(self.function)

    def error(self, node: ast.AST, message: str) -> SpecError:
        """Return a SpecError that points at `node`."""
        return self.source.error(node, message)

    def site(self, node: ast.AST) -> nodes.Site:
        """Return the file, line and text of `node`."""
        line = getattr(node, "lineno", self.source.tree.lineno)
        text = functools.partial(_text, self.source.file, node) if isinstance(node, ast.expr) else ""
        return nodes.Site(self.source.file, line, text)

    def begin_pass(self, parameters: set[str]) -> None:
        """Start another pass over the body. Locals keep the types found so far."""
        self.passes += 1
        self.changed = False
        self.assigned = set(parameters)
        self.alternatives = {}

    def saved(self) -> tuple[Any, ...]:
        """Return what `restore` needs to forget the names that a wrong statement binds."""
        return dict(self.locals), dict(self.parts), dict(self.alternatives), set(self.assigned)

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Return to the names before a statement."""
        self.locals, self.parts, self.alternatives, self.assigned = saved

    def assign(self, node: ast.AST, name: str, kind: Type) -> nodes.Local:
        """Note that a local gets a value of type `kind`; raise SpecError if it has values of an unrelated type."""
        if name in self.roots:
            raise self.error(node, f"{name} cannot be assigned")
        known = self.locals.get(name)
        if known is None:
            known = self.locals[name] = nodes.Local(name, kind)
            self.changed = True
        else:
            # Types only grow, which makes the passes over a body end.
            joined = join(known.type, kind)
            if joined is None:
                raise self.error(node, f"{name} is {known.type:a} elsewhere and {kind:a} here: use two names")
            if joined != known.type:
                self.changed = True
                # The `Local` is changed in place, because nodes of earlier statements refer to it.
                known.type = self._widen(known.type, joined)
        self.assigned.add(name)
        self.alternatives.pop(known, None)
        return known

    def bind(self, node: ast.AST, name: str, kind: Type) -> nodes.Local:
        """Return a variable of a comprehension, which hides a local of the same name until the comprehension ends."""
        if name in self.roots:
            raise self.error(node, f"{name} cannot be assigned")
        bound = self.locals[name] = nodes.Local(name, kind)
        self.assigned.add(name)
        return bound

    def hide(self, names: set[str]) -> None:
        """Note that a comprehension binds these names later: until then they hide the function's locals."""
        for name in names - self.roots.keys():
            # Known but without a value: reading it is an error, as in Python, and does not fall back to a global.
            self.locals[name] = nodes.Local(name, NOTHING)
            self.assigned.discard(name)

    def _widen(self, before: Type, after: Type) -> Type:
        # A bound that still grows after some passes may grow for ever: it becomes unknown, so that the passes end.
        if self.passes < WIDEN_AFTER or not isinstance(before, IntType) or not isinstance(after, IntType):
            return after
        low = None if after.low != before.low else after.low
        high = None if after.high != before.high else after.high
        return join_integers(after, IntType(low, high, "int"))

    def bind_part(self, node: ast.AST, name: str, value: nodes.Expr) -> None:
        """Bind a name of a comprehension to a part of the value of another of its variables."""
        self.parts[self.bind(node, name, value.type)] = value

    def read(self, node: ast.Name) -> nodes.Expr | None:
        """Return the value of a local, or None if the name is not one."""
        known = self.locals.get(node.id)
        if known is None:
            return None
        if node.id not in self.assigned:
            raise self.error(node, f"{node.id} may have no value here: give it one before the branch or loop")
        value = self.parts.get(known) or nodes.LocalRead(known.type, self.site(node), known)
        kinds = self.alternatives.get(known, [])
        if len(kinds) != 1 or value.type == kinds[0]:
            return value
        return nodes.Convert(kinds[0], self.site(node), value)

    def object_of(self, node: ast.expr) -> Any:
        """Return the Python object of a name, or of an attribute of a module or class; None for locals and values."""
        if isinstance(node, ast.Name):
            # Locals hide globals of the same name.
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
        # A helper that is defined inside a function, as in a test, reads variables of this function.
        free = dict(zip(self.function.__code__.co_freevars, closure, strict=True))
        if node.id in free:
            return free[node.id].cell_contents
        value = self.function.__globals__.get(node.id, getattr(builtins, node.id, None))
        if value is None:
            raise self.error(node, hints.unknown_name(self.spec, node.id, self.locals))
        return value

    def literal(self, node: ast.expr | ast.arg, value: Any) -> nodes.Literal | None:
        """Return a Python object as a literal, or None if the language does not have such values."""
        kind = value_type(value, self.spec.resolved_type)
        if isinstance(kind, IntType) and abs(value) > LARGEST:
            raise self.error(node, f"{value} is beyond 62 bits: use smaller numbers")
        if kind is None:
            return None
        try:
            return nodes.Literal(kind, self.site(node), kind.coerce(value))
        except BoundsError as error:
            raise self.error(node, str(error)) from None

    def convert(self, node: ast.AST, value: nodes.Expr, wanted: Type) -> nodes.Expr:
        """Return `value` converted to the type `wanted`; raise SpecError if no value of its type can be converted."""
        if value.type == wanted:
            return value
        # A collection of unbounded integers has no fixed layout; a single integer in a local takes a word.
        if not is_bounded(wanted) and not isinstance(wanted, IntType):
            raise self.error(node, f"a value of type {wanted} cannot be stored: keep numbers in a Range")
        if not can_become(value.type, wanted):
            raise self.error(node, hints.type_refusal(value.type, wanted))
        return nodes.Convert(wanted, value.site, value)


def parameter_key(parameter: ParameterDeclaration) -> str:
    """Return the key in `TypingScope.locals` of a parameter; a choice has one apart from the local that it is for."""
    return f" choice {parameter.name}" if parameter.is_choice else parameter.name
