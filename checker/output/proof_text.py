"""Proofs as text: verdicts, tables of actions and conjuncts, and steps that break an induction."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checker.engines.smt.bounded import BOUNDS, BoundedSearch, UnansweredQuery
from checker.engines.smt.k_induction import KInductionProof
from checker.engines.smt.lemmas.lemma_search import LemmaSearchResult
from checker.engines.smt.pdr import PdrResult
from checker.engines.smt.proof_cells import INIT, CounterexampleToInduction, InductionProof, Outcome, ProofCell
from checker.engines.smt.reachability import Reachability
from checker.engines.smt.refutation import Refutation
from checker.errors import BoundsError, Disabled
from checker.explain.differences import changes
from checker.explain.failures import explain
from checker.language.liveness import liveness_names
from checker.language.roles import DEADLOCK, Role
from checker.language.spec import Spec
from checker.output.counterexample_text import change_lines, constants_text, state_lines, trace_lines
from checker.output.styled_lines import BLANK, Line, Span, line
from checker.printable import quantity
from checker.run.result import ActionCall, TraceStep, Violation

_LEMMA_ADVICE = (
    "read the first state of a counterexample below and state as a lemma why it is unreachable",
    "--property with one property at a time: fewer goals need fewer lemmas",
    "smaller constants with --set: a lemma that is found there often holds for larger ones",
)
"""What helps if the search for lemmas finds too few."""

_SPACER_ADVICE = (
    "--method induction --find-lemmas, or induction with lemmas of your own",
    "smaller constants with --set, or a longer --timeout",
    "--method bounded --depth N, if violations by short traces are of interest",
)
"""What helps if Spacer gives no answer."""

_MARKS: dict[Outcome, Span] = {"fails": ("FAILS", "bold red"), "unknown": ("unknown", "yellow")}


def induction_lines(proof: InductionProof) -> list[Line]:
    """Return the verdict of a proof by induction, and its table of actions and conjuncts."""
    lines = [_verdict_line(proof)]
    if proof.lemmas:
        lines.append(line(f"  with the lemmas {', '.join(proof.lemmas)}"))
    if proof.unused_lemmas:
        lines.append(line((f"  not needed: {', '.join(proof.unused_lemmas)}", "yellow")))
    lines += [BLANK, *_table(proof)]
    if proof.never_taken:
        names = ", ".join(proof.never_taken)
        lines += [BLANK, line((f"  never taken from a state that satisfies them: {names}", "yellow"))]
    unknown = [cell for cell in proof.cells if cell.outcome == "unknown"]
    return lines + [line((f"  unknown: {cell.conjunct}, {cell.action}: {cell.reason}", "yellow")) for cell in unknown]


def refutation_lines(refutation: Refutation, lemmas: Sequence[str]) -> list[Line]:
    """Return the verdict of an exploration that refutes properties or lemmas."""
    names = [_name_of_refuted(violation, lemmas) for violation in refutation.violations]
    states = f"in {'all' if refutation.is_complete else 'the first'} {quantity(refutation.explored, 'state')}"
    is_lemma = all(one.property in lemmas for one in refutation.violations)
    note = "correct or remove the lemma" if is_lemma else "a missing lemma is not the reason"
    return [
        line((f"violated: {', '.join(names)}", "bold red"), (f"  ({states}, {refutation.seconds:.2f} s)", "dim")),
        line(f"  false in a reachable state, so no proof exists: {note}"),
    ]


def lines_of_unfinished_search(refutation: Refutation) -> list[Line]:
    """Return the note that a search for reachable violations did not see every reachable state."""
    if refutation.reason:
        note = f"no search for reachable violations: {refutation.reason}"
    else:
        note = f"the search for reachable violations was cut off after {_states(refutation.explored)}, and found none"
    return [] if refutation.is_complete else [line((f"  {note}", "yellow"))]


def _name_of_refuted(violation: Violation, lemmas: Sequence[str]) -> str:
    """Return what a violation refutes, with the number of its states; an action refutes the bounds of its types."""
    if violation.kind == "bounds_error":
        return f"{BOUNDS} of {violation.property} {violation.length}"
    return f"{violation.property}{' (lemma)' if violation.property in lemmas else ''} {violation.length}"


def open_proof_lines(proof: InductionProof, values: str) -> list[Line]:
    """Return the verdict of a proof with open constants, of which `values` says the values, and its table."""
    verdict, *table = induction_lines(proof)
    return [verdict, line(f"  for every value of {values}"), *table]


def instance_lines(constants: Mapping[str, Any]) -> list[Line]:
    """Return the note about the one size at which counterexamples were looked for."""
    note = f"  counterexamples are those of {constants_text(constants)}; unknown cells have none there"
    return [BLANK, line((note, "dim"))]


def lemma_search_lines(search: LemmaSearchResult) -> list[Line]:
    """Return the result of a search for lemmas, with the lemmas as text to paste into the spec."""
    states = f"{'all' if search.is_complete else 'the first'} {quantity(search.states, 'state')}"
    steps = f"{quantity(search.steps, 'counterexample')} to induction"
    counts = f"{search.atoms:,} atoms in {states}; {steps}, {search.dropped:,} clauses dropped"
    lines = [line((f"found: {_lemma_search_verdict(search)}", "bold"), (f"  ({counts})", "dim"))]
    if search.lemmas:
        lines += [BLANK, *_source_lines(search.imports, search.methods), BLANK]
    if not search.is_enough:
        lines += [line((f"  try: {advice}", "yellow")) for advice in _LEMMA_ADVICE] + [BLANK]
    return lines


def _lemma_search_verdict(search: LemmaSearchResult) -> str:
    count = len(search.lemmas)
    lemmas = "1 lemma" if count == 1 else f"{count} lemmas"
    if search.is_enough:
        return f"{lemmas} with which the proof succeeds" if count else "no lemma is missing"
    return f"not enough for the proof; {lemmas} that are inductive, the simplest first" if count else "no lemma"


def _source_lines(imports: Sequence[str], methods: str) -> list[Line]:
    """Return methods as they are pasted into a class, below their imports."""
    text = "\n".join(imports) + ("\n\n" if imports else "") + textwrap.indent(methods, "    ")
    return [line((row, "cyan")) for row in text.rstrip().split("\n")]


def pdr_lines(result: PdrResult, names: list[str]) -> list[Line]:
    """Return the verdict of Spacer."""
    seconds = (f"  ({result.seconds:.2f} s)", "dim")
    if result.verdict == "unknown":
        return [
            line((f"unknown: {result.reason}", "bold yellow"), seconds),
            *(line((f"  try: {advice}", "yellow")) for advice in _SPACER_ADVICE),
        ]
    if result.violation is not None:
        return [line((f"violated: {result.violation.property} {result.violation.length}", "bold red"), seconds)]
    return [line((f"proved by pdr: {', '.join(names)}", "bold green"), seconds)]


def lemma_lines(method: str, imports: Sequence[str], *, is_proved_again: bool) -> list[Line]:
    """Return an invariant of Spacer as a lemma to paste into the spec."""
    again = "proved again by induction" if is_proved_again else "too large to be proved again in time"
    return [line(f"  with this lemma, {again}:"), BLANK, *_source_lines(imports, method)]


def no_lemma_lines() -> list[Line]:
    """Return the note that the invariant of Spacer is trivial."""
    return [line("  no lemma is needed: every state satisfies the properties")]


def formula_lines(formula: str, reason: str) -> list[Line]:
    """Return an invariant of Spacer as a formula; `reason` is the part without a counterpart in Python."""
    note = f"  an invariant over the bits of a state; it has no counterpart in Python, because of {reason}:"
    return [line((note, "yellow")), *(line(f"    {text}") for text in formula.split("\n"))]


def _verdict_line(proof: InductionProof) -> Line:
    cached = sum(cell.is_cached for cell in proof.cells)
    earlier = f", {cached} of them in an earlier proof" if cached else ""
    time = f"  ({len(proof.cells)} queries{earlier}, {proof.seconds:.2f} s)"
    if proof.verdict == "proved":
        return line((f"proved by induction: {', '.join(proof.targets)}", "bold green"), (time, "dim"))
    failing = [name for name in proof.conjuncts if proof.outcome(name) == "fails"]
    if failing:
        return line((f"not inductive: {', '.join(failing)}", "bold red"), (time, "dim"))
    open_ones = [name for name in proof.conjuncts if proof.outcome(name) == "unknown"]
    return line((f"unknown: {', '.join(open_ones)}", "bold yellow"), (time, "dim"))


def _table(proof: InductionProof) -> Iterator[Line]:
    """Iterate over a line for each action: how many conjuncts it preserves, and the names of the others."""
    actions = [INIT, *dict.fromkeys(cell.action for cell in proof.cells if cell.action != INIT)]
    width = max(len(action) for action in actions)
    for action in actions:
        cells = [cell for cell in proof.cells if cell.action == action]
        proved = sum(cell.outcome == "proved" for cell in cells)
        yield line(f"  {action:<{width}}  ", (f"{proved} of {len(cells)} ok", "green" if proved == len(cells) else ""))
        for outcome, (mark, style) in _MARKS.items():
            if names := [cell.conjunct for cell in cells if cell.outcome == outcome]:
                yield line(f"    {mark}: ", (", ".join(names), style))


def step_lines(spec: Spec, cell: ProofCell, where: Reachability | None) -> list[Line]:
    """Return the lines of a counterexample to induction; `where` says whether its first state is reachable."""
    step = cell.counterexample
    assert step is not None
    call = ActionCall(step.action, step.arguments)
    if step.before is None:
        headline = f"{cell.conjunct} is false in an initial state, {call}"
        lines = [BLANK, line((headline, "bold red"))]
        return lines + ([line("    ", *spans) for spans in state_lines(spec, step.after)] if step.after else [])
    lines = [BLANK, line((f"{cell.conjunct} is not preserved by {call}", "bold red"))]
    lines += [line(f"  {text}") for text in _why(spec, cell.conjunct, step).splitlines()]
    lines += [_label(where)] if where is not None else []
    if where is not None and where.fact:
        lines += [line((f"  in every reachable state, and not in this one: {where.fact}", "yellow"))]
    if where is not None and where.trace is not None:
        end = TraceStep(step.action, step.arguments, step.after) if step.after is not None else None
        trace = where.trace if end is None else (*where.trace, end)
        return [*lines, *trace_lines(spec, trace, call if end is None else None)]
    lines += [BLANK, line(("     from a state that satisfies the hypothesis", "bold cyan"))]
    lines += [line("     ", *spans) for spans in state_lines(spec, step.before)]
    lines += [BLANK, line((f"     {call}", "bold cyan"))]
    if step.after is None:
        return [*lines, line(("     cannot be executed: the reason is above", "red"))]
    return lines + [line("     ", *spans) for spans in change_lines(changes(spec, step.before, step.after))]


def _why(spec: Spec, conjunct: str, step: CounterexampleToInduction) -> str:
    """Return why a conjunct is false after a step, or why the step cannot be executed."""
    assert step.before is not None
    try:
        if step.after is None:
            spec.step(step.before, step.action, *step.arguments)
            raise AssertionError("the engines disagree: an action left its bounds in one, and not in the interpreter")
        old = step.before if spec.roles[conjunct] is Role.STEP_INVARIANT else None
        spec.holds(conjunct, step.after, old)
        return explain(spec, conjunct, step.after, old)
    except BoundsError as error:
        return str(error)
    except Disabled:
        raise AssertionError("the engines disagree: an action is enabled in one, and not in the interpreter") from None


def reachability_text(where: Reachability) -> str:
    """Return the meaning of the reachability of the first state for a proof."""
    if where.trace is not None:
        return "reachable: a real violation, not a missing lemma"
    if where.is_certain:
        state = f"unreachable within this configuration, of {quantity(where.explored, 'state')}"
        return state if where.is_refuted else f"{state}: a lemma that excludes it is missing"
    if not where.explored:
        return "not known to be reachable: the explorer cannot take this configuration"
    return f"not among the {where.explored:,} states that were explored; it may still be reachable"


def _label(where: Reachability) -> Line:
    return line((f"  {reachability_text(where)}", "bold red" if where.trace is not None else "yellow"))


def k_induction_lines(
    spec: Spec, proof: KInductionProof, names: list[str], verdicts: dict[str, Reachability]
) -> list[Line]:
    """Return the verdict of a proof by k-induction, and the paths that break it.

    `found` is the reachability of the first state of each path.
    """
    if proof.verdict == "proved":
        words = f"proved by k-induction with k = {proof.k}: {', '.join(names)}"
        return [line((words, "bold green"))]
    lines = unknown_lines([*proof.unknown, *proof.base.unknown])
    if proof.failing and not proof.base.violations:
        lines.append(line((f"not proved with k = {proof.k}: {', '.join(proof.failing)}", "bold red")))
    for name, trace in proof.failing.items():
        if proof.base.violations:
            break
        end = "an action leaves its bounds" if name == BOUNDS else f"{name} is false"
        lines += [BLANK, line((f"{name}: {end} after a path of states that satisfy the hypothesis", "bold red"))]
        lines += [_label(verdicts[name])] if name in verdicts else []
        shown = trace_lines(spec, trace)
        # The second line names the first state of a trace, which is not an initial state here.
        shown[1] = line(("  1  ", "dim"), ("a state that satisfies the hypothesis", "bold cyan"))
        lines += shown
    return lines


def search_lines(search: BoundedSearch, liveness: Sequence[str]) -> list[Line]:
    """Return the verdict of a bounded search, without its counterexamples; `liveness` names the liveness properties."""
    lines = unknown_lines(search.unknown)
    time = f"  ({sum(search.seconds):.2f} s)"
    notes = [*_longest_lines(search), *_lasso_lines(search, liveness)]
    if search.violations:
        shown = ", ".join(f"{violation.property} {violation.length}" for violation in search.violations)
        return [*lines, line((f"violated: {shown}", "bold red"), (time, "dim")), *notes]
    text = f"no violation by traces of up to {_states(search.depth)}"
    if search.unknown:
        return [*lines, line((f"{text}; no answer for longer ones", "bold yellow")), *notes]
    return [*lines, line((text, "bold green"), (time, "dim")), *notes]


def _longest_lines(search: BoundedSearch) -> Iterator[Line]:
    """Iterate over the warning that the constraints exclude longer traces."""
    if search.longest is not None:
        text = f"  no trace has more than {_states(search.longest)}: the constraints exclude every step after that"
        yield line((text, "yellow"))


def _lasso_lines(search: BoundedSearch, liveness: Sequence[str]) -> Iterator[Line]:
    """Iterate over the sentences about the lassos that the bound excludes."""
    violated = {violation.property for violation in search.violations}
    unviolated = [name for name in liveness if name not in violated]
    if unviolated:
        longer = ": longer ones may" if search.longest is None else ""
        yield line(f"  no lasso of up to {_states(search.depth)} violates {', '.join(unviolated)}{longer}")
    if any(violation.loop_start for violation in search.violations):
        yield line(f"  the stems are shortest among the lassos of up to {_states(search.stem_depth)}")


def _states(count: int) -> str:
    return quantity(count, "state")


_UNDECIDED_KINDS = {Role.REACHABLE: "reachable property", Role.REFINEMENT: "refinement", None: DEADLOCK}
"""What the command prove never decides, by role; the built-in property has none."""


def lines_of_the_account(
    spec: Spec, untreated: Sequence[str], left_out: Sequence[str], not_selected: Sequence[str], method: str
) -> list[Line]:
    """Return the notes on the declared properties that a method does not decide, liveness first, and on the view."""
    liveness = liveness_names(spec, untreated)
    others = [name for name in untreated if name not in liveness]
    notes = []
    if liveness:
        why = f"the method {method} decides no liveness property; use --method bounded, or the command run"
        notes.append(line((f"  not treated: {', '.join(liveness)}: {why}", "yellow")))
    if others:
        kinds = dict.fromkeys(_UNDECIDED_KINDS[spec.roles.get(name)] for name in others)
        why = f"the command prove decides no {', no '.join(kinds)}; use the command run"
        notes.append(line((f"  not treated: {', '.join(others)}: {why}", "yellow")))
    if left_out:
        why = "the scenario expects a violation; --property proves it all the same"
        notes.append(line(f"  not proved: {', '.join(left_out)}: {why}"))
    if names := [name for name in not_selected if name != DEADLOCK]:
        notes.append(line(f"  not selected: {', '.join(names)}"))
    views = [name for name, role in type(spec).roles.items() if role is Role.VIEW]
    notes += [line(f"  not used: the view {name}: a proof is about whole states") for name in views]
    return [BLANK, *notes] if notes else []


def unknown_lines(unknown: list[UnansweredQuery]) -> list[Line]:
    """Return the queries that Z3 did not answer, with its reasons."""
    return [
        line((f"unknown: {each.property}, traces of {quantity(each.length, 'state')}: {each.reason}", "bold yellow"))
        for each in unknown
    ]
