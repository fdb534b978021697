"""The steps of a counterexample that decide it: the one that violates, and the one without which it does not happen."""

from __future__ import annotations

from dataclasses import dataclass

from checker.explain.step_events import step_event
from checker.explain.step_sentences import StepSentence, step_sentences
from checker.language.drawing import EventKind
from checker.language.spec import Spec
from checker.run.result import Violation
from traces.schedule import Executor, Target, calls_of

FAULTS: frozenset[EventKind] = frozenset(
    {"crash", "power loss", "shutdown", "disconnect", "timeout", "lost state", "refusal"}
)
"""The kinds of events that the protocol must tolerate."""

_LOSSES: frozenset[EventKind] = frozenset({"power loss", "truncation", "lost state"})


@dataclass(frozen=True)
class TurningPoints:
    """The decisive steps of a counterexample; `enabling` is None if no earlier step is necessary.

    `fault` is the kind of the enabling step if that is a fault.
    """

    enabling: StepSentence | None
    violating: StepSentence | None
    fault: EventKind = ""


def turning_points(spec: Spec, violation: Violation) -> TurningPoints:
    """Return the decisive steps of a violation that has a trace.

    The violating step is the last one. The enabling step is found by counterfactuals: each earlier step is left out and
    the rest is replayed, without the steps that are then disabled. Of the steps without which the violation vanishes,
    those that lose data come first, then faults, then all others; of equals it is the one without which most of the
    rest happens, and the last of these.
    """
    sentences = step_sentences(spec, violation)
    if len(sentences) < 2:
        return TurningPoints(None, None)
    calls, kinds = calls_of(violation), _kinds(spec, violation)
    executor = Executor(spec, Target.of(violation), violation.trace[0].state)
    necessary = []
    for at in range(len(calls) - 1):
        rest = calls[:at] + calls[at + 1 :]
        if executor.violating(rest) is None:
            kind = kinds.get(at + 2, "")
            necessary.append((kind in _LOSSES, kind in FAULTS, executor.enabled_steps(rest), at + 2))
    number = max(necessary)[-1] if necessary else 0
    enabling = next((sentence for sentence in sentences[1:-1] if sentence.number == number), None)
    return TurningPoints(enabling, sentences[-1], faults_of(spec, violation).get(number, ""))


def faults_of(spec: Spec, violation: Violation) -> dict[int, EventKind]:
    """Return the kinds of the steps of a trace that the spec's drawing shows as faults, by the number of the step."""
    return {number: kind for number, kind in _kinds(spec, violation).items() if kind in FAULTS}


def _kinds(spec: Spec, violation: Violation) -> dict[int, EventKind]:
    drawing, trace = spec.draws, violation.trace
    if drawing is None:
        return {}
    return {
        number: step_event(spec, drawing, trace[number - 2].state, trace[number - 1]).kind
        for number in range(2, len(trace) + 1)
    }
