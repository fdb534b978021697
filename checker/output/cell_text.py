"""One cell of a proof as text: the query in the words of the spec, what it needed, its size and the solver's work."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.language.spec import Spec
from checker.output.styled_lines import BLANK, Line, line

if TYPE_CHECKING:
    from checker.engines.smt.cell_work import CellWork
    from checker.engines.smt.proof_cells import ProofCell

_QUESTIONS = {
    "init": "Is {conjunct} true in every initial state?",
    "bounds": "Does {action} keep every value within its type, from any state of the hypothesis?",
    "": "Is {conjunct} true after {action}, from any state of the hypothesis?",
}

_OUTCOMES = {
    "proved": ("proved", "bold green"),
    "fails": ("not preserved", "bold red"),
    "unknown": ("unknown", "bold yellow"),
}


def cell_lines(spec: Spec, cell: ProofCell, hypotheses: Collection[str], work: CellWork) -> list[Line]:
    """Return the description of a cell and of its work with the hypotheses that it needed."""
    question = _QUESTIONS["init" if cell.action == "init" else "bounds" if cell.conjunct == "bounds" else ""]
    outcome, style = _OUTCOMES[cell.outcome]
    lines = [
        line((f"{outcome}: {cell.conjunct}, {cell.action}", style), (f"  ({cell.seconds:.2f} s)", "dim")),
        line(f"  {question.format(conjunct=cell.conjunct, action=cell.action)}"),
    ]
    lines += [line((f"  {cell.reason}", "yellow"))] if cell.reason else []
    for name in dict.fromkeys((cell.action, cell.conjunct)):
        lines += _method_lines(spec, name)
    lines += [BLANK, *_lines_of_lemmas(spec, cell, hypotheses), BLANK, *_work_lines(work)]
    return lines


def _method_lines(spec: Spec, name: str) -> Iterator[Line]:
    """Iterate over the source of an action or a property; `bounds` and an `init` that is not written have none."""
    method: Any = getattr(type(spec), name, None)
    if not hasattr(method, "__code__"):
        return
    try:
        text = textwrap.dedent(inspect.getsource(method)).rstrip()
    except (OSError, TypeError):
        return
    yield BLANK
    file = Path(method.__code__.co_filename)
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    yield line((f"  {shown}:{method.__code__.co_firstlineno}", "dim"))
    for row in text.split("\n"):
        yield line((f"    {row}", "cyan"))


def _lines_of_lemmas(spec: Spec, cell: ProofCell, hypotheses: Collection[str]) -> Iterator[Line]:
    if cell.outcome != "proved" or cell.action == "init":
        return
    yield line(f"  needed: {len(cell.needed)} of {len(hypotheses)} hypotheses")
    width = max(map(len, cell.needed), default=0)
    for name in cell.needed:
        method = getattr(type(spec), name, None)
        words = (method.__doc__ or "").strip().split("\n")[0] if method is not None else ""
        yield line(f"    {name:<{width}}", (f"  {words}" if words else "", "dim"))


def _work_lines(work: CellWork) -> Iterator[Line]:
    count = len(work.seconds)
    queries = f"{count:,} {'query' if count == 1 else 'queries'}"
    yield line(f"  size: {queries}, {work.terms:,} terms, {work.hypothesis_terms:,} of them of hypotheses alone")
    if not count:
        return
    slowest = f", the slowest {max(work.seconds):.2f} s" if count > 1 else ""
    yield line(f"  time with these hypotheses: {sum(work.seconds):.2f} s{slowest}")
    counted = ", ".join(f"{number:,} {name}" for name, number in sorted(work.statistics.items()))
    yield line(f"  work: {counted or 'none: simplification decides it'}")
    if work.by_instances:
        yield line(f"  instances: {work.instances:,} that the checker chooses, for {work.by_instances:,} of {queries}")
    if work.unanswered:
        yield line((f"  no answer: {work.unanswered:,} of {queries}, asked with these hypotheses alone", "yellow"))
