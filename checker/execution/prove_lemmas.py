"""`prove --find-lemmas`: a spec with the lemmas that were found, and what there is to say of them."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Callable
from typing import Any

from checker.output.styled_lines import BLANK, Line, line
from checker.run.request import Run


def with_found_lemmas(
    run: Run, goals: list[str], timeout: float, workers: int, show: Callable[[str], None]
) -> tuple[Run, list[Line], dict[str, Any]]:
    """Return a run whose spec has the lemmas that were found, pasted as they are printed; their lines, their JSON."""
    from checker.engines.smt.lemmas.lemma_search import find_lemmas
    from checker.engines.smt.lemmas.lemma_source import with_methods
    from checker.engines.smt.solving import QueryLimits

    found = find_lemmas(run.spec, goals, workers, QueryLimits(timeout), show)
    spec = with_methods(run.spec, found.methods).unenumerated()
    states = f"{'all' if found.is_complete else 'the first'} {found.states:,} states"
    counts = f"{found.candidates:,} candidates are true in {states}, {found.inductive:,} of them are inductive"
    shown = [line((f"found: {_headline(found.is_enough, len(found.lemmas))}", "bold"), (f"  ({counts})", "dim"))]
    if found.lemmas:
        text = "\n".join(found.imports) + ("\n\n" if found.imports else "") + textwrap.indent(found.methods, "    ")
        shown += [BLANK, *(line((words, "cyan")) for words in text.rstrip().split("\n")), BLANK]
    content = {
        "is_enough": found.is_enough,
        "candidates": found.candidates,
        "inductive": found.inductive,
        "states": found.states,
        "imports": list(found.imports),
        "lemmas": [dataclasses.asdict(lemma) for lemma in found.lemmas],
    }
    return dataclasses.replace(run, spec=spec), shown, content


def _headline(is_enough: bool, count: int) -> str:
    lemmas = "1 lemma" if count == 1 else f"{count} lemmas"
    if is_enough:
        return f"{lemmas} with which the proof succeeds" if count else "no lemma is missing"
    return f"not enough for the proof; {lemmas} that are inductive, the plainest first" if count else "nothing"
