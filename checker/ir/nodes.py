"""Typed expressions and statements: what the front end makes of a spec's methods and every compiled engine reads.

Expressions are pure, except the `HelperCall` of a helper that writes. A collection changes by assignment of a new
value to a place.
Every node that can leave a type's bounds carries the `Site` in the source where it would.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from typing import Literal as OneOf

from checker.language.types import BoolType, IntType, Type

BOOL = BoolType()
INT = IntType(None, None, "int")


@dataclass(frozen=True)
class Site:
    """A place in the source: file, line, and the expression's text."""

    file: str
    line: int
    text: str


@dataclass(eq=False)
class Local:
    """A local variable or parameter of one function; `type` holds the join of everything assigned to it."""

    name: str
    type: Type


@dataclass(frozen=True, eq=False)
class Expr:
    """The base of expressions."""

    type: Type
    site: Site


@dataclass(frozen=True, eq=False)
class Literal(Expr):
    """A value known before the spec runs, in the interpreter's form."""

    value: Any


@dataclass(frozen=True, eq=False)
class LocalRead(Expr):
    """The value of a local."""

    local: Local


@dataclass(frozen=True, eq=False)
class StateRead(Expr):
    """A state variable of `self`, or of `old` in a step invariant."""

    root: OneOf["self", "old"]
    variable: str


@dataclass(frozen=True, eq=False)
class FieldRead(Expr):
    """A field of a struct."""

    base: Expr
    name: str


@dataclass(frozen=True, eq=False)
class IndexRead(Expr):
    """The value of a map at a key (already of the key type), or of a sequence at an index (an error outside it)."""

    base: Expr
    index: Expr


@dataclass(frozen=True, eq=False)
class Convert(Expr):
    """The same value as one of another type: an error where that type does not have it."""

    base: Expr


@dataclass(frozen=True, eq=False)
class Arithmetic(Expr):
    """Integer arithmetic; `//` and `%` round as Python does and are errors for a divisor of 0."""

    operator: OneOf["+", "-", "*", "//", "%"]
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Comparison(Expr):
    """`==` and `!=` on operands of one type, or any comparison of integers."""

    operator: OneOf["==", "!=", "<", "<=", ">", ">="]
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Logical(Expr):
    """`and` or `or`, evaluated from the left as far as needed; `eager`: all operands are evaluated."""

    operator: OneOf["and", "or"]
    operands: tuple[Expr, ...]
    eager: bool = False


@dataclass(frozen=True, eq=False)
class Not(Expr):
    """The negation of a bool."""

    operand: Expr


@dataclass(frozen=True, eq=False)
class Conditional(Expr):
    """`then if test else otherwise`; both branches have this node's type."""

    test: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, eq=False)
class Contains(Expr):
    """Whether `item`, of any type that can be equal to the container's items, is in a set, sequence or bag."""

    container: Expr
    item: Expr


@dataclass(frozen=True, eq=False)
class Length(Expr):
    """How many items a set, sequence or bag has."""

    container: Expr


@dataclass(frozen=True, eq=False)
class Count(Expr):
    """How many items of a sequence or bag are equal to `item`, of any type that can be equal to them."""

    container: Expr
    item: Expr


@dataclass(frozen=True, eq=False)
class IndexOf(Expr):
    """The position of the first item of a sequence equal to `item`; an error if there is none."""

    container: Expr
    item: Expr


@dataclass(frozen=True, eq=False)
class SetOperation(Expr):
    """Union, intersection, difference or symmetric difference of two sets of this node's type."""

    operator: OneOf["|", "&", "-", "^"]
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Subset(Expr):
    """Whether the left set is contained in the right one, both of one type; `strict`: and is not equal to it."""

    left: Expr
    right: Expr
    strict: bool


@dataclass(frozen=True, eq=False)
class SetRemove(Expr):
    """A set or bag without one copy of `item`; an error if it is absent."""

    base: Expr
    item: Expr


@dataclass(frozen=True, eq=False)
class BagAdd(Expr):
    """A bag with one more copy of `item`; an error over the capacity."""

    base: Expr
    item: Expr


@dataclass(frozen=True, eq=False)
class ItemsOf(Expr):
    """A set or sequence display: `{a, b}`, `[a, b]`; the items have the item type."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class StructNew(Expr):
    """A struct from the values of its fields, in order, each of the field's type."""

    values: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class StructReplace(Expr):
    """A struct with some fields changed, each new value of the field's type."""

    base: Expr
    values: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, eq=False)
class MapBuild(Expr):
    """A map whose value at each key is `value`, evaluated with `key` bound to it."""

    key: Local
    value: Expr


@dataclass(frozen=True, eq=False)
class MapItems(Expr):
    """A map from the values of its keys, in order, each of the value type."""

    values: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class SeqInsert(Expr):
    """A sequence with `item` before position `index` (None: at the end); an error past the end or the capacity."""

    base: Expr
    index: Expr | None
    item: Expr


@dataclass(frozen=True, eq=False)
class SeqDelete(Expr):
    """A sequence without the item at `index` (None: without the last one); an error if there is none."""

    base: Expr
    index: Expr | None


@dataclass(frozen=True, eq=False)
class SeqSlice(Expr):
    """`base[low:high]` clipped to the sequence, or what is left when that part is deleted (`inverted`)."""

    base: Expr
    low: Expr | None
    high: Expr | None
    inverted: bool


@dataclass(frozen=True, eq=False)
class SeqConcat(Expr):
    """Two sequences of one item type, one after the other; an error over this node's capacity."""

    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Extremum(Expr):
    """The least or greatest of two or more integers."""

    operator: OneOf["min", "max"]
    operands: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Universe:
    """All values of a finite type, in order, as something to iterate over."""

    type: Type


@dataclass(frozen=True, eq=False)
class IntRange:
    """The integers from `low` to `high` - 1 as something to iterate over."""

    low: Expr
    high: Expr
    type: IntType


Iterable = Expr | Universe | IntRange
"""What `for` and comprehensions go over: a set, sequence or bag, all values of a type, or a range."""


@dataclass(frozen=True, eq=False)
class ForClause:
    """`for local in iterable`; `counter` counts from 0 where the source says `enumerate`."""

    local: Local
    iterable: Iterable
    counter: Local | None = None


@dataclass(frozen=True, eq=False)
class IfClause:
    """`if test` of a comprehension."""

    test: Expr


Clause = ForClause | IfClause


@dataclass(frozen=True, eq=False)
class Fold(Expr):
    """A comprehension: `all`, `any`, `sum`, `min`, `max` of its elements, or the `set` or `seq` that they make.

    `all` and `any` stop at the first element that decides. `min` and `max` of nothing are `default`, or an error.
    """

    kind: OneOf["all", "any", "sum", "min", "max", "set", "seq"]
    clauses: tuple[Clause, ...]
    element: Expr
    default: Expr | None = None


@dataclass(frozen=True, eq=False)
class Sorted(Expr):
    """The items of a sequence, set or bag of integers as a sequence in ascending order."""

    base: Expr


@dataclass(eq=False)
class Function:
    """A helper with typed parameters; `result` is None for no value, `requires` says that it may disable an action."""

    name: str
    parameters: tuple[Local, ...]
    body: tuple[Stmt, ...]
    result: Type | None
    writes: bool
    requires: bool


@dataclass(frozen=True, eq=False)
class HelperCall(Expr):
    """A helper's result; its statements run on the state as it is at this point."""

    function: Function
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Stmt:
    """The base of statements."""

    site: Site


@dataclass(frozen=True, eq=False)
class AssignLocal(Stmt):
    """Give a local a value, which the engine converts to the local's type."""

    local: Local
    value: Expr


@dataclass(frozen=True, eq=False)
class AssignPlace(Stmt):
    """Give a place in the state a value of its type.

    A place is a `StateRead`, or `FieldRead`, `IndexRead` and unwrapping `Convert` above one.
    """

    place: Expr
    value: Expr


@dataclass(frozen=True, eq=False)
class If(Stmt):
    """Two-way branch."""

    test: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class For(Stmt):
    """A loop over a snapshot of what it goes over."""

    clause: ForClause
    body: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class Require(Stmt):
    """Disable the action instance where `test` is false."""

    test: Expr


@dataclass(frozen=True, eq=False)
class Return(Stmt):
    """End the function, with a value of its result type if it has one."""

    value: Expr | None


@dataclass(frozen=True, eq=False)
class Break(Stmt):
    """End the innermost loop."""


@dataclass(frozen=True, eq=False)
class Continue(Stmt):
    """Go on with the innermost loop's next item."""


@dataclass(frozen=True, eq=False)
class Do(Stmt):
    """Evaluate a helper call for what it does."""

    call: HelperCall


@dataclass(frozen=True, eq=False)
class ActionParameter:
    """An action's parameter: over all values of its type, or over the items of a state variable (`collection`)."""

    local: Local
    choices: int
    collection: StateRead | None


@dataclass(frozen=True, eq=False)
class Action:
    """An action: its parameters (the last varies fastest) and the number of its first instance."""

    name: str
    parameters: tuple[ActionParameter, ...]
    body: tuple[Stmt, ...]
    first_instance: int
    instances: int


@dataclass(frozen=True, eq=False)
class Predicate:
    """An invariant, step invariant, reachable or constraint: a function of the state (and the old one) to bool."""

    name: str
    role: str
    function: Function


@dataclass
class Program:
    """A spec with its constants set, ready for an engine; `init` runs on the variables' first values."""

    name: str
    variables: dict[str, Type]
    actions: list[Action] = field(default_factory=list)
    init: Action | None = None
    properties: list[Predicate] = field(default_factory=list)
    constraints: list[Predicate] = field(default_factory=list)

    @property
    def instances(self) -> int:
        """How many action instances there are."""
        return sum(action.instances for action in self.actions)
