"""Houdini: the largest inductive subset of the candidates, and a small subset of it that proves a goal.

A candidate is dropped if an action leads from a state in which all remaining candidates are true to a state in which
it is false. Each such step drops all candidates that are false after it. At the fixed point the rest is inductive.

Source: C. Flanagan, K. R. M. Leino, Houdini, an Annotation Assistant for ESC/Java, FME 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import z3
from numpy.typing import NDArray

from checker.engines.smt.bounded import BOUNDS
from checker.engines.smt.lemmas.candidates import LemmaClause
from checker.engines.smt.lemmas.samples import Samples, choices
from checker.engines.smt.lowering.logic import Term, Truth, all_of, any_of, both, negate, truth_term
from checker.engines.smt.solving import QueryLimits, ask, new_solver
from checker.engines.smt.transition_system import Transition, TransitionSystem
from checker.language.roles import Role
from checker.records import dataclass

Member = LemmaClause | str
"""A member of an inductive set: a candidate, the name of a property or lemma, or `bounds`."""

OnDrop = Callable[[int], None]
"""Callback after each drop: the number of candidates left."""


@dataclass
class _Step:
    """One action, or `init`, as assertions of its own solver: a step, and the definitions of all literals."""

    name: str
    solver: Any
    is_initial: bool


class Houdini:
    """The candidates and goals of one spec as Z3 terms; `system` is that of `samples.spec`.

    Propositional literals stand for atoms and members, so that queries and models are small:

    - `now NAME` and `after NAME`: ground atom NAME before and after the step (both directions of the equivalence).
    - `holds N`: implies that member N is true before the step. Assumed, it adds the member to the hypothesis.
    - `fails N`: implies that member N is false after the step. Assumed, it asks for a step that breaks the member.
    """

    def __init__(
        self,
        system: TransitionSystem,
        samples: Samples,
        clauses: list[LemmaClause],
        goals: list[str],
        limits: QueryLimits,
        on_drop: OnDrop = lambda left: None,
    ):
        self.system, self.samples, self.limits, self.on_drop = system, samples, limits, on_drop
        self.goals = goals
        self.members: list[Member] = [*clauses, *goals, BOUNDS]
        self._next = system.new_state("next ")
        self._numbers = {member: number for number, member in enumerate(self.members)}
        used = dict.fromkeys(name for clause in clauses for row in self._names(clause) for name, _ in row)
        self._atoms = {name: number for number, name in enumerate(used)}
        self._table = self._literal_table(clauses)
        self._holds = [z3.Bool(f"holds {number}") for number in range(len(self.members))]
        self._fails = [z3.Bool(f"fails after {number}") for number in range(len(self.members))]
        definitions = self._definitions()
        self._steps = [self._step(found, definitions, is_initial=False) for found in system.transitions]
        self._initial = self._step(system.initial, definitions, is_initial=True)

    # Terms.

    def _names(self, clause: LemmaClause) -> list[list[tuple[str, bool]]]:
        """Return a clause as a conjunction of rows, one per choice of its variables' values.

        A row is a disjunction of literals: (name of the ground atom, sign).
        """
        found, literals = [], clause.simplest_first
        for values in choices(clause.slots):
            row = []
            for literal in literals:
                atom = self.samples.ground[literal.atom, tuple(values[index] for index in literal.order)]
                row.append((atom.name, literal.is_true))
            found.append(row)
        return found

    def _literal_table(self, clauses: list[LemmaClause]) -> NDArray[np.int64]:
        """Return the clauses as indices into the truth values of a model; shape (clauses, rows, 3 literals).

        Index 2n is atom n, 2n + 1 its negation. The last two indices are the constants False, which pads rows, and
        True, which pads clauses.
        """
        never = 2 * len(self._atoms)
        rows = [self._names(clause) for clause in clauses]
        shape = (len(rows), max((len(row) for row in rows), default=1), 3)
        table = np.full(shape, never, dtype=np.int64)
        for number, row in enumerate(rows):
            table[number, len(row) :, 0] = never + 1
            for place, literals in enumerate(row):
                for index, (name, is_true) in enumerate(literals):
                    table[number, place, index] = 2 * self._atoms[name] + (not is_true)
        return table

    def _definitions(self) -> list[Term]:
        """Return the definitions of the literals `now`, `after`, `holds` and `fails`."""
        system, found = self.system, []
        for name in self._atoms:
            holds = system.properties[name].holds
            found += [_now(name) == truth_term(holds), _after(name) == truth_term(system.over(holds, self._next))]
        for number, member in enumerate(self.members):
            if isinstance(member, LemmaClause):
                rows = self._names(member)
                now, after = (_conjunction(rows, variable) for variable in (_now, _after))
            elif member == BOUNDS:
                continue
            else:
                property_ = system.properties[member]
                is_step = property_.role is Role.STEP_INVARIANT
                now = True if is_step else property_.holds
                after = system.over(property_.holds, self._next, system.state if is_step else None)
            found.append(z3.Implies(self._holds[number], truth_term(now)))
            found.append(z3.Implies(self._fails[number], truth_term(negate(after))))
        return found

    def _step(self, transition: Transition, definitions: list[Term], *, is_initial: bool) -> _Step:
        """Return an action with its solver: the step is taken, or, if `fails` of `bounds` is assumed, it fails."""
        system, bounds = self.system, self._fails[self._numbers[BOUNDS]]
        solver = new_solver(is_finite=system.is_finite)
        if not is_initial:
            solver.add(truth_term(both(system.well_formed, system.within_constraints)))
        solver.add(truth_term(transition.assumed))
        taken = all_of((transition.enabled, system.is_state(self._next, transition.successor)))
        # A failing step has no successor, so the `next` state is then left free.
        solver.add(z3.If(bounds, truth_term(transition.failed), truth_term(taken)))
        solver.add(*definitions)
        return _Step(transition.name, solver, is_initial)

    # Queries.

    def largest(self, members: Iterable[Member] | None = None) -> list[Member]:
        """Return the largest inductive subset of some members (default: all); raise KeyboardInterrupt if cancelled."""
        current = [member for member in (self.members if members is None else members) if member != BOUNDS]
        self._drop_false(self._initial, current)
        is_changed = True
        while is_changed:
            # A smaller hypothesis allows more steps, which may falsify more members: repeat to the fixed point.
            before = len(current)
            for step in self._steps:
                self._drop_false(step, current)
            is_changed = len(current) < before
        return current

    def _drop_false(self, step: _Step, current: list[Member]) -> None:
        """Drop from `current` all members that can be false after a step from a state in which all of them hold."""
        while current:
            asked = [member for member in current if not (step.is_initial and self._is_of_steps(member))]
            query = self._ask(step, current, any_of(self._fails[self._numbers[member]] for member in asked))
            if query.answer == "no":
                return
            if query.answer == "unknown":
                self._drop_unknown(step, current)
                return
            false = self._false_after(query, asked)
            assert false, "the model falsifies no member"
            current[:] = [member for member in current if member not in false]
            self.on_drop(len(current))

    def _is_of_steps(self, member: Member) -> bool:
        """Return whether a member is a step invariant, which does not apply to an initial state."""
        return isinstance(member, str) and self.system.properties[member].role is Role.STEP_INVARIANT

    def _drop_unknown(self, step: _Step, current: list[Member]) -> None:
        """Ask for each member separately, and drop those that Z3 does not prove: this keeps the result sound."""
        for member in list(current):
            if step.is_initial and self._is_of_steps(member):
                continue
            if self._ask(step, current, self._fails[self._numbers[member]]).answer != "no":
                current.remove(member)
                self.on_drop(len(current))

    def _ask(self, step: _Step, hypothesis: Iterable[Member], violated: Truth) -> Any:
        if self.limits.cancelled is not None and self.limits.cancelled.is_set():
            raise KeyboardInterrupt
        asked = z3.FreshBool("asked")
        step.solver.add(z3.Implies(asked, truth_term(violated)))
        assumed = [] if step.is_initial else [self._holds[self._numbers[member]] for member in hypothesis]
        bounds = self._fails[self._numbers[BOUNDS]]
        query = ask(step.solver, self.limits, asked, *assumed, *([] if violated is bounds else [z3.Not(bounds)]))
        # Satisfies the guarded clause permanently, so that it does not burden later queries.
        step.solver.add(z3.Not(asked))
        return query

    def _false_after(self, query: Any, current: list[Member]) -> set[Member]:
        """Return the members that are false after the model's step."""
        truths = np.zeros(2 * len(self._atoms) + 2, dtype=np.bool_)
        for name, number in self._atoms.items():
            truths[2 * number] = z3.is_true(query.evaluate(_after(name)))
        # The layout of `_literal_table`: odd indices are negations, -2 is False, -1 is True.
        truths[1:-2:2] = ~truths[:-2:2]
        truths[-1] = True
        is_true = np.all(np.any(truths[self._table], axis=2), axis=1)
        found: set[Member] = {self.members[number] for number in np.flatnonzero(~is_true)}
        # `fails` is an implication, so the model may miss a false goal. The next query asks for it again.
        for goal in self.goals:
            if goal in current and z3.is_true(query.evaluate(self._fails[self._numbers[goal]])):
                found.add(goal)
        return found & set(current)

    # Minimisation.

    def needed(self, inductive: list[Member], goals: list[str], most_trials: int) -> list[LemmaClause] | None:
        """Return a small set of candidates that proves goals together with the set's properties and lemmas.

        Return None if the goals are not proved. The start is the closure of the unsatisfiable cores. Then chunks of
        decreasing size are removed while the rest stays inductive (delta debugging), by at most `most_trials` proofs.
        """
        given = [member for member in inductive if not isinstance(member, LemmaClause)]
        if not set(goals) <= set(given):
            return None
        found = self._closure(inductive, [*given, BOUNDS])
        if found is None:
            return None
        found.sort(key=lambda clause: clause.order, reverse=True)
        trials, size = 0, len(found)
        while size and trials < most_trials:
            start, before = 0, len(found)
            while start < len(found) and trials < most_trials:
                trials += 1
                rest = found[:start] + found[start + size :]
                if self._is_inductive([*given, *rest]):
                    found = rest
                else:
                    start += size
            # A candidate may become redundant when another one is removed: repeat size 1 to the fixed point.
            size = size // 2 if size > 1 else int(len(found) < before)
        return found[::-1]

    def _closure(self, inductive: list[Member], wanted: list[Member]) -> list[LemmaClause] | None:
        """Return the candidates that the proofs of `wanted` use, and transitively those that their proofs use."""
        found: dict[Member, None] = dict.fromkeys(wanted)
        # Simplest first: Z3's cores prefer the assumptions that come first.
        clauses = sorted((m for m in inductive if isinstance(m, LemmaClause)), key=lambda clause: clause.order)
        ordered: list[Member] = [*(m for m in inductive if not isinstance(m, LemmaClause)), *clauses]
        # `bounds` is asked alone: `_ask` excludes failing steps from every other query.
        waiting: list[list[Member]] = [[BOUNDS], [member for member in wanted if member != BOUNDS]]
        while waiting:
            members = waiting.pop()
            used: dict[Member, None] = {}
            for step in self._steps:
                query = self._ask(step, ordered, any_of(self._fails[self._numbers[member]] for member in members))
                if query.answer != "no":
                    return None
                names = [term.decl().name() for term in step.solver.unsat_core()]
                numbers = [int(name.removeprefix("holds ")) for name in names if name.startswith("holds ")]
                used.update(dict.fromkeys(self.members[number] for number in numbers))
            added = [member for member in used if member not in found]
            found.update(dict.fromkeys(added))
            waiting += [added] if added else []
        return [member for member in found if isinstance(member, LemmaClause)]

    def _is_inductive(self, members: list[Member]) -> bool:
        failing = any_of(self._fails[self._numbers[member]] for member in members)
        bounds = self._fails[self._numbers[BOUNDS]]
        return all(
            self._ask(step, members, violated).answer == "no" for step in self._steps for violated in (failing, bounds)
        )

    def independent(self, clauses: list[LemmaClause]) -> list[LemmaClause]:
        """Return the clauses that do not follow from the types, the goals and the clauses before them."""
        solver = new_solver(is_finite=self.system.is_finite)
        known = [self.system.properties[name] for name in self.goals]
        known = [found for found in known if found.role is not Role.STEP_INVARIANT]
        solver.add(truth_term(all_of((self.system.well_formed, *(found.holds for found in known)))))
        for name in self._atoms:
            solver.add(_now(name) == truth_term(self.system.properties[name].holds))
        found = []
        for clause in clauses:
            claim = truth_term(_conjunction(self._names(clause), _now))
            asked = z3.FreshBool("asked")
            solver.add(z3.Implies(asked, z3.Not(claim)))
            if ask(solver, self.limits, asked).answer != "no":
                found.append(clause)
                solver.add(claim)
        return found


def _now(name: str) -> Term:
    return z3.Bool(f"now {name}")


def _after(name: str) -> Term:
    return z3.Bool(f"after {name}")


def _conjunction(rows: list[list[tuple[str, bool]]], variable: Callable[[str], Term]) -> Truth:
    return all_of(
        any_of(variable(name) if is_true else negate(variable(name)) for name, is_true in literals) for literals in rows
    )
