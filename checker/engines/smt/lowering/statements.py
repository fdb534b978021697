"""Lowering of statements: both branches are run, and what they leave behind is merged."""

from __future__ import annotations

from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.evaluation import State, SymbolicFrame, field_index, merged_states
from checker.engines.smt.lowering.expressions import SymbolicExpressions
from checker.engines.smt.lowering.integers import compare, concrete
from checker.engines.smt.lowering.logic import Truth, all_of, both, choose, either, implies, negate
from checker.engines.smt.lowering.symbolic_values import SymbolicArray, SymbolicOption, SymbolicTuple, Value, merged
from checker.ir import nodes
from checker.language.types import MapType, OptionType


class SymbolicStatements(SymbolicExpressions):
    """Runs the statements of one action or helper on a symbolic state."""

    def statements(self, body: tuple[nodes.Stmt, ...]) -> None:
        """Run statements in order, as far as control can come."""
        for statement in body:
            running = self.frame.running()
            if running is False:
                return
            with self.under(running):
                getattr(self, f"_do_{type(statement).__name__}")(statement)

    def _do_AssignLocal(self, node: nodes.AssignLocal) -> None:
        value, _ = converted(self.evaluate(node.value), node.value.type, node.local.type)
        before = self.frame.locals.get(node.local)
        running = self.frame.running()
        self.frame.locals[node.local] = value if before is None else merged(running, value, before)

    def _do_AssignPlace(self, node: nodes.AssignPlace) -> None:
        self._write(node.place, self.evaluate(node.value))

    def _write(self, place: nodes.Expr, value: Value) -> None:
        """Give a place in the state a value."""
        if isinstance(place, nodes.StateRead):
            state = self.roots["self"]
            state[place.variable] = merged(self.frame.running(), value, state[place.variable])
        elif isinstance(place, nodes.FieldRead):
            parts = list(self.evaluate(place.base).parts)
            parts[field_index(place.base.type, place.name)] = value
            self._write(place.base, SymbolicTuple(tuple(parts)))
        elif isinstance(place, nodes.IndexRead):
            self._write_item(place, value)
        else:
            assert isinstance(place, nodes.Convert) and isinstance(place.base.type, OptionType)
            self.check(place, self.evaluate(place.base).present)
            self._write(place.base, SymbolicOption(True, value))

    def _write_item(self, place: nodes.IndexRead, value: Value) -> None:
        base = self.evaluate(place.base)
        if isinstance(place.base.type, MapType):
            tests = dict(self.key_tests(place.base.type, self.evaluate(place.index)))
            parts = (merged(tests.get(i, False), value, part) for i, part in enumerate(base.parts))
            self._write(place.base, SymbolicTuple(tuple(parts)))
            return
        index = self.checked_index(place, base)
        items = tuple(merged(compare("==", index, concrete(i)), value, item) for i, item in enumerate(base.items))
        self._write(place.base, SymbolicArray(base.length, items))

    def _do_If(self, node: nodes.If) -> None:
        test = self.truth(node.test)
        if isinstance(test, bool):
            self.statements(node.then if test else node.otherwise)
            return
        state, frame = dict(self.roots["self"]), self.frame.copy()
        with self.under(test):
            self.statements(node.then)
        after_then, frame_then = self.roots["self"], self.frame
        self.roots["self"], self.frame = state, frame
        with self.under(negate(test)):
            self.statements(node.otherwise)
        self.roots["self"] = merged_states(test, after_then, self.roots["self"])
        self.frame = _merged_frames(test, frame_then, self.frame)

    def _do_For(self, node: nodes.For) -> None:
        # The items are a snapshot: they are evaluated before the body changes anything.
        self.frame.broken.append(False)
        for present, bound in self.bindings(node.clause):
            go_on = both(present, self.frame.running())
            if go_on is not False:
                self._iteration(node, go_on, bound)
        self.frame.broken.pop()

    def _iteration(self, node: nodes.For, test: Truth, bound: dict[nodes.Local, Value]) -> None:
        state: State = dict(self.roots["self"])
        frame = self.frame.copy()
        self.frame.locals.update(bound)
        self.frame.continued.append(False)
        with self.under(test):
            self.statements(node.body)
        self.frame.continued.pop()
        self.roots["self"] = merged_states(test, self.roots["self"], state)
        self.frame = _merged_frames(test, self.frame, frame)

    def _do_Break(self, node: nodes.Break) -> None:
        self.frame.broken[-1] = either(self.frame.broken[-1], self.frame.running())

    def _do_Continue(self, node: nodes.Continue) -> None:
        self.frame.continued[-1] = either(self.frame.continued[-1], self.frame.running())

    def _do_Require(self, node: nodes.Require) -> None:
        test = self.truth(node.test)
        self.alive = both(self.alive, implies(all_of(self.guards), test))

    def _do_Return(self, node: nodes.Return) -> None:
        running = self.frame.running()
        if node.value is not None and self.frame.result_type is not None:
            value, _ = converted(self.evaluate(node.value), node.value.type, self.frame.result_type)
            self.frame.result = merged(running, value, self.frame.result)
        self.frame.returned = either(self.frame.returned, running)

    def _do_Do(self, node: nodes.Do) -> None:
        self.evaluate(node.call)


def _merged_frames(test: Truth, then: SymbolicFrame, otherwise: SymbolicFrame) -> SymbolicFrame:
    """Return what two branches of one function leave behind; a local that only one has given a value keeps it."""
    locals_ = {**otherwise.locals, **then.locals}
    for local, value in then.locals.items():
        if local in otherwise.locals:
            locals_[local] = merged(test, value, otherwise.locals[local])
    return SymbolicFrame(
        locals_,
        merged(test, then.result, otherwise.result),
        then.result_type,
        choose(test, then.returned, otherwise.returned),
        [choose(test, a, b) for a, b in zip(then.broken, otherwise.broken, strict=True)],
        [choose(test, a, b) for a, b in zip(then.continued, otherwise.continued, strict=True)],
    )
