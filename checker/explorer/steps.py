"""Steps of a spec by their codes: which action instance a code names in a state, and the step that it takes.

A code names its arguments by their texts, so the same code can be taken on a variant of the spec, of which the types
differ.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from checker.errors import BoundsError, Disabled, InputError, SpecError
from checker.explain.guards import why_disabled
from checker.explorer.address import Address, code_of_texts, parts_of_code
from checker.language.interpreter import State, call_text
from checker.language.parameters import ActionShape
from checker.language.spec import Spec
from checker.language.values import show
from checker.run import registry
from checker.run.result import TraceStep

StepOutcome = Literal["taken", "disabled", "missing", "error"]
"""Result of a choice: taken, not enabled, no such action or argument, or a value left the bounds of its type."""


@dataclass(frozen=True)
class ChosenStep:
    """A choice in one pane: its result, the result as a sentence, and the state after it.

    The state of a choice that is not taken is the state before it. `action` is None for the initial state.
    """

    code: str
    action: str | None
    arguments: tuple[Any, ...]
    state: State
    outcome: StepOutcome = "taken"
    details: str = ""

    @property
    def call(self) -> str:
        """The action with its arguments."""
        return "initial state" if self.action is None else call_text(self.action, self.arguments)

    @property
    def trace_step(self) -> TraceStep:
        """The choice as a step of a trace."""
        return TraceStep(self.action, self.arguments, self.state)


@dataclass(frozen=True)
class EnabledStep:
    """An enabled action instance: its code and its successor, which is None if a value left the bounds of its type."""

    code: str
    action: str
    arguments: tuple[Any, ...]
    state: State | None
    failure: str = ""

    @property
    def call(self) -> str:
        """The action with its arguments."""
        return call_text(self.action, self.arguments)


def enabled_steps(spec: Spec, state: State) -> list[EnabledStep]:
    """Return the enabled action instances of a state, and those that leave the bounds of a type, by action."""
    steps, failures = spec.expand(state)
    unordered: list[tuple[int, str, tuple[Any, ...], State | None, str]] = [
        (step.instance, step.action, step.arguments, step.state, "") for step in steps
    ]
    unordered += [(failed.instance, failed.action, failed.arguments, None, failed.message) for failed in failures]
    known: Counter[str] = Counter()
    result = []
    for _, action, arguments, after, failure in sorted(unordered, key=lambda item: item[0]):
        texts = [show(argument) for argument in arguments]
        plain = code_of_texts(action, texts)
        known[plain] += 1
        code = code_of_texts(action, texts, known[plain]) if known[plain] > 1 else plain
        result.append(EnabledStep(code, action, arguments, after, failure))
    return result


def take(spec: Spec, state: State, code: str) -> ChosenStep:
    """Return the step that a code names in a state."""
    action, *texts = parts_of_code(code)
    try:
        shape = _shape(spec, action)
        ordinal = _ordinal(shape, texts)
        matching = list(_matching(spec, state, shape, texts[: len(shape.parameters)]))
    except InputError as error:
        return ChosenStep(code, action, tuple(texts), state, "missing", error.message)
    disabled: tuple[tuple[Any, ...], Disabled] | None = None
    for arguments in matching:
        try:
            after = spec.step(state, action, *arguments)
        except Disabled as error:
            disabled = disabled or (arguments, error)
            continue
        except BoundsError as error:
            if ordinal == 1:
                return ChosenStep(code, action, arguments, state, "error", f"it cannot be executed: {error}")
        else:
            if ordinal == 1:
                return ChosenStep(code, action, arguments, after)
        ordinal -= 1
    if disabled is not None:
        why = why_disabled(spec, disabled[1])
        return ChosenStep(code, action, disabled[0], state, "disabled", f"it is not enabled here: {why}")
    names = ", ".join(parameter.name for parameter in shape.parameters)
    problem = f"{spec.name} has no {action} with these arguments in this state; its parameters are: {names or 'none'}"
    return ChosenStep(code, action, tuple(texts), state, "missing", problem)


def code_of(spec: Spec, state: State, action: str, arguments: tuple[Any, ...]) -> str:
    """Return the code of an enabled action instance of a state."""
    texts = [show(argument) for argument in arguments]
    ordinal = 1
    for candidate in _matching(spec, state, _shape(spec, action), texts):
        if tuple(candidate) == tuple(arguments):
            break
        if _is_enabled(spec, state, action, candidate):
            ordinal += 1
    return code_of_texts(action, texts, ordinal)


def codes_of(spec: Spec, trace: tuple[TraceStep, ...]) -> tuple[str, ...]:
    """Return the codes of the steps of a trace."""
    return tuple(
        code_of(spec, before.state, step.action, step.arguments)
        for before, step in itertools.pairwise(trace)
        if step.action is not None
    )


def address_of(spec: Spec, trace: tuple[TraceStep, ...]) -> Address:
    """Return the address of the end of a trace."""
    return Address(initial=spec.initial_states().index(trace[0].state) + 1, codes=codes_of(spec, trace))


def _is_enabled(spec: Spec, state: State, action: str, arguments: tuple[Any, ...]) -> bool:
    try:
        spec.step(state, action, *arguments)
    except Disabled:
        return False
    except BoundsError:
        pass
    return True


def _shape(spec: Spec, action: str) -> ActionShape:
    shape = next((shape for shape in spec.shapes() if shape.name == action), None)
    if shape is None:
        raise InputError(f"{spec.name} has no action {action[:80]}: {registry.suggestion(action, spec.actions)}")
    return shape


def _ordinal(shape: ActionShape, texts: list[str]) -> int:
    """Return which of the instances with equal texts a code means; raise InputError for wrong arguments."""
    more = texts[len(shape.parameters) :]
    if (
        len(texts) < len(shape.parameters)
        or len(more) > 1
        or not all(text.isascii() and text.isdigit() for text in more)
    ):
        names = ", ".join(parameter.name for parameter in shape.parameters) or "no arguments"
        raise InputError(f"{shape.name} takes {names}, and {len(texts)} were given")
    return int(more[0][:9]) if more else 1


def _matching(spec: Spec, state: State, shape: ActionShape, texts: list[str]) -> Iterator[tuple[Any, ...]]:
    """Iterate over the arguments with these texts of an action's instances in a state, enabled or not."""
    with spec.bound():
        if any(parameter.collection is not None for parameter in shape.parameters):
            instances = [arguments for _, arguments in spec.instances_of(shape, state)]
            yield from (arguments for arguments in instances if [show(argument) for argument in arguments] == texts)
            return
        options = [
            [value for value in parameter.type.values() if show(value) == text]
            for parameter, text in zip(shape.parameters, texts, strict=True)
        ]
    for values in itertools.product(*options):
        yield spec.as_called(shape.name, values)


@dataclass(frozen=True)
class DisabledStep:
    """An action instance that is not enabled, with the `require` that is false."""

    call: str
    why: str


def disabled_steps(spec: Spec, state: State, action: str, first: int, most: int) -> tuple[list[DisabledStep], int]:
    """Return some disabled instances of an action, from position `first` on, and the number of all; raise InputError.

    The location and the values of the false `require` are looked up for these instances only.
    """
    shape = _shape(spec, action)
    with spec.bound():
        instances = [arguments for _, arguments in spec.instances_of(shape, state)]
    disabled = [arguments for arguments in instances if not _is_enabled(spec, state, action, arguments)]
    shown = []
    for arguments in disabled[first : first + most]:
        try:
            spec.step(state, action, *arguments)
        except Disabled as error:
            shown.append(DisabledStep(call_text(action, arguments), why_disabled(spec, error)))
        except (BoundsError, SpecError) as error:
            raise InputError(str(error)) from None
    return shown, len(disabled)
