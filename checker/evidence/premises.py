"""Premises of properties: conditions without which a property is vacuously true.

`not p or q`, `q if p else True`, `implies(p, q)`, `if not p: return True` and `all(q for x in s if p)` are true in
every state in which the premise `p` is false. This module derives, from the typed form of a property, one predicate
per premise. The predicate is true in a state in which the evaluation of the property gets past the premise. An engine
searches the reachable states for such a state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from checker.ir import nodes
from checker.language.types import DomainType, EnumType, IntType

Wrap = Callable[[nodes.Expr], nodes.Function]
"""Replaces a part of a property by a bool expression; the returned function is true if its evaluation gets there."""

Block = tuple[nodes.Stmt, ...]
NOWHERE = nodes.Site("", 0, "")


@dataclass(frozen=True)
class Premise:
    """A premise of a property: `predicate` is true in the states (or steps) in which the evaluation gets past it.

    `text` is the source text of the premise. `parent` is the index of the enclosing premise: if that one is never
    true, this one is not reported.
    """

    property: str
    text: str
    site: nodes.Site
    predicate: nodes.Predicate
    parent: int | None


def premises_of(program: nodes.Program) -> list[Premise]:
    """Return the premises of a program's invariants and step invariants, outer ones before inner ones."""
    premises: list[Premise] = []
    for predicate in program.properties:
        if predicate.role in ("invariant", "step invariant") and predicate.function.result == nodes.BOOL:
            _PremiseSearch(predicate, premises).root()
    return premises


class _PremiseSearch:
    """The search in one property, from its result inwards.

    `wanted` is the truth value of a part that satisfies the property.
    """

    def __init__(self, predicate: nodes.Predicate, premises: list[Premise]):
        self._property, self._found = predicate, premises
        self._helpers = 0

    def root(self) -> None:
        self._function(self._property.function, True, lambda reached: reached, None)

    def _add(self, text: str, site: nodes.Site, function: nodes.Function, parent: int | None) -> int:
        role = "step premise" if self._property.role == "step invariant" else "premise"
        predicate = nodes.Predicate(f"{self._property.name} premise {len(self._found)}", role, function)
        self._found.append(Premise(self._property.name, text, site, predicate, parent))
        return len(self._found) - 1

    # Functions and statements.

    def _function(
        self,
        function: nodes.Function,
        wanted: bool,
        wrap: Callable[[nodes.Function], nodes.Function],
        parent: int | None,
    ) -> None:
        def rebuild(body: Block) -> nodes.Function:
            whole = body if isinstance(body[-1], nodes.Return) else (*body, _returning(False))
            return wrap(dataclasses.replace(function, body=whole, result=nodes.BOOL))

        self._block(function.body, wanted, rebuild, parent)

    def _block(
        self, block: Block, wanted: bool, rebuild: Callable[[Block], nodes.Function], parent: int | None
    ) -> None:
        for position, statement in enumerate(block):
            before, after = _returning_false(block[:position]), _returning_false(block[position + 1 :])

            def place(new: Block, before: Block = before, after: Block = after) -> nodes.Function:
                return rebuild((*before, *new, *after))

            if isinstance(statement, nodes.Return) and statement.value is not None:
                site = statement.site
                self._expression(
                    statement.value,
                    wanted,
                    lambda reached, site=site, place=place: place((nodes.Return(site, reached),)),  # type: ignore[misc]
                    parent,
                )
            elif isinstance(statement, nodes.If):
                parent = self._if(statement, wanted, place, parent)
            elif isinstance(statement, nodes.For):
                self._for(statement, wanted, place, parent)

    def _if(
        self, node: nodes.If, wanted: bool, place: Callable[[Block], nodes.Function], parent: int | None
    ) -> int | None:
        """Search an `if`, and return the index of the premise that holds after it."""
        if _returns(node.then, wanted) and not node.otherwise:
            function = place((dataclasses.replace(node, then=(_returning(False),), otherwise=(_returning(True),)),))
            return self._add(_negation_text(node.test), node.test.site, function, parent)
        if _returns(node.then, not wanted):
            self._expression(
                node.test,
                False,
                lambda reached: place((nodes.If(node.site, reached, (_returning(True),), ()),)),
                parent,
            )
        elif node.then:
            function = place(
                (dataclasses.replace(node, then=(_returning(True),), otherwise=_returning_false(node.otherwise)),)
            )
            inner = self._add(node.test.site.text, node.test.site, function, parent)
            otherwise = _returning_false(node.otherwise)
            self._block(
                node.then,
                wanted,
                lambda new: place((dataclasses.replace(node, then=new, otherwise=otherwise),)),
                inner,
            )
        if node.otherwise and not _returns(node.otherwise, not wanted):
            then = _returning_false(node.then)
            self._block(
                node.otherwise,
                wanted,
                lambda new: place((dataclasses.replace(node, then=then, otherwise=new),)),
                parent,
            )
        return parent

    def _for(self, node: nodes.For, wanted: bool, place: Callable[[Block], nodes.Function], parent: int | None) -> None:
        if _may_be_empty(node.clause):
            function = place((dataclasses.replace(node, body=(_returning(True),)),))
            parent = self._add(clause_text(node.clause), node.site, function, parent)
        self._block(node.body, wanted, lambda new: place((dataclasses.replace(node, body=new),)), parent)

    # Expressions.

    def _expression(self, node: nodes.Expr, wanted: bool, wrap: Wrap, parent: int | None) -> None:
        if isinstance(node, nodes.Not):
            self._expression(node.operand, not wanted, wrap, parent)
        elif isinstance(node, nodes.Logical):
            if (node.operator == "or") == wanted:
                self._implication(node, wanted, wrap, parent)
            else:
                self._conjunction(node, wanted, wrap, parent)
        elif isinstance(node, nodes.Fold) and node.kind == ("all" if wanted else "any"):
            self._quantifier(node, wanted, wrap, parent)
        elif isinstance(node, nodes.Conditional):
            self._conditional(node, wanted, wrap, parent)
        elif isinstance(node, nodes.HelperCall) and node.function.result == nodes.BOOL and not node.function.writes:
            self._helpers += 1
            self._function(
                node.function,
                wanted,
                lambda function: wrap(nodes.HelperCall(nodes.BOOL, node.site, function, node.arguments)),
                parent,
            )
            self._helpers -= 1

    def _implication(self, node: nodes.Logical, wanted: bool, wrap: Wrap, parent: int | None) -> None:
        """Search `not p or q`, or `not (p and not q)`: an operand decides only if those before it do not."""
        operands = list(node.operands)
        if wanted and _is_implies(node):
            # `implies` is lowered with the conclusion first, because it evaluates both sides.
            operands.reverse()
        if not self._reads_as_implication(operands, wanted):
            return
        # In `not p or q or r` only p is a premise: q and r are both parts of the conclusion.
        count = 1
        while count < len(operands) - 1 and _is_premise(operands[count], wanted):
            count += 1
        premises = operands[:count]
        text = " and ".join(_negation_text(premise) if wanted else premise.site.text for premise in premises)
        passed = [_with_value(operand, not wanted) for operand in operands[:-1]]
        inner = self._add(text, node.site, wrap(_all_of(passed[:count])), parent)
        self._expression(operands[-1], wanted, lambda reached: wrap(_all_of([*passed, reached])), inner)

    def _reads_as_implication(self, operands: list[nodes.Expr], wanted: bool) -> bool:
        """Return whether the first operand of a disjunction is a negated premise, not an alternative conclusion."""
        first = operands[0]
        if self._helpers:
            return any(isinstance(operand, nodes.Not) for operand in operands)
        if not wanted or isinstance(first, nodes.Not):
            return True
        if not isinstance(first, nodes.Comparison):
            return False
        return first.operator == "!=" or any(isinstance(side, nodes.Literal) for side in (first.left, first.right))

    def _conjunction(self, node: nodes.Logical, wanted: bool, wrap: Wrap, parent: int | None) -> None:
        for position, operand in enumerate(node.operands):
            before = [_with_value(other, wanted) for other in node.operands[:position]]
            self._expression(
                operand,
                wanted,
                lambda reached, before=before: wrap(_all_of([*before, reached])),  # type: ignore[misc]
                parent,
            )

    def _quantifier(self, node: nodes.Fold, wanted: bool, wrap: Wrap, parent: int | None) -> None:
        for position, clause in enumerate(node.clauses):
            if not isinstance(clause, nodes.IfClause) and not _may_be_empty(clause):
                continue
            some = nodes.Fold(nodes.BOOL, node.site, "any", node.clauses[: position + 1], _literal(True))
            site = clause.test.site if isinstance(clause, nodes.IfClause) else _site_of(clause, node.site)
            parent = self._add(clause_text(clause), site, wrap(some), parent)
        self._expression(
            node.element,
            wanted,
            lambda reached: wrap(nodes.Fold(nodes.BOOL, node.site, "any", node.clauses, reached)),
            parent,
        )

    def _conditional(self, node: nodes.Conditional, wanted: bool, wrap: Wrap, parent: int | None) -> None:
        for branch, is_then in ((node.then, True), (node.otherwise, False)):
            if isinstance(branch, nodes.Literal):
                continue
            test = _with_value(node.test, is_then)
            text = node.test.site.text if is_then else _negation_text(node.test)
            inner = self._add(text, node.test.site, wrap(test), parent)
            self._expression(
                branch,
                wanted,
                lambda reached, test=test: wrap(_all_of([test, reached])),  # type: ignore[misc]
                inner,
            )


def clause_text(clause: nodes.Clause) -> str:
    """Return the text of a clause of a comprehension: `offset in range(self.high_watermark[leader])`."""
    if isinstance(clause, nodes.IfClause):
        return clause.test.site.text
    over = clause.iterable
    if isinstance(over, nodes.Universe):
        return f"{clause.local.name} in {over.type}"
    if isinstance(over, nodes.IntRange):
        is_from_zero = isinstance(over.low, nodes.Literal) and over.low.value == 0
        bounds = over.high.site.text if is_from_zero else f"{over.low.site.text}, {over.high.site.text}"
        return f"{clause.local.name} in range({bounds})"
    return f"{clause.local.name} in {over.site.text}"


def _site_of(clause: nodes.ForClause, otherwise: nodes.Site) -> nodes.Site:
    over = clause.iterable
    if isinstance(over, nodes.IntRange):
        return over.high.site
    return otherwise if isinstance(over, nodes.Universe) else over.site


def _may_be_empty(clause: nodes.ForClause) -> bool:
    over = clause.iterable
    if isinstance(over, nodes.Universe):
        return not isinstance(over.type, (DomainType, EnumType, IntType))
    if isinstance(over, nodes.IntRange):
        return not (isinstance(over.low, nodes.Literal) and isinstance(over.high, nodes.Literal))
    return not isinstance(over, (nodes.Literal, nodes.ItemsOf))


def _is_implies(node: nodes.Logical) -> bool:
    return len(node.operands) == 2 and isinstance(node.operands[1], nodes.Not) and node.site.text.startswith("implies(")


def _is_premise(operand: nodes.Expr, wanted: bool) -> bool:
    """Return whether an operand of a disjunction is a negated premise, not a part of the conclusion."""
    is_denial = isinstance(operand, nodes.Not) or (isinstance(operand, nodes.Comparison) and operand.operator == "!=")
    return is_denial == wanted


def _literal(value: bool) -> nodes.Literal:
    return nodes.Literal(nodes.BOOL, NOWHERE, value)


def _returning(value: bool) -> nodes.Return:
    return nodes.Return(NOWHERE, _literal(value))


def _returns(block: Block, value: bool) -> bool:
    """Return whether a block only returns this literal."""
    if len(block) != 1 or not isinstance(block[0], nodes.Return):
        return False
    returned = block[0].value
    return isinstance(returned, nodes.Literal) and returned.value is value


def _with_value(node: nodes.Expr, value: bool) -> nodes.Expr:
    if value:
        return node
    return node.operand if isinstance(node, nodes.Not) else nodes.Not(nodes.BOOL, node.site, node)


def _all_of(parts: list[nodes.Expr]) -> nodes.Expr:
    if not parts:
        return _literal(True)
    return parts[0] if len(parts) == 1 else nodes.Logical(nodes.BOOL, parts[0].site, "and", tuple(parts))


_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _negation_text(node: nodes.Expr) -> str:
    """Return the source text of the negation of an expression."""
    if isinstance(node, nodes.Not):
        return node.operand.site.text
    if isinstance(node, nodes.Comparison) and node.left.site.text and node.right.site.text:
        return f"{node.left.site.text} {_OPPOSITES[node.operator]} {node.right.site.text}"
    is_simple = isinstance(node, (nodes.HelperCall, nodes.StateRead, nodes.LocalRead, nodes.IndexRead, nodes.Fold))
    return f"not {node.site.text}" if is_simple else f"not ({node.site.text})"


def _returning_false(block: Block) -> Block:
    """Return the statements with every returned value replaced by False: the premise was not passed there."""
    return tuple(_statement_returning_false(statement) for statement in block)


def _statement_returning_false(statement: nodes.Stmt) -> nodes.Stmt:
    if isinstance(statement, nodes.Return):
        return dataclasses.replace(statement, value=_literal(False))
    if isinstance(statement, nodes.If):
        return dataclasses.replace(
            statement, then=_returning_false(statement.then), otherwise=_returning_false(statement.otherwise)
        )
    if isinstance(statement, nodes.For):
        return dataclasses.replace(statement, body=_returning_false(statement.body))
    return statement
