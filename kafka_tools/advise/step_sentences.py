"""A counterexample as sentences: what each step does, and what it changes.

The sentence of a step is the first clause of its action's docstring, followed by the arguments. The facts are the
differences between two states.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.types import MapType
from checker.language.values import show
from checker.run.result import TraceStep, Violation

_FACTS = {
    "leader": "leader",
    "isr": "ISR",
    "high_watermark": "high watermark",
    "acked": "acknowledged",
    "failed": "reported as failed",
    "expired": "timed out",
    "requests": "unread requests",
    "late": "requests of a closed connection",
    "stranded": "requests at the former leader",
    "unreported": "request without a callback",
    "committed": "committed offset",
    "in_hand": "at the application",
}
"""The variables whose changes are facts of a step, with their names in the text."""

_RECORDS = ("acked", "failed", "unreported", "in_hand")
"""Variables that hold the numbers of records."""


@dataclass(frozen=True)
class PipelineStep:
    """A step of a counterexample: the call of its action, a sentence, and the facts that it changes."""

    call: str
    sentence: str
    facts: tuple[str, ...]


def step_sentences(spec: Spec, violation: Violation) -> list[PipelineStep]:
    """Return the steps of a counterexample."""
    trace = violation.trace
    return [_step(spec, before.state, step) for before, step in itertools.pairwise(trace)]


def initial_facts(violation: Violation) -> str:
    """Return the first state of a counterexample as text."""
    state = violation.trace[0].state
    return f"leader: {_shown('leader', state.leader)}; ISR: {_shown('isr', state.isr)}; every log is empty"


def _step(spec: Spec, before: State, step: TraceStep) -> PipelineStep:
    assert step.action is not None
    first_line = (getattr(type(spec), step.action).__doc__ or step.action).strip().splitlines()[0]
    # The first clause says what happens; conditions and sources follow it.
    sentence = re.split(r"[;:]|\.(?=\s|$)", first_line)[0]
    arguments = ", ".join(map(show, step.arguments))
    text = f"{sentence} ({arguments})." if arguments else f"{sentence}."
    return PipelineStep(str(step), text, tuple(_facts(spec, before, step.state)))


def _facts(spec: Spec, before: State, after: State) -> Iterator[str]:
    for broker, log in _changed_entries(spec, "log", before, after):
        yield f"log of {show(broker)}: {_shown('log', log)}"
    for name, text in _FACTS.items():
        if name in after.values and before.values[name] != after.values[name]:
            yield f"{text}: {_shown(name, after.values[name])}"
    if before.consumed != after.consumed:
        yield f"read: {_shown('consumed', after.consumed)}"
    for record, count in _changed_entries(spec, "processed", before, after):
        yield f"r{record} processed " + ("twice" if count > 1 else "once")


def _changed_entries(spec: Spec, name: str, before: State, after: State) -> Iterator[tuple[Any, Any]]:
    """Yield the keys of a map whose values differ, with the new values."""
    kind = spec.variables[name]
    assert isinstance(kind, MapType)
    entries = zip(before.values[name].items_in_order(), after.values[name].items_in_order(), strict=True)
    yield from ((key, new) for key, (old, new) in zip(kind.key.values(), entries, strict=True) if old != new)


def _shown(name: str, value: Any) -> str:
    if value is None or (name == "expired" and value == 0):
        return "none"
    if name == "expired":
        return f"r{value}"
    if name in ("leader", "high_watermark", "committed"):
        return show(value)
    items = [value] if name in ("in_hand", "unreported") else list(value)
    texts = [f"r{item}" if name in _RECORDS else show(item) for item in items]
    return ", ".join(texts) or "empty"
