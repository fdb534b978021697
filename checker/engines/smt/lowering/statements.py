"""Lowering of statements: both branches are run, and the states after them are merged."""

from __future__ import annotations

from checker.engines.smt.lowering.conversion import converted
from checker.engines.smt.lowering.evaluation import SymbolicContext, SymbolicFrame, merge_states
from checker.engines.smt.lowering.expressions import SymbolicExpressions
from checker.engines.smt.lowering.logic import Truth, both, choose, either, negate
from checker.engines.smt.lowering.symbolic_values import Value, merged
from checker.ir import nodes
from checker.ir.visitor import StatementVisitor


class SymbolicStatements(StatementVisitor):
    """Runs the statements of actions and helpers on a symbolic state."""

    def __init__(self, context: SymbolicContext):
        self.context = context
        self.expressions = SymbolicExpressions(context, self.visit_all)

    def visit_all(self, body: tuple[nodes.Stmt, ...]) -> None:
        """Run statements in order, each on the paths that reach it; stop where no path does."""
        for statement in body:
            running = self.context.frame.running()
            if running is False:
                return
            with self.context.under(running):
                self.visit(statement)

    def assign_local(self, node: nodes.AssignLocal) -> None:
        value, _ = converted(self.expressions.evaluate(node.value), node.value.type, node.local.type)
        frame = self.context.frame
        before = frame.locals.get(node.local)
        frame.locals[node.local] = value if before is None else merged(frame.running(), value, before)

    def assign_place(self, node: nodes.AssignPlace) -> None:
        self.expressions.places.write(node.place, self.expressions.evaluate(node.value))

    def if_(self, node: nodes.If) -> None:
        context = self.context
        test = self.expressions.truth(node.test)
        if isinstance(test, bool):
            self.visit_all(node.then if test else node.otherwise)
            return
        # Writes change the dict of the state in place: the other branch starts from copies made before this one runs.
        state, frame = dict(context.roots["self"]), context.frame.copy()
        with context.under(test):
            self.visit_all(node.then)
        after_then, frame_then = context.roots["self"], context.frame
        context.roots["self"], context.frame = state, frame
        with context.under(negate(test)):
            self.visit_all(node.otherwise)
        context.roots["self"] = merge_states(test, after_then, context.roots["self"])
        context.frame = _merge_frames(test, frame_then, context.frame)

    def for_(self, node: nodes.For) -> None:
        # The loop is unrolled over a snapshot: the items are evaluated before the body changes anything. `broken` and
        # `continued` are the paths that skip the rest of the loop, or of the current iteration.
        self.context.frame.broken.append(False)
        for present, bound in self.expressions.loops.bindings(node.clause):
            is_reached = both(present, self.context.frame.running())
            if is_reached is not False:
                self._iteration(node, is_reached, bound)
        self.context.frame.broken.pop()

    def _iteration(self, node: nodes.For, test: Truth, bound: dict[nodes.Local, Value]) -> None:
        """Run the body of a loop where `test` is true."""
        context = self.context
        state, frame = dict(context.roots["self"]), context.frame.copy()
        context.frame.locals.update(bound)
        context.frame.continued.append(False)
        with context.under(test):
            self.visit_all(node.body)
        context.frame.continued.pop()
        context.roots["self"] = merge_states(test, context.roots["self"], state)
        context.frame = _merge_frames(test, context.frame, frame)

    def break_(self, node: nodes.Break) -> None:
        frame = self.context.frame
        frame.broken[-1] = either(frame.broken[-1], frame.running())

    def continue_(self, node: nodes.Continue) -> None:
        frame = self.context.frame
        frame.continued[-1] = either(frame.continued[-1], frame.running())

    def require(self, node: nodes.Require) -> None:
        self.context.require(self.expressions.truth(node.test))

    def return_(self, node: nodes.Return) -> None:
        frame = self.context.frame
        running = frame.running()
        if node.value is not None and frame.result_type is not None:
            value, _ = converted(self.expressions.evaluate(node.value), node.value.type, frame.result_type)
            frame.result = merged(running, value, frame.result)
        frame.returned = either(frame.returned, running)

    def do(self, node: nodes.Do) -> None:
        self.expressions.evaluate(node.call)


def _merge_frames(test: Truth, then: SymbolicFrame, otherwise: SymbolicFrame) -> SymbolicFrame:
    """Return the frame after two branches of one function.

    A local that only one of them has assigned keeps that value.
    """
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
