"""Controls: copies of a trace with an event dropped, swapped or altered, which validation should reject."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from checker.errors import UserError
from traces.validate.events import RecordedEvent, RecordedTrace
from traces.validate.mapping import Mapping, PossibleStep
from traces.validate.verdict import TraceVerdict

Kind = Literal["dropped", "swapped", "altered"]
KINDS: tuple[Kind, ...] = ("dropped", "swapped", "altered")

_WIDTH = 100


@dataclass(frozen=True)
class Control:
    """A changed copy of a trace: the change as text, its line, and a reason why the copy may still conform."""

    kind: Kind
    line: int
    change: str
    excuse: str
    recorded: RecordedTrace


@dataclass(frozen=True)
class SurvivingControl:
    """A control that was not rejected."""

    kind: Kind
    line: int
    change: str
    why: str


@dataclass(frozen=True)
class ControlResults:
    """The results of the controls of a trace: the numbers tried and rejected by kind, and those not rejected.

    `unread` are the fields of events that the mapping never reads: validation does not check their values.
    """

    tried: dict[Kind, int]
    rejected: dict[Kind, int]
    survivors: tuple[SurvivingControl, ...]
    unread: tuple[str, ...]


class Validating(Protocol):
    """What validates the controls."""

    mapping: Mapping

    def validate(self, recorded: RecordedTrace) -> TraceVerdict:
        """Return the verdict on a trace; raise InputError if the mapping fails."""


def try_controls(validator: Validating, recorded: RecordedTrace, count: int, seed: int) -> ControlResults:
    """Try `count` controls of a conforming trace, of each kind in turn; equal seeds give equal controls."""
    tried, rejected = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    survivors = []
    for control in controls_of(validator.mapping, recorded, count, seed):
        tried[control.kind] += 1
        try:
            outcome = validator.validate(control.recorded)
        except UserError:
            # The mapping itself rejects the event.
            rejected[control.kind] += 1
            continue
        if outcome.verdict == "rejected":
            rejected[control.kind] += 1
        else:
            why = (
                control.excuse if outcome.verdict == "conforms" else f"undecided ({', '.join(sorted(outcome.limits))})"
            )
            survivors.append(SurvivingControl(control.kind, control.line, control.change, why))
    return ControlResults(tried, rejected, tuple(survivors), unread_fields(validator.mapping, recorded))


def controls_of(mapping: Mapping, recorded: RecordedTrace, count: int, seed: int) -> Iterator[Control]:
    """Iterate over at most `count` different controls of a trace, of each kind in turn."""
    generator = random.Random(f"{seed} {recorded.name}")
    mapped = [n for n, event in enumerate(recorded.events) if mapping.steps_of(event.found) is not None]
    sources = {
        "dropped": _drops(mapping, recorded, mapped, generator),
        "swapped": _swaps(mapping, recorded, mapped, generator),
        "altered": _alterations(mapping, recorded, mapped, generator),
    }
    while count > 0 and sources:
        for kind in list(sources):
            control = next(sources[kind], None)
            if control is None:
                del sources[kind]
            elif count > 0:
                count -= 1
                yield control


def _drops(mapping: Mapping, recorded: RecordedTrace, mapped: list[int], generator: random.Random) -> Iterator[Control]:
    # Without its last event, a conforming trace is a prefix of itself, which conforms too.
    for position in generator.sample(mapped[:-1], len(mapped[:-1])):
        event = recorded.events[position]
        events = (*recorded.events[:position], *recorded.events[position + 1 :])
        is_step = any(step.action is not None for step in mapping.steps_of(event.found) or ())
        excuse = (
            "the spec allows the other events without it"
            if is_step
            else "it is an observation, and without it validation checks less"
        )
        yield _control("dropped", recorded, event, f"without {_text(event)}", excuse, events)


def _swaps(mapping: Mapping, recorded: RecordedTrace, mapped: list[int], generator: random.Random) -> Iterator[Control]:
    pairs = list(itertools.pairwise(mapped))
    for first, second in generator.sample(pairs, len(pairs)):
        events = list(recorded.events)
        one, other = events[first], events[second]
        if _keys(mapping.steps_of(one.found)) == _keys(mapping.steps_of(other.found)):
            continue
        events[first] = RecordedEvent(one.line, other.found)
        events[second] = RecordedEvent(other.line, one.found)
        change = f"{_text(one)} after {_text(other)}"
        yield _control("swapped", recorded, one, change, "the spec allows both orders", tuple(events))


def _alterations(
    mapping: Mapping, recorded: RecordedTrace, mapped: list[int], generator: random.Random
) -> Iterator[Control]:
    read = _reads(mapping, recorded)
    places = [(position, name) for position in mapped for name in sorted(read[position]) if name != mapping.field]
    for position, name in generator.sample(places, len(places)):
        event = recorded.events[position]
        others = [other.found[name] for other in recorded.events if name in other.found]
        changed = _other_value(event.found[name], others, generator)
        if changed == event.found[name]:
            continue
        fields = event.found | {name: changed}
        events = (*recorded.events[:position], RecordedEvent(event.line, fields), *recorded.events[position + 1 :])
        change = f"{name} {json.dumps(changed)} instead of {json.dumps(event.found[name])} in {_text(event)}"
        yield _control("altered", recorded, event, change, "the spec allows this value too", events)


def _control(
    kind: Kind,
    recorded: RecordedTrace,
    event: RecordedEvent,
    change: str,
    excuse: str,
    events: tuple[RecordedEvent, ...],
) -> Control:
    return Control(kind, event.line, change, excuse, dataclasses.replace(recorded, events=events))


def _keys(steps: tuple[PossibleStep, ...] | None) -> list[str]:
    return [step.key for step in steps or ()]


def _other_value(value: Any, others: list[Any], generator: random.Random) -> Any:
    """Return a slightly different value of the same kind."""
    match value:
        case bool():
            return not value
        case int():
            return value + generator.choice([-1, 1]) if value > 0 else value + 1
        case list():
            return _other_list(value, generator)
        case dict() if value:
            name = generator.choice(sorted(value))
            return value | {name: _other_value(value[name], [], generator)}
    different = sorted(
        {json.dumps(other) for other in others if other != value and not isinstance(other, (list, dict))}
    )
    if different:
        return json.loads(generator.choice(different))
    return f"{value}'" if isinstance(value, str) else 0


def _other_list(value: list[Any], generator: random.Random) -> list[Any]:
    changed = copy.deepcopy(value)
    ways = ["longer"] if not value else ["longer", "shorter", "other"]
    if any(first != second for first, second in itertools.pairwise(value)):
        ways.append("order")
    match generator.choice(ways):
        case "longer":
            changed.append(copy.deepcopy(value[-1]) if value else 0)
        case "shorter":
            del changed[generator.randrange(len(changed))]
        case "other":
            position = generator.randrange(len(changed))
            changed[position] = _other_value(changed[position], [], generator)
        case "order":
            position = generator.choice([n for n in range(len(value) - 1) if value[n] != value[n + 1]])
            changed[position], changed[position + 1] = changed[position + 1], changed[position]
    return changed


class _ReadRecorder(dict[str, Any]):
    """An event that records which of its fields are read."""

    def __init__(self, fields: dict[str, Any]):
        super().__init__(fields)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)


def _reads(mapping: Mapping, recorded: RecordedTrace) -> list[set[str]]:
    """Return the fields of each event that the mapping reads and the event contains."""
    consistency = mapping.consistency()
    events = [_ReadRecorder(event.found) for event in recorded.events]
    for watched in events:
        mapping.steps_of(watched)
        mapping.contradiction(consistency, watched)
    return [watched.read & watched.keys() for watched in events]


def unread_fields(mapping: Mapping, recorded: RecordedTrace) -> tuple[str, ...]:
    """Return the fields that the mapping neither reads nor names unused, as `sent.thread`; not of skipped events."""
    has: dict[str, set[str]] = {}
    read: dict[str, set[str]] = {}
    for event, fields in zip(recorded.events, _reads(mapping, recorded), strict=True):
        if mapping.steps_of(event.found) is not None:
            name = mapping.name_of(event.found)
            has.setdefault(name, set()).update(event.found)
            read.setdefault(name, {mapping.field, *mapping.unused}).update(fields)
    unread = [f"{name}.{part}" for name in sorted(has) for part in sorted(has[name] - read[name])]
    return tuple(field for field in unread if field not in mapping.unused)


def _text(event: RecordedEvent) -> str:
    text = json.dumps(event.found)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
