"""The nodes of the intermediate representation: typed expressions and statements.

The front end builds them from a spec's methods, and every compiled engine reads them. Expressions have no effects,
except the `HelperCall` of a helper that writes. A collection changes by an assignment of a new value to a place.
Every node that can leave a type's bounds has the `Site` in the source to report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from typing import Literal as OneOf

from checker.language.types import BoolType, IntType, Type

BOOL = BoolType()
INT = IntType(None, None, "int")


class Site:
    """A place in the source: file, line, and the expression's text.

    The text may be given as a function, which is called when the text is first read. The text of most sites never is.
    """

    __slots__ = ("_text", "file", "line")

    def __init__(self, file: str, line: int, text: str | Callable[[], str]):
        self.file, self.line, self._text = file, line, text

    @property
    def text(self) -> str:
        """The text of the expression; "" if the site is not one of an expression."""
        if not isinstance(self._text, str):
            self._text = self._text()
        return self._text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Site):
            return NotImplemented
        return self.line == other.line and self.file == other.file and self.text == other.text

    def __hash__(self) -> int:
        return hash((self.file, self.line))

    def __repr__(self) -> str:
        return f"Site({self.file!r}, {self.line}, {self.text!r})"

    def __reduce__(self) -> tuple[type[Site], tuple[str, int, str]]:
        return Site, (self.file, self.line, self.text)


@dataclass(eq=False)
class Local:
    """A local variable or parameter of a function; `type` is the join of the types of all values assigned to it."""

    name: str
    type: Type


@dataclass(frozen=True, eq=False)
class Expr:
    """The base class of expressions."""

    type: Type
    site: Site


@dataclass(frozen=True, eq=False)
class Literal(Expr):
    """A value that is known before the spec runs, as the interpreter represents it."""

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
class ConstantRead(Expr):
    """A constant of the spec of which the value is known only at run time: a bool or an integer.

    A name is read as its position in the constant's `one_of`. Only `checker.frontend.compile_shared` makes such nodes;
    in any other program a constant is a `Literal`.
    """

    name: str


@dataclass(frozen=True, eq=False)
class FieldRead(Expr):
    """A field of a struct."""

    base: Expr
    name: str


@dataclass(frozen=True, eq=False)
class IndexRead(Expr):
    """The value of a map at a key of its key type, or of a sequence at an index; an error if the index is outside."""

    base: Expr
    index: Expr


@dataclass(frozen=True, eq=False)
class Convert(Expr):
    """The same value in another type; an error if that type does not have the value."""

    base: Expr


@dataclass(frozen=True, eq=False)
class Arithmetic(Expr):
    """Integer arithmetic; `//` and `%` round as in Python, and a divisor of 0 is an error."""

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
    """`and` or `or`, evaluated from the left until an operand decides; with `eager`, all operands are evaluated."""

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
    """Whether `item` is in a set, sequence or bag; its type may be wider than that of the container's items."""

    container: Expr
    item: Expr


@dataclass(frozen=True, eq=False)
class IsAlternative(Expr):
    """Whether a value of a union is of one of the alternatives at some positions."""

    base: Expr
    positions: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Length(Expr):
    """The number of items of a set, sequence or bag."""

    container: Expr


@dataclass(frozen=True, eq=False)
class Count(Expr):
    """The number of items of a sequence or bag that are equal to `item`, of a type that may be wider than theirs."""

    container: Expr
    item: Expr


@dataclass(frozen=True, eq=False)
class IndexOf(Expr):
    """The index of the first item of a sequence that is equal to `item`; an error if it is absent."""

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
    """Whether the left set is a subset of the right one, both of one type; with `strict`, a proper subset."""

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
    """A bag with one more copy of `item`; an error if the capacity is exceeded."""

    base: Expr
    item: Expr


@dataclass(frozen=True, eq=False)
class ItemsOf(Expr):
    """A set or sequence display: `{a, b}`, `[a, b]`; the items have the item type."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class StructNew(Expr):
    """A struct of the values of its fields, in order, each of the field's type."""

    values: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class StructReplace(Expr):
    """A struct with some fields changed, each new value of the field's type."""

    base: Expr
    values: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, eq=False)
class MapBuild(Expr):
    """A map that has at each key the value of `value`, evaluated with `key` bound to it."""

    key: Local
    value: Expr


@dataclass(frozen=True, eq=False)
class MapItems(Expr):
    """A map of the values at its keys, in order, each of the value type."""

    values: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class SeqInsert(Expr):
    """A sequence with `item` inserted before `index` (None: at the end); an error past the end or the capacity."""

    base: Expr
    index: Expr | None
    item: Expr


@dataclass(frozen=True, eq=False)
class SeqDelete(Expr):
    """A sequence without the item at `index` (None: the last item); an error if the index is outside."""

    base: Expr
    index: Expr | None


@dataclass(frozen=True, eq=False)
class SeqSlice(Expr):
    """`base[low:high]`, clipped to the sequence; with `inverted`, the sequence without that slice."""

    base: Expr
    low: Expr | None
    high: Expr | None
    inverted: bool


@dataclass(frozen=True, eq=False)
class SeqConcat(Expr):
    """The concatenation of two sequences of one item type; an error if this node's capacity is exceeded."""

    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Extremum(Expr):
    """The least or greatest of two or more integers."""

    operator: OneOf["min", "max"]
    operands: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Universe:
    """An iterable: all values of a finite type, in order."""

    type: Type


@dataclass(frozen=True, eq=False)
class IntRange:
    """An iterable: the integers from `low` to `high` - 1."""

    low: Expr
    high: Expr
    type: IntType


Iterable = Expr | Universe | IntRange
"""The iterable of a `for` clause: a set, sequence or bag, all values of a type, or a range."""


@dataclass(frozen=True, eq=False)
class ForClause:
    """`for local in iterable`; `counter` is the variable of `enumerate` that counts from 0."""

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
    """A comprehension: `all`, `any`, `sum`, `min` or `max` of its elements, or the `set` or `seq` of them.

    `all` and `any` stop at the first element that decides. `min` and `max` without elements are `default`, or an error
    if it is None. `chosen`: only the first item of a `seq` is used, so the result depends on the order of the items.
    """

    kind: OneOf["all", "any", "sum", "min", "max", "set", "seq"]
    clauses: tuple[Clause, ...]
    element: Expr
    default: Expr | None = None
    chosen: bool = False


@dataclass(frozen=True, eq=False)
class Sorted(Expr):
    """The items of a sequence, set or bag of integers as a sequence in ascending order."""

    base: Expr


@dataclass(eq=False)
class Function:
    """A helper with typed parameters.

    `result` is None if it returns no value. `writes`: it may change the state. `requires`: it may disable an action.
    """

    name: str
    parameters: tuple[Local, ...]
    body: tuple[Stmt, ...]
    result: Type | None
    writes: bool
    requires: bool


@dataclass(frozen=True, eq=False)
class HelperCall(Expr):
    """The result of a helper; its statements run on the current state."""

    function: Function
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Refines(Expr):
    """Whether the step from `old` to `self` is a step of an abstract program, or changes nothing.

    `before` and `after` are the variables of the abstract program in `old` and in `self`, in their order and types. An
    action of the abstract program that leaves a type's bounds is an error, unless another action allows the step.
    """

    abstract: Program
    before: tuple[Expr, ...]
    after: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Stmt:
    """The base class of statements."""

    site: Site


@dataclass(frozen=True, eq=False)
class AssignLocal(Stmt):
    """Assign a value to a local; the engine converts it to the local's type."""

    local: Local
    value: Expr


@dataclass(frozen=True, eq=False)
class AssignPlace(Stmt):
    """Assign a value of its type to a place in the state.

    A place is a `StateRead`, or a `FieldRead`, an `IndexRead` or a `Convert` that unwraps an option, of a place.
    """

    place: Expr
    value: Expr


@dataclass(frozen=True, eq=False)
class If(Stmt):
    """A two-way branch."""

    test: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class For(Stmt):
    """A loop over a snapshot of its iterable."""

    clause: ForClause
    body: tuple[Stmt, ...]


@dataclass(frozen=True, eq=False)
class Require(Stmt):
    """Disable the action instance if `test` is false."""

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
    """Continue with the next item of the innermost loop."""


@dataclass(frozen=True, eq=False)
class Do(Stmt):
    """Evaluate a helper call for its effect."""

    call: HelperCall


@dataclass(frozen=True, eq=False)
class ActionParameter:
    """A parameter of an action: all values of its type, or the items of `collection`, a set or bag.

    The collection depends on the state before the action and on earlier parameters. It always has a value.
    """

    local: Local
    choices: int
    collection: Expr | None


@dataclass(frozen=True, eq=False)
class Action:
    """An action: its parameters, of which the last varies fastest, and the number of its first instance."""

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


@dataclass(frozen=True, eq=False)
class View:
    """The value that distinguishes states: that of `function`, which has `text` as its source.

    It consists of the variables in `kept`, each as a whole, and of the value of `computed`, if there are other parts.
    The other variables are `left_out`. `is_checked`: nothing may depend on a variable that is left out.
    """

    name: str
    function: Function
    text: str
    kept: tuple[str, ...]
    computed: HelperCall | None
    left_out: tuple[str, ...]
    is_checked: bool


@dataclass
class Program:
    """A spec with its constants set, typed for an engine; `init` runs on the variables' first values.

    The digest of a program is without its view, unless that is wanted: walks do not use it.
    """

    name: str
    variables: dict[str, Type]
    actions: list[Action] = field(default_factory=list)
    init: Action | None = None
    properties: list[Predicate] = field(default_factory=list)
    constraints: list[Predicate] = field(default_factory=list)
    view: View | None = field(default=None, compare=False)

    @property
    def instances(self) -> int:
        """The number of action instances."""
        return sum(action.instances for action in self.actions)
