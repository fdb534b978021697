"""Strengthening: clauses are added to an invariant until every action preserves it.

If a step leads from a state that satisfies the invariant to one that violates a conjunct of it, and the explorer does
not reach the first state, a clause is added that is false in this state and true in all explored ones. If no clause
of the vocabulary is, and the conjunct is a clause, that clause is dropped, and another one is tried in its place.

Sources: A. R. Bradley, SAT-Based Model Checking without Unrolling, VMCAI 2011, adds clauses that exclude
counterexamples to induction. H. Ma et al., I4, SOSP 2019, and J. Yao et al., DistAI, OSDI 2021, take invariants from
the reachable states of small instances. The removal of clauses that are not inductive together is that of C. Flanagan
and K. R. M. Leino, Houdini, an Annotation Assistant for ESC/Java, FME 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import z3

from checker.engines.smt.bounded import BOUNDS
from checker.engines.smt.lemmas.clauses import LemmaClause
from checker.engines.smt.lemmas.samples import Samples, choices, memberships
from checker.engines.smt.lemmas.separation import Separator
from checker.engines.smt.lemmas.vocabulary import Atom
from checker.engines.smt.lowering.logic import Truth, all_of, any_of, both, negate, truth_term
from checker.engines.smt.solving import AnsweredQuery, QueryLimits, Solver, ask, guarded, new_solver
from checker.engines.smt.transition_system import Transition, TransitionSystem
from checker.engines.smt.vacuity import conditions_before_a_step
from checker.language.roles import Role

Conjunct = LemmaClause | str
"""A part of the invariant: a clause, the name of a property or lemma of the spec, or `bounds`."""

Proofs = dict[tuple[Conjunct, str], frozenset[Conjunct]]
"""The conjuncts that a proof needs, by the conjunct and the action of the proof."""

MAX_STEPS = 2_000
"""Limit of the counterexamples to induction. With a limit of time, the result would depend on the load."""

MAX_TRIALS = 400
"""Limit of the clauses whose removal is tried."""

OnCount = Callable[[int, int, int], None]
"""Callback after each counterexample: the numbers of counterexamples, of clauses, and of dropped clauses."""


@dataclass(frozen=True)
class Strengthened:
    """The result of a strengthening.

    - `clauses`: if `is_enough`, few clauses that are inductive together with the goals. Else clauses that are
      inductive without the goals.
    - `steps`: the number of counterexamples to induction; `dropped`: the number of clauses that were dropped.
    """

    clauses: list[LemmaClause]
    is_enough: bool
    steps: int
    dropped: int


class Strengthening:
    """The goals and the clauses of one spec, and what is proved of them.

    Every action has a solver, which has each conjunct behind a marker. `_proofs` has the proved pairs of a conjunct and
    an action: a clause that is added later leaves them valid.
    """

    def __init__(
        self,
        system: TransitionSystem,
        samples: Samples,
        goals: list[str],
        limits: QueryLimits,
        on_count: OnCount = lambda steps, clauses, dropped: None,
    ):
        self._system, self._samples, self._limits, self._on_count = system, samples, limits, on_count
        self._separator = Separator(samples)
        self._predicates = {predicate.name: predicate for predicate in samples.program.properties}
        self._atoms: dict[str, Truth] = {}
        self._claims: dict[Conjunct, Truth] = {}
        self._numbers: dict[Conjunct, int] = {}
        self._numbered: list[Conjunct] = []
        self._violations: dict[tuple[Conjunct, str], Truth] = {}
        self._steps = 0
        self._dropped: set[LemmaClause] = set()
        self._solvers = {transition.name: self._new_solver() for transition in system.transitions}
        self._goals: list[Conjunct] = [*goals, BOUNDS]
        self._conjuncts: dict[Conjunct, None] = {}
        self._proofs: Proofs = {}
        for goal in self._goals:
            self._add(goal)

    def run(self) -> Strengthened:
        """Add clauses until every action preserves all conjuncts, or a goal is not provable with the vocabulary."""
        is_enough = all(self._prove(*place) for place in iter(self._open_place, None))
        if is_enough:
            self._keep_needed()
            self._remove_redundant()
            clauses = self._clauses
        else:
            clauses = self._inductive_alone()
        return Strengthened(clauses, is_enough, self._steps, len(self._dropped))

    @property
    def _clauses(self) -> list[LemmaClause]:
        return [conjunct for conjunct in self._conjuncts if isinstance(conjunct, LemmaClause)]

    # The search.

    def _open_place(self) -> tuple[Conjunct, Transition] | None:
        """Return a conjunct and an action that is not known to preserve it, goals first; None if there is none."""
        return next(
            (
                (conjunct, transition)
                for conjunct in self._conjuncts
                for transition in self._system.transitions
                if (conjunct, transition.name) not in self._proofs
            ),
            None,
        )

    def _prove(self, conjunct: Conjunct, transition: Transition) -> bool:
        """Add clauses until an action preserves a conjunct, or drop the conjunct; return False if it is a goal."""
        while True:
            query = self._ask(conjunct, transition, self._conjuncts)
            if query.answer == "no":
                self._proofs[conjunct, transition.name] = self._core(conjunct, transition)
                return True
            clause = self._excluding(query, transition) if query.answer == "yes" else None
            if clause is not None:
                self._add(clause)
            elif isinstance(conjunct, LemmaClause):
                self._drop(conjunct)
            self._on_count(self._steps, len(self._clauses), len(self._dropped))
            if clause is None:
                return isinstance(conjunct, LemmaClause)

    def _excluding(self, query: AnsweredQuery, transition: Transition) -> LemmaClause | None:
        """Return a clause that excludes the first state of a step; None if it is reachable, or not to be separated."""
        if self._steps == MAX_STEPS:
            return None
        self._steps += 1
        system, samples = self._system, self._samples
        before = system.decoded(system.state, query.evaluate)
        if samples.is_reachable(before):
            # Both states are reachable: later clauses are true in them. A sample may lack them.
            self._separator.add(samples.truths_in(before))
            if z3.is_true(query.evaluate(truth_term(transition.taken))):
                after = system.decoded(transition.successor, query.evaluate)
                self._separator.add(samples.truths_in(after))
            return None
        return self._separator.clause(samples.truths_in(before), self._dropped)

    def _add(self, conjunct: Conjunct) -> None:
        self._conjuncts[conjunct] = None
        if conjunct in self._numbers:
            return
        self._numbers[conjunct] = len(self._numbered)
        self._numbered.append(conjunct)
        if conjunct != BOUNDS and not self._is_of_steps(conjunct):
            for solver in self._solvers.values():
                solver.add(z3.Implies(self._marker(conjunct), truth_term(self._claim(conjunct))))

    def _drop(self, clause: LemmaClause) -> None:
        """Drop a clause permanently, with the proofs that need it."""
        self._dropped.add(clause)
        del self._conjuncts[clause]
        self._proofs = {
            place: needed for place, needed in self._proofs.items() if clause not in needed and place[0] != clause
        }

    # Few clauses.

    def _keep_needed(self) -> None:
        """Keep the clauses that the proofs of the goals need, and those that their proofs need."""
        needed, waiting = set(self._goals), list(self._goals)
        while waiting:
            conjunct = waiting.pop()
            used = {one for transition in self._system.transitions for one in self._proofs[conjunct, transition.name]}
            waiting += used - needed
            needed |= used
        self._conjuncts = {conjunct: None for conjunct in self._conjuncts if conjunct in needed}
        self._proofs = {place: needs for place, needs in self._proofs.items() if place[0] in needed}

    def _remove_redundant(self) -> None:
        """Remove one clause after the other as long as the rest is inductive, the most complex clauses first."""
        trials, is_changed = 0, True
        while is_changed and trials < MAX_TRIALS:
            is_changed = False
            for clause in sorted(self._clauses, key=lambda found: found.order, reverse=True):
                trials += 1
                without = self._proofs_without(clause) if trials <= MAX_TRIALS else None
                if without is not None:
                    self._proofs, is_changed = without, True
                    del self._conjuncts[clause]

    def _proofs_without(self, clause: LemmaClause) -> Proofs | None:
        """Return proofs that do not need a clause; None if one of them does."""
        rest = [conjunct for conjunct in self._conjuncts if conjunct != clause]
        proofs: Proofs = {place: needed for place, needed in self._proofs.items() if place[0] != clause}
        transitions = {transition.name: transition for transition in self._system.transitions}
        for place, needed in list(proofs.items()):
            if clause in needed:
                conjunct, transition = place[0], transitions[place[1]]
                if self._ask(conjunct, transition, rest).answer != "no":
                    return None
                proofs[place] = self._core(conjunct, transition)
        return proofs

    def _inductive_alone(self) -> list[LemmaClause]:
        """Return the largest set of the clauses that is inductive without the goals, the simplest first."""
        current = sorted(self._clauses, key=lambda each: each.order)
        is_changed = True
        while is_changed:
            kept = [
                clause
                for clause in current
                if all(self._ask(clause, each, current).answer == "no" for each in self._system.transitions)
            ]
            is_changed, current = len(kept) < len(current), kept
        return current

    # Queries.

    def _ask(self, conjunct: Conjunct, transition: Transition, hypotheses: Iterable[Conjunct]) -> AnsweredQuery:
        """Ask for a step from a state of the hypotheses to one that violates a conjunct."""
        if self._limits.cancelled is not None and self._limits.cancelled.is_set():
            raise KeyboardInterrupt
        solver = self._solvers[transition.name]
        violated = self._violates(conjunct, transition)
        return ask(solver, self._limits, violated, *map(self._marker, hypotheses))

    def _core(self, conjunct: Conjunct, transition: Transition) -> frozenset[Conjunct]:
        """Return the hypotheses that the last query of an action needed, which has refuted a violation."""
        if self._violates(conjunct, transition) is False:
            return frozenset()
        names = [term.decl().name() for term in self._solvers[transition.name].unsat_core()]
        return frozenset(
            self._numbered[int(name.removeprefix("holds "))] for name in names if name.startswith("holds ")
        )

    def _violates(self, conjunct: Conjunct, transition: Transition) -> Truth:
        """Return a literal of an action's solver: the action is taken and violates a conjunct."""
        place = conjunct, transition.name
        if place not in self._violations:
            if conjunct == BOUNDS:
                truth = both(transition.assumed, transition.failed)
            else:
                old = self._system.state if self._is_of_steps(conjunct) else None
                after = self._system.over(self._claim(conjunct), transition.successor, old)
                truth = both(transition.taken, negate(after))
            self._violations[place] = guarded(self._solvers[transition.name], truth)
        return self._violations[place]

    def _new_solver(self) -> Solver:
        solver = new_solver(is_finite=self._system.is_finite)
        solver.add(*(truth_term(truth) for _, truth in conditions_before_a_step(self._system)))
        return solver

    def _marker(self, conjunct: Conjunct) -> Truth:
        return z3.Bool(f"holds {self._numbers[conjunct]}")

    def _is_of_steps(self, conjunct: Conjunct) -> bool:
        """Return whether a conjunct is a step invariant, which says nothing about a single state."""
        if not isinstance(conjunct, str) or conjunct == BOUNDS:
            return False
        return self._system.properties[conjunct].role is Role.STEP_INVARIANT

    def _claim(self, conjunct: Conjunct) -> Truth:
        """Return a property or a clause as a term over the state."""
        if isinstance(conjunct, str):
            return self._system.properties[conjunct].holds
        if conjunct not in self._claims:
            self._claims[conjunct] = all_of(any_of(self._row(conjunct, values)) for values in choices(conjunct.slots))
        return self._claims[conjunct]

    def _row(self, clause: LemmaClause, values: tuple[str, ...]) -> Iterator[Truth]:
        """Iterate over the literals of a clause as terms, with values for the clause's variables."""
        for member in memberships(clause.slots, values):
            yield negate(self._ground(*member))
        for literal in clause.simplest_first:
            truth = self._ground(literal.atom, tuple(values[index] for index in literal.order))
            yield truth if literal.is_true else negate(truth)

    def _ground(self, atom: Atom, values: tuple[str, ...]) -> Truth:
        """Return an atom with values in its slots as a term."""
        name = self._samples.ground[atom, values].name
        if name not in self._atoms:
            with self._system.spec.bound():
                self._atoms[name] = self._system.lowered(self._predicates[name]).holds
        return self._atoms[name]
