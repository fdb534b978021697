"""Model-based testing: a state machine that takes the same steps in a spec and in an implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.language.interpreter import State, Step, call_text
from checker.language.spec import Spec
from checker.output import styled_lines
from checker.output.counterexample_text import trace_lines
from checker.run.result import TraceStep
from checker.testing.adapter import Adapter, differences, require_methods

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine


class DrawnCall:
    """An enabled action instance as a value that Hypothesis draws, and prints in the report on a failing test."""

    def __init__(self, step: Step):
        self.step = step

    def __repr__(self) -> str:
        return call_text(self.step.action, self.step.arguments)


class ImplementationDriver:
    """An implementation, and the state of the spec that corresponds to it."""

    def __init__(self, spec: Spec, adapter: type[Adapter]):
        self._spec, self._adapter = spec, adapter()
        self._trace: list[TraceStep] = []
        self._enabled: dict[str, list[DrawnCall]] = {}

    def start(self, state: State) -> None:
        """Start in an initial state, and compare."""
        with self._spec.bound():
            self._adapter.start(self._spec.in_state(state))
        self._arrive(TraceStep(None, (), state))

    def enabled(self, action: str) -> list[DrawnCall]:
        """Return the instances of an action that are enabled."""
        return self._enabled.get(action, [])

    @property
    def is_stuck(self) -> bool:
        """Whether no action is enabled that the implementation can take."""
        return not self._enabled

    def take(self, call: DrawnCall) -> None:
        """Take a step in the spec and in the implementation, and compare; raise AssertionError if they differ."""
        step = call.step
        with self._spec.bound():
            getattr(self._adapter, step.action)(*step.arguments)
        self._arrive(TraceStep(step.action, step.arguments, step.state))

    def close(self) -> None:
        """Close the implementation."""
        self._adapter.close()

    def _arrive(self, step: TraceStep) -> None:
        self._trace.append(step)
        self._compare(step)
        self._enabled = {}
        # As in an exploration, the run does not continue from a state outside the constraints.
        if self._spec.within_constraints(step.state):
            for successor in self._spec.successors(step.state):
                if successor.action not in self._adapter.leaves_out:
                    self._enabled.setdefault(successor.action, []).append(DrawnCall(successor))

    def _compare(self, step: TraceStep) -> None:
        with self._spec.bound():
            seen = self._adapter.observe()
            expected = self._adapter.project(self._spec.in_state(step.state))
            if seen == expected:
                return
            shown = "\n".join(f"  {line}" for line in differences(expected, seen))
        steps = styled_lines.plain(trace_lines(self._spec, tuple(self._trace)))
        raise AssertionError(
            f"after {step} the implementation differs from {self._spec.name}:\n{shown}\n"
            f"\nsteps of {self._spec.name}:\n{steps}"
        )


def state_machine(spec: type[Spec] | Spec, adapter: type[Adapter]) -> type[RuleBasedStateMachine]:
    """Return a Hypothesis state machine that compares an implementation with a spec; `.TestCase` is its test.

    The machine has one rule per action, which draws an instance that is enabled in the current state of the spec.
    After each step `adapter.observe()` must equal `adapter.project(state)`. Hypothesis searches for a run in which
    they differ, and shrinks it. Raises SpecError if the adapter has no method for an action, and ModuleNotFoundError
    if Hypothesis is not installed.
    """
    from hypothesis import strategies
    from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

    driven = spec if isinstance(spec, Spec) else spec()
    require_methods(driven, adapter)
    initial_states = driven.initial_states()

    class SpecMachine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.driver = ImplementationDriver(driven, adapter)

        @initialize(state=strategies.sampled_from(initial_states))
        def start(self, state: State) -> None:
            self.driver.start(state)

        @precondition(lambda self: self.driver.is_stuck)
        @rule()
        def nothing_is_enabled(self) -> None:
            """Do nothing in a state without successors: Hypothesis requires at least one enabled rule."""

        def teardown(self) -> None:
            self.driver.close()

    rules = {action: _rule_of(action) for action in driven.actions if action not in adapter.leaves_out}
    name = f"{type(driven).__name__}Machine"
    made: type[RuleBasedStateMachine] = type(name, (SpecMachine,), {**rules, "__module__": adapter.__module__})
    return made


def _rule_of(action: str) -> Any:
    """Return the rule of an action."""
    from hypothesis import strategies
    from hypothesis.stateful import precondition, rule

    def take(self: Any, call: DrawnCall) -> None:
        self.driver.take(call)

    take.__name__ = take.__qualname__ = action
    drawn = strategies.runner().flatmap(lambda machine: strategies.sampled_from(machine.driver.enabled(action)))
    return precondition(lambda machine: bool(machine.driver.enabled(action)))(rule(call=drawn)(take))
