"""The test that the iterations of a `for` statement may run in any order.

A loop passes if each thing that its iterations change is of one of these kinds, and the iterations read it in no other
way:

- a part of the state that belongs to the iteration: `self.log[r]` in `for r in Replica`;
- a local that every iteration assigns before it reads it;
- a total that every iteration changes in the same way: `|=`, `-=` and `&=` on sets, `add` and `remove`, `+=` of numbers
  of one sign, `and`, `or`, `min`, `max`;
- a list to which the iterations append. It then has the order of the iterations (`LoopOrder.lists`);
- a value that does not depend on the iteration: `self.found = True`.

An iteration that ends the loop (`break`, `return`) may only assign such values, directly before it ends the loop. An
iteration that may disable the action or end the loop must not leave the bounds of a type: whether that happens before
another iteration ends the loop depends on the order.
"""

from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checker.frontend.totality import failing_part
from checker.ir import nodes
from checker.language.types import DomainType, IntType


class OrderError(Exception):
    """A part of a program depends on the order of a domain's members: the place, and a sentence."""

    def __init__(self, site: nodes.Site, sentence: str):
        super().__init__(sentence)
        self.site, self.sentence = site, sentence


Root = str | nodes.Local
"""What an assignment changes: a state variable, by its name, or a local."""


@dataclass(frozen=True)
class _Access:
    """A read or write of a part of a state variable; `keys` are the positions in its path that the loop's item has."""

    root: Root
    keys: frozenset[int]
    site: nodes.Site


@dataclass(frozen=True)
class _Write:
    """A write to a place. `kind` names the way in which it changes a total, "" if it does not."""

    access: _Access
    place: nodes.Expr
    value: nodes.Expr
    kind: str


class LoopOrder:
    """The effects of a loop over members in an unknown order; raises OrderError if the order may matter.

    `assigned` are the locals that have a value before the loop. `lists` are those to which the loop appends.
    """

    def __init__(self, domain: DomainType, loop: nodes.For, assigned: set[nodes.Local]):
        self._domain, self._loop, self._outside = domain, loop, assigned
        self._items: set[nodes.Local] = {loop.clause.local}
        self._varying: set[nodes.Local] = {loop.clause.local}
        self._reads: list[_Access] = []
        self._writes: list[_Write] = []
        self._exits: list[nodes.Return | nodes.Break] = []
        self._may_disable = False
        self._gather(loop.body, is_inner=False, in_helper=False)
        self._check()
        roots = (write.access.root for write in self._writes if write.kind == "append")
        self.lists = {root for root in roots if isinstance(root, nodes.Local)}

    def _error(self, site: nodes.Site, what: str) -> OrderError:
        line = linecache.getline(self._loop.site.file, self._loop.site.line).strip().removesuffix(":")
        return OrderError(site, f"the loop `{line}` depends on the order of {self._domain}: {what}")

    # Gathering the effects of an iteration.

    def _gather(self, body: tuple[nodes.Stmt, ...], *, is_inner: bool, in_helper: bool) -> None:
        for node in body:
            match node:
                case nodes.AssignLocal():
                    self._assign_local(node)
                case nodes.AssignPlace():
                    self._write(node.place, node.value, node.site)
                case nodes.If():
                    self._read(node.test)
                    self._gather(node.then, is_inner=is_inner, in_helper=in_helper)
                    self._gather(node.otherwise, is_inner=is_inner, in_helper=in_helper)
                case nodes.For():
                    self._read(node.clause.iterable)
                    self._varying.add(node.clause.local)
                    if node.clause.counter is not None:
                        self._varying.add(node.clause.counter)
                    self._gather(node.body, is_inner=True, in_helper=in_helper)
                case nodes.Require():
                    self._may_disable = True
                    self._read(node.test)
                case nodes.Return():
                    if node.value is not None:
                        self._read(node.value)
                    if not in_helper:
                        self._exits.append(node)
                case nodes.Break():
                    if not is_inner and not in_helper:
                        self._exits.append(node)
                case nodes.Do():
                    self._read(node.call)
                case nodes.Continue():
                    pass
                case _:
                    raise self._error(node.site, "this statement is not known to be independent of it")

    def _assign_local(self, node: nodes.AssignLocal) -> None:
        if node.local in self._items:
            raise self._error(node.site, f"it assigns {node.local.name}")
        if node.local not in self._outside:
            # The front end has checked that each iteration assigns it before it reads it.
            self._varying.add(node.local)
            self._read(node.value)
            return
        place = nodes.LocalRead(node.local.type, node.site, node.local)
        self._write(place, node.value, node.site)

    def _write(self, place: nodes.Expr, value: nodes.Expr, site: nodes.Site) -> None:
        kind, others = _total(place, value)
        access = self._access(place)
        self._read_path(place)
        for part in others if kind else (value,):
            self._read(part)
        self._writes.append(_Write(dataclasses.replace(access, site=site), place, value, kind))

    def _read(self, part: Any) -> None:
        """Gather the accesses of an expression or an iterable, and the effects of the helpers that it calls."""
        if isinstance(part, (nodes.StateRead, nodes.FieldRead, nodes.IndexRead, nodes.Convert)) and _root(part):
            self._reads.append(self._access(part))
            self._read_path(part)
        elif isinstance(part, nodes.LocalRead):
            self._reads.append(_Access(part.local, frozenset(), part.site))
        elif isinstance(part, nodes.HelperCall):
            self._call(part)
        else:
            for inner in _parts(part):
                self._read(inner)

    def _read_path(self, place: nodes.Expr) -> None:
        """Gather the accesses of the indices in the path of a place."""
        while isinstance(place, (nodes.FieldRead, nodes.IndexRead, nodes.Convert)):
            if isinstance(place, nodes.IndexRead):
                self._read(place.index)
            place = place.base

    def _call(self, node: nodes.HelperCall) -> None:
        for parameter, argument in zip(node.function.parameters, node.arguments, strict=True):
            self._read(argument)
            self._varying.add(parameter)
            if self._is_item(argument):
                self._items.add(parameter)
            else:
                self._items.discard(parameter)
        self._gather(node.function.body, is_inner=True, in_helper=True)

    def _access(self, place: nodes.Expr) -> _Access:
        steps: list[nodes.Expr] = []
        base = place
        while isinstance(base, (nodes.FieldRead, nodes.IndexRead, nodes.Convert)):
            if not isinstance(base, nodes.Convert):
                steps.append(base)
            base = base.base
        keys = frozenset(
            position
            for position, step in enumerate(reversed(steps))
            if isinstance(step, nodes.IndexRead) and self._is_item(step.index)
        )
        root = _root(place)
        assert root is not None
        return _Access(root, keys, place.site)

    def _is_item(self, node: nodes.Expr) -> bool:
        """Return whether an expression is the item of the iteration."""
        while isinstance(node, nodes.Convert):
            node = node.base
        return isinstance(node, nodes.LocalRead) and node.local in self._items

    # Checking them.

    def _check(self) -> None:
        if self._exits:
            self._check_exits()
        for root in dict.fromkeys(write.access.root for write in self._writes):
            self._check_writes(root, [write for write in self._writes if write.access.root == root])
        if (self._exits or self._may_disable) and (part := failing_part(self._loop.body)) is not None:
            text = part.site.text or self._loop.site.text
            raise self._error(part.site, f"`{text}` may fail in one iteration, and another may come before it")

    def _check_writes(self, root: Root, writes: list[_Write]) -> None:
        reads = [read for read in self._reads if read.root == root]
        accesses = [*(write.access for write in writes), *reads]
        if frozenset.intersection(*(access.keys for access in accesses)):
            return
        name = root.name if isinstance(root, nodes.Local) else f"self.{root}"
        site = writes[0].access.site
        if reads:
            raise self._error(site, f"an iteration changes {name}, which another one reads")
        kinds = {write.kind for write in writes}
        if kinds == {"append"} and isinstance(root, str):
            raise self._error(site, f"it appends to {name}")
        if len(kinds) > 1 or (kinds == {""} and not self._is_same_value(writes)):
            which = "first iteration that ends the loop" if self._exits else "last iteration"
            raise self._error(site, f"the {which} decides the value of {name}")

    def _is_same_value(self, writes: list[_Write]) -> bool:
        """Return whether all writes assign one value to one place, whatever the iteration."""
        first = writes[0]
        return all(
            not self._depends(write.place)
            and not self._depends(write.value)
            and _is_same(write.place, first.place)
            and _is_same(write.value, first.value)
            for write in writes
        )

    def _depends(self, part: Any) -> bool:
        """Return whether an expression may have another value in another iteration."""
        changed = {write.access.root for write in self._writes}
        for inner_part in _all_parts(part):
            if isinstance(inner_part, nodes.LocalRead) and inner_part.local in self._varying:
                return True
            if isinstance(inner_part, nodes.HelperCall):
                return True
            if isinstance(inner_part, nodes.StateRead) and inner_part is not part and inner_part.variable in changed:
                return True
        return False

    def _check_exits(self) -> None:
        first = self._exits[0]
        values = [leaving.value if isinstance(leaving, nodes.Return) else None for leaving in self._exits]
        is_one_result = all(
            type(leaving) is type(first) and _is_same(value, values[0]) and not self._depends(value)
            for leaving, value in zip(self._exits, values, strict=True)
        )
        if not is_one_result:
            raise self._error(first.site, "the first iteration that ends the loop decides the result")
        if self._writes and (len(self._exits) > 1 or not self._assigns_only_before(first)):
            raise self._error(first.site, "the iterations before the one that ends the loop have an effect")

    def _assigns_only_before(self, end: nodes.Return | nodes.Break) -> bool:
        """Return whether all writes are assignments of fixed values directly before the end of the loop."""
        if any(write.kind or write.access.keys for write in self._writes):
            return False
        block = _block_of(end, self._loop.body)
        before = [node for node in block if isinstance(node, (nodes.AssignLocal, nodes.AssignPlace))]
        return len(before) == len(self._writes) and len(before) == len(block) - 1


def _root(place: nodes.Expr) -> Root | None:
    """Return what a place is a part of: a variable of the present state, or a local; None for any other expression."""
    while isinstance(place, (nodes.FieldRead, nodes.IndexRead, nodes.Convert)):
        place = place.base
    if isinstance(place, nodes.StateRead):
        # The old state of a step invariant never changes, so it has a name of its own.
        return place.variable if place.root == "self" else f"old.{place.variable}"
    return place.local if isinstance(place, nodes.LocalRead) else None


def _total(place: nodes.Expr, value: nodes.Expr) -> tuple[str, tuple[nodes.Expr, ...]]:
    """Return how an assignment `place = value` changes a total, and the operands besides the place; "" if it does not.

    Two assignments of the same kind may be exchanged.
    """
    while isinstance(value, nodes.Convert):
        value = value.base
    match value:
        case nodes.SetOperation(operator=operator, left=left, right=right):
            if _is_place(left, place):
                return ("" if operator == "^" else operator), (right,)
            if _is_place(right, place) and operator in ("|", "&"):
                return operator, (left,)
        case nodes.SetRemove(base=base, item=item) if _is_place(base, place):
            return "remove", (item,)
        case nodes.BagAdd(base=base, item=item) if _is_place(base, place):
            return "add", (item,)
        case nodes.SeqInsert(base=base, index=None, item=item) if _is_place(base, place):
            return "append", (item,)
        case nodes.Arithmetic(operator="+" | "-" as operator, left=left, right=right):
            if _is_place(left, place):
                return _sign(right, is_negated=operator == "-"), (right,)
            if _is_place(right, place) and operator == "+":
                return _sign(left, is_negated=False), (left,)
        case nodes.Logical(operator=operator, operands=operands, eager=eager):
            others = operands[1:] if _is_place(operands[0], place) else operands[:-1]
            if len(others) < len(operands) and _is_place(operands[0 if others == operands[1:] else -1], place):
                # After the place, an operand is evaluated only if the place does not decide.
                is_certain = eager or others == operands[:-1] or failing_part(others) is None
                return (operator if is_certain else ""), others
        case nodes.Extremum(operator=operator, operands=operands):
            others = tuple(operand for operand in operands if not _is_place(operand, place))
            if len(others) == len(operands) - 1:
                return operator, others
    return "", ()


def _sign(number: nodes.Expr, *, is_negated: bool) -> str:
    """Return "up" or "down" for a number that is added and has one sign, or "": a sum may leave its bounds between."""
    kind = number.type
    if not isinstance(kind, IntType):
        return ""
    if kind.low is not None and kind.low >= 0:
        return "down" if is_negated else "up"
    if kind.high is not None and kind.high <= 0:
        return "up" if is_negated else "down"
    return ""


def _is_place(node: nodes.Expr, place: nodes.Expr) -> bool:
    while isinstance(node, nodes.Convert):
        node = node.base
    while isinstance(place, nodes.Convert):
        place = place.base
    return _is_same(node, place)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two parts of a program are the same text with the same meaning."""
    if type(one) is not type(other):
        return False
    if isinstance(one, nodes.Site):
        return True
    if isinstance(one, (nodes.Local, nodes.Function)):
        return one is other
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if dataclasses.is_dataclass(one) and type(one).__module__ == nodes.__name__:
        return all(_is_same(getattr(one, each.name), getattr(other, each.name)) for each in dataclasses.fields(one))
    return bool(one == other)


def _parts(part: Any) -> Iterator[Any]:
    """Iterate over the nodes of a program directly inside a part of it."""
    if isinstance(part, (list, tuple)):
        yield from part
    elif dataclasses.is_dataclass(part) and type(part).__module__ == nodes.__name__:
        for each in dataclasses.fields(part):
            yield getattr(part, each.name)


def _all_parts(part: Any) -> Iterator[Any]:
    yield part
    for inner in _parts(part):
        yield from _all_parts(inner)


def _block_of(statement: nodes.Stmt, body: tuple[nodes.Stmt, ...]) -> tuple[nodes.Stmt, ...]:
    """Return the statements among which a statement of a loop's body is."""
    if any(inner_statement is statement for inner_statement in body):
        return body
    for inner_statement in body:
        for inner in (inner_statement.then, inner_statement.otherwise) if isinstance(inner_statement, nodes.If) else ():
            if block := _block_of(statement, inner):
                return block
    return ()
