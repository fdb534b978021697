"""Search for lemmas: candidates from templates, filtered by the explored states, then by Houdini."""

from __future__ import annotations

import re
from collections.abc import Callable

from checker.engines.smt.lemmas.candidates import LemmaClause, candidates, is_converse
from checker.engines.smt.lemmas.houdini import Houdini, Member
from checker.engines.smt.lemmas.lemma_source import imports_for
from checker.engines.smt.lemmas.samples import sample
from checker.engines.smt.lemmas.vocabulary import Atom, atoms_of
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language.spec import Spec
from checker.records import dataclass

STAGES = ((80, 2), (200, 2), (80, 3))
"""Stages of the search: (number of atoms, literals per candidate). A stage runs if the ones before prove nothing."""

MAX_SHOWN = 12
"""Limit of the lemmas that are returned if the goals are not proved."""

MOST_TRIALS = 400
"""Limit of the minimisation: a number of proofs. With a limit of time, the result would depend on the load."""

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
    - `candidates`: the number of candidates that are true in all sampled states.
    - `inductive`: the number of candidates in the largest inductive set.
    - `states`: the number of explored states; `is_complete`: these are all reachable states.
    - `imports`: the import statements that the lemmas need in the spec's module.
    """

    lemmas: tuple[FoundLemma, ...]
    is_enough: bool
    candidates: int
    inductive: int
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
    stages: tuple[tuple[int, int], ...] = STAGES,
) -> LemmaSearchResult:
    """Search for lemmas with which goals (properties, and the spec's own lemmas) are proved by induction.

    Raises SpecError if the spec has unbounded numbers, no initial state, or an action that leaves the bounds of a type.
    """
    best: LemmaSearchResult | None = None
    with spec.bound():
        atoms = atoms_of(spec)
        for most_atoms, size in stages:
            found = _stage(spec, goals, atoms[:most_atoms], size, workers, limits, on_stage)
            if found.is_enough:
                return found
            if best is None or found.inductive > best.inductive:
                best = found
    assert best is not None
    return best


def _stage(
    spec: Spec, goals: list[str], atoms: list[Atom], size: int, workers: int, limits: QueryLimits, on_stage: OnStage
) -> LemmaSearchResult:
    on_stage(f"{len(atoms)} atoms in explored states")
    samples = sample(spec, atoms, workers, limits.cancelled)
    on_stage(f"disjunctions of up to {size}")
    clauses = candidates(samples, size)
    names = [ground.name for ground in samples.ground.values()]
    system = TransitionSystem(samples.spec.with_symbolic_parameters(), [*goals, *names])
    houdini = Houdini(
        system, samples, clauses, goals, limits, lambda left: on_stage(f"{left} of {len(clauses)} candidates left")
    )
    inductive = houdini.largest()
    on_stage("minimising the set of lemmas")
    needed = houdini.needed(inductive, goals, MOST_TRIALS)
    kept = needed if needed is not None else _simplest_inductive(houdini, inductive)
    lemmas = _as_methods(spec, kept)
    return LemmaSearchResult(
        lemmas=tuple(lemmas),
        is_enough=needed is not None,
        candidates=len(clauses),
        inductive=sum(isinstance(member, LemmaClause) for member in inductive),
        states=samples.explored,
        is_complete=samples.is_complete,
        imports=tuple(imports_for(spec, "\n".join(lemma.source for lemma in lemmas))),
    )


def _simplest_inductive(houdini: Houdini, inductive: list[Member]) -> list[LemmaClause]:
    """Return the simplest independent lemmas that are inductive without the goals."""
    clauses = sorted((m for m in inductive if isinstance(m, LemmaClause)), key=lambda clause: clause.order)
    alone = houdini.largest(houdini.independent(clauses)[:MAX_SHOWN])
    return [member for member in alone if isinstance(member, LemmaClause)]


def _as_methods(spec: Spec, clauses: list[LemmaClause]) -> list[FoundLemma]:
    """Return lemmas as methods with unique names; both directions of an equivalence become one lemma."""
    taken = {*spec.roles, *dir(type(spec))}
    found: list[FoundLemma] = []
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
        found.append(FoundLemma(name, _method(name, clause, converse)))
    return found


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
