"""Facts that exclude a state: what is true in all explored states, and false in this one.

A counterexample to induction starts in a state that is most often unreachable. Such a fact states what is impossible
about it. It is a candidate for the missing lemma; it is not proved, and need not be inductive.
"""

from __future__ import annotations

import dataclasses
import itertools
from functools import cached_property

from checker.engines.native.engine import explore
from checker.engines.smt.lemmas.helper_terms import helper_terms
from checker.engines.smt.lemmas.lemma_source import with_methods
from checker.engines.smt.lemmas.samples import MAX_EXPLORED, Samples, choices, sample
from checker.engines.smt.lemmas.separation import Separator
from checker.engines.smt.lemmas.vocabulary import Atom, atoms_of
from checker.engines.smt.reachability import Reachability
from checker.errors import UserError
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.run.plan import Plan
from checker.run.result import Violation

MOST_ATOMS = 500
"""Limit of the atoms in the facts, simplest first."""

MOST_GROUND_ATOMS = 3_000
"""Limit of these atoms with values in their slots: more take many seconds to compile and to evaluate."""

MOST_TRIALS = 20
"""Limit of the candidates for one fact. One that is false in an explored state adds this state to the sample."""

_FACT = "fact_of_all_states"


class ExcludingFacts:
    """Facts of all reachable states of a spec, which exclude others; it explores at the first question."""

    def __init__(self, spec: Spec, workers: int):
        self._spec, self._workers = spec, workers
        self._facts: set[str] = set()

    @cached_property
    def _samples(self) -> Samples:
        return sample(self._spec, _atoms(self._spec), self._workers)

    @cached_property
    def _separator(self) -> Separator:
        return Separator(self._samples)

    def fact_against(self, state: State) -> str:
        """Return the simplest fact of all reachable states that is false in a state, as Python.

        It is empty if the vocabulary has none, or if the explorer does not reach all states.
        """
        try:
            with self._spec.bound():
                return self._finding_text(state)
        except UserError:
            return ""

    def added_to(self, where: Reachability, state: State) -> Reachability:
        """Return the reachability of a state with the fact that excludes it, if it is unreachable."""
        if where.label != "unreachable":
            return where
        return dataclasses.replace(where, fact=self.fact_against(state))

    def _finding_text(self, state: State) -> str:
        if not self._samples.is_complete:
            return ""
        truths = self._samples.truths_in(state)
        for _ in range(MOST_TRIALS):
            clause = self._separator.clause(truths, ())
            if clause is None:
                return ""
            fact = clause.source()
            violation = None if fact in self._facts else self._violation_of(fact)
            if violation is None:
                self._facts.add(fact)
                return fact
            self._separator.add(self._samples.truths_in(violation.trace[-1].state))
        return ""

    def _violation_of(self, fact: str) -> Violation | None:
        """Return the trace to a reachable state in which a candidate is false: a sample need not have it."""
        spec = with_methods(self._spec, f"@invariant\ndef {_FACT}(self):\n    return {fact}")
        plan = Plan((_FACT,), max_states=MAX_EXPLORED, workers=self._workers)
        return next(iter(explore(spec, plan).violations), None)


def _atoms(spec: Spec) -> list[Atom]:
    """Return the simplest atoms of a spec, within both limits."""
    atoms = atoms_of(spec, helper_terms(spec))[:MOST_ATOMS]
    counts = itertools.accumulate(len(choices(atom.slots)) for atom in atoms)
    return [atom for atom, count in zip(atoms, counts, strict=True) if count <= MOST_GROUND_ATOMS]
