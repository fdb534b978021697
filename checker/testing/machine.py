"""Model-based testing: an implementation driven along the actions of a spec, and compared with it at every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from checker.errors import SpecError
from checker.language.interpreter import State, Step, call_text
from checker.language.spec import Spec
from checker.output import styled_lines, text
from checker.run.result import TraceStep
from checker.testing.adapter import Adapter

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine


class DrawnCall:
    """An enabled action instance as a drawn value: its text is what Hypothesis prints of a failing test."""

    def __init__(self, step: Step):
        self.step = step

    def __repr__(self) -> str:
        return call_text(self.step.action, self.step.arguments)


class ImplementationDriver:
    """An implementation and the spec's state beside it."""

    def __init__(self, spec: Spec, adapter: type[Adapter]):
        self._spec, self._adapter = spec, adapter()
        self._trace: list[TraceStep] = []
        self._enabled: dict[str, list[DrawnCall]] = {}

    def start(self, state: State) -> None:
        """Begin in an initial state, and compare."""
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
        """Let go of the implementation."""
        self._adapter.close()

    def _arrive(self, step: TraceStep) -> None:
        self._trace.append(step)
        self._compare(step)
        self._enabled = {}
        # As in an exploration: what lies outside the constraints is compared, and not gone on from.
        if self._spec.within_constraints(step.state):
            for found in self._spec.successors(step.state):
                if found.action not in self._adapter.leaves_out:
                    self._enabled.setdefault(found.action, []).append(DrawnCall(found))

    def _compare(self, step: TraceStep) -> None:
        with self._spec.bound():
            seen = self._adapter.observe()
            wanted = self._adapter.project(self._spec.in_state(step.state))
            if seen == wanted:
                return
            differences = "\n".join(f"  {line}" for line in _differences(wanted, seen))
        steps = styled_lines.plain(text.trace_lines(self._spec, tuple(self._trace)))
        raise AssertionError(
            f"after {step} the implementation differs from {self._spec.name}:\n{differences}\n"
            f"\nthe steps, as {self._spec.name} takes them:\n{steps}"
        )


def state_machine(spec: type[Spec] | Spec, adapter: type[Adapter]) -> type[RuleBasedStateMachine]:
    """Return a Hypothesis state machine that drives an implementation along a spec; `.TestCase` is its test.

    There is a rule for each action; its instance is drawn among those that are enabled in the spec's state, and after
    each step `adapter.observe()` must equal `adapter.project(state)`. Hypothesis looks for a run in which it does not,
    and shrinks it. Raises SpecError if the adapter has no method for an action, ModuleNotFoundError without Hypothesis.
    """
    from hypothesis import strategies
    from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

    driven = spec if isinstance(spec, Spec) else spec()
    _check_adapter(driven, adapter)
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
            """Let a run end in a state without successors: Hypothesis demands a rule that it can choose."""

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


def _check_adapter(spec: Spec, adapter: type[Adapter]) -> None:
    for action in adapter.leaves_out:
        if action not in spec.actions:
            raise SpecError(f"{adapter.__name__}.leaves_out names {action}: {spec.name} has no such action")
    for action in spec.actions:
        if action not in adapter.leaves_out and not callable(getattr(adapter, action, None)):
            parameters = ", ".join(["self", *(parameter.name for parameter in spec.parameters_of(action))])
            raise SpecError(
                f"{adapter.__name__} cannot take {action}: add def {action}({parameters}), or name it in leaves_out"
            )


def _differences(wanted: Any, seen: Any) -> list[str]:
    """Return in what an observation differs, an entry a line where both are mappings."""
    if isinstance(wanted, Mapping) and isinstance(seen, Mapping):
        keys = list(dict.fromkeys([*wanted, *seen]))
        return [
            f"{key}: {_entry(seen, key)}, and in the spec {_entry(wanted, key)}"
            for key in keys
            if key not in wanted or key not in seen or wanted[key] != seen[key]
        ]
    return [f"{seen!r}, and in the spec {wanted!r}"]


def _entry(values: Mapping[Any, Any], key: Any) -> str:
    return repr(values[key]) if key in values else "missing"
