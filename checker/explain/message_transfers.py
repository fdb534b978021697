"""Messages between the lanes of a drawing, with the steps in which they were sent, and received or lost."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checker.explain.drawn_expressions import evaluate_or_none, evaluate_text
from checker.explain.lane_owners import LaneOwner, is_of, lane_owners
from checker.explain.step_events import arguments_by_name, lane_title
from checker.language.default_drawing import drawing_of
from checker.language.drawing import Arrow, Channel
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.types import MapType, OptionType
from checker.language.values import show
from checker.run.result import TraceStep


@dataclass(frozen=True)
class MessageTransfer:
    """A message: the titles of its lanes, the step that sent it, and the step that removed it from its channel.

    `arrived` is None if the message is still in flight at the end of the trace.
    """

    text: str
    source: str
    target: str
    sent: int
    arrived: int | None
    is_lost: bool = False


@dataclass(frozen=True)
class _Message:
    """A message in a channel; `is_answer`: it travels from the target of the channel to the source."""

    text: str
    is_answer: bool = False


@dataclass(frozen=True)
class _InFlight:
    """A message in flight, and the step in which it was sent."""

    message: _Message
    sent: int


def transfers(spec: Spec, trace: tuple[TraceStep, ...]) -> list[MessageTransfer]:
    """Return the messages of a trace that the spec's drawing declares, in the order of their sending steps."""
    drawing = drawing_of(spec)
    if drawing is None:
        return []
    with spec.bound():
        owners = lane_owners(spec, drawing)
        all_transfers = [
            transfer for channel in drawing.channels for transfer in _of_channel(spec, channel, owners, trace)
        ]
        slots: dict[tuple[str, str], list[Arrow]] = {}
        for arrow in drawing.arrows:
            slot = _slot(spec, arrow)
            if slot is None:
                all_transfers += _of_arrow_steps(spec, arrow, owners, trace)
            else:
                slots.setdefault(slot, []).append(arrow)
        for (variable, parameter), arrows in slots.items():
            all_transfers += _of_slot(spec, _Slot(variable, parameter, tuple(arrows)), owners, trace)
    return sorted(all_transfers, key=lambda transfer: (transfer.sent, transfer.arrived or len(trace) + 1))


def _of_channel(
    spec: Spec, channel: Channel, owners: list[LaneOwner], trace: tuple[TraceStep, ...]
) -> Iterator[MessageTransfer]:
    kind = spec.variables[channel.name]
    keys: list[Any] = list(kind.key.values()) if isinstance(kind, MapType) else [None]
    for key in keys:
        values = [(step.state, step.state.values[channel.name]) for step in trace]
        contents = [
            [
                # The older messages first, so that a message that moves keeps its place.
                *(_messages(spec, state.values[channel.delayed], channel, state) if channel.delayed else ()),
                *_messages(spec, value[key] if isinstance(kind, MapType) else value, channel, state),
            ]
            for state, value in values
        ]
        source, target = (_title(title, key, owners) for title in (channel.source, channel.target))
        yield from _follow(contents, trace, source, target, channel.lost)


def _messages(spec: Spec, value: Any, channel: Channel, state: State) -> list[_Message]:
    items = [] if value is None else list(value) if hasattr(value, "__iter__") else [value]
    texts = [
        evaluate_text(spec, channel.says, state, {"message": item}) if channel.says else show(item) for item in items
    ]
    answered = [bool(channel.answered and item.field(channel.answered)) for item in items]
    return [_Message(text, is_answer) for text, is_answer in zip(texts, answered, strict=True)]


def _title(title: str, key: Any, owners: list[LaneOwner]) -> str:
    """Return the title of the lane at an end of a channel; for a map of channels it is the lane of the key."""
    for owner in owners:
        if owner.lane.title == title and is_of(owner, key):
            return owner.title
    return title


def _follow(
    contents: list[list[_Message]], trace: tuple[TraceStep, ...], source: str, target: str, lost: tuple[str, ...]
) -> Iterator[MessageTransfer]:
    """Follow each message of one channel from the step that adds it to the step that removes it.

    `contents` are the messages of the channel in each state of the trace, `lost` the actions that lose messages.
    """

    def transfer(sent_message: _InFlight, arrived: int | None, is_lost: bool = False) -> MessageTransfer:
        ends = (target, source) if sent_message.message.is_answer else (source, target)
        return MessageTransfer(sent_message.message.text, *ends, sent_message.sent, arrived, is_lost)

    in_flight = [_InFlight(message, 1) for message in contents[0]]
    for number, new in enumerate(contents[1:], 2):
        old = [sent_message.message for sent_message in in_flight]
        still: list[_InFlight] = []
        for edit, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
            if edit == "equal":
                still += in_flight[start:end]
                continue
            for sent_message in in_flight[start:end]:
                yield transfer(sent_message, number, trace[number - 1].action in lost)
            still += [_InFlight(message, number) for message in new[new_start:new_end]]
        in_flight = still
    for sent_message in in_flight:
        yield transfer(sent_message, None)


def _of_arrow_steps(
    spec: Spec, arrow: Arrow, owners: list[LaneOwner], trace: tuple[TraceStep, ...]
) -> Iterator[MessageTransfer]:
    for number in range(2, len(trace) + 1):
        if arrow.action == trace[number - 1].action:
            transfer = _of_arrow(spec, arrow, owners, trace, number)
            if transfer is not None:
                yield transfer


@dataclass(frozen=True)
class _Slot:
    """A place of messages: an Option, or a map of options of which the key is the argument `parameter`.

    The action of each of the `arrows` receives the message.
    """

    variable: str
    parameter: str
    arrows: tuple[Arrow, ...]


def _slot(spec: Spec, arrow: Arrow) -> tuple[str, str] | None:
    """Return the variable and the parameter of the place in which a message waits, None if `since` is another one."""
    match = re.fullmatch(r"(\w+)(?:\[(\w+)\])?", arrow.since)
    if match is None:
        return None
    name, key = match.group(1), match.group(2) or ""
    kind = spec.variables.get(name)
    if key:
        kind = kind.value if isinstance(kind, MapType) else None
        if key not in [parameter.name for parameter in spec.parameters_of(arrow.action)]:
            return None
    return (name, key) if isinstance(kind, OptionType) else None


def _of_slot(
    spec: Spec, slot: _Slot, owners: list[LaneOwner], trace: tuple[TraceStep, ...]
) -> Iterator[MessageTransfer]:
    """Follow the messages in a place: the action of an arrow receives one, any other change loses it."""
    kind = spec.variables[slot.variable]
    keys: list[Any] = list(kind.key.values()) if isinstance(kind, MapType) and slot.parameter else [None]
    for key in keys:
        values = [step.state.values[slot.variable] for step in trace]
        contents = [value[key] if slot.parameter else value for value in values]
        given = {slot.parameter: key} if slot.parameter else {}
        sent, is_handled = 1, False
        for number, (old, new) in enumerate(itertools.pairwise(contents), 2):
            arrow = _receiver_of(spec, slot, trace[number - 1], key)
            is_received = arrow is not None
            # The sender may keep a request after it was handled: it waits for the answer.
            if old is not None and not is_handled and (is_received or old != new):
                steps = (sent, number, not is_received)
                yield from _in_slot(spec, arrow or slot.arrows[0], owners, trace[number - 2].state, given, steps)
            is_handled = old == new and (is_handled or is_received)
            sent = number if old != new else sent
        if contents[-1] is not None and not is_handled:
            yield from _in_slot(spec, slot.arrows[0], owners, trace[-1].state, given, (sent, None, False))


def _receiver_of(spec: Spec, slot: _Slot, step: TraceStep, key: Any) -> Arrow | None:
    """Return the arrow of a step that receives the message for a key, None if the step does not receive it."""
    for arrow in slot.arrows:
        if step.action == arrow.action and (
            not slot.parameter or arguments_by_name(spec, arrow.action, step.arguments)[slot.parameter] == key
        ):
            return arrow
    return None


def _in_slot(
    spec: Spec,
    arrow: Arrow,
    owners: list[LaneOwner],
    state: State,
    given: dict[str, Any],
    steps: tuple[int, int | None, bool],
) -> Iterator[MessageTransfer]:
    """Yield the transfer of a message in a state; `steps` are those that send and remove it, and whether it is lost."""
    source, target = (
        lane_title(evaluate_or_none(spec, end, state, given), owners) for end in (arrow.source, arrow.target)
    )
    if source and target and source != target:
        text = evaluate_text(spec, arrow.says, state, given) or arrow.action.replace("_", " ")
        yield MessageTransfer(text, source, target, *steps)


def _of_arrow(
    spec: Spec, arrow: Arrow, owners: list[LaneOwner], trace: tuple[TraceStep, ...], number: int
) -> MessageTransfer | None:
    step = trace[number - 1]
    given = arguments_by_name(spec, arrow.action, step.arguments)
    before = trace[number - 2]
    ends = [
        lane_title(evaluate_or_none(spec, end, before.state, given), owners) for end in (arrow.source, arrow.target)
    ]
    if "" in ends or ends[0] == ends[1]:
        return None
    text = evaluate_text(spec, arrow.says, before.state, given) or arrow.action
    sent = _step_of_value(spec, arrow.since, trace, number, given) if arrow.since else number
    return MessageTransfer(text, ends[0], ends[1], sent, number)


def _step_of_value(spec: Spec, since: str, trace: tuple[TraceStep, ...], number: int, given: dict[str, Any]) -> int:
    """Return the step that gave an expression the value that it has in the state before step `number`."""
    value = evaluate_or_none(spec, since, trace[number - 2].state, given)
    sent = number - 1
    while sent > 1:
        if evaluate_or_none(spec, since, trace[sent - 2].state, given) != value:
            break
        sent -= 1
    return sent
