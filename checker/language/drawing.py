"""Drawings of specs: the lanes, logs, messages and arrows that counterexample pages draw.

A spec declares one with `draws = Drawing(...)`. It does not change the meaning of the spec. Pages of other specs show
the default drawing (`checker.language.default_drawing`), or tables of the variables.

A *name* is a state variable (`quorum`), a path into one (`quorum.leader`), or a helper of the spec. In a lane for each
value of a type, a `Map` over that type gives the value of the lane's member, and a helper is called with that member.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from checker.errors import SpecError

EventKind = Literal[
    "", "crash", "power loss", "shutdown", "restart", "disconnect", "truncation", "election", "timeout", "lost state",
    "refusal", "abort", "new epoch",
]  # fmt: skip
"""The kinds of events that have a sign of their own on pages, and are in every story; "" is any other step."""


def _items(what: str, items: Any, kind: type) -> tuple[Any, ...]:
    """Return a tuple of parts of a drawing; raise SpecError if one is something else."""
    if not isinstance(items, (tuple, list)) or not all(isinstance(item, kind) for item in items):
        raise SpecError(f"{what}: write a tuple of {kind.__name__}(...), not {items!r}")
    return tuple(items)


@dataclass(frozen=True)
class Log:
    """A sequence, drawn as cells on a ruler of offsets that all lanes share.

    `markers` maps names of offsets to their labels on the ruler: `{"high_watermark": "HW"}`. Cells below the first
    marker are drawn as committed, the others are hatched. `end` is the label of the log end offset. `colour` is the
    field of an item that determines the colour of its cell, such as the leader epoch; "." is the item itself.
    `at` lists the variables by which properties refer to an offset of this log: the page marks the offset at which a
    property fails. `called` lists the variables by which they refer to the coloured value of an item, or to a field of
    it, as in "record=id": the page follows the item for which a property fails.
    """

    name: str
    title: str = ""
    markers: Mapping[str, str] = field(default_factory=dict)
    end: str = "LEO"
    colour: str = ""
    at: tuple[str, ...] = ("offset",)
    called: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.markers, Mapping):
            raise SpecError(
                f'markers of a Log is {self.markers!r}: write a mapping to labels, markers={{"end": "END"}}'
            )


@dataclass(frozen=True)
class Lane:
    """A lane with a title or, with `each`, a lane for every value of a type.

    `logs` are sequences on the ruler. The other arguments map names to titles. `boxes` are sequences, sets and bags,
    drawn as rows of boxes. `members` are sets of values that have lanes, drawn as a bracket over these lanes. `crowned`
    marks the leader: a bool or a helper of the lane, or a variable with the leading member. `facts` are values as text.
    `alive` names a bool, a helper of the lane, or a set of members: while it is false, or the member is not in the set,
    the lane is drawn as stopped. A step that changes it is a crash or a restart.
    """

    title: str
    each: Any = None
    logs: tuple[Log, ...] = ()
    boxes: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, str] = field(default_factory=dict)
    crowned: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    alive: str = ""

    def __post_init__(self) -> None:
        for name in ("boxes", "members", "crowned", "facts"):
            if not isinstance(getattr(self, name), Mapping):
                titles = getattr(self, name)
                raise SpecError(
                    f'{name} of a Lane is {titles!r}: write a mapping to titles, {name}={{"leader": "leader"}}'
                )
        object.__setattr__(self, "logs", _items("logs of a Lane", self.logs, Log))

    def names(self) -> Iterator[str]:
        """Iterate over the names that this lane refers to."""
        for log in self.logs:
            yield log.name
            yield from log.markers
        yield from (*self.boxes, *self.members, *self.crowned, *self.facts, *([self.alive] if self.alive else []))


@dataclass(frozen=True)
class Channel:
    """A sequence, set or bag of messages in transit, or a `Map` of those over the type of a lane.

    `source` and `target` are titles of lanes; of lanes for each key of the map, the key's lane is meant. A message is
    sent in the step in which it appears, and received in the step in which it disappears, or lost if the action of that
    step is in `lost`. `delayed` names a sequence of messages that are still in transit, of closed connections for
    example: a message that moves there is neither received nor lost. `answered` names a bool field of the messages that
    is true for messages on the way back. `says` is the label of a message, an f-string over `message`.
    """

    name: str
    source: str
    target: str
    lost: tuple[str, ...] = ()
    delayed: str = ""
    answered: str = ""
    says: str = ""


@dataclass(frozen=True)
class Arrow:
    """A flow between two lanes in a step of `action`.

    `source` and `target` are expressions over the action's parameters and the state before the step. Their values are
    members that have lanes, or titles of lanes in quotes. `says` is the label, an f-string over the same names. `since`
    is an expression for a message that was sent earlier: the arrow begins in the step in which it got its value. If the
    variable in `since` is an `Option` or a map of options, a step of another action that changes the value loses the
    message.
    """

    action: str
    source: str
    target: str
    says: str = ""
    since: str = ""


@dataclass(frozen=True)
class Event:
    """How a step of `action` is described and marked.

    `says` is its sentence and `label` its name on the chart: f-strings over the action's parameters and the state
    before the step, without the full stop. `at` is an expression for the lane, as in `Arrow`. `kind` selects the sign;
    with braces it is an f-string too, such as `"{'refusal' if is_full else ''}"`. The default of each is inferred: the
    docstring, the name of the action, the lane of an argument, and a kind from the differences between the states (a
    log that gets shorter is a truncation, a lane that stops is a crash).

    `leaves_out` are names of the drawing whose changes in this step are no events: what `says` has said already, or
    bookkeeping of the model that nothing in the modelled system corresponds to.
    """

    action: str
    says: str = ""
    label: str = ""
    at: str = ""
    kind: str = ""
    leaves_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.leaves_out, (tuple, list)):
            names = self.leaves_out
            raise SpecError(f'leaves_out of the Event of {self.action} is {names!r}: write a tuple of names, ("log",)')
        if "{" not in self.kind:
            self.event_kind(self.kind)

    def event_kind(self, kind: str) -> EventKind:
        """Return a kind of an event; raise SpecError for another text."""
        known: tuple[EventKind, ...] = get_args(EventKind)
        for name in known:
            if kind == name:
                return name
        names = ", ".join(repr(name) for name in known if name)
        raise SpecError(f"kind of the Event of {self.action} is {kind!r}: write one of {names}")


@dataclass(frozen=True, init=False)
class Drawing:
    """The drawing of a spec: its lanes in their order, the channels and arrows between them, and the events.

    `item_labels` maps names of collections to the labels of their items: `{"acked": "r{}"}`, or with a field of a
    struct `{"log": "s{item.sequence}"}`. Without it an item is shown as it is. `gains` maps names of collections to
    verbs: with `{"acked": "acknowledges"}` a step that adds an item to `acked` acknowledges it.
    """

    lanes: tuple[Lane, ...]
    channels: tuple[Channel, ...]
    arrows: tuple[Arrow, ...]
    events: tuple[Event, ...]
    item_labels: Mapping[str, str]
    gains: Mapping[str, str]

    def __init__(
        self,
        *lanes: Lane,
        channels: tuple[Channel, ...] = (),
        arrows: tuple[Arrow, ...] = (),
        events: tuple[Event, ...] = (),
        item_labels: Mapping[str, str] | None = None,
        gains: Mapping[str, str] | None = None,
    ):
        object.__setattr__(self, "lanes", _items("a Drawing", lanes, Lane))
        object.__setattr__(self, "channels", _items("channels of a Drawing", channels, Channel))
        object.__setattr__(self, "arrows", _items("arrows of a Drawing", arrows, Arrow))
        object.__setattr__(self, "events", _items("events of a Drawing", events, Event))
        if not isinstance(item_labels, (Mapping, type(None))):
            raise SpecError(
                f'item_labels of a Drawing is {item_labels!r}: write a mapping, item_labels={{"log": "r{{}}"}}'
            )
        if not isinstance(gains, (Mapping, type(None))):
            raise SpecError(f'gains of a Drawing is {gains!r}: write a mapping, gains={{"acked": "acknowledges"}}')
        object.__setattr__(self, "item_labels", dict(item_labels or {}))
        object.__setattr__(self, "gains", dict(gains or {}))

    def event_of(self, action: str) -> Event:
        """Return the declared event of an action, or one of which everything is inferred."""
        return next((event for event in self.events if event.action == action), Event(action))

    def with_events(self, *events: Event) -> Drawing:
        """Return this drawing with further events, which replace those of the same actions: for a variant of a spec."""
        names = {event.action for event in events}
        return Drawing(
            *self.lanes,
            channels=self.channels,
            arrows=self.arrows,
            events=(*(event for event in self.events if event.action not in names), *events),
            item_labels=self.item_labels,
            gains=self.gains,
        )

    def check(self, spec: type[Any]) -> None:
        """Raise SpecError for a name or a lane that does not exist."""
        of_channels = [name for part in self.channels for name in (part.name, part.delayed) if name]
        for name in (*(name for lane in self.lanes for name in lane.names()), *of_channels):
            # Only the first part of a path is checked: the fields after it depend on resolved types, and so on
            # constants.
            first = name.partition(".")[0]
            if first not in spec.declared_variables and not callable(getattr(spec, first, None)):
                known = ", ".join(spec.declared_variables)
                problem = f"{first} is neither a variable nor a helper; the variables are: {known}"
                raise SpecError(f"{spec.__name__}.draws names {name}: {problem}")
        for event in self.events:
            # A variant of a spec removes an action by setting it to None.
            if event.action != "init" and not hasattr(spec, event.action):
                raise SpecError(f"{spec.__name__}.draws: {event.action} of an Event is not an action")
        # Arrows are not checked: their ends are expressions that only a step gives a value.
        titles = [lane.title for lane in self.lanes]
        for channel in self.channels:
            for title in (channel.source, channel.target):
                if title not in titles:
                    raise SpecError(f"{spec.__name__}.draws: channel {channel.name} names an unknown lane {title}")
