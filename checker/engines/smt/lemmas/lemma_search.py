"""Lemmas that are found: candidates from templates, what the explorer does not refute, what Z3 proves of that."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from checker.engines.smt.lemmas.candidates import LemmaClause, candidates, is_twin
from checker.engines.smt.lemmas.houdini import Houdini, Member
from checker.engines.smt.lemmas.lemma_source import imports_for
from checker.engines.smt.lemmas.samples import sample
from checker.engines.smt.lemmas.vocabulary import Atom, atoms_of
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language.spec import Spec

STAGES = ((80, 2), (200, 2), (80, 3))
"""How many atoms are combined, and how many of them to a candidate: more where fewer prove nothing."""

MOST_SHOWN = 12
"""Where the goal is not proved, so many of the lemmas are handed out: more would not be read."""

SHRINKING_SECONDS = 20.0

WIDTH = 112

OnStage = Callable[[str], None]
"""Is told what is done now."""


@dataclass(frozen=True)
class FoundLemma:
    """A lemma that was found: its name, and the method as text."""

    name: str
    source: str


@dataclass(frozen=True)
class LemmaSearchResult:
    """What was found. `is_enough`: with the lemmas the goals are proved, with fewer of them they are not known to be.

    - `candidates`: how many no state refuted, of `states` explored; `is_complete`: these are all states.
    - `inductive`: how many of them Z3 proved, together with the goals if `is_enough`.
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
        """The lemmas as text to be pasted into the spec's class."""
        return "\n\n".join(lemma.source for lemma in self.lemmas)


def find_lemmas(
    spec: Spec,
    goals: list[str],
    workers: int,
    limits: QueryLimits,
    on_stage: OnStage = lambda words: None,
    stages: tuple[tuple[int, int], ...] = STAGES,
) -> LemmaSearchResult:
    """Look for lemmas with which goals (properties, and the lemmas that there are) are proved by induction.

    Raises SpecError where the spec has numbers without bounds, no initial state, or actions that leave their bounds.
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
    names = [placed.name for placed in samples.placed.values()]
    system = TransitionSystem(samples.stated.unenumerated(), [*goals, *names])
    houdini = Houdini(
        system, samples, clauses, goals, limits, lambda left: on_stage(f"{left} of {len(clauses)} candidates left")
    )
    inductive = houdini.largest()
    on_stage("what of them is needed")
    needed = houdini.needed(inductive, goals, SHRINKING_SECONDS)
    kept = needed if needed is not None else _worth_showing(houdini, inductive)
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


def _worth_showing(houdini: Houdini, inductive: list[Member]) -> list[LemmaClause]:
    """Return the plainest lemmas, without what follows from others, that are inductive by themselves."""
    clauses = sorted((m for m in inductive if isinstance(m, LemmaClause)), key=lambda clause: clause.order)
    alone = houdini.largest(houdini.independent(clauses)[:MOST_SHOWN])
    return [member for member in alone if isinstance(member, LemmaClause)]


def _as_methods(spec: Spec, clauses: list[LemmaClause]) -> list[FoundLemma]:
    """Return lemmas as methods, each with a name of its own; both directions of an equivalence are one lemma."""
    taken = {*spec.roles, *dir(type(spec))}
    found: list[FoundLemma] = []
    waiting = list(clauses)
    while waiting:
        clause = waiting.pop(0)
        twin = next((other for other in waiting if other.slots == clause.slots and is_twin(clause, other)), None)
        if twin is not None:
            waiting.remove(twin)
        name = _name_of(clause, taken)
        taken.add(name)
        found.append(FoundLemma(name, _method(name, clause, twin)))
    return found


def _name_of(clause: LemmaClause, taken: set[str]) -> str:
    """Return a name made of the variables that a clause is about."""
    words = dict.fromkeys(re.findall(r"self\.(\w+)", clause.source()))
    base = "_and_".join(list(words)[:4]) or "always"
    base = f"{base}_agree" if len(words) > 1 else f"{base}_is_limited"
    return next(name for name in [base, *(f"{base}_{number}" for number in range(2, 10_000))] if name not in taken)


def _method(name: str, clause: LemmaClause, twin: LemmaClause | None) -> str:
    said = clause.source(twin)
    if len(said) > WIDTH - len("        return "):
        parts = "".join(f"        {part}\n" for part in clause.parts(twin))
        said = f"all(\n{parts}    )" if clause.slots else f"(\n{parts}    )"
    return f"@lemma\ndef {name}(self):\n    return {said}"
