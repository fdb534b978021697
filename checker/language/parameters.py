"""Parameters of actions: those of the signature and those that `choose` binds, with the numbers of their choices."""

from __future__ import annotations

import ast
import builtins
import functools
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from checker.language.choices import choose, subsets
from checker.language.declarations import is_type
from checker.language.roles import require
from checker.language.source import Source
from checker.language.types import BagType, MapType, OptionType, SeqType, SetType, StructType, TupleType, Type
from checker.language.value_types import sequence_type, value_type

BOUND_FROM = 256
"""A parameter with more values that is bound by `require(parameter in collection)` ranges over this collection only."""

MOST_ENUMERATED = 4096
"""The most values of a parameter that is not bound: each of them is tried in every state."""

MOST_INITIAL_CHOICES = 1_000_000
"""The most choices of the parameters of `init`: the interpreter runs `init` for each of them."""

MOST_SUBSETS_OF = 16
"""The most values of a type of which the subsets are enumerated: there are 65,536 of them."""


@dataclass(frozen=True)
class ParameterDeclaration:
    """A parameter of an action, of `init` or of a property, or a local of an action that `choose` binds.

    If its type has too many values to enumerate, `collection` is the expression in the `require(parameter in ...)` or
    `choose(...)` that binds it, else None. `choices` is the number of its values: those of its type, or the most items
    that the collection can have. `is_choice`: it is bound by `choose`.
    """

    name: str
    type: Type
    choices: int
    collection: ast.expr | None
    is_choice: bool = False


@dataclass(frozen=True)
class ActionShape:
    """An action's parameters, and the number of its first instance among all instances of the spec.

    Instances are numbered consecutively, action by action, in the order of the arguments; the last parameter varies
    fastest. A parameter that is bound to a collection is numbered by its position in the collection. Parameters that
    `choose` binds come after those of the signature, in the order of the statements.
    """

    name: str
    parameters: tuple[ParameterDeclaration, ...]
    first_instance: int

    @property
    def instances(self) -> int:
        """The number of instances of the action."""
        count = 1
        for parameter in self.parameters:
            count *= parameter.choices
        return count

    @property
    def signature(self) -> tuple[str, ...]:
        """The names of the parameters of the method."""
        return tuple(parameter.name for parameter in self.parameters if not parameter.is_choice)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names of the parameters that `choose` binds."""
        return tuple(parameter.name for parameter in self.parameters if parameter.is_choice)


class CallArguments(tuple[Any, ...]):
    """The arguments of an action instance. `chosen` names the last ones, those that `choose` binds."""

    chosen: tuple[str, ...]

    def __new__(cls, values: tuple[Any, ...], chosen: tuple[str, ...]) -> CallArguments:  # noqa: D102
        made = super().__new__(cls, values)
        made.chosen = chosen
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return CallArguments, (tuple(self), self.chosen)


class SpecTypes(Protocol):
    """The part of a spec that gives expressions their types."""

    @property
    def variables(self) -> Mapping[str, Type]:
        """The types of the state variables."""

    def resolved_type(self, declaration: Any) -> Any:
        """Return the resolved type of a declaration."""


def names_of_function(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the names that are visible in a function's body and are not its locals."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return function.__globals__ | {name: cell.cell_contents for name, cell in cells}


def is_call_of(node: ast.AST, function: Any, names: Mapping[str, Any]) -> bool:
    """Return whether a node is a call of a function of the language, given the names that are visible."""
    return isinstance(node, ast.Call) and _object(node.func, names) is function


def _object(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the Python object of a name, or of an attribute of a module or class; None for anything else."""
    if isinstance(node, ast.Name):
        return names.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Attribute):
        base = _object(node.value, names)
        if isinstance(base, type) or type(base).__name__ == "module":
            return getattr(base, node.attr, None)
    return None


def plain_parameters(
    source: Source, method: str, *, is_method: bool = True, may_default: bool = False
) -> list[ast.arg]:
    """Return the parameters of a method, `self` first, or of a function; raise SpecError if it has others."""
    declared = source.tree.args
    if declared.vararg or declared.kwarg or declared.kwonlyargs or declared.posonlyargs:
        raise source.error(source.tree, f"{method} takes plain parameters only: no *, ** or /")
    if declared.defaults and not may_default:
        raise source.error(source.tree, f"{method} takes plain parameters only: no defaults")
    if is_method and not declared.args:
        raise source.error(source.tree, f"{method} has no parameter for the state: write def {method}(self)")
    return declared.args


# Statements that bind a parameter.


def binding_collection(source: Source, parameter: str) -> ast.expr | None:
    """Return the collection in the leading `require(parameter in collection)` of an action, or None."""
    # Only leading `require` statements count: after any other statement the collection may have changed.
    for statement in _after_docstring(source.tree.body):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "require"):
            return None
        test = call.args[0] if call.args else None
        if (
            isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Name)
            and test.left.id == parameter
            and len(test.ops) == 1
            and isinstance(test.ops[0], ast.In)
        ):
            return test.comparators[0]
    return None


def _after_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    is_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[1:] if is_text else body


@dataclass(frozen=True)
class ChoiceStatement:
    """A statement `name = choose(collection)`. `is_leading`: only `require` and other choices precede it."""

    name: str
    annotation: ast.expr | None
    collection: ast.expr
    call: ast.Call
    is_leading: bool


@functools.lru_cache(maxsize=256)
def choice_statements(function: Callable[..., Any], source: Source) -> Sequence[ChoiceStatement]:
    """Return the choices of an action, in their order; raise SpecError for a `choose` in another place."""
    # A cheap test first: most actions make no choice, and every spec asks this of each of its actions.
    code = function.__code__
    is_named = any(name == "choose" or function.__globals__.get(name) is choose for name in code.co_names)
    if not is_named and not code.co_freevars:
        return []
    names = names_of_function(function)
    choices: list[ChoiceStatement] = []
    is_leading = True
    for position, statement in enumerate(body := _after_docstring(source.tree.body)):
        choice = _choice(statement, names, source, is_leading)
        if choice is None:
            is_leading = is_leading and isinstance(statement, ast.Expr) and is_call_of(statement.value, require, names)
            continue
        if any(isinstance(node, ast.Return) for before in body[:position] for node in ast.walk(before)):
            message = f"the action may return before it chooses {choice.name}: put the choice before the `return`"
            raise source.error(statement, message)
        choices.append(choice)
    _refuse_other_places(source, names, {choice.call for choice in choices})
    taken = [argument.arg for argument in source.tree.args.args]
    for choice in choices:
        if choice.name in taken:
            raise source.error(choice.call, f"{choice.name} has a value already: choose into a new name")
        taken.append(choice.name)
    return choices


def _choice(statement: ast.stmt, names: Mapping[str, Any], source: Source, is_leading: bool) -> ChoiceStatement | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, annotation = statement.targets[0], None
    elif isinstance(statement, ast.AnnAssign):
        target, annotation = statement.target, statement.annotation
    else:
        return None
    call = statement.value
    if not (isinstance(call, ast.Call) and is_call_of(call, choose, names) and isinstance(target, ast.Name)):
        return None
    if len(call.args) != 1 or call.keywords:
        raise source.error(call, "choose takes one collection: value = choose(collection)")
    return ChoiceStatement(target.id, annotation, call.args[0], call, is_leading)


def _refuse_other_places(source: Source, names: Mapping[str, Any], known: set[ast.Call]) -> None:
    """Raise SpecError for a `choose` that is not a statement of the action itself, with what to write instead."""
    for outer in source.tree.body:
        for node in ast.walk(outer):
            if not is_call_of(node, choose, names) or node in known:
                continue
            if isinstance(outer, (ast.For, ast.While)):
                hint = "a loop takes all items in one step: choose before it, for example from subsets(...)"
            elif isinstance(outer, (ast.If, ast.Match)):
                hint = "choose before the branch, or make the branch an action of its own that begins with require(...)"
            else:
                hint = "choose into a local first, and use the local: value = choose(...)"
            raise source.error(
                node, f"choose is a statement of its own, outside branches and loops of an action: {hint}"
            )


# The items of collections.


@dataclass(frozen=True)
class Items:
    """The items of a collection: their type, and the most that there can be."""

    type: Type
    most: int


class CollectionTyper:
    """Finds the type and the greatest number of a collection's items from its text.

    It knows the expressions that name parts of the state, constants, types, `subsets`, comprehensions and operators of
    sets; the methods return None for any other expression. `locals_` has the types of parameters.
    """

    def __init__(self, spec: SpecTypes, function: Callable[..., Any], locals_: Mapping[str, Type]):
        self._spec, self._names, self._locals = spec, names_of_function(function), dict(locals_)
        self._function = function

    def items(self, node: ast.expr) -> Items | None:
        """Return the items of a collection."""
        value = self._object(node)
        if is_type(value):
            kind = self._spec.resolved_type(value)
            return Items(kind, kind.cardinality())
        if isinstance(value, (tuple, set, frozenset)):
            return _items_of_type(value_type(value, self._spec.resolved_type))
        if isinstance(node, ast.Call):
            return self._items_of_call(node)
        if isinstance(node, (ast.SetComp, ast.ListComp, ast.GeneratorExp)):
            return self._comprehension(node)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.IfExp):
            return _either(self.items(node.body), self.items(node.orelse), max)
        if isinstance(node, (ast.Set, ast.List, ast.Tuple)):
            kinds = {self._value(item) for item in node.elts}
            one = next(iter(kinds), None)
            return Items(one, len(node.elts)) if len(kinds) == 1 and one is not None else None
        return _items_of_type(self._value(node))

    def _object(self, node: ast.expr) -> Any:
        is_local = isinstance(node, ast.Name) and node.id in self._locals
        return None if is_local else _object(node, self._names)

    def _items_of_call(self, node: ast.Call) -> Items | None:
        callee = self._object(node.func)
        if callee is subsets and node.args:
            of = self.items(node.args[0])
            return None if of is None or of.type.cardinality() > 64 else Items(SetType(of.type), int(2**of.most))
        if callee in (builtins.set, builtins.frozenset, builtins.sorted) and len(node.args) == 1:
            return self.items(node.args[0])
        return None

    def _comprehension(self, node: ast.SetComp | ast.ListComp | ast.GeneratorExp) -> Items | None:
        inner, most = CollectionTyper(self._spec, self._function, self._locals), 1
        for clause in node.generators:
            over = inner.items(clause.iter)
            if over is None or not isinstance(clause.target, ast.Name):
                return None
            inner._locals[clause.target.id] = over.type
            most *= over.most
        kind = inner._value(node.elt)
        return None if kind is None else Items(kind, most)

    def _operation(self, node: ast.BinOp) -> Items | None:
        left, right = self.items(node.left), self.items(node.right)
        if isinstance(node.op, (ast.BitOr, ast.BitXor, ast.Add)):
            return _either(left, right, lambda one, other: one + other)
        return left if isinstance(node.op, (ast.BitAnd, ast.Sub)) else None

    def _value(self, node: ast.expr) -> Type | None:
        """Return the type of a part of the state, or of a parameter."""
        if isinstance(node, ast.Name):
            return self._locals.get(node.id)
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == self._function.__code__.co_varnames[0]:
                return self._attribute(node.attr)
            base = _unwrap(self._value(node.value))
            return base.type_of(node.attr) if isinstance(base, StructType) else None
        if isinstance(node, ast.Subscript):
            base = _unwrap(self._value(node.value))
            if isinstance(node.slice, ast.Slice):
                return base if isinstance(base, SeqType) else None
            if isinstance(base, MapType):
                return base.value
            if isinstance(base, TupleType) and isinstance(node.slice, ast.Constant):
                return base.type_of(str(node.slice.value))
            return base.item if isinstance(base, SeqType) else None
        return None

    def _attribute(self, name: str) -> Type | None:
        """Return the type of a state variable, or of a constant or another attribute of the class."""
        if name in self._spec.variables:
            return self._spec.variables[name]
        value = getattr(self._spec, name, None)
        return None if value is None or callable(value) else value_type(value, self._spec.resolved_type)


def _unwrap(kind: Type | None) -> Type | None:
    return kind.item if isinstance(kind, OptionType) else kind


def _items_of_type(kind: Type | None) -> Items | None:
    kind = _unwrap(kind)
    if isinstance(kind, TupleType):
        kind = sequence_type(kind)
    if isinstance(kind, SetType):
        return Items(kind.item, kind.item.cardinality() if kind.capacity is None else kind.capacity)
    return Items(kind.item, kind.capacity) if isinstance(kind, (SeqType, BagType)) else None


def _either(one: Items | None, other: Items | None, most: Callable[[int, int], int]) -> Items | None:
    if one is None or other is None or one.type != other.type:
        return None
    return Items(one.type, most(one.most, other.most))


def variable_in(collection: ast.expr) -> str | None:
    """Return the name of the state variable that a collection is, or None if it is another expression."""
    if isinstance(collection, ast.Attribute) and isinstance(collection.value, ast.Name):
        return collection.attr
    return None


def free_names(node: ast.AST) -> list[str]:
    """Return the names that an expression reads and does not bind itself."""
    names = [name for name in ast.walk(node) if isinstance(name, ast.Name)]
    bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return [name.id for name in names if name.id not in bound]


@functools.lru_cache(maxsize=1024)
def _compile(node: ast.expr, file: str) -> types.CodeType:
    return compile(ast.fix_missing_locations(ast.Expression(node)), file, "eval")


def evaluated(node: ast.expr, function: Callable[..., Any], locals_: Mapping[str, Any]) -> Any:
    """Return the value of an expression of a method, as it is evaluated there."""
    code = _compile(node, function.__code__.co_filename)
    # One dict: the clauses of a comprehension do not see the locals of `eval`.
    return eval(code, names_of_function(function) | dict(locals_))
