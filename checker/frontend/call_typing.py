"""Typing of calls, comprehensions and membership tests."""

from __future__ import annotations

import ast
import builtins
import enum
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from checker.frontend import hints, narrowing, partial_maps
from checker.frontend.scope import TypingScope
from checker.frontend.type_relations import union_type, widen_towards
from checker.frontend.typers import ExpressionTyper
from checker.ir import nodes
from checker.language.choices import choose, subsets
from checker.language.declared_types import Domain, Range, Struct, replace
from checker.language.parameters import MOST_SUBSETS_OF
from checker.language.roles import implies, require
from checker.language.symbols import upper_bound
from checker.language.type_joins import NONE, is_bounded, join, join_integers, set_of, without_option
from checker.language.types import (
    LARGEST,
    BagType,
    BoolType,
    DomainType,
    EnumType,
    IntType,
    MapType,
    NameType,
    NeverType,
    OptionType,
    PartialMapType,
    SeqType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
)
from checker.language.value_types import sequence_type

FOLDS = {builtins.all: "all", builtins.any: "any", builtins.sum: "sum", builtins.min: "min", builtins.max: "max"}
COLLECTIONS = (SetType, SeqType, BagType)

Bind = Callable[[ast.AST, str, Type], nodes.Local]
"""Binds a loop variable: `TypingScope.assign` in a `for` statement, `TypingScope.bind` in a comprehension."""


@contextmanager
def inner_locals(scope: TypingScope) -> Iterator[None]:
    """While this holds, new locals belong to a comprehension; they are removed after it."""
    known, assigned = dict(scope.locals), set(scope.assigned)
    alternatives = dict(scope.alternatives)
    # The locals of a comprehension are new in every pass, so their changes must not cause another one.
    changed = scope.changed
    try:
        yield
    finally:
        scope.locals, scope.assigned, scope.changed = known, assigned, changed
        scope.alternatives = alternatives


def call(typer: ExpressionTyper, node: ast.Call, wanted: Type | None) -> nodes.Expr:
    """Return a call of a helper, a struct, a function of the language, or a method of a collection.

    Raises SpecError for anything else.
    """
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        if typer.root_of(owner) is not None:
            return typer.compiler.method_call(typer, node, typer.root_of(owner), node.func.attr, after=None)
        if is_super(owner) and typer.scope.owner is not None:
            # The calling method may itself run on `old`: its first parameter is the state that super() means.
            root = next(iter(typer.scope.roots.values()))
            return typer.compiler.method_call(typer, node, root, node.func.attr, after=typer.scope.owner)
        # Not an object of the module, so it is a method of a value, such as `self.log.append`.
        if typer.scope.object_of(node.func) is None:
            return _collection_method(typer, node, node.func)
    callee = typer.scope.object_of(node.func)
    if callee is choose:
        raise typer.scope.error(node, "choose is a statement of its own in an action: value = choose(...)")
    if callee is subsets:
        iterable(typer, node)
    if isinstance(callee, type) and issubclass(callee, Struct):
        return _struct(typer, node, callee)
    builder = (
        _FUNCTIONS.get(callee) if isinstance(callee, (types.BuiltinFunctionType, types.FunctionType, type)) else None
    )
    if builder is not None:
        return builder(typer, node, wanted)  # type: ignore[no-any-return]
    if callee in FOLDS:
        return _fold_call(typer, node, FOLDS[callee])
    if isinstance(callee, types.FunctionType):
        return typer.compiler.function_call(typer, node, callee)
    raise typer.scope.error(node, hints.call_refusal(node.func, callee))


def is_super(node: ast.expr) -> bool:
    """Return whether an expression is `super()`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args


def plain_arguments(typer: ExpressionTyper, node: ast.Call, count: int | None = None) -> list[ast.expr]:
    """Return a call's positional arguments; raise SpecError for keywords, `*`, or another count."""
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise typer.scope.error(node, f"{ast.unparse(node.func)} takes plain arguments, without keywords or *")
    if count is not None and len(node.args) != count:
        wanted = f"{count} argument" if count == 1 else f"{count} arguments"
        raise typer.scope.error(node, f"{ast.unparse(node.func)} takes {wanted}, {len(node.args)} were given")
    return node.args


def _struct(typer: ExpressionTyper, node: ast.Call, declared: type[Struct]) -> nodes.Expr:
    kind: StructType = typer.compiler.spec.resolved_type(declared)
    names = [name for name, _ in kind.fields]
    given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    if given.keys() != set(names) or len(node.args) + len(node.keywords) != len(names):
        raise typer.scope.error(node, f"{declared.__name__} takes the fields {', '.join(names)}")
    values = tuple(typer.converted(given[name], field) for name, field in kind.fields)
    return nodes.StructNew(kind, typer.scope.site(node), values)


def _replace(typer: ExpressionTyper, node: ast.Call, wanted: Type | None) -> nodes.Expr:
    if len(node.args) != 1:
        raise typer.scope.error(node, "replace takes a struct and the fields to change: replace(record, epoch=2)")
    base = typer.unwrapped(typer.expression(node.args[0]))
    if not isinstance(base.type, StructType):
        raise typer.scope.error(node, f"replace changes fields of a struct, not of {base.type:a}")
    values = []
    for keyword in node.keywords:
        field = base.type.type_of(keyword.arg or "")
        if field is None or keyword.arg is None:
            raise typer.scope.error(node, f"{base.type} has no field {keyword.arg}")
        values.append((keyword.arg, typer.converted(keyword.value, field)))
    return nodes.StructReplace(base.type, typer.scope.site(node), base, tuple(values))


def field_read(typer: ExpressionTyper, base: nodes.Expr, name: str, site: nodes.Site) -> nodes.Expr:
    """Return a field of a struct, or the item of a tuple with the name "0", "1" and so on."""
    assert isinstance(base.type, StructType)
    kind = base.type.type_of(name)
    assert kind is not None
    if not isinstance(base, nodes.Literal):
        return nodes.FieldRead(kind, site, base, name)
    known = nodes.Literal(kind, site, base.value.field(name))
    if typer.compiler.python_collections.holds_parts(base):
        typer.compiler.python_collections.add(known)
    return known


def items_of_tuple(typer: ExpressionTyper, node: ast.expr, base: nodes.Expr) -> nodes.Expr:
    """Return the sequence of a tuple's items; raise SpecError if they have no common type."""
    assert isinstance(base.type, TupleType)
    kind = sequence_type(base.type)
    if kind is None or not is_bounded(kind):
        raise typer.scope.error(node, f"the items of {base.type:a} have no common type: write [0] for the first item")
    items = [
        typer.scope.convert(node, field_read(typer, base, name, base.site), kind.item) for name, _ in base.type.fields
    ]
    return nodes.ItemsOf(kind, base.site, tuple(items))


def _length(typer: ExpressionTyper, node: ast.Call, wanted: Type | None) -> nodes.Expr:
    (argument,) = plain_arguments(typer, node, 1)
    named = typer.scope.object_of(argument)
    if isinstance(named, type) and issubclass(named, (Domain, enum.Enum)):
        size = typer.compiler.spec.resolved_type(named).cardinality()
        return nodes.Literal(IntType(size, size, "int"), typer.scope.site(node), size)
    base = typer.unwrapped(typer.expression(argument))
    if isinstance(base.type, PartialMapType):
        return partial_maps.length(typer, node, base)
    if isinstance(base.type, TupleType):
        size = len(base.type.items)
        return nodes.Literal(IntType(size, size, "int"), typer.scope.site(node), size)
    if not isinstance(base.type, COLLECTIONS):
        raise typer.scope.error(node, f"len takes a set, sequence or bag, not {base.type:a}")
    return nodes.Length(IntType(0, largest_size(base.type), "int"), typer.scope.site(node), base)


def largest_size(kind: Type) -> int:
    """Return the largest number of items that a collection of this type can have."""
    if isinstance(kind, SetType) and kind.capacity is None:
        return kind.item.cardinality()
    assert isinstance(kind, COLLECTIONS) and kind.capacity is not None
    return kind.capacity


def _absolute(typer: ExpressionTyper, node: ast.Call, wanted: Type | None) -> nodes.Expr:
    (argument,) = plain_arguments(typer, node, 1)
    value = typer.integer(argument)
    zero = nodes.Literal(IntType(0, 0, "int"), value.site, 0)
    # abs(x) is max(x, 0 - x).
    negated = typer.arithmetic(node, "-", zero, value)
    assert isinstance(value.type, IntType) and isinstance(negated.type, IntType)
    bounds = join_integers(value.type, negated.type)
    return nodes.Extremum(IntType(0, bounds.high, "int"), typer.scope.site(node), "max", (value, negated))


def _implies(typer: ExpressionTyper, node: ast.Call, wanted: Type | None) -> nodes.Expr:
    # Both arguments are evaluated, as in Python: a bounds error in the conclusion counts even if the premise is false.
    premise, conclusion = (typer.condition(argument) for argument in plain_arguments(typer, node, 2))
    site = typer.scope.site(node)
    return nodes.Logical(nodes.BOOL, site, "or", (nodes.Not(nodes.BOOL, site, premise), conclusion), eager=True)


def _isinstance(typer: ExpressionTyper, node: ast.Call, wanted: Type | None) -> nodes.Expr:
    value_node, structs_node = plain_arguments(typer, node, 2)
    structs = narrowing.structs_in(typer.scope, structs_node)
    value, site = typer.expression(value_node), typer.scope.site(node)
    kind = without_option(value.type)
    chosen = narrowing.alternatives_among(kind, structs)
    if not isinstance(kind, (UnionType, StructType)) or (isinstance(kind, UnionType) and not chosen):
        raise typer.scope.error(node, f"{kind:a} is never {ast.unparse(structs_node)}")
    if isinstance(kind, UnionType):
        inner = typer.unwrapped(value)
        test: nodes.Expr = nodes.IsAlternative(nodes.BOOL, site, inner, tuple(map(kind.alternatives.index, chosen)))
    else:
        test = nodes.Literal(nodes.BOOL, site, bool(chosen))
    if kind == value.type:
        return test
    is_there = typer.equality(node, "!=", value, nodes.Literal(NONE, site, None))
    return nodes.Logical(nodes.BOOL, site, "and", (is_there, test))


def _set(typer: ExpressionTyper, node: ast.Call, wanted: Type | None) -> nodes.Expr:
    arguments = plain_arguments(typer, node)
    site = typer.scope.site(node)
    inner = wanted.item if isinstance(wanted, SetType) else None
    if not arguments:
        return nodes.ItemsOf(SetType(NeverType(), 0), site, ())
    if len(arguments) > 1:
        raise typer.scope.error(node, "set takes one argument")
    if isinstance(arguments[0], (ast.GeneratorExp, ast.ListComp)):
        return comprehension(typer, node, "set", arguments[0].elt, arguments[0].generators, inner)
    return items_of(typer, node, arguments[0], "set")


def _frozenset(typer: ExpressionTyper, node: ast.Call, wanted: Type | None) -> nodes.Expr:
    members = _set(typer, node, wanted)
    typer.compiler.python_collections.add_frozen(members)
    return members


def refuse_unhashable(typer: ExpressionTyper, node: ast.expr, item: nodes.Expr) -> None:
    """Raise SpecError if Python may be unable to put an item into a set."""
    if typer.compiler.python_collections.may_change(item):
        raise typer.scope.error(
            node, f"Python cannot put {item.type:a} into a set: write frozenset(...), or store it in a variable first"
        )


def _sort(typer: ExpressionTyper, node: ast.Call, wanted: Type | None) -> nodes.Expr:
    (argument,) = plain_arguments(typer, node, 1)
    base = _operand_of_sort(typer, node, argument)
    if isinstance(base.type, SetType):
        # A set may be a bit set, which has no array of items to sort.
        base = nodes.Sorted(SeqType(base.type.item, largest_size(base.type)), base.site, base)
    assert isinstance(base.type, (SeqType, BagType))
    if not isinstance(base.type.item, (IntType, NeverType)):
        raise typer.scope.error(node, f"sorted takes integers, not {base.type.item}")
    return nodes.Sorted(SeqType(base.type.item, base.type.capacity), typer.scope.site(node), base)


def _operand_of_sort(typer: ExpressionTyper, node: ast.Call, argument: ast.expr) -> nodes.Expr:
    if isinstance(argument, (ast.GeneratorExp, ast.ListComp)):
        return comprehension(typer, node, "seq", argument.elt, argument.generators, None, ordered=False)
    return items_of(typer, node, argument, "seq")


def items_of(typer: ExpressionTyper, node: ast.expr, argument: ast.expr, kind: str) -> nodes.Expr:
    """Return the set or sequence of all items of an iterable."""
    over = iterable(typer, argument)
    if isinstance(over, nodes.Expr) and isinstance(over.type, SetType) and kind == "set":
        return over
    with inner_locals(typer.scope):
        # The space keeps the name apart from those of the spec.
        local = typer.scope.bind(node, " item", item_type(over))
        element = nodes.LocalRead(local.type, typer.scope.site(node), local)
        return _collect(typer, node, kind, (nodes.ForClause(local, over),), element)


_FUNCTIONS: dict[Any, Any] = {
    builtins.len: _length,
    builtins.abs: _absolute,
    builtins.isinstance: _isinstance,
    builtins.set: _set,
    builtins.frozenset: _frozenset,
    builtins.sorted: _sort,
    replace: _replace,
    implies: _implies,
}


def _fold_call(typer: ExpressionTyper, node: ast.Call, kind: str) -> nodes.Expr:
    default: nodes.Expr | None = None
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if "key" in keywords and kind in ("min", "max") and keywords.keys() <= {"key", "default"}:
        return _choice(typer, node, kind, keywords["key"], keywords.get("default"))
    for keyword in node.keywords:
        if keyword.arg != "default" or kind not in ("min", "max"):
            raise typer.scope.error(node, f"{kind} does not take {keyword.arg}= in this language")
        default = _never_none(typer, keyword.value, typer.expression(keyword.value), "the default")
    if len(node.args) > 1:
        return _extremum(typer, node, kind)
    (argument,) = node.args or (None,)
    if argument is None:
        raise typer.scope.error(node, f"{kind} needs a collection or a comprehension: {kind}(... for x in ...)")
    if isinstance(argument, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
        if isinstance(argument, ast.SetComp) and kind == "sum":
            return _fold_over(typer, node, kind, argument, default)
        if not isinstance(argument, ast.GeneratorExp) and kind in ("all", "any"):
            # Python builds the whole list or set first: `all([...])` evaluates the items after a false one, too.
            return _fold_over(typer, node, kind, argument, default)
        with inner_locals(typer.scope):
            clauses = _clauses(typer, argument.generators)
            element = argument.elt
            value = typer.condition(element) if kind in ("all", "any") else typer.expression(element)
            if kind == "sum" and value.type == nodes.BOOL:
                text = ast.unparse(element)
                raise typer.scope.error(element, f"sum takes integers: count with sum(1 for ... if {text})")
            if kind not in ("all", "any"):
                value = _operand(typer, element, value, kind, argument.generators)
            return _fold(typer, node, kind, clauses, value, default)
    return _fold_over(typer, node, kind, argument, default)


def _choice(typer: ExpressionTyper, node: ast.Call, kind: str, key: ast.expr, default: ast.expr | None) -> nodes.Expr:
    """Return `min` or `max` with a key: the first item with the least or greatest key.

    It is the first item of `[x for least in [min(key(y) for y in items)] for x in items if key(x) == least]`. Of a key
    that is a tuple, each part has a `least` among the items with the least parts before it.
    """
    if len(node.args) != 1:
        raise typer.scope.error(node, f"{kind} with a key takes one collection: {kind}(items, key=lambda x: ...)")
    items = node.args[0]
    if isinstance(items, ast.GeneratorExp):
        items = ast.copy_location(ast.ListComp(items.elt, items.generators), items)
    site = typer.scope.site(node)
    with inner_locals(typer.scope):
        count = len(_keys(typer, node, key, _candidate(typer, node, items))[1])
        clauses: list[nodes.Clause] = []
        best: list[nodes.Expr] = []
        for position in range(count):
            # The items are typed again for each use, because a node has one place in the tree.
            over, keys = _keys(typer, node, key, _candidate(typer, node, items))
            same = _equal_keys(typer, node, keys, best)
            # Without items, an error unless there is a default; then the number of the fold does not matter.
            nothing = None if default is None else nodes.Literal(IntType(0, 0, "int"), site, 0)
            folded = _fold(typer, node, kind, (over, *same), keys[position], nothing)
            if not is_bounded(folded.type):
                raise typer.scope.error(key, "the key has no known bounds: keep its operands in a Range")
            local = typer.scope.bind(node, f" key {position}", folded.type)
            clauses.append(nodes.ForClause(local, nodes.ItemsOf(SeqType(folded.type, 1), site, (folded,))))
            best.append(nodes.LocalRead(folded.type, site, local))
        over, keys = _keys(typer, node, key, _candidate(typer, node, items))
        require_order(typer, node, (over,))
        element = nodes.LocalRead(over.local.type, site, over.local)
        size = _iteration_bound((over,))
        all_clauses = (*clauses, over, *_equal_keys(typer, node, keys, best))
        chosen: nodes.Expr = nodes.Fold(SeqType(over.local.type, size), site, "seq", all_clauses, element, chosen=True)
    if default is not None:
        other = typer.expression(default)
        single = nodes.ItemsOf(SeqType(other.type, 1), site, (other,))
        chosen = typer.concatenation(node, chosen, single)
    assert isinstance(chosen.type, SeqType)
    first = nodes.Literal(IntType(0, 0, "int"), site, 0)
    return nodes.IndexRead(chosen.type.item, site, chosen, first)


def _candidate(typer: ExpressionTyper, node: ast.Call, items: ast.expr) -> nodes.ForClause:
    over = iterable(typer, items)
    local = typer.scope.bind(node, " candidate", item_type(over))
    if not is_bounded(local.type) or isinstance(local.type, NameType):
        raise typer.scope.error(node, f"items of type {local.type} cannot be stored: keep numbers in a Range")
    return nodes.ForClause(local, over)


def _keys(
    typer: ExpressionTyper, node: ast.Call, key: ast.expr, over: nodes.ForClause
) -> tuple[nodes.ForClause, list[nodes.Expr]]:
    """Return a clause over the candidates with the parts of the key of each."""
    if isinstance(key, ast.Lambda):
        arguments = key.args
        if len(arguments.args) != 1 or arguments.defaults or arguments.vararg or arguments.kwarg:
            raise typer.scope.error(key, "a key takes one item: key=lambda x: ...")
        with inner_locals(typer.scope):
            local = typer.scope.bind(key, arguments.args[0].arg, over.local.type)
            typer.scope.parts[local] = nodes.LocalRead(over.local.type, typer.scope.site(key), over.local)
            value = typer.expression(key.body)
    else:
        name = ast.copy_location(ast.Name(" candidate", ast.Load()), key)
        value = typer.expression(ast.copy_location(ast.Call(key, [name], []), node))
    parts = [value]
    if isinstance(value.type, TupleType):
        parts = [field_read(typer, value, name, value.site) for name, _ in value.type.fields]
    return over, [_never_none(typer, key, part, "a key") for part in parts]


def _never_none(typer: ExpressionTyper, node: ast.expr, value: nodes.Expr, what: str) -> nodes.Expr:
    """Return an integer; raise SpecError for an option, of which Python may pass on None without an error."""
    if isinstance(value.type, OptionType):
        raise typer.scope.error(node, f"{what} may be None: test it first, or add 0 to fail if it is None")
    return typer.as_integer(node, value)


def _equal_keys(
    typer: ExpressionTyper, node: ast.Call, keys: list[nodes.Expr], best: list[nodes.Expr]
) -> list[nodes.IfClause]:
    pairs = zip(keys, best, strict=False)
    return [nodes.IfClause(typer.equality(node, "==", one, other)) for one, other in pairs]


def _fold_over(
    typer: ExpressionTyper, node: ast.Call, kind: str, argument: ast.expr, default: nodes.Expr | None
) -> nodes.Expr:
    over = iterable(typer, argument)
    with inner_locals(typer.scope):
        local = typer.scope.bind(node, " item", item_type(over))
        value: nodes.Expr = nodes.LocalRead(local.type, typer.scope.site(node), local)
        value = (
            typer.scope.convert(node, value, nodes.BOOL)
            if kind in ("all", "any")
            else _operand(typer, argument, value, kind)
        )
        return _fold(typer, node, kind, (nodes.ForClause(local, over),), value, default)


def _operand(
    typer: ExpressionTyper, node: ast.expr, value: nodes.Expr, kind: str, generators: Sequence[ast.comprehension] = ()
) -> nodes.Expr:
    """Return the integer that `sum`, `min` or `max` takes of each item; raise SpecError for other types."""
    # Python adds no None, but returns it as the least of one item.
    if kind == "sum" or _excludes_none(generators, node):
        return typer.as_integer(node, value)
    return _never_none(typer, node, value, f"an item of {kind}")


def _excludes_none(generators: Sequence[ast.comprehension], element: ast.expr) -> bool:
    """Return whether the last clause of a comprehension has the condition `ELEMENT is not None`."""
    conditions = list(generators[-1].ifs) if generators else []
    while conditions:
        test = conditions.pop()
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            conditions += test.values
        elif ast.unparse(test) == f"{ast.unparse(element)} is not None":
            return True
    return False


def _fold(
    typer: ExpressionTyper,
    node: ast.expr,
    kind: str,
    clauses: tuple[nodes.Clause, ...],
    value: nodes.Expr,
    default: nodes.Expr | None,
) -> nodes.Expr:
    site = typer.scope.site(node)
    if kind in ("all", "any"):
        return nodes.Fold(nodes.BOOL, site, kind, clauses, value)  # type: ignore[arg-type]
    assert isinstance(value.type, IntType)
    # With known bounds, the range also contains all partial sums, so the engines need not check each addition.
    if kind == "sum":
        total = _sum_type(value.type, _iteration_bound(clauses))
        if max(abs(total.low or 0), abs(total.high or 0)) > LARGEST:
            raise typer.scope.error(node, "the sum may exceed 62 bits: use smaller ranges")
        return nodes.Fold(total, site, "sum", clauses, value)
    bounds = value.type
    if default is not None:
        assert isinstance(default.type, IntType)
        bounds = join_integers(bounds, default.type)
    return nodes.Fold(bounds, site, kind, clauses, value, default)  # type: ignore[arg-type]


def _sum_type(item: IntType, count: int) -> IntType:
    # Zero belongs to the range: there may be no item, and the bound of the number of items need not be reached.
    low = None if item.low is None else min(0, item.low * count)
    high = None if item.high is None else max(0, item.high * count)
    return IntType(low, high, "int")


def _extremum(typer: ExpressionTyper, node: ast.Call, kind: str) -> nodes.Expr:
    if kind not in ("min", "max"):
        raise typer.scope.error(node, f"{kind} takes one argument")
    operands = tuple(typer.integer(argument) for argument in plain_arguments(typer, node))
    choose = min if kind == "min" else upper_bound
    ranges = [operand.type for operand in operands]
    lows = [kind.low for kind in ranges if isinstance(kind, IntType)]
    highs = [kind.high for kind in ranges if isinstance(kind, IntType)]
    low = _extreme(choose, lows, unknown_decides=kind == "min")
    high = _extreme(choose, highs, unknown_decides=kind == "max")
    return nodes.Extremum(IntType(low, high, "int"), typer.scope.site(node), kind, operands)  # type: ignore[arg-type]


def _extreme(choose: Any, bounds: list[int | None], *, unknown_decides: bool) -> int | None:
    """Return a bound of a min or max from the bounds of its operands; None is an unknown one.

    The least value of a min is unknown as soon as one operand's is (`unknown_decides`). Its greatest value is at most
    any known bound, so unknown ones do not matter. A max is the mirror image.
    """
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds) and (unknown_decides or not known):
        return None
    return known[0] if len(known) == 1 else choose(*known)


def comprehension(
    typer: ExpressionTyper,
    node: ast.expr,
    kind: str,
    element: ast.expr,
    generators: list[ast.comprehension],
    wanted: Type | None,
    *,
    ordered: bool = True,
) -> nodes.Expr:
    """Return a set or list comprehension (`kind` "set" or "seq"); `ordered`: the result depends on the order."""
    with inner_locals(typer.scope):
        clauses = _clauses(typer, generators)
        value = typer.expression(element, wanted)
        value = typer.scope.convert(element, value, widen_towards(value.type, wanted))
        if kind == "seq" and ordered:
            require_order(typer, node, clauses)
        return _collect(typer, node, kind, clauses, value)


def _collect(
    typer: ExpressionTyper, node: ast.expr, kind: str, clauses: tuple[nodes.Clause, ...], value: nodes.Expr
) -> nodes.Expr:
    if not is_bounded(value.type) or isinstance(value.type, NameType):
        raise typer.scope.error(node, f"items of type {value.type} cannot be stored: keep numbers in a Range")
    if kind == "set":
        refuse_unhashable(typer, node, value)
    size = _iteration_bound(clauses)
    collected: Type = set_of(value.type, size) if kind == "set" else SeqType(value.type, size)
    return nodes.Fold(collected, typer.scope.site(node), kind, clauses, value)  # type: ignore[arg-type]


def _clauses(typer: ExpressionTyper, generators: list[ast.comprehension]) -> tuple[nodes.Clause, ...]:
    clauses: list[nodes.Clause] = []
    for position, generator in enumerate(generators):
        clause, tests = for_clause(typer, generator.target, generator.iter, typer.scope.bind)
        clauses += [clause, *(nodes.IfClause(test) for test in tests)]
        _bind_parts(typer, item_target(generator.target, clause), clause.local)
        if position == 0:
            # Python evaluates the first iterable in the function around it, and all else in the comprehension, where
            # the names of later clauses hide the function's locals even before they are bound.
            later = {name for clause in generators[1:] for name in _names(clause.target)}
            typer.scope.hide(later - set(_names(generator.target)))
        for test in generator.ifs:
            clauses.append(nodes.IfClause(typer.condition(test)))
            narrowing.narrow(typer.scope, test, is_true=True)
    return tuple(clauses)


def item_target(target: ast.expr, clause: nodes.ForClause) -> ast.expr:
    """Return the part of a loop's target that names the item: the second one with `enumerate`."""
    return target if clause.counter is None else target.elts[1]  # type: ignore[attr-defined]


def require_order(typer: ExpressionTyper, node: ast.expr, clauses: tuple[nodes.Clause, ...]) -> None:
    """Raise SpecError if a clause iterates over one of Python's own sets: their order is not defined."""
    for clause in clauses:
        over = clause.iterable if isinstance(clause, nodes.ForClause) else None
        if not isinstance(over, nodes.Expr) or not isinstance(over.type, SetType):
            continue
        if typer.compiler.python_collections.may_hold(over):
            values = _values_text(over.type.item)
            raise typer.scope.error(
                node, f"Python does not order a set that is not in the state: iterate over {values} and test with `in`"
            )


def _values_text(kind: Type) -> str:
    """Return how a spec writes an iteration over all values of a type."""
    if isinstance(kind, IntType) and kind.name == "int" and kind.low is not None and kind.high is not None:
        return f"range({kind.low}, {kind.high + 1})"
    return kind.name if isinstance(kind, IntType) and kind.name else str(kind)


def _names(target: ast.expr) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


def for_clause(
    typer: ExpressionTyper, target: ast.expr, over: ast.expr, bind: Bind
) -> tuple[nodes.ForClause, tuple[nodes.Expr, ...]]:
    """Return the clause `for target in over`, with a counter for `enumerate`; `bind` binds its variables.

    Also return the tests that an item must pass: those of `subsets(...)`, which iterates over all sets of a type.
    """
    if isinstance(over, ast.Call) and typer.scope.object_of(over.func) is builtins.enumerate:
        (sequence,) = plain_arguments(typer, over, 1)
        names = target.elts if isinstance(target, ast.Tuple) else []
        if len(names) != 2 or not isinstance(names[0], ast.Name):
            raise typer.scope.error(target, "enumerate needs two names: for index, item in enumerate(sequence)")
        sequence_items = iterable(typer, sequence)
        counter = bind(target, names[0].id, IntType(0, max(_largest_count(sequence_items) - 1, 0), "int"))
        return nodes.ForClause(_bind_item(typer, names[1], sequence_items, bind), sequence_items, counter), ()
    if (call := call_of_subsets(typer, over)) is not None:
        return _subsets_clause(typer, target, call, bind)
    sequence_items = iterable(typer, over)
    return nodes.ForClause(_bind_item(typer, target, sequence_items, bind), sequence_items), ()


def _bind_item(typer: ExpressionTyper, target: ast.expr, items: nodes.Iterable, bind: Bind) -> nodes.Local:
    """Return the variable of a loop over this; a tuple of names has a variable without a name, and `bind_parts`."""
    name = target.id if isinstance(target, ast.Name) else part_name(target)
    local = bind(target, name, item_type(items))
    if isinstance(items, nodes.Expr) and typer.compiler.python_collections.may_hold(items):
        typer.compiler.python_collections.add(local)
        if isinstance(items.type, SetType):
            _note_frozen(typer, local, bind)
    return local


def _note_frozen(typer: ExpressionTyper, local: nodes.Local, bind: Bind) -> None:
    """Note that the items of a variable can be put into a set; a `for` statement may assign another value to it."""
    if bind == typer.scope.bind:
        typer.compiler.python_collections.add_frozen(local)


def part_name(target: ast.expr) -> str:
    """Return the name of the variable that holds the value of which `target` names the parts."""
    # The space keeps the name apart from those of the spec.
    return f" parts {target.lineno}:{target.col_offset}"


def parts_of_target(
    typer: ExpressionTyper, target: ast.expr, value: nodes.Expr
) -> Iterator[tuple[ast.expr, nodes.Expr]]:
    """Iterate over the targets in `a, (b, c)` with their parts of a value; raise SpecError if these do not match."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value
        return
    if not isinstance(value.type, TupleType) or len(value.type.items) != len(target.elts):
        raise typer.scope.error(target, f"{value.type:a} cannot be unpacked into {len(target.elts)} names")
    for name, part in zip(value.type.fields, target.elts, strict=True):
        yield from parts_of_target(typer, part, field_read(typer, value, name[0], typer.scope.site(target)))


def _bind_parts(typer: ExpressionTyper, target: ast.expr, local: nodes.Local) -> None:
    """Bind the names of a comprehension's variable `a, b`."""
    if isinstance(target, ast.Name):
        return
    value = nodes.LocalRead(local.type, typer.scope.site(target), local)
    for part, piece in parts_of_target(typer, target, value):
        if not isinstance(part, ast.Name):
            raise typer.scope.error(part, f"a loop binds names, not {ast.unparse(part)}")
        typer.scope.bind_part(part, part.id, piece)


def iterable(typer: ExpressionTyper, node: ast.expr) -> nodes.Iterable:
    """Return the iterable of a loop or comprehension; raise SpecError if the language cannot iterate over it."""
    if call_of_subsets(typer, node) is not None:
        raise typer.scope.error(
            node, f"name the subset: {{subset for subset in {ast.unparse(node)}}}, or choose one: choose(subsets(...))"
        )
    named = typer.scope.object_of(node)
    if isinstance(named, type) and issubclass(named, (Domain, Range, enum.Enum)):
        return nodes.Universe(typer.compiler.spec.resolved_type(named))
    if isinstance(node, ast.Call) and typer.scope.object_of(node.func) is builtins.range:
        return _range(typer, node)
    value = typer.unwrapped(typer.expression(node))
    if isinstance(value.type, PartialMapType):
        return partial_maps.keys(typer, node, value)
    if isinstance(value.type, MapType):
        raise typer.scope.error(node, f"iterate over the keys of a Map: for key in {value.type.key}")
    if isinstance(value.type, TupleType):
        return items_of_tuple(typer, node, value)
    if not isinstance(value.type, COLLECTIONS):
        raise typer.scope.error(
            node,
            f"{value.type:a} cannot be iterated over: use a Domain, Range, Enum, range(...), set, sequence or bag",
        )
    return value


def _range(typer: ExpressionTyper, node: ast.Call) -> nodes.Iterable:
    arguments = plain_arguments(typer, node)
    if not 1 <= len(arguments) <= 2:
        raise typer.scope.error(node, "range takes one or two arguments in this language")
    written = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
    numbers = [value for value in written if isinstance(value, int)]
    if len(numbers) == len(arguments) and not range(*numbers):
        raise typer.scope.error(node, f"{ast.unparse(node)} is empty: its end is excluded, and it counts up")
    bounds = [typer.integer(argument) for argument in arguments]
    low = bounds[0] if len(bounds) == 2 else nodes.Literal(IntType(0, 0, "int"), typer.scope.site(node), 0)
    high = bounds[-1]
    assert isinstance(low.type, IntType) and isinstance(high.type, IntType)
    if low.type.low is None or high.type.high is None:
        raise typer.scope.error(node, "the range has no known bounds: keep its ends in state variables of a Range")
    return nodes.IntRange(low, high, IntType(low.type.low, max(high.type.high - 1, low.type.low), "int"))


def item_type(over: nodes.Iterable) -> Type:
    """Return the type of the variable that a loop over this binds."""
    if isinstance(over, (nodes.Universe, nodes.IntRange)):
        return over.type
    return over.type.item  # type: ignore[attr-defined, no-any-return]


def _largest_count(over: nodes.Iterable) -> int:
    if isinstance(over, nodes.Universe):
        return over.type.cardinality()
    if isinstance(over, nodes.IntRange):
        assert isinstance(over.low.type, IntType) and isinstance(over.high.type, IntType)
        return max(0, (over.high.type.high or 0) - (over.low.type.low or 0))
    return largest_size(over.type)


def _iteration_bound(clauses: tuple[nodes.Clause, ...]) -> int:
    """Return an upper bound of the number of elements of a comprehension."""
    total = 1
    for clause in clauses:
        if isinstance(clause, nodes.ForClause):
            total *= _largest_count(clause.iterable)
    return total


def membership(typer: ExpressionTyper, node: ast.expr, item: nodes.Expr, container: ast.expr) -> nodes.Expr:
    """Return `item in container`."""
    site = typer.scope.site(node)
    if (call := call_of_subsets(typer, container)) is not None:
        return SubsetsCall.of_call(typer, call).contain(typer, node, item)
    if isinstance(container, (ast.Tuple, ast.List, ast.Set)):
        choices = [typer.expression(choice) for choice in container.elts]
        if all(isinstance(choice, nodes.Literal) for choice in choices):
            return _one_of(typer, node, item, choices)
    named = typer.scope.object_of(container)
    if isinstance(named, (tuple, set, frozenset)):
        constants = [typer.scope.literal(container, choice) for choice in named]
        known: list[nodes.Expr] = [constant for constant in constants if constant is not None]
        if len(known) == len(constants):
            return _one_of(typer, node, item, known)
    over = iterable(typer, container)
    kind = item_type(over)
    if join(item.type, kind) is None:
        raise typer.scope.error(node, f"{item.type:a} is never in {ast.unparse(container)}: its items are {kind}")
    if isinstance(over, nodes.Universe):
        if not isinstance(over.type, IntType):
            # Every value of the type is a member. The item is compared all the same, so that an error in it counts.
            other = nodes.Literal(NONE, site, None) if isinstance(item.type, OptionType) else item
            return typer.equality(node, "==" if other is item else "!=", item, other)
        # The end of an IntRange is excluded, as in `range`.
        bounds = (over.type.low, (over.type.high or 0) + 1)
        low, high = (nodes.Literal(IntType(bound, bound, "int"), site, bound) for bound in bounds)
        over = nodes.IntRange(low, high, over.type)
    if isinstance(over, nodes.IntRange):
        value = _or_outside(typer, node, item, over)
        above = nodes.Comparison(nodes.BOOL, site, "<=", over.low, value)
        below = nodes.Comparison(nodes.BOOL, site, "<", value, over.high)
        return nodes.Logical(nodes.BOOL, site, "and", (above, below), eager=True)
    return nodes.Contains(nodes.BOOL, site, over, item)


def _or_outside(typer: ExpressionTyper, node: ast.expr, item: nodes.Expr, over: nodes.IntRange) -> nodes.Expr:
    """Return an integer; for an option that is None, a number below the range, since None is not in any range."""
    if not isinstance(item.type, OptionType):
        return typer.as_integer(node, item)
    site = typer.scope.site(node)
    below = typer.arithmetic(node, "-", over.low, nodes.Literal(IntType(1, 1, "int"), site, 1))
    inside = typer.unwrapped(item)
    if not isinstance(inside.type, IntType):
        return below
    assert isinstance(below.type, IntType)
    is_there = typer.equality(node, "!=", item, nodes.Literal(NONE, site, None))
    return nodes.Conditional(join_integers(inside.type, below.type), site, is_there, inside, below)


def _one_of(typer: ExpressionTyper, node: ast.expr, item: nodes.Expr, choices: list[nodes.Expr]) -> nodes.Expr:
    """Return `item in (A, B)` for literals as a chain of comparisons."""
    equal = [typer.equality(node, "==", item, choice) for choice in choices]
    # A comparison is a literal if both sides are known. A false one is left out, a true one decides.
    open_ones = [test for test in equal if not isinstance(test, nodes.Literal)]
    if len(open_ones) < len(equal) and any(test.value for test in equal if isinstance(test, nodes.Literal)):
        return nodes.Literal(nodes.BOOL, typer.scope.site(node), True)
    if not open_ones:
        return nodes.Literal(nodes.BOOL, typer.scope.site(node), False)
    if len(open_ones) == 1:
        return open_ones[0]
    return nodes.Logical(nodes.BOOL, typer.scope.site(node), "or", tuple(open_ones))


# Subsets.


def call_of_subsets(typer: ExpressionTyper, node: ast.expr) -> ast.Call | None:
    """Return a node that is a call of `subsets`; None for another node."""
    return node if isinstance(node, ast.Call) and typer.scope.object_of(node.func) is subsets else None


@dataclass(frozen=True)
class SubsetsCall:
    """A call of `subsets`: the type of the subsets, the set of which they are subsets (None: all values), the size."""

    type: SetType
    whole: nodes.Expr | None
    size: nodes.Expr | None

    @classmethod
    def of_call(cls, typer: ExpressionTyper, node: ast.Call) -> SubsetsCall:
        """Return the typed form of a call; raise SpecError for wrong arguments."""
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        if len(node.args) != 1 or keywords.keys() - {"size"}:
            raise typer.scope.error(node, "subsets takes a type or a set, and size=: subsets(Replica, size=2)")
        over = iterable(typer, node.args[0])
        if not isinstance(over, nodes.Universe) and not isinstance(over.type, SetType):
            raise typer.scope.error(node, f"subsets takes a type or a set: subsets(set({ast.unparse(node.args[0])}))")
        kind = item_type(over)
        count = kind.cardinality()
        if not isinstance(kind, (BoolType, IntType, EnumType, DomainType)) or count > MOST_SUBSETS_OF:
            raise typer.scope.error(
                node,
                f"subsets takes items of a bool, Range, Enum or Domain of at most {MOST_SUBSETS_OF} values; "
                f"{kind} has {count:,}",
            )
        size = typer.integer(keywords["size"]) if "size" in keywords else None
        return cls(SetType(kind), over if isinstance(over, nodes.Expr) else None, size)

    def contain(self, typer: ExpressionTyper, node: ast.expr, item: nodes.Expr) -> nodes.Expr:
        """Return the test that a set is one of the subsets."""
        if not isinstance(item.type, SetType) or join(item.type, self.type) is None:
            raise typer.scope.error(node, f"{item.type:a} is never a subset: it is {self.type:a}")
        tests = self.tests(typer, node, item)
        if not tests:
            return nodes.Literal(nodes.BOOL, typer.scope.site(node), True)
        return nodes.Logical(nodes.BOOL, typer.scope.site(node), "and", tests) if len(tests) > 1 else tests[0]

    def tests(self, typer: ExpressionTyper, node: ast.expr, item: nodes.Expr) -> tuple[nodes.Expr, ...]:
        """Return the tests that a set must pass to be one of the subsets."""
        site = typer.scope.site(node)
        conditions: list[nodes.Expr] = []
        if self.whole is not None:
            kind = union_type(item.type, self.whole.type)  # type: ignore[arg-type]
            assert kind is not None
            sides = (typer.scope.convert(node, item, kind), typer.scope.convert(node, self.whole, kind))
            conditions.append(nodes.Subset(nodes.BOOL, site, *sides, False))
        if self.size is not None:
            length = nodes.Length(IntType(0, largest_size(item.type), "int"), site, item)
            conditions.append(typer.equality(node, "==", length, self.size))
        return tuple(conditions)


def _subsets_clause(
    typer: ExpressionTyper, target: ast.expr, over: ast.Call, bind: Bind
) -> tuple[nodes.ForClause, tuple[nodes.Expr, ...]]:
    if not isinstance(target, ast.Name):
        raise typer.scope.error(target, "a subset has one name: for subset in subsets(...)")
    chosen_subsets = SubsetsCall.of_call(typer, over)
    if chosen_subsets.whole is not None:
        # The order of the subsets follows from that of the whole set.
        require_order(typer, over, (nodes.ForClause(nodes.Local("", chosen_subsets.type.item), chosen_subsets.whole),))
    local = bind(target, target.id, chosen_subsets.type)
    typer.compiler.python_collections.add(local)
    _note_frozen(typer, local, bind)
    read = nodes.LocalRead(local.type, typer.scope.site(target), local)
    return nodes.ForClause(local, nodes.Universe(chosen_subsets.type)), chosen_subsets.tests(typer, over, read)


def as_bag(typer: ExpressionTyper, node: ast.expr, sequence: nodes.Expr, wanted: BagType) -> nodes.Expr:
    """Return a list display or comprehension as a bag."""
    if not isinstance(sequence, nodes.ItemsOf):
        raise typer.scope.error(node, "write the bag as a list of its items, or change it with self.bag.add(x)")
    bag: nodes.Expr = nodes.Literal(wanted, sequence.site, wanted.first())
    # A bag is sorted, so its items are added one after the other and not copied as a sequence.
    for item in sequence.items:
        bag = nodes.BagAdd(wanted, sequence.site, bag, typer.scope.convert(node, item, wanted.item))
    return bag


def _collection_method(typer: ExpressionTyper, node: ast.Call, function: ast.Attribute) -> nodes.Expr:
    base = typer.unwrapped(typer.expression(function.value))
    site, name = typer.scope.site(node), function.attr
    if isinstance(base.type, PartialMapType):
        call_on_map = partial_maps.method_call(typer, node, node.args, base, name)
        if call_on_map is not None:
            return call_on_map
    if name in ("index", "count") and isinstance(base.type, (SeqType, BagType)):
        (argument,) = plain_arguments(typer, node, 1)
        if name == "count":
            counted = typer.expression(argument)
            if join(counted.type, base.type.item) is None:
                raise typer.scope.error(node, f"{counted.type:a} is never in {base.type:a}")
            return nodes.Count(IntType(0, base.type.capacity, "int"), site, base, counted)
        item = typer.converted(argument, base.type.item)
        if isinstance(base.type, SeqType):
            return nodes.IndexOf(IntType(0, max(base.type.capacity - 1, 0), "int"), site, base, item)
    if name in ("append", "insert", "pop", "extend", "clear", "add", "discard", "remove"):
        raise typer.scope.error(node, f"{name} changes a collection: use it as a statement on a part of self")
    raise typer.scope.error(node, hints.method_refusal(base.type, name))


def display_guide(annotated: Type | None) -> Type | None:
    """Return the type that guides a display with this annotation: only a Map cannot be inferred from its display."""
    return annotated if isinstance(annotated, MapType) else None


def is_require(typer: ExpressionTyper, node: ast.Call) -> bool:
    """Return whether a call is `require(...)`."""
    return typer.scope.object_of(node.func) is require
