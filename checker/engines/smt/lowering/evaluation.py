"""The context of one evaluation on a symbolic state, and the interface through which operands are evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from checker.engines.smt.lowering.integers import SymbolicInteger
from checker.engines.smt.lowering.logic import Truth, all_of, any_of, both, implies, negate
from checker.engines.smt.lowering.symbolic_values import Value, merged
from checker.ir import nodes
from checker.ir.visitor import SubjectVisitor
from checker.language.types import Type

State = dict[str, Value]


@dataclass
class SymbolicFrame:
    """The call of one function.

    - `locals`: the value of each local that is assigned on some path so far.
    - `result`, `result_type`: the result of the paths that have returned; `returned`: the condition of these paths.
    - `broken`, `continued`: for each enclosing loop, innermost last, the condition of the paths that have left the
      loop, or the current iteration of it.
    """

    locals: dict[nodes.Local, Value] = field(default_factory=dict)
    result: Value = None
    result_type: Type | None = None
    returned: Truth = False
    broken: list[Truth] = field(default_factory=list)
    continued: list[Truth] = field(default_factory=list)

    def running(self) -> Truth:
        """Return the condition of the paths on which the next statement is executed."""
        return negate(any_of((self.returned, *self.broken, *self.continued)))

    def copy(self) -> SymbolicFrame:
        """Return a copy for the evaluation of one branch."""
        lists = (list(self.broken), list(self.continued))
        return SymbolicFrame(dict(self.locals), self.result, self.result_type, self.returned, *lists)


@dataclass
class SymbolicFailure:
    """An evaluation that leaves the bounds of a type: the site, and the condition that this failure is the first."""

    site: nodes.Site
    condition: Truth


class SymbolicContext:
    """The evaluation of one action or property on a symbolic state.

    All paths are evaluated at once: both branches of a condition run one after the other, and their states are merged
    with if-then-else terms. So every effect has a path condition.

    - `roots`: the state that `self` is, which statements update, and the one that `old` is.
    - `alive`: the condition that no failure and no false `require` has occurred so far.
    - `failures`: where the evaluation leaves the bounds of a type. At most one of their conditions is true in a state.
    - `guards`: the path condition of the current expression or statement, as a conjunction.
    - `frame`: the function under evaluation. A helper call replaces it for the duration.
    """

    def __init__(self, state: State, old: State | None = None):
        self.roots: dict[str, State] = {"self": dict(state), "old": old or {}}
        self.alive: Truth = True
        self.failures: list[SymbolicFailure] = []
        self.guards: list[Truth] = []
        self.frame = SymbolicFrame()

    @property
    def failed(self) -> Truth:
        """Whether the evaluation leaves the bounds of a type."""
        return any_of(failure.condition for failure in self.failures)

    @contextmanager
    def under(self, *conditions: Truth) -> Iterator[None]:
        """Add conditions to the path condition for the duration of a `with` statement."""
        self.guards.extend(conditions)
        yield
        del self.guards[len(self.guards) - len(conditions) :]

    def check(self, test: Truth, site: nodes.Site) -> None:
        """Record that the evaluation leaves the bounds of a type at `site` where `test` is false."""
        if test is True:
            return
        here = all_of(self.guards)
        # `alive` makes this the first failure, and excludes states in which a `require` has disabled the action.
        failing = all_of((self.alive, here, negate(test)))
        if failing is not False:
            self.failures.append(SymbolicFailure(site, failing))
            self.alive = both(self.alive, implies(here, test))

    def require(self, test: Truth) -> None:
        """Disable the action on the current path where `test` is false."""
        self.alive = both(self.alive, implies(all_of(self.guards), test))


class SymbolicEvaluator(SubjectVisitor[Value]):
    """The ways to evaluate an expression. `SymbolicExpressions` implements it with one class per subject."""

    def __init__(self, context: SymbolicContext):
        self.context = context

    def evaluate(self, node: nodes.Expr) -> Value:
        """Return the value of an expression."""
        return self.visit(node)

    def number(self, node: nodes.Expr) -> SymbolicInteger:
        """Return the value of an integer expression."""
        value = self.visit(node)
        assert isinstance(value, SymbolicInteger)
        return value

    def truth(self, node: nodes.Expr) -> Truth:
        """Return the value of a bool expression."""
        return self.visit(node)

    def evaluate_where(self, test: Truth, node: nodes.Expr) -> Value:
        """Return the value of an expression that is evaluated, and may change the state, only where `test` is true."""
        context = self.context
        before = context.roots["self"]
        with context.under(test):
            value = self.visit(node)
        if context.roots["self"] is not before:
            context.roots["self"] = merge_states(test, context.roots["self"], before)
        return value


class SymbolicSubject:
    """Base of the classes that lower one subject each: the context, and the evaluator for operands."""

    def __init__(self, expressions: SymbolicEvaluator):
        self.expressions = expressions
        self.context = expressions.context


def merge_states(test: Truth, then: State, otherwise: State) -> State:
    """Return `then if test else otherwise`, of states."""
    return {name: merged(test, value, otherwise[name]) for name, value in then.items()}
