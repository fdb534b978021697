"""How a spec is drawn: which of its variables are logs, markers, in-sync sets and messages, and in whose lane.

A spec says it with `draws = Drawing(...)`. Nothing here touches what a spec means; the pages of `checker.output` read
it, and a spec without it is shown as a table of its variables.

A *name* is a state variable (`quorum`), a path into one (`quorum.leader`), or a helper of the spec. In the lanes of a
type a `Map` over that type stands for the value of the lane's own member, and a helper is called with that member.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from checker.errors import SpecError


@dataclass(frozen=True)
class Log:
    """A sequence that is drawn cell by cell on a ruler of offsets, the same for all lanes.

    `markers`: names of offsets and what they are called on the ruler, `{"high_watermark": "HW"}`; cells below the first
    one are drawn as committed, the others hatched. `end` is what the log end offset is called. `colour`: the field of
    an item by which cells are coloured, such as the leader epoch; "." is the item itself. `at`: what properties call an
    offset of this log, so that the cell where one fails can be pointed at; `called`: what they call the value by which
    items are coloured, so that the item that one fails for can be followed.
    """

    name: str
    title: str = ""
    markers: Mapping[str, str] = field(default_factory=dict)
    end: str = "LEO"
    colour: str = ""
    at: tuple[str, ...] = ("offset",)
    called: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lane:
    """A lane called `title`, or, with `each`, one lane for every value of a type.

    `logs`: sequences on the ruler. `boxes`: sequences, sets and bags as a row of boxes, by name and title. `members`:
    sets of the lanes of some type, drawn as a bracket over those lanes for each one who holds such a set. `crowned`:
    what says who leads, by name, and the words for it: a helper or a bool of the lane, or the member who leads.
    `facts`: what else is shown, by name and title.
    """

    title: str
    each: Any = None
    logs: tuple[Log, ...] = ()
    boxes: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, str] = field(default_factory=dict)
    crowned: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)

    def names(self) -> Iterator[str]:
        """Iterate over the names that this lane refers to."""
        for log in self.logs:
            yield log.name
            yield from log.markers
        yield from (*self.boxes, *self.members, *self.crowned, *self.facts)


@dataclass(frozen=True)
class Channel:
    """A sequence, set or bag of messages under way, or a `Map` of those over the type of a lane.

    `source` and `target` are titles of lanes; where there is a lane for each key of the map, that lane is meant. A
    message is sent in the step in which it appears, and received in the one in which it is gone; by one of the actions
    `lost`, it is lost instead. `answered`: a bool of the messages that is true of those on their way back.
    """

    name: str
    source: str
    target: str
    lost: tuple[str, ...] = ()
    answered: str = ""


@dataclass(frozen=True)
class Arrow:
    """What flows between lanes in a step of `action`.

    `source` and `target` are expressions over the action's parameters and the state before it: a member that has a
    lane, or the title of a lane in quotes. `says` is the arrow's label, an f-string over the same names. `since`: an
    expression for a message that was sent earlier; the arrow begins in the step in which it got its value.
    """

    action: str
    source: str
    target: str
    says: str = ""
    since: str = ""


@dataclass(frozen=True, init=False)
class Drawing:
    """How a spec is drawn: its lanes from top to bottom, and what moves between them."""

    lanes: tuple[Lane, ...]
    channels: tuple[Channel, ...]
    arrows: tuple[Arrow, ...]

    def __init__(self, *lanes: Lane, channels: tuple[Channel, ...] = (), arrows: tuple[Arrow, ...] = ()):
        object.__setattr__(self, "lanes", lanes)
        object.__setattr__(self, "channels", channels)
        object.__setattr__(self, "arrows", arrows)

    def check(self, spec: type[Any]) -> None:
        """Raise SpecError for a name that the spec does not have."""
        for name in (*(name for lane in self.lanes for name in lane.names()), *(part.name for part in self.channels)):
            first = name.partition(".")[0]
            if first not in spec.declared_variables and not callable(getattr(spec, first, None)):
                known = ", ".join(spec.declared_variables)
                raise SpecError(
                    f"{spec.__name__}.draws names {name}: {first} is no variable or helper; there are {known}"
                )
        titles = [lane.title for lane in self.lanes]
        for channel in self.channels:
            for title in (channel.source, channel.target):
                if title not in titles:
                    raise SpecError(f"{spec.__name__}.draws: channel {channel.name}: there is no lane {title}")
