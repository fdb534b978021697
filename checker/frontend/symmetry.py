"""The analysis that decides which domains a program uses symmetrically.

A domain is symmetric if every renaming of its members maps steps to steps and keeps the truth of every property. The
analysis answers yes only if that follows from the program's text:

- No part of the program names a member: each literal stays the same under all renamings.
- The order of the members has no effect. The order shows where the program iterates over members, or over a set or bag
  of values with members. The result of `all`, `any`, `sum`, `min`, `max` or a set does not depend on the order of the
  items. A list does; it may be counted, searched, sorted, or iterated over, and nothing else. For the iterations of a
  `for` statement see `checker.frontend.loop_order`.

One result depends on the order even so: `any` stops at the first true item, so an item that leaves the bounds of a type
is an error only if it comes before that. The analysis returns such folds as `unordered_folds`. In some order of the
members each of their items is evaluated, so an engine that stores one state for all orders evaluates all items.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from checker.errors import SpecError
from checker.frontend.loop_order import LoopOrder, OrderError
from checker.frontend.totality import failing_part
from checker.ir import nodes
from checker.language.permutations import domains_in, generators, mentions, permute
from checker.language.type_joins import is_bounded
from checker.language.types import BagType, DomainType, MapType, SetType


@dataclass(frozen=True)
class Asymmetry:
    """Why a domain is not symmetric: a sentence, with the place in the source if it is known."""

    domain: DomainType
    sentence: str
    file: str | None = None
    line: int | None = None

    @property
    def error(self) -> SpecError:
        """The asymmetry as an error."""
        return SpecError(f"{self.domain} is not symmetric: {self.sentence}", file=self.file, line=self.line)


@dataclass(frozen=True)
class ProgramSymmetry:
    """The symmetric domains of a program, and why the others are not.

    `unordered_folds` are the folds of which an engine must evaluate all items: see the module's docstring.
    """

    domains: tuple[DomainType, ...] = ()
    asymmetries: tuple[Asymmetry, ...] = ()
    unordered_folds: tuple[nodes.Fold, ...] = field(default=(), repr=False)


NO_SYMMETRY = ProgramSymmetry()
"""The symmetry of a program that is explored without symmetry."""


def symmetry_of(program: nodes.Program) -> ProgramSymmetry:
    """Return which domains of the variables and parameters of a program are symmetric."""
    symmetric, asymmetries, folds = [], [], []
    for domain in _domains_of(program):
        try:
            check = _SymmetryCheck(domain)
            check.program(program)
        except OrderError as error:
            line = error.site.line or None
            asymmetries.append(Asymmetry(domain, error.sentence, error.site.file or None, line))
            continue
        symmetric.append(domain)
        folds += check.unordered_folds
    return ProgramSymmetry(tuple(symmetric), tuple(asymmetries), tuple({id(fold): fold for fold in folds}.values()))


def _domains_of(program: nodes.Program) -> list[DomainType]:
    parameters = [parameter.local.type for action in program.actions for parameter in action.parameters]
    kinds = [*program.variables.values(), *parameters]
    domains = dict.fromkeys(domain for kind in kinds for domain in domains_in(kind))
    # One member has no other name.
    return [domain for domain in domains if domain.cardinality() > 1]


_PLAIN = (
    nodes.StateRead,
    nodes.ConstantRead,
    nodes.FieldRead,
    nodes.IndexRead,
    nodes.Arithmetic,
    nodes.Comparison,
    nodes.Logical,
    nodes.Not,
    nodes.IsAlternative,
    nodes.IndexOf,
    nodes.SetOperation,
    nodes.Subset,
    nodes.SetRemove,
    nodes.BagAdd,
    nodes.ItemsOf,
    nodes.StructNew,
    nodes.StructReplace,
    nodes.MapBuild,
    nodes.SeqInsert,
    nodes.SeqDelete,
    nodes.SeqSlice,
    nodes.Extremum,
)
"""Expressions that are symmetric if their operands are, and that do not take a list of unknown order."""

_COUNTING = (nodes.Length, nodes.Contains, nodes.Count, nodes.Sorted)
"""Expressions of which the result does not depend on the order of a list."""


class _SymmetryCheck:
    """Checks the parts of a program for one domain; raises OrderError at the first asymmetric part.

    A method for an expression returns whether its value is *unordered*: a list of which the order depends on that of
    the members.
    """

    def __init__(self, domain: DomainType):
        self._domain = domain
        self._generators = generators(domain)
        self._unordered: set[nodes.Local] = set()
        self._known: dict[Any, bool] = {}
        self.unordered_folds: list[nodes.Fold] = []

    def program(self, program: nodes.Program) -> None:
        """Check the actions, properties and constraints."""
        for action in program.actions:
            for parameter in action.parameters:
                if parameter.collection is not None:
                    self._value(parameter.collection)
            self._block(action.body, {parameter.local for parameter in action.parameters})
        for predicate in (*program.properties, *program.constraints):
            self._block(predicate.function.body, set(predicate.function.parameters))

    # Expressions.

    def _value(self, node: nodes.Expr) -> None:
        """Check an expression of which the value must not be an unordered list."""
        if self._expression(node):
            raise OrderError(node.site, f"`{node.site.text}` is a list in the order of {self._domain}")

    def _expression(self, node: nodes.Expr) -> bool:
        if isinstance(node, _COUNTING):
            for operand in _operands(node):
                self._expression(operand)
            return False
        if isinstance(node, _PLAIN):
            for operand in _operands(node):
                self._value(operand)
            if isinstance(node, nodes.MapBuild) and mentions(node.key.type, self._domain):
                self._require_no_effects(node.value, node.site)
            return False
        match node:
            case nodes.Literal():
                self._literal(node)
                return False
            case nodes.LocalRead():
                return node.local in self._unordered
            case nodes.Convert():
                is_unordered = self._expression(node.base)
                return is_unordered and not isinstance(node.type, BagType)
            case nodes.Conditional():
                self._value(node.test)
                return self._any(node.then, node.otherwise)
            case nodes.SeqConcat():
                return self._any(node.left, node.right)
            case nodes.MapItems():
                if isinstance(node.type, MapType) and mentions(node.type.key, self._domain):
                    raise OrderError(node.site, f"`{node.site.text}` names the members of {self._domain}")
                return self._any(*node.values)
            case nodes.Fold():
                return self._fold(node)
            case nodes.HelperCall():
                return self._call(node)
            case nodes.Refines():
                self._refines(node)
                return False
        raise OrderError(node.site, f"`{node.site.text}` is not known to be symmetric")

    def _any(self, *operands: nodes.Expr) -> bool:
        # All operands are checked, also after an unordered one.
        results = [self._expression(operand) for operand in operands]
        return any(results)

    def _literal(self, node: nodes.Literal) -> None:
        if not mentions(node.type, self._domain):
            return
        if any(permute(node.type, node.value, by) != node.value for by in self._generators):
            raise OrderError(node.site, f"`{node.site.text}` names members of {self._domain}")

    def _is_unordered(self, over: nodes.Iterable) -> bool:
        """Check an iterable, and return whether the order of its items depends on that of the members."""
        if isinstance(over, nodes.Universe):
            return mentions(over.type, self._domain)
        if isinstance(over, nodes.IntRange):
            self._value(over.low)
            self._value(over.high)
            return False
        is_unordered = self._expression(over)
        return is_unordered or (isinstance(over.type, (SetType, BagType)) and mentions(over.type.item, self._domain))

    def _clause(self, clause: nodes.ForClause, site: nodes.Site) -> bool:
        is_unordered = self._is_unordered(clause.iterable)
        if is_unordered and clause.counter is not None:
            raise OrderError(site, f"`{site.text}` numbers values in the order of {self._domain}")
        return is_unordered

    def _fold(self, node: nodes.Fold) -> bool:
        is_unordered = False
        for clause in node.clauses:
            if isinstance(clause, nodes.ForClause):
                is_unordered |= self._clause(clause, node.site)
            else:
                self._value(clause.test)
        self._value(node.element)
        if node.default is not None:
            self._value(node.default)
        if not is_unordered:
            return False
        self._require_no_effects((node.clauses, node.element), node.site)
        if node.kind in ("all", "any") and failing_part((node.clauses, node.element)) is not None:
            self.unordered_folds.append(node)
        if node.kind == "sum" and not is_bounded(node.type):
            raise OrderError(
                node.site, f"`{node.site.text}` adds numbers without bounds in the order of {self._domain}"
            )
        if node.chosen:
            raise OrderError(node.site, f"`{node.site.text}` depends on the order of {self._domain}")
        return node.kind == "seq"

    def _require_no_effects(self, part: Any, site: nodes.Site) -> None:
        """Raise OrderError if a part that is evaluated for each member may disable an action or change the state."""
        if any(call.function.requires or call.function.writes for call in calls_in(part)):
            raise OrderError(site, f"`{site.text}` calls a helper that uses `require` in the order of {self._domain}")

    def _call(self, node: nodes.HelperCall) -> bool:
        arguments = tuple(self._expression(argument) for argument in node.arguments)
        key = (node.function, arguments)
        if key not in self._known:
            self._unordered -= set(node.function.parameters)
            self._unordered |= {
                local for local, is_unordered in zip(node.function.parameters, arguments, strict=True) if is_unordered
            }
            self._known[key] = self._block(node.function.body, set(node.function.parameters))
        return self._known[key]

    def _refines(self, node: nodes.Refines) -> None:
        for value in (*node.before, *node.after):
            self._value(value)
        for kind in node.abstract.variables.values():
            for domain in domains_in(kind):
                if domain.declared is self._domain.declared and domain != self._domain:
                    message = f"{node.abstract.name} has {domain.cardinality()} members of {domain}"
                    raise OrderError(node.site, message)
        self.program(node.abstract)

    # Statements.

    def _block(self, body: tuple[nodes.Stmt, ...], assigned: set[nodes.Local]) -> bool:
        """Check statements; return whether one returns an unordered list.

        `assigned` are the locals that have a value; those that the statements assign are added.
        """
        is_unordered = False
        for statement in body:
            is_unordered |= self._statement(statement, assigned)
        return is_unordered

    def _statement(self, node: nodes.Stmt, assigned: set[nodes.Local]) -> bool:
        match node:
            case nodes.AssignLocal():
                if self._expression(node.value):
                    self._unordered.add(node.local)
                assigned.add(node.local)
            case nodes.AssignPlace():
                self._value(node.place)
                self._value(node.value)
            case nodes.If():
                self._value(node.test)
                then, otherwise = set(assigned), set(assigned)
                results = [self._block(node.then, then), self._block(node.otherwise, otherwise)]
                # A local that only one side assigns counts as assigned: then a loop must not change it.
                assigned |= then | otherwise
                return any(results)
            case nodes.For():
                return self._for(node, assigned)
            case nodes.Require():
                self._value(node.test)
            case nodes.Return():
                return node.value is not None and self._expression(node.value)
            case nodes.Do():
                self._expression(node.call)
            case nodes.Break() | nodes.Continue():
                pass
            case _:
                raise OrderError(node.site, f"`{node.site.text}` is not known to be symmetric")
        return False

    def _for(self, node: nodes.For, assigned: set[nodes.Local]) -> bool:
        is_unordered = self._clause(node.clause, node.site)
        if is_unordered:
            # Lists that the loop builds have the order of its iterations.
            self._unordered |= LoopOrder(self._domain, node, assigned).lists
        # What the body assigns first has no value after the loop.
        return self._block(node.body, set(assigned))


def calls_in(part: Any) -> Iterator[nodes.HelperCall]:
    """Iterate over the calls of helpers in a part of a program, those in called helpers included."""
    waiting, seen = [part], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, nodes.HelperCall):
            yield node
        if isinstance(node, (list, tuple)):
            waiting.extend(node)
        elif dataclasses.is_dataclass(node) and type(node).__module__ == nodes.__name__:
            waiting.extend(getattr(node, each.name) for each in dataclasses.fields(node))


def _operands(node: nodes.Expr) -> Iterator[nodes.Expr]:
    """Iterate over the expressions that are parts of an expression."""
    waiting = [getattr(node, each.name) for each in dataclasses.fields(node)]
    for operand in waiting:
        if isinstance(operand, nodes.Expr):
            yield operand
        elif isinstance(operand, tuple):
            waiting.extend(operand)
