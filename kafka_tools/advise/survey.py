"""The explorations of one configuration: several failures, and no work that another failure spares.

These rules save explorations. `tests/kafka_tools/advise/test_survey.py` compares each with separate explorations.

- A failure includes another one if each kind of event may happen at least as often. Events may happen and need not, so
  every behaviour under the smaller failure is one under the larger failure. A property that is violated under the
  smaller failure is therefore violated under the larger one, and the counterexample is the same.
- An exploration ends when every property that is still open is violated. The others hold only after a complete one.
- All configurations of equal size share the machine code: see `kafka_tools.advise.pipeline_code`.
- Brokers are interchangeable: see `checker.engines.native.lowering.symmetry`. Counterexamples keep their lengths.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checker.errors import BoundsError, Disabled, SpecError
from checker.explain import violations
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.run.plan import ExplorationProgress, Plan
from checker.run.result import End, TraceStep, Violation
from kafka_tools.advise.models import (
    SLOW_FOLLOWERS,
    Constants,
    Left,
    Model,
    constants_with_failures,
    includes,
    state_with_failures,
)

if TYPE_CHECKING:
    from checker.engines.native.engine import CompiledSpec


@dataclass(frozen=True)
class Survey:
    """The questions about one configuration: the properties to check under each failure.

    A failure that is included in another one comes first. `most_states` limits each exploration. `noted`: properties
    whose counterexamples are of use in other surveys; others are checked only where they can still answer a question,
    since a trace takes as long as a thousand states.
    """

    model: Model
    asked: tuple[tuple[Left, tuple[str, ...]], ...]
    most_states: int | None = None
    noted: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelExploration:
    """An exploration to do: the model, the failures of the pipeline that may occur, and the properties.

    It may end when every property in `wanted` is violated; `checked` are compiled, and may be violated before.
    """

    model: Model
    left: Left
    checked: tuple[str, ...]
    wanted: tuple[str, ...]
    max_states: int | None

    @property
    def failures(self) -> Left:
        """How often each failure may occur, without the limit of slow followers."""
        return tuple(pair for pair in self.left if pair[0] != SLOW_FOLLOWERS)

    @property
    def own_constants(self) -> Constants:
        """The constants of a model that allows only these failures and behaves the same."""
        constants = dict(self.model.constants)
        return constants_with_failures(constants, self.left) if self.model.is_pipeline else constants


@dataclass(frozen=True)
class Explored:
    """The result of an exploration. `violations` has the first counterexample to each violated property."""

    ended: End
    distinct_states: int
    violations: tuple[Violation, ...]

    def violation(self, name: str) -> Violation | None:
        """Return the counterexample to a property, or None."""
        return next((violation for violation in self.violations if violation.property == name), None)


Found = Sequence[tuple[ModelExploration, Explored]]
"""The explorations of a survey that were needed, in order. An interrupted survey has fewer."""


class ModelExplorer:
    """Explores one model; its machine code is loaded when it is first needed."""

    def __init__(self, model: Model):
        self.model = model
        self.spec: Spec = model.spec(**dict(model.constants))
        (self._initial,) = self.spec.initial_states()
        self._compiled: CompiledSpec | None = None

    def initial(self, left: Left) -> State:
        """Return the initial state in which only some failures of the pipeline may occur."""
        return state_with_failures(self._initial, left) if self.model.is_pipeline else self._initial

    def explore(
        self,
        asked: ModelExploration,
        cancelled: threading.Event,
        on_progress: Callable[[ExplorationProgress], None] | None = None,
    ) -> Explored:
        """Explore, until the wanted properties are violated."""
        from checker.engines.native.engine import explore, explore_compiled
        from kafka_tools.advise.pipeline_code import code_for

        plan = Plan(
            asked.checked,
            stop=frozenset(asked.wanted),
            max_states=asked.max_states,
            quick=True,
            on_progress=on_progress,
            cancelled=cancelled,
        )
        if self.model.is_pipeline:
            if self._compiled is None:
                self._compiled = code_for(self.spec).loaded(self.spec)
            result, _ = explore_compiled(self._compiled, plan, [self.initial(asked.left)], 0.0)
        else:
            result = explore(self.spec, plan)
        assert not result.undecided, "the engine decides every property of these models: none is of liveness"
        return Explored(result.ended, result.distinct_states, tuple(result.violations))

    def is_violated_by(self, left: Left, steps: Iterable[TraceStep], name: str) -> bool:
        """Return whether the actions of some steps are a counterexample to a property here."""
        return follow_steps(self.spec, self.initial(left), steps, name) is not None

    def replay(self, left: Left, steps: Iterable[TraceStep], name: str) -> Violation | None:
        """Return the counterexample to a property that the actions of some steps are here, or None if they are none."""
        return replayed(self.spec, self.initial(left), steps, name)


explorer_of = functools.cache(ModelExplorer)
"""Returns the explorer of a model: surveys, the cache and replays share it. Forked processes inherit it."""


def replayed(spec: Spec, initial: State, steps: Iterable[TraceStep], name: str) -> Violation | None:
    """Return the counterexample to a property that the actions of some steps are in a spec, None if they are none."""
    trace = follow_steps(spec, initial, steps, name)
    return None if trace is None else violations.false_property(spec, name, trace)


def follow_steps(spec: Spec, initial: State, steps: Iterable[TraceStep], name: str) -> tuple[TraceStep, ...] | None:
    """Return the trace of the actions of some steps if it ends in a violation of a property, None otherwise."""
    state = initial
    trace = [TraceStep(None, (), state)]
    try:
        for step in steps:
            if step.action is not None:
                state = spec.step(state, step.action, *step.arguments)
                trace.append(TraceStep(step.action, step.arguments, state))
        if spec.holds(name, state):
            return None
    except (Disabled, BoundsError, SpecError):
        # SpecError: an argument of the step, such as a third broker, does not exist here.
        return None
    return tuple(trace)


def explorations_of(survey: Survey, max_states: int | None, known: Found) -> Iterator[ModelExploration]:
    """Yield the explorations that a survey needs and that are not in `found`.

    The caller adds each result to `found` before the next step.
    """
    done = {exploration.left for exploration, _ in known}
    limit = min(filter(None, (survey.most_states, max_states)), default=None)
    for number, (left, names) in enumerate(survey.asked):
        if left in done:
            continue
        wanted = tuple(name for name in names if counterexample(known, left, name) is None)
        if wanted:
            later = [name for other, asked in survey.asked[number + 1 :] if includes(other, left) for name in asked]
            open_later = (name for name in later if counterexample(known, left, name) is None)
            checked = tuple(dict.fromkeys((*survey.noted, *wanted, *open_later)))
            yield ModelExploration(survey.model, left, checked, wanted, limit)


def counterexample(explorations: Found, left: Left, name: str) -> tuple[ModelExploration, Violation] | None:
    """Return the first counterexample to a property under some failures, with the exploration that found it."""
    for exploration, explored in explorations:
        violation = explored.violation(name)
        if violation is not None and includes(left, exploration.left):
            return exploration, violation
    return None


def is_usable(explored: Explored) -> bool:
    """Return whether an exploration ran to an end of its own: without a limit, an interrupt or an error."""
    has_error = any(violation.kind == "bounds_error" for violation in explored.violations)
    return explored.ended in ("complete", "violation") and not has_error


def run(
    survey: Survey,
    max_states: int | None,
    cancelled: threading.Event,
    explore: Callable[[ModelExplorer, ModelExploration], Explored | None],
    known: Found = (),
) -> Found:
    """Return the explorations of a survey, fewer if `cancelled` is set or `explore` returns None.

    `known`: its first explorations.
    """
    explorer = explorer_of(survey.model)
    explorations = list(known)
    for exploration in explorations_of(survey, max_states, explorations):
        if cancelled.is_set():
            break
        explored = explore(explorer, exploration)
        if explored is None or explored.ended == "interrupted":
            break
        explorations.append((exploration, explored))
    return explorations
