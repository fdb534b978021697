"""Typing of statements and function bodies."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from checker.errors import CollectedErrors, SpecError
from checker.frontend import call_typing, choice_typing, hints, matching, narrowing, partial_maps
from checker.frontend.expression_typing import ARITHMETIC, SETS, ExpressionTyping
from checker.frontend.scope import TypingScope
from checker.frontend.typers import HelperTyper
from checker.ir import nodes
from checker.language.choices import choose
from checker.language.source import walked
from checker.language.type_joins import NONE, is_bounded, join, set_of
from checker.language.types import (
    BagType,
    IntType,
    MapType,
    NameType,
    PartialMapType,
    SeqType,
    SetType,
    StructType,
    TupleType,
    Type,
)

PART_OF_TUPLE = "a part of a tuple cannot be changed: assign a new tuple"
MOST_PASSES = 12
"""Types of locals only grow, and integers are widened, so a body reaches a fixed point in a few passes."""


def _write_positions(node: ast.stmt) -> Iterator[ast.expr]:
    """Iterate over the expressions of a statement in which a helper may change the state.

    These are the expressions during which no other part of the statement is half evaluated, so that every engine sees
    the change in the same order.
    """
    if isinstance(node, ast.If):
        yield from _branches(node.test)
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr)) and node.value is not None:
        yield from _branches(node.value)
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "require":
            for argument in call.args:
                yield from _branches(argument)


def _branches(node: ast.expr) -> Iterator[ast.expr]:
    """Iterate over an expression and the operands of `and`, `or`, `not` and `x if c else y` in it."""
    waiting = [node]
    # Not recursive: each expression would pass through as many generators as it is nested deep.
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, ast.BoolOp):
            waiting += reversed(part.values)
        elif isinstance(part, ast.IfExp):
            waiting += (part.orelse, part.body, part.test)
        elif isinstance(part, ast.UnaryOp):
            waiting.append(part.operand)


def _ends_path(statement: nodes.Stmt) -> bool:
    """Return whether a statement requires a constant that is false. The statements after it are not typed."""
    if not isinstance(statement, nodes.Require) or not isinstance(statement.test, nodes.Literal):
        return False
    return statement.test.value is False


def _part(target: ast.expr) -> ast.Name:
    """Return the local that holds the value of which `target` names the parts."""
    return ast.copy_location(ast.Name(call_typing.part_name(target), ast.Store()), target)


@functools.lru_cache(maxsize=1 << 12)
def unread_locals(function: ast.FunctionDef) -> list[ast.Name]:
    """Return the targets of assignments of which the function never reads any local.

    Loop variables may be unread, and so may names that begin with an underscore.
    """
    targets: list[ast.expr] = []
    read = set()
    for node in walked(function):
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            targets.append(node.target)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read.add(node.id)
    named = [_targets_of(target) for target in targets]
    return [names[0] for names in named if names and not any(name.id in read or name.id[0] == "_" for name in names)]


def _targets_of(target: ast.expr) -> list[ast.Name]:
    """Return the locals that an assignment to a target changes."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for part in target.elts for name in _targets_of(part)]
    return [target] if isinstance(target, ast.Name) else []


_REFUSED_STATEMENTS: dict[type[ast.stmt], tuple[str, str]] = {
    ast.AsyncFor: ("`async for`", "write `for`"),
    ast.AsyncFunctionDef: ("a function inside a method", "make it a method"),
    ast.AsyncWith: ("`async with`", "write the statements without it"),
    ast.Assert: ("`assert`", "state the condition as an @invariant"),
    ast.ClassDef: ("a class inside a method", "move it to the top of the module"),
    ast.FunctionDef: ("a function inside a method", "make it a method"),
    ast.Global: ("`global`", "declare a state variable"),
    ast.Import: ("an import inside a method", "import at the top of the module"),
    ast.ImportFrom: ("an import inside a method", "import at the top of the module"),
    ast.Nonlocal: ("`nonlocal`", "declare a state variable"),
    ast.Raise: ("`raise`", "disable the action with `require`"),
    ast.Try: ("`try`", "test the condition first"),
    ast.TryStar: ("`try`", "test the condition first"),
    ast.While: ("a while loop", "use `for x in range(...)`"),
    ast.With: ("`with`", "write the statements without it"),
}
"""What messages call a statement that the language does not have, and what to write instead."""


class StatementTyping(ExpressionTyping):
    """Types the statements of one function."""

    def __init__(self, compiler: HelperTyper, scope: TypingScope, *, is_action: bool):
        super().__init__(compiler, scope)
        self.is_action = is_action
        self.result: Type | None = None
        self.returned: list[nodes.Expr] = []
        self._errors = CollectedErrors()
        self._unclear: set[str] = set()

    def typed(self, parameters: set[str]) -> tuple[nodes.Stmt, ...]:
        """Return the typed body; passes over it are repeated until the types of its locals reach a fixed point."""
        for _ in range(MOST_PASSES):
            self.scope.begin_pass(parameters)
            # Only the nodes of the last pass count: earlier ones have types that were too small.
            self.returned.clear()
            before = self.result
            statements, _ = self.block(self.scope.source.tree.body)
            self._errors.raise_found()
            if not self.scope.changed and before == self.result:
                self._require_read_locals()
                return statements
        message = "the type of a local grows in every iteration of a loop: start it with a plain number"
        raise self.scope.error(self.scope.source.tree, message)

    def _require_read_locals(self) -> None:
        """Raise SpecError if a local is assigned and never read: `self.` may have been forgotten."""
        for target in unread_locals(self.scope.source.tree):
            name = target.id
            if name in self.scope.roots:
                continue
            hint = f"to change the state, write self.{name}" if name in self.compiler.spec.variables else "remove it"
            raise self.scope.error(target, f"the local {name} is assigned and never read: {hint}")

    def block(self, body: list[ast.stmt]) -> tuple[tuple[nodes.Stmt, ...], bool]:
        """Return typed statements, and whether control can reach the end of them."""
        statements: list[nodes.Stmt] = []
        for node in body:
            scope = self.scope.saved()
            try:
                typed, goes_on = self._statement(node)
            except SpecError as error:
                self.scope.restore(scope)
                self._note(error, node)
                if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
                    return tuple(statements), False
                continue
            statements.extend(typed)
            # Statements that cannot be reached are not typed; Python does not run them either.
            if not goes_on:
                return tuple(statements), False
        return tuple(statements), True

    def _note(self, error: SpecError, node: ast.stmt) -> None:
        """Keep the error of a statement, unless it may follow from an error of an earlier statement.

        The names that a wrong statement assigns, and those that a wrong `require` tests, are unclear after it.
        """
        mentions = [part for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute))]
        names = {part.id if isinstance(part, ast.Name) else part.attr for part in mentions} - self.scope.roots.keys()
        if names.isdisjoint(self._unclear):
            with self._errors.collecting():
                raise error
        if isinstance(node, ast.Expr):
            self._unclear |= names - {"require"}
        else:
            self._unclear |= {
                part.id for part in mentions if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            }

    def _statement(self, node: ast.stmt) -> tuple[list[nodes.Stmt], bool]:
        self.scope.write_positions = set(_write_positions(node))
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, ast.Return):
            return [self._return(node)], False
        if isinstance(node, (ast.Break, ast.Continue)):
            kind = nodes.Break if isinstance(node, ast.Break) else nodes.Continue
            return [kind(self.scope.site(node))], False
        if isinstance(node, ast.For):
            return [self._for(node)], True
        if isinstance(node, ast.Match):
            return self._match(node)
        if isinstance(node, ast.Expr):
            typed = self._expression_statement(node)
            return typed, not any(_ends_path(statement) for statement in typed)
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            return self._assignment(node), True
        if isinstance(node, ast.AugAssign):
            return [self._augment(node)], True
        if isinstance(node, ast.Delete):
            return [statement for target in node.targets for statement in self._deletion(target)], True
        if isinstance(node, ast.Pass):
            return [], True
        unknown = (f"`{type(node).__name__.lower()}`", "docs/language.md lists the statements")
        name, hint = _REFUSED_STATEMENTS.get(type(node), unknown)
        raise self.scope.error(node, f"{name} is not part of the language: {hint}")

    def _if(self, node: ast.If) -> tuple[list[nodes.Stmt], bool]:
        test = self.condition(node.test)
        # The test depends on constants only, so the other side is not typed. A spec may use it for other values of a
        # constant.
        if isinstance(test, nodes.Literal):
            statements, goes_on = self.block(node.body if test.value else node.orelse)
            return list(statements), goes_on
        before, alternatives = set(self.scope.assigned), dict(self.scope.alternatives)
        narrowing.narrow(self.scope, node.test, is_true=True)
        then, then_goes_on = self.block(node.body)
        after_then, known_after_then = self.scope.assigned, self.scope.alternatives
        self.scope.assigned, self.scope.alternatives = set(before), alternatives
        narrowing.narrow(self.scope, node.test, is_true=False)
        otherwise, otherwise_goes_on = self.block(node.orelse)
        # What is known after the `if` is known at the end of each side that reaches it.
        if then_goes_on:
            ends = [known_after_then, self.scope.alternatives] if otherwise_goes_on else [known_after_then]
            self.scope.alternatives = {
                local: kinds
                for local, kinds in known_after_then.items()
                if all(end.get(local) == kinds for end in ends)
            }
        # A local has a value after the `if` if both sides give it one. A side that cannot reach the end does not count.
        if then_goes_on:
            both = after_then & self.scope.assigned
            self.scope.assigned = both if otherwise_goes_on else after_then
        return [nodes.If(self.scope.site(node), test, then, otherwise)], then_goes_on or otherwise_goes_on

    def _match(self, node: ast.Match) -> tuple[list[nodes.Stmt], bool]:
        assigned: list[nodes.Stmt] = []
        subject = node.subject
        if not isinstance(subject, ast.Name) or subject.id not in self.scope.locals:
            # The subject is evaluated once. The space keeps the name from being one that a spec could use.
            name = f" subject {subject.lineno}:{subject.col_offset}"
            store = ast.copy_location(ast.Name(name, ast.Store()), subject)
            assigned.append(self._assign_local(store, self.expression(subject)))
            subject = ast.copy_location(ast.Name(name, ast.Load()), subject)
        statements, goes_on = self.block(matching.if_chain(self.scope, node, subject))
        return [*assigned, *statements], goes_on

    def _return(self, node: ast.Return) -> nodes.Stmt:
        if node.value is None:
            return nodes.Return(self.scope.site(node), None)
        value = self.expression(node.value)
        kind = value.type if self.result is None else join(self.result, value.type)
        if kind is None:
            raise self.scope.error(node, f"returns {value.type:a} here and {self.result:a} elsewhere")
        if not is_bounded(kind) and not isinstance(kind, IntType):
            raise self.scope.error(node, f"a result of type {kind} cannot be stored: keep numbers in a Range")
        self.result = kind
        self.returned.append(value)
        return nodes.Return(self.scope.site(node), value)

    def _for(self, node: ast.For) -> nodes.Stmt:
        if node.orelse:
            raise self.scope.error(node, "`else` on a loop is not part of the language: set a local in the loop")
        before = set(self.scope.assigned)
        clause, tests = call_typing.for_clause(self, node.target, node.iter, self.scope.assign)
        call_typing.require_order(self, node.iter, (clause,))
        narrowing.forget_assigned(self.scope, node.body)
        target = call_typing.item_target(node.target, clause)
        unpacked = [] if isinstance(target, ast.Name) else self._unpack(target, clause.local)
        statements, _ = self.block(node.body)
        body = (*unpacked, *statements)
        for test in reversed(tests):
            body = (nodes.If(self.scope.site(node), test, body, ()),)
        narrowing.forget_assigned(self.scope, node.body)
        # The loop may run zero times, so locals that only its body assigns have no value after it.
        self.scope.assigned = before
        return nodes.For(self.scope.site(node), clause, body)

    # Expression statements: require, helpers, and methods that change a collection.

    def _expression_statement(self, node: ast.Expr) -> list[nodes.Stmt]:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return []
        if isinstance(node.value, (ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda)):
            self.expression(node.value)
        if not isinstance(node.value, ast.Call):
            raise self.scope.error(node, "this has no effect: an action assigns, calls a helper, or requires")
        call = node.value
        if call_typing.is_require(self, call):
            (test,) = call_typing.plain_arguments(self, call, 1)
            self.scope.requires = True
            required = nodes.Require(self.scope.site(node), self.condition(test))
            narrowing.narrow(self.scope, test, is_true=True)
            return [required]
        place = self._place_of_change(call)
        if place is not None:
            assert isinstance(call.func, ast.Attribute)
            if call.func.attr == "pop" and isinstance(place.type, PartialMapType):
                return [*self._pop_item(call, place)]
            return [nodes.AssignPlace(self.scope.site(node), place, self._change(call, call.func.attr, place))]
        value = self.expression(call)
        if not isinstance(value, nodes.HelperCall):
            raise self.scope.error(node, "this has no effect: an action assigns, calls a helper, or requires")
        return [nodes.Do(self.scope.site(node), value)]

    def _place_of_change(self, call: ast.Call) -> nodes.Expr | None:
        """Return the place of the collection that a call like `self.log[r].append(x)` changes; None for other calls."""
        function = call.func
        if not isinstance(function, ast.Attribute) or self.root_of(function.value) is not None:
            return None
        if function.attr not in ("append", "insert", "pop", "extend", "clear", "add", "discard", "remove"):
            return None
        if call_typing.is_super(function.value) or self.scope.object_of(function) is not None:
            return None
        return self.place(function.value)

    def place(self, node: ast.expr) -> nodes.Expr:
        """Return an expression that names a part of the state to write to; raise SpecError if it does not."""
        place = self.unwrapped(self.expression(node))
        # Through fields, indices and options down to the variable.
        root = place
        while isinstance(root, (nodes.FieldRead, nodes.IndexRead, nodes.Convert)):
            root = root.base
            if isinstance(root.type, TupleType):
                raise self.scope.error(node, PART_OF_TUPLE)
        if isinstance(root, nodes.StateRead) and root.root == "self":
            self.scope.writes = True
            return place
        if isinstance(root, nodes.StateRead):
            raise self.scope.error(node, "the old state cannot be changed")
        text = ast.unparse(node)
        raise self.scope.error(
            node, f"{text} is a value, not a part of the state: write through self, or build a new value"
        )

    def _change(self, call: ast.Call, method: str, place: nodes.Expr) -> nodes.Expr:
        kind, site = place.type, self.scope.site(call)
        if method == "clear" and isinstance(kind, (SeqType, SetType, BagType, PartialMapType)):
            call_typing.plain_arguments(self, call, 0)
            return nodes.Literal(kind, site, kind.first())
        if isinstance(kind, SeqType) and method in ("append", "insert", "pop", "extend"):
            return self._change_sequence(call, method, place, kind)
        if isinstance(kind, (SetType, BagType)) and method in ("add", "discard", "remove"):
            (argument,) = call_typing.plain_arguments(self, call, 1)
            if method == "discard" and isinstance(kind, SetType):
                return self._discard(call, argument, place, kind)
            item = self.converted(argument, kind.item)
            if method == "remove":
                return nodes.SetRemove(kind, site, place, item)
            if isinstance(kind, BagType):
                if method == "discard":
                    raise self.scope.error(call, "a bag has no discard: test with `in`, then remove one copy")
                return nodes.BagAdd(kind, site, place, item)
            return nodes.SetOperation(kind, site, "|", place, nodes.ItemsOf(kind, site, (item,)))
        raise self.scope.error(call, hints.method_refusal(kind, method))

    def _discard(self, call: ast.Call, argument: ast.expr, place: nodes.Expr, kind: SetType) -> nodes.Expr:
        """Return a set without an item. The item may have a wider type than the set's items, and then be absent."""
        # Not converted to the item type first: an item outside this type is simply absent, and not an error.
        item = self.expression(argument)
        if item.type == kind.item:
            single = nodes.ItemsOf(kind, item.site, (item,))
            return nodes.SetOperation(kind, self.scope.site(call), "-", place, single)
        if not is_bounded(item.type):
            raise self.scope.error(call, f"a set cannot hold items of type {item.type}: keep numbers in a Range")
        single = nodes.ItemsOf(set_of(item.type, 1), item.site, (item,))
        return self.scope.convert(call, self.set_operation(call, "-", place, single), kind)

    def _change_sequence(self, call: ast.Call, method: str, place: nodes.Expr, kind: SeqType) -> nodes.Expr:
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
                raise self.scope.error(call, f"extend takes a sequence, not {other.type:a}")
            return self.scope.convert(call, self.concatenation(call, place, other), kind)
        counts = {"append": "1 argument", "insert": "2 arguments", "pop": "0 or 1 arguments", "extend": "1 argument"}
        raise self.scope.error(call, f"{method} takes {counts[method]}, {len(arguments)} were given")

    # Assignments.

    def _assignment(self, node: ast.Assign | ast.AnnAssign) -> list[nodes.Stmt]:
        if isinstance(node, ast.Assign):
            if len(node.targets) != 1:
                raise self.scope.error(node, "assign to one target at a time")
            target, value, wanted = node.targets[0], node.value, None
        else:
            if node.value is None:
                raise self.scope.error(node, f"the local needs a value: {ast.unparse(node)} = ...")
            target, value, wanted = node.target, node.value, self.compiler.annotation(self.scope, node.annotation)
        if isinstance(value, ast.Call) and self.scope.object_of(value.func) is choose:
            return self._choice(node, target, value)
        # Before the value is typed: `pop` changes the state and is not an expression of the language.
        popped = self._pop(value)
        if popped is not None:
            return self._assign_popped(node, target, popped)
        if isinstance(target, ast.Name):
            typed = self.expression(value, call_typing.display_guide(wanted))
            if wanted is not None:
                # Python does not check annotations, so a value outside the annotated type is allowed: the local's type
                # becomes the join of both.
                typed = self.scope.convert(value, typed, join(typed.type, wanted) or wanted)
            return [self._assign_local(target, typed)]
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._unpacking(target, value)
        place = self.place_to_assign(target)
        return [
            nodes.AssignPlace(
                self.scope.site(node), place, self._as_stored(value, self.expression(value, place.type), place)
            )
        ]

    def _unpacking(self, target: ast.Tuple | ast.List, value: ast.expr) -> list[nodes.Stmt]:
        """Return `a, b = value` as assignments to the parts, after the whole value is evaluated."""
        if isinstance(value, (ast.Tuple, ast.List)):
            return self._unpack_display(target, value)
        unpacked = self.unwrapped(self.expression(value))
        if not isinstance(unpacked.type, TupleType):
            raise self.scope.error(target, f"{unpacked.type:a} cannot be unpacked: only a tuple can")
        whole = self._assign_local(_part(target), unpacked)
        return [whole, *self._unpack(target, whole.local)]

    def _unpack_display(self, target: ast.Tuple | ast.List, display: ast.Tuple | ast.List) -> list[nodes.Stmt]:
        """Return `a, b = b, a`: first each value gets a local, then the targets get these."""
        if len(target.elts) != len(display.elts):
            raise self.scope.error(target, f"{len(display.elts)} values are unpacked into {len(target.elts)} names")
        values = [
            self._assign_local(_part(part), self.expression(item))
            for part, item in zip(target.elts, display.elts, strict=True)
        ]
        statements: list[nodes.Stmt] = [*values]
        for part, assigned in zip(target.elts, values, strict=True):
            statements += self._unpack(part, assigned.local)
        return statements

    def _unpack(self, target: ast.expr, local: nodes.Local) -> list[nodes.Stmt]:
        """Return the assignments of a local's parts to the targets in `a, (b, c)`."""
        value = nodes.LocalRead(local.type, self.scope.site(target), local)
        statements: list[nodes.Stmt] = []
        for part, piece in call_typing.parts_of_target(self, target, value):
            if isinstance(part, ast.Name):
                statements.append(self._assign_local(part, piece))
                continue
            place = self.place_to_assign(part)
            converted = self._as_stored(part, piece, place)
            statements.append(nodes.AssignPlace(self.scope.site(part), place, converted))
        return statements

    def _choice(self, node: ast.stmt, target: ast.expr, call: ast.Call) -> list[nodes.Stmt]:
        """Return `name = choose(collection)` as a test of the parameter that the engines enumerate."""
        hidden = self.scope.locals.get(f" choice {target.id}") if isinstance(target, ast.Name) else None
        if hidden is None or not isinstance(target, ast.Name):
            message = (
                "choose is a statement of an action: a helper takes the value as a parameter, a property uses any(...)"
            )
            raise self.scope.error(call, message)
        site = self.scope.site(node)
        chosen = nodes.LocalRead(hidden.type, site, hidden)
        test = choice_typing.is_member_of_choice(self, call, chosen)
        self.scope.requires = True
        assignment = self._assign_local(target, chosen)
        is_certain = isinstance(test, nodes.Literal) and test.value is True
        return [assignment] if is_certain else [nodes.Require(site, test), assignment]

    def place_to_assign(self, target: ast.expr) -> nodes.Expr:
        """Return the place that an assignment writes; of an option the whole option, not the value inside."""
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
            raise self.scope.error(
                target, "a slice cannot be assigned: assign the whole sequence, as in self.log = self.log[:n] + other"
            )
        base = self.unwrapped(self.expression(target.value)).type
        if isinstance(base, TupleType):
            raise self.scope.error(target, PART_OF_TUPLE)
        if not isinstance(base, (MapType, SeqType, StructType)):
            raise self.scope.error(target, f"{ast.unparse(target)} cannot be assigned")
        # Checks that the base is a part of the state, and records that the function writes.
        place = self.place(target.value)
        if isinstance(base, PartialMapType) and isinstance(target, ast.Subscript):
            return partial_maps.entry(self, target, place, self.converted(target.slice, base.key))
        return self.expression(target)

    def _as_stored(self, node: ast.AST, value: nodes.Expr, place: nodes.Expr) -> nodes.Expr:
        """Return a value as one of a place's type; in a partial map it cannot be None."""
        if isinstance(place, nodes.IndexRead) and isinstance(place.base.type, PartialMapType):
            value = self.scope.convert(node, value, place.base.type.item)
        return self.scope.convert(node, value, place.type)

    def _assign_local(self, target: ast.Name, value: nodes.Expr) -> nodes.AssignLocal:
        if isinstance(value.type, NameType):
            raise self.scope.error(target, "a local cannot hold a name: compare the constant directly")
        if not is_bounded(value.type) and not isinstance(value.type, IntType):
            raise self.scope.error(target, f"a value of type {value.type} cannot be stored: keep numbers in a Range")
        local = self.scope.assign(target, target.id, value.type)
        self.scope.changed |= self.compiler.python_collections.note(local, (value,))
        return nodes.AssignLocal(self.scope.site(target), local, value)

    def _pop(self, value: ast.expr) -> ast.Call | None:
        if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "pop"):
            return None
        return value if self.root_of(value.func.value) is None else None

    def _assign_popped(self, node: ast.stmt, target: ast.expr, call: ast.Call) -> list[nodes.Stmt]:
        """Return `x = self.queue.pop(i)` as three steps: read the item, delete it, assign it."""
        place = self._place_of_pop(call)
        site = self.scope.site(node)
        read, deletion = self._pop_item(call, place)
        item = nodes.LocalRead(read.local.type, site, read.local)
        if isinstance(target, ast.Name):
            # Last, because the arguments of `pop` may read the local.
            return [read, deletion, self._assign_local(target, item)]
        written = self.place_to_assign(target)
        return [read, deletion, nodes.AssignPlace(site, written, self._as_stored(node, item, written))]

    def _place_of_pop(self, call: ast.Call) -> nodes.Expr:
        assert isinstance(call.func, ast.Attribute)
        place = self.place(call.func.value)
        if not isinstance(place.type, (SeqType, PartialMapType)):
            raise self.scope.error(call, f"pop takes an item of a sequence or of a partial map, not of {place.type:a}")
        return place

    def _pop_item(self, call: ast.Call, place: nodes.Expr) -> tuple[nodes.AssignLocal, nodes.AssignPlace]:
        """Return the assignment of the item to a local without a name, and its deletion."""
        site = self.scope.site(call)
        # The space keeps the name from being one that a spec could use.
        store = ast.copy_location(ast.Name(f" popped {call.lineno}:{call.col_offset}", ast.Store()), call)
        if isinstance(place.type, PartialMapType):
            item, entry = partial_maps.popped(self, call, place)
            none = nodes.Convert(entry.type, site, nodes.Literal(NONE, site, None))
            return self._assign_local(store, item), nodes.AssignPlace(site, entry, none)
        assert isinstance(place.type, SeqType)
        deletion = self._change_sequence(call, "pop", place, place.type)
        assert isinstance(deletion, nodes.SeqDelete)
        index = deletion.index or self._last_index(call, place)
        item = nodes.IndexRead(place.type.item, site, place, index)
        return self._assign_local(store, item), nodes.AssignPlace(site, place, deletion)

    def _last_index(self, node: ast.AST, place: nodes.Expr) -> nodes.Expr:
        site = self.scope.site(node)
        length = nodes.Length(IntType(0, call_typing.largest_size(place.type), "int"), site, place)
        return self.arithmetic(node, "-", length, nodes.Literal(IntType(1, 1, "int"), site, 1))

    def _augment(self, node: ast.AugAssign) -> nodes.Stmt:
        """Return `place += value` as `place = place + value`."""
        if isinstance(node.target, ast.Name):
            local = self.scope.read(node.target)
            if local is None:
                raise self.scope.error(node, f"{node.target.id} has no value yet: assign one first")
            return self._assign_local(node.target, self._combine(node, local))
        # The place is evaluated twice, which is safe: expressions in a place have no effects.
        place = self.place_to_assign(node.target)
        value = self._combine(node, self.unwrapped(place))
        return nodes.AssignPlace(self.scope.site(node), place, self._as_stored(node, value, place))

    def _combine(self, node: ast.AugAssign, left: nodes.Expr) -> nodes.Expr:
        right = self.unwrapped(self.expression(node.value, left.type))
        if isinstance(left.type, SetType) and isinstance(right.type, SetType) and type(node.op) in SETS:
            return self.set_operation(node, SETS[type(node.op)], left, right)
        if isinstance(left.type, SeqType) and isinstance(right.type, SeqType) and isinstance(node.op, ast.Add):
            return self.concatenation(node, left, right)
        if type(node.op) not in ARITHMETIC:
            raise self.scope.error(node, f"this operator does not take {left.type:a} and {right.type:a}")
        left, right = self.as_integer(node.target, left), self.as_integer(node.value, right)
        return self.arithmetic(node, ARITHMETIC[type(node.op)], left, right)

    def _deletion(self, target: ast.expr) -> list[nodes.Stmt]:
        if not isinstance(target, ast.Subscript):
            raise self.scope.error(target, "del removes an item or a slice of a sequence, as in del self.log[r][n:]")
        place = self.place(target.value)
        if isinstance(place.type, PartialMapType) and not isinstance(target.slice, ast.Slice):
            # The read is an error if the key is absent.
            read = self._assign_local(_part(target), partial_maps.value_at(self, target, place))
            entry = self.place_to_assign(target)
            none = nodes.Convert(entry.type, entry.site, nodes.Literal(NONE, entry.site, None))
            return [read, nodes.AssignPlace(entry.site, entry, none)]
        if not isinstance(place.type, SeqType):
            raise self.scope.error(target, f"del removes items of a sequence, not of {place.type:a}")
        site = self.scope.site(target)
        if isinstance(target.slice, ast.Slice):
            return [nodes.AssignPlace(site, place, self._slice(target, place, inverted=True))]
        deleted = nodes.SeqDelete(place.type, site, place, self.integer(target.slice))
        return [nodes.AssignPlace(site, place, deleted)]
