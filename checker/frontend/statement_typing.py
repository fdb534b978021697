"""Typing of a function's body."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from checker.frontend import call_typing
from checker.frontend.expression_typing import ARITHMETIC, SETS, ExpressionTyping
from checker.frontend.scope import TypingScope
from checker.frontend.type_relations import is_bounded, join, set_of
from checker.ir import nodes
from checker.language.types import BagType, IntType, MapType, NameType, SeqType, SetType, StructType, Type

if TYPE_CHECKING:
    from checker.frontend.program import FrontendCompiler

MOST_PASSES = 12
"""Types of locals only grow, and integers are widened, so a body settles in a few passes."""


def _decided_alone(node: ast.stmt) -> Iterator[ast.expr]:
    """Iterate over the expressions of a statement that nothing else is evaluated beside: there a helper may write."""
    if isinstance(node, ast.If):
        yield from _alone(node.test)
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr)) and node.value is not None:
        yield from _alone(node.value)
        if isinstance(node.value, ast.Call):
            for argument in node.value.args if ast.unparse(node.value.func) == "require" else ():
                yield from _alone(argument)


def _alone(node: ast.expr) -> Iterator[ast.expr]:
    yield node
    parts = [getattr(node, name, None) for name in ("test", "body", "orelse", "operand")]
    for part in (
        (*parts, *getattr(node, "values", ())) if isinstance(node, (ast.BoolOp, ast.IfExp, ast.UnaryOp)) else ()
    ):
        if isinstance(part, ast.expr):
            yield from _alone(part)


def _never_goes_on(statement: nodes.Stmt) -> bool:
    """Say whether a statement requires what is known to be false: a switch that is off. What follows is not typed."""
    if not isinstance(statement, nodes.Require) or not isinstance(statement.test, nodes.Literal):
        return False
    return statement.test.value is False


class StatementTyping(ExpressionTyping):
    """Types the statements of one function."""

    def __init__(self, compiler: FrontendCompiler, scope: TypingScope, *, is_action: bool):
        super().__init__(compiler, scope)
        self.is_action = is_action
        self.result: Type | None = None
        self.returned: list[nodes.Expr] = []

    def typed(self, parameters: set[str]) -> tuple[nodes.Stmt, ...]:
        """Return the typed body; passes over it are repeated until the types of its locals stand still."""
        for _ in range(MOST_PASSES):
            self.scope.begin_pass(parameters)
            self.returned.clear()
            before = self.result
            statements, _ = self.block(self.scope.source.tree.body)
            if not self.scope.changed and before == self.result:
                return statements
        message = "the type of a local grows with every round of a loop: begin it with a plain number"
        raise self.scope.error(self.scope.source.tree, message)

    def block(self, body: list[ast.stmt]) -> tuple[tuple[nodes.Stmt, ...], bool]:
        """Return typed statements, and whether control can reach the end of them."""
        statements: list[nodes.Stmt] = []
        for node in body:
            typed, goes_on = self._statement(node)
            statements.extend(typed)
            if not goes_on:
                return tuple(statements), False
        return tuple(statements), True

    def _statement(self, node: ast.stmt) -> tuple[list[nodes.Stmt], bool]:
        self.scope.standing_alone = set(_decided_alone(node))
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, ast.Return):
            return [self._return(node)], False
        if isinstance(node, (ast.Break, ast.Continue)):
            kind = nodes.Break if isinstance(node, ast.Break) else nodes.Continue
            return [kind(self.scope.site(node))], False
        if isinstance(node, ast.For):
            return [self._for(node)], True
        if isinstance(node, ast.Expr):
            typed = self._expression_statement(node)
            return typed, not any(_never_goes_on(statement) for statement in typed)
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            return self._assignment(node), True
        if isinstance(node, ast.AugAssign):
            return [self._augmented(node)], True
        if isinstance(node, ast.Delete):
            return [self._deletion(target) for target in node.targets], True
        if isinstance(node, ast.Pass):
            return [], True
        hints = {ast.While: "a while loop: use `for x in range(...)`", ast.Assert: "assert: state it as an @invariant"}
        hints |= {
            ast.Try: "try: test the condition before",
            ast.With: "with",
            ast.FunctionDef: "a function inside a method: make it a method",
        }
        raise self.scope.error(node, f"{hints.get(type(node), type(node).__name__)} is not part of the language")

    def _if(self, node: ast.If) -> tuple[list[nodes.Stmt], bool]:
        test = self.condition(node.test)
        if isinstance(test, nodes.Literal):
            statements, goes_on = self.block(node.body if test.value else node.orelse)
            return list(statements), goes_on
        before = set(self.scope.assigned)
        then, then_goes_on = self.block(node.body)
        after_then = self.scope.assigned
        self.scope.assigned = set(before)
        otherwise, otherwise_goes_on = self.block(node.orelse)
        if then_goes_on:
            both = after_then & self.scope.assigned
            self.scope.assigned = both if otherwise_goes_on else after_then
        return [nodes.If(self.scope.site(node), test, then, otherwise)], then_goes_on or otherwise_goes_on

    def _return(self, node: ast.Return) -> nodes.Stmt:
        if node.value is None:
            return nodes.Return(self.scope.site(node), None)
        value = self.expression(node.value)
        kind = value.type if self.result is None else join(self.result, value.type)
        if kind is None:
            raise self.scope.error(node, f"returns a {value.type} here and a {self.result} elsewhere")
        if not is_bounded(kind) and not isinstance(kind, IntType):
            raise self.scope.error(node, f"the result's type {kind} cannot be stored: keep numbers in a Range")
        self.result = kind
        self.returned.append(value)
        return nodes.Return(self.scope.site(node), value)

    def _for(self, node: ast.For) -> nodes.Stmt:
        if node.orelse:
            raise self.scope.error(node, "a loop has no else in this language")
        before = set(self.scope.assigned)
        clause = call_typing.for_clause(self, node.target, node.iter, self.scope.assign)
        call_typing.refuse_without_order(self, node.iter, (clause,))
        body, _ = self.block(node.body)
        self.scope.assigned = before
        return nodes.For(self.scope.site(node), clause, body)

    # Expression statements: require, helpers, and methods that change a collection.

    def _expression_statement(self, node: ast.Expr) -> list[nodes.Stmt]:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return []
        if not isinstance(node.value, ast.Call):
            raise self.scope.error(node, "this has no effect: an action assigns, calls a helper, or requires")
        call = node.value
        if call_typing.is_require(self, call):
            (test,) = call_typing.plain_arguments(self, call, 1)
            self.scope.requires = True
            return [nodes.Require(self.scope.site(node), self.condition(test))]
        place = self._changed_place(call)
        if place is not None:
            assert isinstance(call.func, ast.Attribute)
            return [nodes.AssignPlace(self.scope.site(node), place, self._changed(call, call.func.attr, place))]
        value = self.expression(call)
        if not isinstance(value, nodes.HelperCall):
            raise self.scope.error(node, "this has no effect: an action assigns, calls a helper, or requires")
        return [nodes.Do(self.scope.site(node), value)]

    def _changed_place(self, call: ast.Call) -> nodes.Expr | None:
        """Return the place whose collection a call like `self.log[r].append(x)` changes; None for other calls."""
        function = call.func
        if not isinstance(function, ast.Attribute) or self.root_of(function.value) is not None:
            return None
        if function.attr not in ("append", "insert", "pop", "extend", "clear", "add", "discard", "remove"):
            return None
        if self.scope.object_of(function) is not None:
            return None
        return self.place(function.value)

    def place(self, node: ast.expr) -> nodes.Expr:
        """Return an expression that names a part of the state to write to; raise SpecError if it does not."""
        place = self.unwrapped(self.expression(node))
        root = place
        while isinstance(root, (nodes.FieldRead, nodes.IndexRead, nodes.Convert)):
            root = root.base
        if isinstance(root, nodes.StateRead) and root.root == "self":
            self.scope.writes = True
            return place
        if isinstance(root, nodes.StateRead):
            raise self.scope.error(node, "the old state cannot be changed")
        text = ast.unparse(node)
        raise self.scope.error(
            node, f"{text} is a value of its own, not a part of the state: write through self, or build a new value"
        )

    def _changed(self, call: ast.Call, method: str, place: nodes.Expr) -> nodes.Expr:
        kind, site = place.type, self.scope.site(call)
        if method == "clear" and isinstance(kind, (SeqType, SetType, BagType)):
            call_typing.plain_arguments(self, call, 0)
            return nodes.Literal(kind, site, kind.first())
        if isinstance(kind, SeqType) and method in ("append", "insert", "pop", "extend"):
            return self._changed_sequence(call, method, place, kind)
        if isinstance(kind, (SetType, BagType)) and method in ("add", "discard", "remove"):
            (argument,) = call_typing.plain_arguments(self, call, 1)
            if method == "discard" and isinstance(kind, SetType):
                return self._discarded(call, argument, place, kind)
            item = self.converted(argument, kind.item)
            if method == "remove":
                return nodes.SetRemove(kind, site, place, item)
            if isinstance(kind, BagType):
                if method == "discard":
                    raise self.scope.error(call, "a bag has no discard: remove one copy where it is in the bag")
                return nodes.BagAdd(kind, site, place, item)
            return nodes.SetOperation(kind, site, "|", place, nodes.ItemsOf(kind, site, (item,)))
        raise self.scope.error(call, f"a {kind} has no method {method}")

    def _discarded(self, call: ast.Call, argument: ast.expr, place: nodes.Expr, kind: SetType) -> nodes.Expr:
        """Return a set without an item, which may be of a wider type than the set's: then it may be in no such set."""
        item = self.expression(argument)
        if item.type == kind.item:
            single = nodes.ItemsOf(kind, item.site, (item,))
            return nodes.SetOperation(kind, self.scope.site(call), "-", place, single)
        if not is_bounded(item.type):
            raise self.scope.error(call, f"the type {item.type} cannot be in a set: keep numbers in a Range")
        single = nodes.ItemsOf(set_of(item.type, 1), item.site, (item,))
        return self.scope.convert(call, self.set_operation(call, "-", place, single), kind)

    def _changed_sequence(self, call: ast.Call, method: str, place: nodes.Expr, kind: SeqType) -> nodes.Expr:
        site = self.scope.site(call)
        arguments = call_typing.plain_arguments(self, call)
        if method == "append" and len(arguments) == 1:
            return nodes.SeqInsert(kind, site, place, None, self.converted(arguments[0], kind.item))
        if method == "insert" and len(arguments) == 2:
            return nodes.SeqInsert(
                kind, site, place, self.integer(arguments[0]), self.converted(arguments[1], kind.item)
            )
        if method == "pop" and len(arguments) <= 1:
            return nodes.SeqDelete(kind, site, place, self.integer(arguments[0]) if arguments else None)
        if method == "extend" and len(arguments) == 1:
            other = self.unwrapped(self.expression(arguments[0], kind))
            if not isinstance(other.type, SeqType):
                raise self.scope.error(call, f"extend takes a sequence, not a {other.type}")
            return self.scope.convert(call, self.concatenation(call, place, other), kind)
        raise self.scope.error(call, f"{method} takes another number of arguments")

    # Assignments.

    def _assignment(self, node: ast.Assign | ast.AnnAssign) -> list[nodes.Stmt]:
        if isinstance(node, ast.Assign):
            if len(node.targets) != 1:
                raise self.scope.error(node, "assign to one target at a time")
            target, value, wanted = node.targets[0], node.value, None
        else:
            if node.value is None:
                raise self.scope.error(node, "give the local a value")
            target, value, wanted = node.target, node.value, self.compiler.annotation(self.scope, node.annotation)
        popped = self._popped(value)
        if popped is not None:
            return self._assign_popped(node, target, popped)
        if isinstance(target, ast.Name):
            typed = self.expression(value, call_typing.guide(wanted))
            if wanted is not None:
                # An annotation widens: a local that Python does not check is not checked here either.
                typed = self.scope.convert(value, typed, join(typed.type, wanted) or wanted)
            return [self._assign_local(target, typed)]
        if isinstance(target, (ast.Tuple, ast.List)):
            raise self.scope.error(target, "assign to one target at a time")
        place = self.place_to_assign(target)
        return [nodes.AssignPlace(self.scope.site(node), place, self.converted(value, place.type))]

    def place_to_assign(self, target: ast.expr) -> nodes.Expr:
        """Return the place that an assignment writes: an option as a whole, not the value inside."""
        if isinstance(target, ast.Attribute) and self.root_of(target.value) is not None:
            place = self.expression(target)
            if not isinstance(place, nodes.StateRead):
                raise self.scope.error(target, f"{target.attr} is a constant: it cannot be assigned")
            if place.root == "old":
                raise self.scope.error(target, "the old state cannot be changed")
            self.scope.writes = True
            return place
        if not isinstance(target, (ast.Attribute, ast.Subscript)):
            raise self.scope.error(target, f"{ast.unparse(target)} cannot be assigned")
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
            raise self.scope.error(target, "assign the whole sequence: self.log = self.log[:n] + other")
        if not isinstance(self.unwrapped(self.expression(target.value)).type, (MapType, SeqType, StructType)):
            raise self.scope.error(target, f"{ast.unparse(target)} cannot be assigned")
        self.place(target.value)
        return self.expression(target)

    def _assign_local(self, target: ast.Name, value: nodes.Expr) -> nodes.Stmt:
        if isinstance(value.type, NameType):
            raise self.scope.error(target, "a name is only compared with a constant: compare it here")
        if not is_bounded(value.type) and not isinstance(value.type, IntType):
            raise self.scope.error(target, f"the type {value.type} cannot be stored: keep numbers in a Range")
        local = self.scope.assign(target, target.id, value.type)
        self.scope.changed |= self.compiler.plain.note(local, (value,))
        return nodes.AssignLocal(self.scope.site(target), local, value)

    def _popped(self, value: ast.expr) -> ast.Call | None:
        if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "pop"):
            return None
        return value if self.root_of(value.func.value) is None else None

    def _assign_popped(self, node: ast.stmt, target: ast.expr, call: ast.Call) -> list[nodes.Stmt]:
        """Return `x = self.queue.pop(i)` as three steps: read the item, delete it, assign it."""
        assert isinstance(call.func, ast.Attribute)
        place = self.place(call.func.value)
        if not isinstance(place.type, SeqType):
            raise self.scope.error(call, f"pop takes from a sequence, not from a {place.type}")
        site = self.scope.site(node)
        deletion = self._changed_sequence(call, "pop", place, place.type)
        assert isinstance(deletion, nodes.SeqDelete)
        index = deletion.index or self._last_index(call, place)
        item = nodes.IndexRead(place.type.item, site, place, index)
        if isinstance(target, ast.Name):
            return [self._assign_local(target, item), nodes.AssignPlace(site, place, deletion)]
        local = self.scope.assign(call, f" popped {call.lineno}:{call.col_offset}", item.type)
        written = self.place_to_assign(target)
        read = self.scope.convert(node, nodes.LocalRead(local.type, site, local), written.type)
        return [
            nodes.AssignLocal(site, local, item),
            nodes.AssignPlace(site, place, deletion),
            nodes.AssignPlace(site, written, read),
        ]

    def _last_index(self, node: ast.AST, place: nodes.Expr) -> nodes.Expr:
        site = self.scope.site(node)
        length = nodes.Length(IntType(0, call_typing.most_items(place.type), "int"), site, place)
        return self.arithmetic(node, "-", length, nodes.Literal(IntType(1, 1, "int"), site, 1))

    def _augmented(self, node: ast.AugAssign) -> nodes.Stmt:
        """Return `place += value` as `place = place + value`."""
        if isinstance(node.target, ast.Name):
            local = self.scope.read(node.target)
            if local is None:
                raise self.scope.error(node, f"{node.target.id} has no value to add to")
            return self._assign_local(node.target, self._combined(node, local))
        place = self.place_to_assign(node.target)
        value = self._combined(node, self.unwrapped(place))
        return nodes.AssignPlace(self.scope.site(node), place, self.scope.convert(node, value, place.type))

    def _combined(self, node: ast.AugAssign, left: nodes.Expr) -> nodes.Expr:
        right = self.unwrapped(self.expression(node.value, left.type))
        if isinstance(left.type, SetType) and isinstance(right.type, SetType) and type(node.op) in SETS:
            return self.set_operation(node, SETS[type(node.op)], left, right)
        if isinstance(left.type, SeqType) and isinstance(right.type, SeqType) and isinstance(node.op, ast.Add):
            return self.concatenation(node, left, right)
        if type(node.op) not in ARITHMETIC:
            raise self.scope.error(node, f"this operator does not take a {left.type} and a {right.type}")
        left, right = self.as_integer(node.target, left), self.as_integer(node.value, right)
        return self.arithmetic(node, ARITHMETIC[type(node.op)], left, right)

    def _deletion(self, target: ast.expr) -> nodes.Stmt:
        if not isinstance(target, ast.Subscript):
            raise self.scope.error(target, "del takes an item or a slice of a sequence: del self.log[r][n:]")
        place = self.place(target.value)
        if not isinstance(place.type, SeqType):
            raise self.scope.error(target, f"del takes from a sequence, not from a {place.type}")
        site = self.scope.site(target)
        if isinstance(target.slice, ast.Slice):
            return nodes.AssignPlace(site, place, self._slice(target, place, inverted=True))
        return nodes.AssignPlace(site, place, nodes.SeqDelete(place.type, site, place, self.integer(target.slice)))
