"""Controls: copies of a trace with an event dropped, swapped or altered, to be rejected by a mapping that looks."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from checker.errors import UserError
from traces.validate.events import RecordedEvent, RecordedTrace
from traces.validate.mapping import Mapping, PossibleStep
from traces.validate.validator import Validator

Kind = Literal["dropped", "swapped", "altered"]
KINDS: tuple[Kind, ...] = ("dropped", "swapped", "altered")

_WIDTH = 100


@dataclass(frozen=True)
class Control:
    """A changed copy of a trace: what was done to it, in words, at which line, and why it may conform all the same."""

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
    """What became of the controls of a trace: by kind, how many were tried and rejected; and those that were not.

    `unread` are the fields of events that the mapping never looks at: nothing that is said there is checked.
    """

    tried: dict[Kind, int]
    rejected: dict[Kind, int]
    survivors: tuple[SurvivingControl, ...]
    unread: tuple[str, ...]


def try_controls(validator: Validator, recorded: RecordedTrace, count: int, seed: int) -> ControlResults:
    """Try `count` controls of a trace that conforms, of each kind in turn; the same ones for the same seed."""
    tried, rejected = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    survivors = []
    for control in controls_of(validator.mapping, recorded, count, seed):
        tried[control.kind] += 1
        try:
            outcome = validator.validate(control.recorded)
        except UserError:
            # The mapping itself refuses what the event says.
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
    telling = [n for n, event in enumerate(recorded.events) if mapping.steps_of(event.found) is not None]
    sources = {
        "dropped": _drops(mapping, recorded, telling, generator),
        "swapped": _swaps(mapping, recorded, telling, generator),
        "altered": _alterations(mapping, recorded, telling, generator),
    }
    while count > 0 and sources:
        for kind in list(sources):
            control = next(sources[kind], None)
            if control is None:
                del sources[kind]
            elif count > 0:
                count -= 1
                yield control


def _drops(
    mapping: Mapping, recorded: RecordedTrace, telling: list[int], generator: random.Random
) -> Iterator[Control]:
    # What is left without its last event is a prefix, which a spec always takes.
    for position in generator.sample(telling[:-1], len(telling[:-1])):
        event = recorded.events[position]
        events = (*recorded.events[:position], *recorded.events[position + 1 :])
        is_step = any(step.action is not None for step in mapping.steps_of(event.found) or ())
        excuse = (
            "the spec takes the others without it"
            if is_step
            else "it is no step, and without it less is held against the spec"
        )
        yield _control("dropped", recorded, event, f"without {_text(event)}", excuse, events)


def _swaps(
    mapping: Mapping, recorded: RecordedTrace, telling: list[int], generator: random.Random
) -> Iterator[Control]:
    pairs = list(itertools.pairwise(telling))
    for first, second in generator.sample(pairs, len(pairs)):
        events = list(recorded.events)
        one, other = events[first], events[second]
        if _keys(mapping.steps_of(one.found)) == _keys(mapping.steps_of(other.found)):
            continue
        events[first] = RecordedEvent(one.line, other.found)
        events[second] = RecordedEvent(other.line, one.found)
        change = f"{_text(one)} after {_text(other)}"
        yield _control("swapped", recorded, one, change, "the spec takes the two in either order", tuple(events))


def _alterations(
    mapping: Mapping, recorded: RecordedTrace, telling: list[int], generator: random.Random
) -> Iterator[Control]:
    places = [
        (position, name)
        for position in telling
        for name in sorted(_read_by(mapping, recorded.events[position].found))
        if name != mapping.field
    ]
    for position, name in generator.sample(places, len(places)):
        event = recorded.events[position]
        others = [other.found[name] for other in recorded.events if name in other.found]
        changed = _other_value(event.found[name], others, generator)
        if changed == event.found[name]:
            continue
        found = event.found | {name: changed}
        events = (*recorded.events[:position], RecordedEvent(event.line, found), *recorded.events[position + 1 :])
        change = f"{name} {json.dumps(changed)} instead of {json.dumps(event.found[name])} in {_text(event)}"
        yield _control("altered", recorded, event, change, "another behaviour of the spec", events)


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
    """Return a value of the same kind that differs a little."""
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


class _Watched(dict[str, Any]):
    """An event that remembers which of its fields were read."""

    def __init__(self, found: dict[str, Any]):
        super().__init__(found)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)


def _read_by(mapping: Mapping, found: dict[str, Any]) -> set[str]:
    """Return the fields of an event that the mapping reads and the event has."""
    watched = _Watched(found)
    mapping.steps_of(watched)
    return watched.read & found.keys()


def unread_fields(mapping: Mapping, recorded: RecordedTrace) -> tuple[str, ...]:
    """Return the fields of the events that the mapping never looks at, as `sent.thread`; those of skipped ones not."""
    has: dict[str, set[str]] = {}
    read: dict[str, set[str]] = {}
    for event in recorded.events:
        if mapping.steps_of(event.found) is not None:
            name = mapping.name_of(event.found)
            has.setdefault(name, set()).update(event.found)
            read.setdefault(name, {mapping.field}).update(_read_by(mapping, event.found))
    return tuple(f"{name}.{part}" for name in sorted(has) for part in sorted(has[name] - read[name]))


def _text(event: RecordedEvent) -> str:
    text = json.dumps(event.found)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
