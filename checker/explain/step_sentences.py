"""A sentence for each step of a counterexample: what its action does, with its arguments, and what it changes."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, replace
from typing import Any

from checker.explain.differences import came_and_went, changes
from checker.explain.drawn_expressions import evaluate_text
from checker.explain.message_transfers import MessageTransfer, transfers
from checker.explain.step_effects import EffectKind, StepEffect
from checker.explain.step_events import StepEvent, arguments_by_name, step_event
from checker.language.default_drawing import drawing_of
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.values import show
from checker.printable import quantity
from checker.run.result import ActionCall, TraceStep, Violation

_ORDER: tuple[EffectKind, ...] = ("lost", "appended", "leader", "items", "members", "offset", "value")
"""The order of effects in a sentence. That a lane stops or starts is what the action says."""

_MOST_EFFECTS = 4
"""A sentence lists this many changes, and counts the others."""


@dataclass(frozen=True)
class StepSentence:
    """A step of a counterexample. Step 1 is the initial state; `call` is the action with its arguments."""

    number: int
    call: str
    text: str


def step_sentences(spec: Spec, violation: Violation) -> tuple[StepSentence, ...]:
    """Return a sentence for each step of a violation's trace, the initial state and a failed action included."""
    return tuple(sentence for sentence, _ in describe_steps(spec, violation.trace, violation.failed_action))


def short_story(spec: Spec, violation: Violation) -> tuple[StepSentence, ...]:
    """Return the sentences of the steps that matter.

    These are failures, restarts, elections, truncations, appended records, changes of what a single participant (the
    producer, the controller) has, the steps of a loop, and the last step. If one of them handles a late message, the
    step that sent it belongs to the story too. Of a spec that declares no drawing it is every step.
    """
    described = describe_steps(spec, violation.trace, violation.failed_action)
    shown = {
        sentence.number
        for index, (sentence, event) in enumerate(described)
        if index == len(described) - 1
        or (violation.loop_start is not None and index > violation.loop_start)
        or (index > 0 and (spec.draws is None or event is None or _matters(event)))
    }
    late = _late_messages(spec, violation.trace, described)
    # The last senders first: a sender can handle a late message itself.
    for message in reversed(late):
        if message.arrived in shown:
            shown.add(message.sent)
    return tuple(_with_late_messages(sentence, late) for sentence, _ in described if sentence.number in shown)


def _late_messages(
    spec: Spec, trace: tuple[TraceStep, ...], described: list[tuple[StepSentence, StepEvent | None]]
) -> list[MessageTransfer]:
    """Return the messages that are handled after a failure, restart, truncation or election since they were sent.

    They are in the order of their sending steps.
    """
    signs = [sentence.number for sentence, event in described if event is not None and event.kind]
    return [
        message
        for message in transfers(spec, trace)
        if message.arrived is not None
        and not message.is_lost
        and message.sent > 1
        and any(message.sent < number < message.arrived for number in signs)
    ]


def _with_late_messages(sentence: StepSentence, late: list[MessageTransfer]) -> StepSentence:
    """Return the sentence of a step, followed by a sentence about each late message that the step sends."""
    texts = [
        f"Its message {message.text!r} to {message.target} arrives only in step {message.arrived}."
        for message in late
        if message.sent == sentence.number
    ]
    return replace(sentence, text=" ".join((sentence.text, *texts)))


def first_sentence(text: str) -> str:
    """Return the first sentence of a docstring, on one line."""
    line = " ".join((inspect.cleandoc(text)).split("\n\n")[0].split())
    match = re.match(r".*?[.!?](?=\s|$)(?!\s[a-z])", line)
    return match.group() if match else line


def summary_of(spec: Spec, name: str) -> str:
    """Return the first sentence of the docstring of a method of a spec, "" if it has none or there is no method."""
    method = getattr(type(spec), name, None)
    # From Python 3.13 on, None has a docstring.
    return first_sentence(method.__doc__ or "") if method is not None else ""


def _matters(event: StepEvent) -> bool:
    return (
        bool(event.kind)
        or event.is_named
        or any(
            effect.kind in ("lost", "appended", "leader") or (effect.kind in ("items", "members") and effect.is_single)
            for effect in event.effects
        )
    )


def describe_steps(
    spec: Spec, trace: tuple[TraceStep, ...], failed: ActionCall | None = None, start: str = ""
) -> list[tuple[StepSentence, StepEvent | None]]:
    """Return the sentence and the event of each step of a trace.

    The event is None for the initial state, for a failed action, and without a drawing. `start` is the sentence of the
    first state, if that is not an initial state: the sentence of `init` does not describe it.
    """
    described: list[tuple[StepSentence, StepEvent | None]] = []
    drawing = drawing_of(spec)
    lost: dict[int, list[str]] = {}
    for found_message in transfers(spec, trace):
        if found_message.is_lost and found_message.arrived is not None:
            ends = f"from {found_message.source} to {found_message.target}"
            lost.setdefault(found_message.arrived, []).append(f"the message {found_message.text!r} {ends} is lost")
    for number, step in enumerate(trace, 1):
        if step.action is None:
            described.append((StepSentence(number, str(step), start or _initial_sentence(spec, step.state)), None))
            continue
        before = trace[number - 2].state
        event = step_event(spec, drawing, before, step) if drawing is not None else None
        is_declared = spec.draws is not None and bool(spec.draws.event_of(step.action).says)
        clause = _action_clause(spec, before, ActionCall(step.action, step.arguments))
        effects = _effect_texts(event, clause, is_declared) if event is not None else _changes(spec, before, step.state)
        text = _sentence(clause, [*lost.get(number, []), *effects])
        described.append((StepSentence(number, str(step), text), event))
    if failed is not None and trace:
        clause = _action_clause(spec, trace[-1].state, failed)
        described.append(
            (StepSentence(len(trace) + 1, str(failed), f"{clause}: it leaves the bounds of a type."), None)
        )
    return described


def _initial_sentence(spec: Spec, state: State) -> str:
    """Return the declared sentence of `init`, or the first one of its docstring in the spec's class or a base class."""
    declared = spec.draws.event_of("init").says if spec.draws is not None else ""
    if declared:
        with spec.bound():
            said = evaluate_text(spec, declared, state, {})
        if said:
            return f"{said}."
    return summary_of(spec, "init") or "The initial state."


def _sentence(clause: str, effects: list[str]) -> str:
    if len(effects) > _MOST_EFFECTS + 1:
        effects = [*effects[:_MOST_EFFECTS], quantity(len(effects) - _MOST_EFFECTS, "other change")]
    return f"{clause}{': ' if effects else ''}{'; '.join(effects)}."


def _effect_texts(event: StepEvent, clause: str, is_declared: bool) -> list[str]:
    """Return the effects of a step; a declared sentence adds only those of logs, leaders and members, and gains."""
    shown = [
        effect
        for effect in event.effects
        if effect.kind in _ORDER
        and (not is_declared or _completes_a_sentence(effect))
        and not effect.is_said_by(clause)
    ]
    return [effect.text for effect in sorted(shown, key=lambda effect: _ORDER.index(effect.kind))]


def _completes_a_sentence(effect: StepEffect) -> bool:
    """Return whether an effect follows a declared sentence."""
    if effect.kind in ("items", "value"):
        return effect.is_gain
    return effect.kind != "members" or effect.is_single


def _changes(spec: Spec, before: State, after: State) -> list[str]:
    """Return the differences of a step of a spec without a drawing."""
    texts = []
    for change in changes(spec, before, after):
        items = came_and_went(change)
        if items is not None:
            texts.append(" ".join((items.path, *filter(None, items.texts))))
        else:
            texts.append(f"{change.path} {show(change.before)} → {show(change.after)}")
    return texts


def _action_clause(spec: Spec, before: State, call: ActionCall) -> str:
    """Return what an action does as a clause without a full stop: as the drawing declares, or by its docstring."""
    given = arguments_by_name(spec, call.action, call.arguments)
    declared = spec.draws.event_of(call.action).says if spec.draws is not None else ""
    if declared:
        with spec.bound():
            said = evaluate_text(spec, declared, before, given)
        if said:
            return said
    text = summary_of(spec, call.action)
    clause = _clause(text) if text else call.action.replace("_", " ")
    left = []
    choices = {parameter.name: parameter.choices for parameter in spec.parameters_of(call.action)}
    for name, value in given.items():
        named = _with_argument(clause, _nouns(spec, name, value), value)
        # An argument without an alternative says nothing.
        if named is None and choices[name] > 1:
            left.append(f"{name.replace('_', ' ')} {show(value)}")
        clause = named or clause
    return f"{clause} ({', '.join(left)})" if left else clause


def _clause(text: str) -> str:
    """Return the first clause of a sentence: conditions and sources follow it."""
    return re.split(r"[;:](?=\s)|\.(?=\s|$)", text)[0].strip()


def _nouns(spec: Spec, name: str, value: Any) -> list[str]:
    """Return the words by which a docstring may refer to an argument: the parameter, its type, its lane."""
    nouns = [name.replace("_", " ")]
    if not isinstance(value, (bool, int)):
        kind = type(value).__name__
        nouns.append(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower())
        lanes = spec.draws.lanes if spec.draws is not None else ()
        nouns += [lane.title for lane in lanes if getattr(lane.each, "__name__", "") == kind]
    return nouns


def _with_argument(clause: str, nouns: list[str], value: Any) -> str | None:
    """Return a clause with an argument in the place of its noun ("A broker restarts"); None if no noun is found."""
    for noun in nouns:
        match = re.search(
            rf"\b(?:an?|the)\s+{re.escape(noun)}\b(?=(\s+(?:that|which|of|with)\b)?)", clause, re.IGNORECASE
        )
        if match is None:
            continue
        is_number = isinstance(value, int)
        if match.group(1):
            text = f"{'The' if match.start() == 0 else 'the'} {noun} {show(value)}"
        else:
            text = f"{noun} {show(value)}" if is_number else show(value)
        return clause[: match.start()] + text + clause[match.end() :]
    return None
