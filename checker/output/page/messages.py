"""Messages between the lanes of a drawing: in which step each was sent, and in which it arrived or was lost."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from checker.errors import BoundsError, InputError
from checker.language.drawing import Arrow, Channel, Drawing
from checker.language.spec import Spec
from checker.language.types import MapType
from checker.language.values import show
from checker.output.page.lane_owners import LaneOwner, is_of, places_of
from checker.run.result import TraceStep


@dataclass(frozen=True)
class MessageFlight:
    """A message: its lanes, the steps in which it was sent and in which it arrived (None: it is still under way)."""

    text: str
    source: str
    target: str
    sent: int
    arrived: int | None
    is_lost: bool = False


@dataclass(frozen=True)
class _Message:
    """A message in a channel: its text, and whether it is on its way back."""

    text: str
    is_answer: bool = False


@dataclass(frozen=True)
class _Open:
    """A message under way, and the step in which it was sent."""

    message: _Message
    sent: int


def flights(spec: Spec, trace: tuple[TraceStep, ...]) -> list[MessageFlight]:
    """Return every message of a trace that the spec's drawing knows of, by the step in which it was sent."""
    drawing = spec.draws
    if drawing is None:
        return []
    with spec.bound():
        places = places_of(spec, drawing)
        found = [flight for channel in drawing.channels for flight in _of_channel(spec, channel, places, trace)]
        found += _of_arrows(spec, drawing, places, trace)
    return sorted(found, key=lambda flight: (flight.sent, flight.arrived or len(trace) + 1))


def _of_channel(
    spec: Spec, channel: Channel, places: list[LaneOwner], trace: tuple[TraceStep, ...]
) -> Iterator[MessageFlight]:
    kind = spec.variables[channel.name]
    keys: list[Any] = list(kind.key.values()) if isinstance(kind, MapType) else [None]
    for key in keys:
        values = [step.state.values[channel.name] for step in trace]
        contents = [_messages(value[key] if isinstance(kind, MapType) else value, channel) for value in values]
        source, target = (_title(title, key, places) for title in (channel.source, channel.target))
        yield from _followed(contents, trace, source, target, channel.lost)


def _messages(value: Any, channel: Channel) -> list[_Message]:
    items = [] if value is None else list(value) if hasattr(value, "__iter__") else [value]
    return [_Message(show(item), bool(channel.answered and item.field(channel.answered))) for item in items]


def _title(title: str, key: Any, places: list[LaneOwner]) -> str:
    """Return the lane that an end of a channel means: the one of the map's key, where there is one."""
    for place in places:
        if place.lane.title == title and is_of(place, key):
            return place.title
    return title


def _followed(
    contents: list[list[_Message]], trace: tuple[TraceStep, ...], source: str, target: str, lost: tuple[str, ...]
) -> Iterator[MessageFlight]:
    """Follow each message of one channel from the step in which it appears to the one in which it is gone."""

    def flight(found: _Open, arrived: int | None, is_lost: bool = False) -> MessageFlight:
        ends = (target, source) if found.message.is_answer else (source, target)
        return MessageFlight(found.message.text, *ends, found.sent, arrived, is_lost)

    under_way = [_Open(message, 1) for message in contents[0]]
    for number, new in enumerate(contents[1:], 2):
        old = [found.message for found in under_way]
        still: list[_Open] = []
        for what, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
            if what == "equal":
                still += under_way[start:end]
                continue
            for found in under_way[start:end]:
                yield flight(found, number, trace[number - 1].action in lost)
            still += [_Open(message, number) for message in new[new_start:new_end]]
        under_way = still
    for found in under_way:
        yield flight(found, None)


def _of_arrows(
    spec: Spec, drawing: Drawing, places: list[LaneOwner], trace: tuple[TraceStep, ...]
) -> Iterator[MessageFlight]:
    for number in range(2, len(trace) + 1):
        for arrow in drawing.arrows:
            if arrow.action == trace[number - 1].action:
                flight = _of_arrow(spec, arrow, places, trace, number)
                if flight is not None:
                    yield flight


def _of_arrow(
    spec: Spec, arrow: Arrow, places: list[LaneOwner], trace: tuple[TraceStep, ...], number: int
) -> MessageFlight | None:
    step = trace[number - 1]
    parameters = [parameter.name for parameter in spec.parameters_of(arrow.action)]
    given = dict(zip(parameters, step.arguments, strict=True))
    before = trace[number - 2]
    ends = [_end(_value(spec, end, before, given), places) for end in (arrow.source, arrow.target)]
    if None in ends or ends[0] == ends[1]:
        return None
    text = str(_value(spec, f"f{arrow.says!r}", before, given)) if arrow.says else arrow.action
    sent = _appeared(spec, arrow.since, trace, number, given) if arrow.since else number
    return MessageFlight(text, ends[0] or "", ends[1] or "", sent, number)


def _appeared(spec: Spec, since: str, trace: tuple[TraceStep, ...], number: int, given: dict[str, Any]) -> int:
    """Return the step in which an expression got the value that it has before step `number`."""
    value = _value(spec, since, trace[number - 2], given)
    sent = number - 1
    while sent > 1:
        try:
            if _value(spec, since, trace[sent - 2], given) != value:
                break
        except BoundsError:
            break
        sent -= 1
    return sent


def _value(spec: Spec, expression: str, step: TraceStep, given: dict[str, Any]) -> Any:
    working = spec.in_state(step.state)
    names = {name: getattr(working, name) for name in (*spec.variables, *spec.constants)}
    try:
        return eval(expression, {"__builtins__": {}, "len": len, "min": min, "max": max, **names, **given})
    except (NameError, SyntaxError, AttributeError) as error:
        raise InputError(f"{spec.name}.draws: {expression} cannot be evaluated: {error}") from None


def _end(value: Any, places: list[LaneOwner]) -> str | None:
    if isinstance(value, str):
        return value
    return next((place.title for place in places if is_of(place, value)), None)
