"""Evidence from a complete native exploration: premises by their bits, values by columns of packed states."""

from __future__ import annotations

import dataclasses

from checker.check.result import Result
from checker.evidence.finding import Finding
from checker.evidence.judge import Evidence, IdlePremise, findings_of
from checker.evidence.packed import constant_variables, tallies_of
from checker.evidence.premises import NOWHERE, Premise, premises_of
from checker.explore.exploration import Exploration
from checker.explore.search import explore
from checker.explore.store import Words
from checker.frontend import compile_spec
from checker.ir import nodes
from checker.native.engine import MOST_PROPERTIES, Compiled, compile_program, premise_masks


def findings(compiled: Compiled, names: list[str], found: Exploration, result: Result) -> tuple[Finding, ...]:
    """Return what a complete exploration shows to be idle; `names` are the properties that it checked."""
    states = found.all_states()
    layout = compiled.native.layout
    return findings_of(
        compiled.spec,
        Evidence(
            coverage=result.coverage,
            unreached=result.unreached,
            idle_actions=_idle_actions(compiled, states, result),
            constant_variables=constant_variables(layout, states),
            tallies=tallies_of(layout, states),
            idle_premises=_idle_premises(compiled, names, found, states),
        ),
    )


# Premises.


def _idle_premises(compiled: Compiled, names: list[str], found: Exploration, states: Words) -> list[IdlePremise]:
    """Return the outermost premises that nothing makes true."""
    program = compile_spec(compiled.spec, names)
    premises = premises_of(program)
    ridden = len(compiled.premises)
    is_true = [len(names) + number in found.reached for number in range(ridden)]
    for first in range(ridden, len(premises), MOST_PROPERTIES):
        is_true += _true_somewhere(compiled, program, premises[first : first + MOST_PROPERTIES], states)
    idle = []
    for premise, is_reached in zip(premises, is_true, strict=True):
        if not is_reached and (premise.parent is None or is_true[premise.parent]):
            is_of_steps = premise.predicate.role == "step premise"
            idle.append(IdlePremise(premise.property, premise.text, premise.site.file, premise.site.line, is_of_steps))
    return idle


def _true_somewhere(compiled: Compiled, program: nodes.Program, premises: list[Premise], states: Words) -> list[bool]:
    """Return of each premise whether a stored state, or a step out of one, makes it true."""
    narrowed = dataclasses.replace(program, properties=[premise.predicate for premise in premises])
    again = compile_program(compiled.spec, narrowed, [], premises)
    mask, step_mask = premise_masks(premises, first_bit=0)
    found = explore(again.kernels, states, step_mask=step_mask, reachable_mask=mask, stop_after=mask)
    return [number in found.reached for number in range(len(premises))]


# Actions that change nothing.


def _idle_actions(compiled: Compiled, states: Words, result: Result) -> list[str]:
    """Return the actions that are enabled and whose every step leads back to its own state."""
    # An action that found a state first has changed something: only the others need a closer look.
    suspects = {name for name, coverage in result.coverage.items() if coverage.generated and not coverage.distinct}
    return [name for name in result.coverage if name in suspects and not _changes_something(compiled, name, states)]


def _changes_something(compiled: Compiled, action: str, states: Words) -> bool:
    program = compile_spec(compiled.spec, [])
    changed = Premise(action, "", NOWHERE, nodes.Predicate("changed", "step premise", _changed(program)), None)
    actions = [found for found in program.actions if found.name == action]
    alone = dataclasses.replace(program, actions=actions, properties=[changed.predicate])
    kernels = compile_program(compiled.spec, alone, [], [changed]).kernels
    found = explore(kernels, states, step_mask=1, reachable_mask=1, stop_after=1)
    return bool(found.reached)


def _changed(program: nodes.Program) -> nodes.Function:
    """Return the function that is true of a step between different states."""
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
