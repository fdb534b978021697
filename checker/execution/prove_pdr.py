"""`prove --method pdr`: what Spacer came to, with its invariant as a lemma that can be pasted."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from checker.output.styled_lines import BLANK, Line, line
from checker.run.request import Run
from checker.run.result import Violation

if TYPE_CHECKING:
    from checker.engines.smt.pdr import PdrResult
    from checker.engines.smt.transition_system import TransitionSystem

WIDTH = 112


def by_pdr(
    run: Run, names: list[str], timeout: float, show: Callable[[str], None]
) -> tuple[list[Line], dict[str, Any], str, Violation | None]:
    """Return what Spacer says of properties: its lines, its JSON, the verdict, and a violation if there is one.

    An invariant is told again in Python where that can be done, and proved again, by induction, as what is printed.
    """
    from checker.engines.smt.pdr import solve
    from checker.engines.smt.solving import QueryLimits
    from checker.engines.smt.transition_system import TransitionSystem
    from checker.output import proof_text

    system = TransitionSystem(run.spec, names)
    show("Spacer is looking for an invariant")
    outcome = solve(system, names, QueryLimits(timeout))
    shown = [proof_text.heading(run.spec, run.name)]
    took = (f"  ({outcome.seconds:.2f} s)", "dim")
    content: dict[str, Any] = {"seconds": round(outcome.seconds, 6), "reason": outcome.reason, "lemma": None}
    if outcome.verdict == "unknown":
        shown.append(line((f"unknown: {outcome.reason}", "bold yellow"), took))
    elif outcome.violation is not None:
        words = f"violated: {outcome.violation.property} {outcome.violation.length}"
        shown.append(line((words, "bold red"), took))
    else:
        shown.append(line((f"proved by pdr: {', '.join(names)}", "bold green"), took))
        with run.spec.bound():
            lines, content["lemma"] = _invariant(run, system, outcome, names, timeout)
        shown += lines
    return shown, content, outcome.verdict, outcome.violation


def _invariant(
    run: Run, system: TransitionSystem, outcome: PdrResult, names: list[str], timeout: float
) -> tuple[list[Line], str | None]:
    from checker.engines.smt import induction
    from checker.engines.smt.invariant_source import UnsupportedInvariantError, python_conjuncts
    from checker.engines.smt.lemmas.lemma_source import imports_for, with_methods
    from checker.engines.smt.solving import QueryLimits
    from checker.engines.smt.transition_system import TransitionSystem

    try:
        conjuncts = python_conjuncts(system, outcome)
    except UnsupportedInvariantError as error:
        note = f"  an invariant over the bits of a state; it has no counterpart in Python, because of {error}:"
        return [line((note, "yellow")), *(line(f"    {text}") for text in str(outcome.invariant).split("\n"))], None
    if not conjuncts:
        return [line("  no lemma is missing: every state is harmless")], None
    method = lemma_of(conjuncts, name_for(run))
    spec = with_methods(run.spec, method).unenumerated()
    lemma = name_for(run)
    proof = induction.prove(TransitionSystem(spec, [*names, lemma]), names, [lemma], QueryLimits(timeout))
    assert proof.verdict != "fails", f"the engines disagree: Spacer's invariant of {run.name} is not inductive"
    again = "proved again by induction" if proof.verdict == "proved" else "too large to be proved again in time"
    imports = imports_for(run.spec, method)
    text = [*imports, *([""] if imports else []), *textwrap.indent(method, "    ").split("\n")]
    return [line(f"  with this lemma, {again}:"), BLANK, *(line((words, "cyan")) for words in text)], method


def name_for(run: Run) -> str:
    """Return a name for the lemma that the spec does not use."""
    taken = {*run.spec.roles, *dir(type(run.spec))}
    numbered = (f"reachable_states_{number}" for number in itertools.count(2))
    return next(name for name in itertools.chain(["reachable_states"], numbered) if name not in taken)


def lemma_of(conjuncts: list[str], name: str) -> str:
    """Return conjuncts as a method."""
    said = " and ".join(conjuncts)
    if len(said) > WIDTH - len("        return "):
        said = "(\n        " + "\n        and ".join(conjuncts) + "\n    )"
    return f"@lemma\ndef {name}(self):\n    return {said}"
