"""Evidence from a complete native exploration: premises as property bits, values from columns of packed states."""

from __future__ import annotations

import dataclasses
import time

from checker.engines.native import engine
from checker.engines.native.engine import (
    CompiledSpec,
    compile_program,
    explore_compiled,
    extra_masks,
    garbage_collection_paused,
)
from checker.engines.native.explore.compact.state_code import StateCode
from checker.engines.native.explore.exploration import Exploration
from checker.engines.native.explore.lowered_spec import MOST_PROPERTIES
from checker.engines.native.explore.results import failure_of_init, initial_states
from checker.engines.native.explore.search import breadth_first_search
from checker.engines.native.llvm.word_arrays import Words
from checker.errors import BoundsError
from checker.evidence.findings import OMITTED_WITH_SYMMETRY, Evidence, UnmetPremise, findings_of
from checker.evidence.packed_states import constant_variables, observations_of
from checker.evidence.premises import NOWHERE, Premise, premises_of
from checker.frontend import compile_spec
from checker.ir import nodes
from checker.language.spec import Spec
from checker.run.finding import Finding
from checker.run.memory import available_memory
from checker.run.plan import Plan, properties_to_search
from checker.run.result import Result


def explore(spec: Spec, plan: Plan) -> Result:
    """Explore a spec like the native engine, and add the findings of a complete exploration to the result.

    The exploration also evaluates premises of the properties, one bit for each, up to `MOST_PROPERTIES` bits in total;
    the other premises are evaluated afterwards. With symmetry there are no findings. Raises SpecError if the spec is
    outside the language.
    """
    if plan.symmetry:
        result = engine.explore(spec, plan)
        result.findings_omitted = OMITTED_WITH_SYMMETRY
        return result
    started = time.perf_counter()
    names = properties_to_search(spec, plan.properties)
    with garbage_collection_paused():
        program = compile_spec(spec, names)
        premises = [premise.predicate for premise in premises_of(program)[: MOST_PROPERTIES - len(names)]]
        program.properties += premises
        compiled = compile_program(spec, program, names, premises, quick=plan.quick)
    compile_seconds = time.perf_counter() - started
    try:
        initial = initial_states(spec)
    except BoundsError:
        return failure_of_init("native", spec, plan, compile_seconds)
    result, explored = explore_compiled(compiled, plan, initial, compile_seconds)
    result.state_bits, result.state_words = StateCode.of_layout(compiled.layout).bits, compiled.layout.words
    if result.ended == "complete":
        result.findings_omitted = _why_omitted(explored, compiled.layout.words)
        if not result.findings_omitted:
            result.findings = _findings(compiled, names, explored, result)
    return result


def _why_omitted(explored: Exploration, words: int) -> str:
    """Return why an exploration is too large for findings, or ""."""
    # Findings copy the states, and compute arrays of as many items from the copy.
    needed, available = 2 * 8 * words * explored.distinct, available_memory()
    if available is None or needed <= available:
        return ""
    return f"unused parts of the spec are not shown: that needs {needed / 1e9:.1f} GB of memory for all states at once"


def _findings(compiled: CompiledSpec, names: list[str], explored: Exploration, result: Result) -> tuple[Finding, ...]:
    """Return the findings of a complete exploration; `names` are the properties that it checked."""
    states = explored.all_states()
    layout = compiled.layout
    return findings_of(
        compiled.spec,
        Evidence(
            coverage=result.coverage,
            unreached=result.unreached,
            unchanging_actions=_unchanging_actions(compiled, states, result),
            constant_variables=constant_variables(layout, states),
            observations=observations_of(layout, states),
            unmet_premises=_unmet_premises(compiled, names, explored, states),
        ),
    )


# Premises.


def _unmet_premises(
    compiled: CompiledSpec, names: list[str], exploration: Exploration, states: Words
) -> list[UnmetPremise]:
    """Return the outermost premises that no state and no step satisfies."""
    program = compile_spec(compiled.spec, names)
    premises = premises_of(program)
    explored = len(compiled.extra)
    is_true = [len(names) + number in exploration.reached for number in range(explored)]
    for first in range(explored, len(premises), MOST_PROPERTIES):
        is_true += _true_somewhere(compiled, program, premises[first : first + MOST_PROPERTIES], states)
    unmet = []
    for premise, is_reached in zip(premises, is_true, strict=True):
        if not is_reached and (premise.parent is None or is_true[premise.parent]):
            is_of_steps = premise.predicate.role == "step premise"
            unmet.append(
                UnmetPremise(premise.property, premise.text, premise.site.file, premise.site.line, is_of_steps)
            )
    return unmet


def _true_somewhere(
    compiled: CompiledSpec, program: nodes.Program, premises: list[Premise], states: Words
) -> list[bool]:
    """Return for each premise whether a state of `states`, or a step from one, satisfies it."""
    narrowed = dataclasses.replace(program, properties=[premise.predicate for premise in premises])
    again = compile_program(compiled.spec, narrowed, [], narrowed.properties)
    mask, step_mask = extra_masks(narrowed.properties, first_bit=0)
    search = breadth_first_search(again.kernels, states, step_mask=step_mask, reachable_mask=mask, stop_after=mask)
    return [number in search.reached for number in range(len(premises))]


# Actions that change nothing.


def _unchanging_actions(compiled: CompiledSpec, states: Words, result: Result) -> list[str]:
    """Return the actions that are enabled somewhere and whose steps all lead back to the same state."""
    # An action that discovered a state has changed a variable. The other actions are checked step by step.
    suspects = {name for name, coverage in result.coverage.items() if coverage.generated and not coverage.distinct}
    return [name for name in result.coverage if name in suspects and not _changes_something(compiled, name, states)]


def _changes_something(compiled: CompiledSpec, action: str, states: Words) -> bool:
    program = compile_spec(compiled.spec, [])
    changed = nodes.Predicate("changed", "step premise", _state_changes(program))
    actions = [candidate for candidate in program.actions if candidate.name == action]
    alone = dataclasses.replace(program, actions=actions, properties=[changed])
    kernels = compile_program(compiled.spec, alone, [], [changed]).kernels
    search = breadth_first_search(kernels, states, step_mask=1, reachable_mask=1, stop_after=1)
    return bool(search.reached)


def _state_changes(program: nodes.Program) -> nodes.Function:
    """Return the function that is true for a step between different states."""
    different: tuple[nodes.Expr, ...] = tuple(
        nodes.Comparison(
            nodes.BOOL,
            NOWHERE,
            "!=",
            nodes.StateRead(kind, NOWHERE, "old", name),
            nodes.StateRead(kind, NOWHERE, "self", name),
        )
        for name, kind in program.variables.items()
    )
    test = nodes.Logical(nodes.BOOL, NOWHERE, "or", different) if len(different) > 1 else different[0]
    return nodes.Function("changed", (), (nodes.Return(NOWHERE, test),), nodes.BOOL, writes=False, requires=False)
