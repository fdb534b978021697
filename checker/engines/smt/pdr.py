"""Property-directed reachability: Z3's Spacer searches for an inductive invariant or a path to a violation.

Spacer gets a state as bits, and every action as a Horn clause over the bits before and after it (bit-blasted). The
spec must therefore be finite and small: Spacer learns the invariant one clause of bits at a time.

Source: A. Komuravelli, A. Gurfinkel, S. Chaki, SMT-Based Model Checking for Recursive Programs, CAV 2014.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import z3

from checker.engines.smt.bounded import search
from checker.engines.smt.lowering.evaluation import State
from checker.engines.smt.lowering.logic import Term, Truth, all_of, any_of, both, negate, truth_term
from checker.engines.smt.lowering.symbolic_values import z3_constants
from checker.engines.smt.solving import QueryLimits, was_interrupted
from checker.engines.smt.transition_system import Transition, TransitionSystem, assignments
from checker.engines.smt.vacuity import refuse_false_constraints, refuse_no_initial_state
from checker.errors import SpecError
from checker.language.roles import Role
from checker.printable import quantity
from checker.run.result import Violation

MAX_BITS = 300
"""Limit of the state's size: with more bits Spacer does not terminate in practice."""

LEVEL = "SPACER max query lvl"
"""Z3's name for the level in which Spacer searches for a violation."""

Verdict = Literal["holds", "violated", "unknown"]


@dataclass(frozen=True)
class Bit:
    """One bit of a state: the index of its Z3 constant in the system, and its place (0: lowest) in that constant."""

    constant: int
    place: int


@dataclass(frozen=True)
class PdrResult:
    """The result of Spacer: for `holds` an `invariant` over `variables` (one per bit), a violation, or the `reason`."""

    verdict: Verdict
    seconds: float
    invariant: Term = None
    bits: tuple[Bit, ...] = ()
    variables: tuple[Term, ...] = ()
    violation: Violation | None = None
    reason: str = ""


def solve(system: TransitionSystem, names: list[str], limits: QueryLimits) -> PdrResult:
    """Decide whether properties and lemmas hold in all reachable states, and no action leaves the bounds of a type.

    Raises SpecError if the spec has more than `MAX_BITS` bits, has no initial state, or has constraints
    that are false in every state.
    """
    return _Spacer(system, names, limits).solve()


class _Spacer:
    def __init__(self, system: TransitionSystem, names: list[str], limits: QueryLimits):
        self.system, self.names, self.limits = system, names, limits
        name = system.spec.name
        self.bits = [
            Bit(number, place)
            for number, term in enumerate(system.constants)
            for place in range(term.size() if isinstance(term, z3.BitVecRef) else 1)
        ]
        if len(self.bits) > MAX_BITS:
            raise SpecError(
                f"pdr supports states of up to {MAX_BITS} bits: a state of {name} has {len(self.bits)}; "
                "set smaller constants, or use --method induction with lemmas"
            )
        self.now = [z3.Bool(f"bit {number}") for number in range(len(self.bits))]
        self.next = [z3.Bool(f"next bit {number}") for number in range(len(self.bits))]
        self.extra: list[Term] = []
        self.reached = z3.Function("reached", *[z3.BoolSort()] * len(self.bits), z3.BoolSort())
        self.bad = z3.Function("bad", z3.BoolSort())
        self.fixedpoint = z3.Fixedpoint()

    def solve(self) -> PdrResult:
        """Run Spacer."""
        started = time.perf_counter()
        refuse_no_initial_state(self.system, self.limits)
        refuse_false_constraints(self.system, self.limits)
        self._rules()
        try:
            answer = self.fixedpoint.query(self.bad())
        except z3.Z3Exception as error:
            return self._unknown(str(error), started)
        if answer == z3.unsat:
            invariant = self._invariant()
            return PdrResult("holds", time.perf_counter() - started, invariant, tuple(self.bits), tuple(self.now))
        if answer == z3.sat:
            return self._violation(started)
        return self._unknown(str(self.fixedpoint.reason_unknown()), started)

    def _unknown(self, reason: str, started: float) -> PdrResult:
        seconds = time.perf_counter() - started
        if self.limits.seconds is not None and seconds >= self.limits.seconds:
            states = self._depth_without_violation()
            reason = (
                f"timeout: no answer within {self.limits.seconds:g} s; "
                f"Spacer excluded violations by traces of up to {quantity(states, 'state')}"
            )
        elif was_interrupted(reason, seconds, self.limits):
            raise KeyboardInterrupt
        return PdrResult("unknown", seconds, reason=reason)

    def _depth_without_violation(self) -> int:
        """Return the number of states up to which Spacer has excluded every violation."""
        # Spacer excludes one level after the other. A violation in state n, counted from 1, is a derivation of the
        # rules of level n + 1.
        statistics = self.fixedpoint.statistics()
        known = statistics.keys()
        level = statistics.get_key_value(LEVEL) if LEVEL in known else 0
        return max(0, int(level) - 2)

    # Horn clauses.

    def _rules(self) -> None:
        fixedpoint, system = self.fixedpoint, self.system
        fixedpoint.set(engine="spacer")
        # These transformations would eliminate `reached`, and with it the invariant.
        for transformation in ("slice", "inline_eager", "inline_linear"):
            fixedpoint.set(f"xform.{transformation}", False)
        if self.limits.seconds is not None:
            fixedpoint.set("timeout", max(1, int(self.limits.seconds * 1000)))
        fixedpoint.register_relation(self.reached, self.bad)
        before, after = self.reached(*self.now), self.reached(*self.next)
        rules = [(after, [self._blast(self._leads_on(system.initial))])]
        bad: list[Truth] = [both(system.initial.assumed, system.initial.failed)]
        # Constraints restrict steps only: the properties are also checked in a state that violates a constraint.
        steps = [both(system.within_constraints, transition.assumed) for transition in system.transitions]
        for transition, within in zip(system.transitions, steps, strict=True):
            rules.append((after, [before, self._blast(both(within, self._leads_on(transition)))]))
            rules.append((self.bad(), [before, self._blast(both(within, transition.failed))]))
        for name in self.names:
            property_ = system.properties[name]
            if property_.role is not Role.STEP_INVARIANT:
                rules.append((self.bad(), [before, self._blast(negate(property_.holds))]))
                continue
            for transition, within in zip(system.transitions, steps, strict=True):
                violated = negate(system.over(property_.holds, transition.successor, system.state))
                rules.append((self.bad(), [before, self._blast(all_of((within, transition.enabled, violated)))]))
        rules.append((self.bad(), [self._blast(any_of(bad))]))
        fixedpoint.declare_var(*self.now, *self.next, *self.extra)
        for head, body in rules:
            fixedpoint.rule(head, body)

    def _leads_on(self, transition: Transition) -> Truth:
        """Return whether an action leads to the state of the bits `next`."""
        return all_of((transition.taken, *self._same_bits(transition.successor)))

    def _same_bits(self, state: State) -> list[Term]:
        pairs = [term for _, term in assignments(self.system.state, state)]
        return [self.next[number] == _bit_of(pairs[bit.constant], bit.place) for number, bit in enumerate(self.bits)]

    def _blast(self, truth: Truth) -> Term:
        """Return a condition as a formula over bits only."""
        # Each Z3 constant of the state and of parameters is replaced by a term over its bits. Bit-blasting then turns
        # the operations on bit-vectors into Boolean formulas.
        term = truth_term(truth)
        pairs = []
        for number, constant in enumerate(self.system.constants):
            mine = [self.now[index] for index, bit in enumerate(self.bits) if bit.constant == number]
            pairs.append((constant, _from_bits(constant, mine)))
        parameters = [
            constant
            for transition in [self.system.initial, *self.system.transitions]
            for parameter in transition.parameters
            for constant in z3_constants(parameter.value)
        ]
        for constant in parameters:
            width = constant.size() if isinstance(constant, z3.BitVecRef) else 1
            mine = [z3.Bool(f"{constant.decl().name()} bit {place}") for place in range(width)]
            # The rules are blasted one by one and share parameters: each bit is declared once.
            self.extra += [bit for bit in mine if not any(bit.eq(known) for known in self.extra)]
            pairs.append((constant, _from_bits(constant, mine)))
        goal = z3.Goal()
        goal.add(z3.substitute(term, *pairs))
        return z3.Then("simplify", "bit-blast", "simplify")(goal).as_expr()

    # Answers.

    def _invariant(self) -> Term:
        """Return the inductive invariant over the bits `now`."""
        # Level -1 is the inductive invariant. Its variables are de Bruijn indices of the arguments of `reached`.
        answer = self.fixedpoint.get_cover_delta(-1, self.reached)
        return z3.simplify(z3.substitute_vars(answer, *self.now))

    def _violation(self, started: float) -> PdrResult:
        """Return a shortest violation, found by a bounded search up to the length of Spacer's derivation.

        The derivation has one rule for each state and two for the query, so its length is an upper bound.
        """
        most = len(list(self.fixedpoint.get_rules_along_trace()))
        bounded = search(self.system, self.names, most, self.limits)
        seconds = time.perf_counter() - started
        if bounded.violations:
            return PdrResult("violated", seconds, violation=bounded.violations[0])
        assert bounded.unknown, f"the engines disagree: Spacer finds a violation of {most} states, bounded search none"
        why = bounded.unknown[0].reason
        reason = f"Spacer finds a violation of up to {most} states, but its trace was not found: {why}"
        return PdrResult("unknown", seconds, reason=reason)


def _bit_of(term: Term, place: int) -> Term:
    if not isinstance(term, z3.BitVecRef):
        return term
    return z3.Extract(place, place, term) == 1


def _from_bits(constant: Term, bits: list[Term]) -> Term:
    """Return a constant's value as a term over its bits, given from the lowest."""
    if not isinstance(constant, z3.BitVecRef):
        return bits[0]
    parts = [z3.If(bit, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)) for bit in reversed(bits)]
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]
