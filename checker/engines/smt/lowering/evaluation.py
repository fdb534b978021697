"""What evaluation on a symbolic state needs: the state, the locals of a call, and where bounds are left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from checker.engines.smt.lowering.integers import SymbolicInteger
from checker.engines.smt.lowering.logic import Truth, all_of, any_of, both, implies, negate
from checker.engines.smt.lowering.symbolic_values import Value, merged
from checker.ir import nodes
from checker.language.types import StructType, Type

State = dict[str, Value]


@dataclass
class SymbolicFrame:
    """What one call of a function has: its locals, its result so far, and whether it has returned."""

    locals: dict[nodes.Local, Value] = field(default_factory=dict)
    result: Value = None
    result_type: Type | None = None
    returned: Truth = False
    broken: list[Truth] = field(default_factory=list)
    continued: list[Truth] = field(default_factory=list)

    def running(self) -> Truth:
        """Return whether control is still here, and not past a `return`, `break` or `continue`."""
        return negate(any_of((self.returned, *self.broken, *self.continued)))

    def copy(self) -> SymbolicFrame:
        """Return a copy to run one branch on."""
        lists = (list(self.broken), list(self.continued))
        return SymbolicFrame(dict(self.locals), self.result, self.result_type, self.returned, *lists)


@dataclass
class SymbolicFailure:
    """An evaluation that leaves its bounds: where, and the condition under which it does and is the first."""

    site: nodes.Site
    condition: Truth


class SymbolicEvaluation:
    """One action or property on a symbolic state; its subclasses have a method for each kind of expression.

    - `alive`: nothing has left its bounds so far, and no `require` was false.
    - `guards`: the conditions under which what is evaluated now is evaluated at all.
    """

    def __init__(self, state: State, old: State | None = None):
        self.roots: dict[str, State] = {"self": dict(state), "old": old or {}}
        self.alive: Truth = True
        self.failures: list[SymbolicFailure] = []
        self.guards: list[Truth] = []
        self.frame = SymbolicFrame()

    @property
    def failed(self) -> Truth:
        """Whether anything left its bounds."""
        return any_of(failure.condition for failure in self.failures)

    @contextmanager
    def under(self, *conditions: Truth) -> Iterator[None]:
        """While this holds, what is evaluated is evaluated only where the conditions are true."""
        self.guards.extend(conditions)
        yield
        del self.guards[len(self.guards) - len(conditions) :]

    def check(self, node: nodes.Expr | nodes.Stmt, test: Truth) -> None:
        """Note that the evaluation leaves its bounds here where `test` is false."""
        if test is True:
            return
        here = all_of(self.guards)
        failing = all_of((self.alive, here, negate(test)))
        if failing is not False:
            self.failures.append(SymbolicFailure(node.site, failing))
            self.alive = both(self.alive, implies(here, test))

    # Entry points.

    def evaluate(self, node: nodes.Expr) -> Value:
        """Return the value of an expression."""
        return getattr(self, f"_{type(node).__name__}")(node)

    def truth(self, node: nodes.Expr) -> Truth:
        """Return the value of a bool expression."""
        return self.evaluate(node)

    def number(self, node: nodes.Expr) -> SymbolicInteger:
        """Return the value of an integer expression."""
        value = self.evaluate(node)
        assert isinstance(value, SymbolicInteger)
        return value


def field_index(kind: Type, name: str) -> int:
    """Return the position of a struct's field."""
    assert isinstance(kind, StructType)
    return [found for found, _ in kind.fields].index(name)


def merged_states(test: Truth, then: State, otherwise: State) -> State:
    """Return `then if test else otherwise`, of states."""
    return {name: merged(test, value, otherwise[name]) for name, value in then.items()}
