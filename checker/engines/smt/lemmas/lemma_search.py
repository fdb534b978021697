"""Search for lemmas: clauses over the vocabulary of the spec that exclude counterexamples to induction."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from checker.engines.smt.lemmas.clauses import LemmaClause, is_converse
from checker.engines.smt.lemmas.helper_terms import helper_terms
from checker.engines.smt.lemmas.lemma_source import imports_for
from checker.engines.smt.lemmas.samples import sample
from checker.engines.smt.lemmas.strengthening import Strengthened, Strengthening
from checker.engines.smt.lemmas.vocabulary import atoms_of
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language.spec import Spec

STAGES = (150, 500, 2_000)
"""The number of atoms in each stage of the search, simplest first. A stage runs if the one before proves nothing."""

MAX_SHOWN = 12
"""Limit of the lemmas that are returned if the goals are not proved."""

WIDTH = 112

OnStage = Callable[[str], None]
"""Callback at each step: its description."""


@dataclass(frozen=True)
class FoundLemma:
    """A found lemma: its name, and the source of its method."""

    name: str
    source: str


@dataclass(frozen=True)
class LemmaSearchResult:
    """The result of a search for lemmas.

    - `is_enough`: the lemmas prove the goals.
    - `atoms`: the number of atoms that clauses are made of.
    - `steps`: the number of counterexamples to induction; `dropped`: the number of clauses that were tried and dropped.
    - `states`: the number of explored states; `is_complete`: these are all reachable states.
    - `imports`: the import statements that the lemmas need in the spec's module.
    """

    lemmas: tuple[FoundLemma, ...]
    is_enough: bool
    atoms: int
    steps: int
    dropped: int
    states: int
    is_complete: bool
    imports: tuple[str, ...]

    @property
    def methods(self) -> str:
        """The source of all lemmas, for the spec's class."""
        return "\n\n".join(lemma.source for lemma in self.lemmas)


def find_lemmas(
    spec: Spec,
    goals: list[str],
    workers: int,
    limits: QueryLimits,
    on_stage: OnStage = lambda words: None,
    stages: tuple[int, ...] = STAGES,
) -> LemmaSearchResult:
    """Search for lemmas with which goals (properties, and the spec's own lemmas) are proved by induction.

    Raises SpecError if the spec has unbounded numbers, no initial state, or an action that leaves the bounds of a type.
    """
    with spec.bound():
        atoms = atoms_of(spec, helper_terms(spec))
        for number in stages:
            used = atoms[:number]
            on_stage(f"{len(used):,} atoms in explored states")
            samples = sample(spec, used, workers, limits.cancelled)
            system = TransitionSystem(spec, goals)

            def on_count(steps: int, clauses: int, dropped: int) -> None:
                on_stage(f"{steps:,} counterexamples to induction, {clauses} clauses, {dropped:,} dropped")

            strengthened = Strengthening(system, samples, goals, limits, on_count).run()
            if strengthened.is_enough or len(used) == len(atoms):
                break
    lemmas = _as_methods(spec, _first_clauses(strengthened))
    return LemmaSearchResult(
        lemmas=tuple(lemmas),
        is_enough=strengthened.is_enough,
        atoms=len(used),
        steps=strengthened.steps,
        dropped=strengthened.dropped,
        states=samples.explored,
        is_complete=samples.is_complete,
        imports=tuple(imports_for(spec, "\n".join(lemma.source for lemma in lemmas))),
    )


def _first_clauses(strengthened: Strengthened) -> list[LemmaClause]:
    return strengthened.clauses if strengthened.is_enough else strengthened.clauses[:MAX_SHOWN]


def _as_methods(spec: Spec, clauses: list[LemmaClause]) -> list[FoundLemma]:
    """Return lemmas as methods with unique names; both directions of an equivalence become one lemma."""
    taken = {*spec.roles, *dir(type(spec))}
    lemmas: list[FoundLemma] = []
    waiting = list(clauses)
    while waiting:
        clause = waiting.pop(0)
        converse = next(
            (other for other in waiting if other.slots == clause.slots and is_converse(clause, other)), None
        )
        if converse is not None:
            waiting.remove(converse)
        name = _name_of(clause, taken)
        taken.add(name)
        lemmas.append(FoundLemma(name, _method(name, clause, converse)))
    return lemmas


def _name_of(clause: LemmaClause, taken: set[str]) -> str:
    """Return an unused name made of the state variables in a clause."""
    words = dict.fromkeys(re.findall(r"self\.(\w+)", clause.source()))
    base = "_and_".join(list(words)[:4]) or "always"
    base = f"{base}_agree" if len(words) > 1 else f"{base}_is_limited"
    return next(name for name in [base, *(f"{base}_{number}" for number in range(2, 10_000))] if name not in taken)


def _method(name: str, clause: LemmaClause, converse: LemmaClause | None) -> str:
    expression = clause.source(converse)
    if len(expression) > WIDTH - len("        return "):
        parts = "".join(f"        {part}\n" for part in clause.parts(converse))
        expression = f"all(\n{parts}    )" if clause.slots else f"(\n{parts}    )"
    return f"@lemma\ndef {name}(self):\n    return {expression}"
