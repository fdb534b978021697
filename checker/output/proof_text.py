"""Proofs in text: what is proved, a table of actions and conjuncts, and the steps that break an induction."""

from __future__ import annotations

from collections.abc import Iterator

from checker.engines.smt.bounded import BOUNDS, BoundedSearch, UnansweredQuery
from checker.engines.smt.induction import INIT, CounterexampleToInduction, InductionProof, Outcome, ProofCell
from checker.engines.smt.k_induction import KInductionProof
from checker.engines.smt.reachability import Reachability
from checker.errors import BoundsError, Disabled
from checker.explain.differences import changes
from checker.explain.failures import explain
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.output.styled_lines import BLANK, Line, Span, line
from checker.output.text import change_lines, constants_text, state_lines, trace_lines
from checker.run.result import ActionCall, TraceStep

_CELLS: dict[Outcome, Span] = {"proved": ("ok", "green"), "fails": ("FAILS", "bold red"), "unknown": ("?", "yellow")}


def heading(spec: Spec, name: str) -> Line:
    """Return the line that names a configuration."""
    return line((name, "bold"), f"  {constants_text(spec.constants)}")


def induction_lines(proof: InductionProof) -> list[Line]:
    """Return what a proof by induction came to, and its table."""
    lines = [_verdict_line(proof)]
    if proof.lemmas:
        lines.append(line(f"  with the lemmas {', '.join(proof.lemmas)}"))
    lines += [BLANK, *_table(proof)]
    if proof.never_taken:
        names = ", ".join(proof.never_taken)
        lines += [BLANK, line((f"  never taken from a state that satisfies them: {names}", "yellow"))]
    unknown = [cell for cell in proof.cells if cell.outcome == "unknown"]
    return lines + [line((f"  unknown: {cell.conjunct}, {cell.action}: {cell.reason}", "yellow")) for cell in unknown]


def _verdict_line(proof: InductionProof) -> Line:
    time = f"  ({len(proof.cells)} queries, {proof.seconds:.2f} s)"
    if proof.verdict == "proved":
        return line((f"proved by induction: {', '.join(proof.targets)}", "bold green"), (time, "dim"))
    failing = [name for name in proof.conjuncts if proof.outcome(name) == "fails"]
    if failing:
        return line((f"not inductive: {', '.join(failing)}", "bold red"), (time, "dim"))
    open_ones = [name for name in proof.conjuncts if proof.outcome(name) == "unknown"]
    return line((f"unknown: {', '.join(open_ones)}", "bold yellow"), (time, "dim"))


def _table(proof: InductionProof) -> Iterator[Line]:
    conjuncts = proof.conjuncts
    actions = [INIT, *dict.fromkeys(cell.action for cell in proof.cells if cell.action != INIT)]
    cells = {(cell.conjunct, cell.action): cell for cell in proof.cells}
    width = max(len(action) for action in actions)
    for number, name in enumerate(conjuncts, 1):
        role = " (lemma)" if name in proof.lemmas else ""
        yield line(f"  {number:>2}  {name}{role}")
    yield BLANK
    yield line((f"  {'':<{width}}" + "".join(f"  {number:>5}" for number in range(1, len(conjuncts) + 1)), "dim"))
    for action in actions:
        spans: list[Span] = [(f"  {action:<{width}}", "")]
        for name in conjuncts:
            text, style = _cell(cells.get((name, action)))
            spans.append((f"  {text:>5}", style))
        yield line(*spans)


def _cell(cell: ProofCell | None) -> Span:
    return _CELLS[cell.outcome] if cell is not None else ("", "")


def step_lines(spec: Spec, cell: ProofCell, where: Reachability | None) -> list[Line]:
    """Return the lines of a counterexample to induction; `where` says whether its first state is reachable."""
    found = cell.counterexample
    assert found is not None
    call = ActionCall(found.action, found.arguments)
    if found.before is None:
        headline = f"{cell.conjunct} is false in an initial state, {call}"
        lines = [BLANK, line((headline, "bold red"))]
        return lines + ([line("    ", *spans) for spans in state_lines(spec, found.after)] if found.after else [])
    lines = [BLANK, line((f"{cell.conjunct} is not preserved by {call}", "bold red"))]
    lines += [line(f"  {text}") for text in _why(spec, cell.conjunct, found).splitlines()]
    lines += [_label(where)] if where is not None else []
    if where is not None and where.trace is not None:
        end = TraceStep(found.action, found.arguments, found.after) if found.after is not None else None
        trace = where.trace if end is None else (*where.trace, end)
        return [*lines, *trace_lines(spec, trace, call if end is None else None)]
    lines += [BLANK, line(("     from a state that satisfies the hypothesis", "bold cyan"))]
    lines += [line("     ", *spans) for spans in state_lines(spec, found.before)]
    lines += [BLANK, line((f"     {call}", "bold cyan"))]
    if found.after is None:
        return [*lines, line(("     cannot be executed: the reason is above", "red"))]
    return lines + [line("     ", *spans) for spans in change_lines(changes(spec, found.before, found.after))]


def _why(spec: Spec, conjunct: str, found: CounterexampleToInduction) -> str:
    """Return why a conjunct is false after a step, or why the step cannot be executed."""
    assert found.before is not None
    try:
        if found.after is None:
            spec.step(found.before, found.action, *found.arguments)
            raise AssertionError("the engines disagree: an action left its bounds in one, and not in the interpreter")
        old = found.before if spec.roles[conjunct] is Role.STEP_INVARIANT else None
        spec.holds(conjunct, found.after, old)
        return explain(spec, conjunct, found.after, old)
    except BoundsError as error:
        return str(error)
    except Disabled:
        raise AssertionError("the engines disagree: an action is enabled in one, and not in the interpreter") from None


def whereabouts_words(where: Reachability) -> str:
    """Return what it means that the first state is, or is not, among those that the explorer reaches."""
    if where.trace is not None:
        return "reachable: a real violation, not a missing lemma"
    if where.is_certain:
        return (
            f"unreachable within this configuration, of {where.explored:,} states: a lemma that excludes it is missing"
        )
    if not where.explored:
        return "the explorer cannot take this configuration: whether the first state is reachable is open"
    return f"not among the {where.explored:,} states that were explored; it may still be reachable"


def _label(where: Reachability) -> Line:
    return line((f"  {whereabouts_words(where)}", "bold red" if where.trace is not None else "yellow"))


def k_induction_lines(
    spec: Spec, proof: KInductionProof, names: list[str], found: dict[str, Reachability]
) -> list[Line]:
    """Return what a proof by k-induction came to, with the paths that break it; `found` says where they begin."""
    if proof.verdict == "proved":
        words = f"proved by k-induction with k = {proof.k}: {', '.join(names)}"
        return [line((words, "bold green"))]
    lines = unknown_lines([*proof.unknown, *proof.base.unknown])
    if proof.failing and not proof.base.violations:
        lines.append(line((f"not proved with k = {proof.k}: {', '.join(proof.failing)}", "bold red")))
    for name, trace in proof.failing.items():
        if proof.base.violations:
            break
        what = "leads to an action that leaves its bounds" if name == BOUNDS else "is false after"
        lines += [BLANK, line((f"{name}: {what} a path of states that satisfy everything", "bold red"))]
        lines += [_label(found[name])] if name in found else []
        shown = trace_lines(spec, trace)
        shown[1] = line(("  1  ", "dim"), ("a state that satisfies the hypothesis", "bold cyan"))
        lines += shown
    return lines


def bounded_lines(found: BoundedSearch) -> list[Line]:
    """Return how far a bounded search came; its violations are shown as any other counterexample."""
    lines = unknown_lines(found.unknown)
    states = f"{found.depth} state{'' if found.depth == 1 else 's'}"
    time = f"  ({sum(found.seconds):.2f} s)"
    if found.violations:
        shown = ", ".join(f"{violation.property} {violation.length}" for violation in found.violations)
        return [*lines, line((f"violated: {shown}", "bold red"), (time, "dim"))]
    if found.unknown:
        return [
            *lines,
            line((f"no violation by traces of up to {states}, and no answer for longer ones", "bold yellow")),
        ]
    return [*lines, line((f"no violation by traces of up to {states}", "bold green"), (time, "dim"))]


def unknown_lines(unknown: list[UnansweredQuery]) -> list[Line]:
    """Return what Z3 did not answer, and why."""
    return [
        line((f"unknown: {found.property}, traces of {found.length} states: {found.reason}", "bold yellow"))
        for found in unknown
    ]
