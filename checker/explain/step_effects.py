"""What a step changes in the lanes of a drawing, as short clauses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from checker.explain.differences import StateChange, came_and_went, changes_within
from checker.explain.drawn_expressions import item_text
from checker.explain.lane_owners import LaneOwner, lane_owners, type_of, value_of
from checker.language.drawing import Drawing, Log
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.types import SeqType
from checker.language.values import show

EffectKind = Literal["lost", "stopped", "started", "leader", "appended", "items", "members", "offset", "value"]
"""The kinds of effects, the most important ones first.

lost: items of a log are gone; leader: the leading member of a variable changes; offset: a marker of a log moves.
"""

_LONGEST = 80
"""Characters of a value in a clause."""


@dataclass(frozen=True)
class StepEffect:
    """A change in a lane: the title of the lane, whether it is a single lane, the kind, and a clause.

    `short` is the clause without the name of the lane, `truncated_to` the offset to which a log is truncated. With
    `is_gain` the drawing declares a verb for what the clause says.
    """

    lane: str
    is_single: bool
    kind: EffectKind
    text: str
    short: str
    truncated_to: int | None = None
    is_gain: bool = False

    def is_said_by(self, text: str) -> bool:
        """Return whether a text names the leader that this effect is about, as that of an election does."""
        leader = self.short.rpartition(": ")[2]
        return self.kind == "leader" and re.search(rf"\b{re.escape(leader)}\b", text) is not None


def step_effects(
    spec: Spec, drawing: Drawing, before: State, after: State, left_out: Collection[str] = ()
) -> list[StepEffect]:
    """Return the effects of a step on the lanes of a drawing, in the order of the lanes.

    A lane that stops loses its memory: only the change of its logs is an effect of its own. The changes of names in
    `left_out` are no effects.
    """
    with spec.bound():
        old, new = spec.in_state(before), spec.in_state(after)
        return [
            effect
            for owner in lane_owners(spec, drawing)
            for effect in _LaneEffects(spec, drawing, owner, old, new, left_out).effects()
        ]


def is_lane_alive(working: Any, owner: LaneOwner) -> bool:
    """Return whether the owner of a lane runs; a lane that does not declare it always does."""
    if not owner.lane.alive:
        return True
    value = value_of(working, owner, owner.lane.alive)
    return value if isinstance(value, bool) else owner.member in value


def difference_of_logs(before: Iterable[Any], after: Iterable[Any]) -> tuple[int, list[Any], list[Any]]:
    """Return the first offset at which two logs differ, and the items that each has from there on.

    A log that drops its first items, as by retention, loses these only.
    """
    old, new = list(before), list(after)
    same = next((n for n, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), None)
    start = same if same is not None else min(len(old), len(new))
    shift = next((n for n in range(1, len(old)) if start == 0 and old[n:] == new[: len(old) - n]), 0)
    return (0, old[:shift], new[len(old) - shift :]) if shift else (start, old[start:], new[start:])


class _LaneEffects:
    def __init__(
        self, spec: Spec, drawing: Drawing, owner: LaneOwner, old: Any, new: Any, left_out: Collection[str]
    ) -> None:
        self._spec, self._drawing, self._owner, self._old, self._new = spec, drawing, owner, old, new
        # A message that is sent or received is an arrow, not a change of its lane.
        self._left_out = {*left_out, *(channel.name for channel in drawing.channels)}

    def effects(self) -> Iterator[StepEffect]:
        lane = self._owner.lane
        was, runs = is_lane_alive(self._old, self._owner), is_lane_alive(self._new, self._owner)
        if was != runs:
            yield self._effect("started" if runs else "stopped", f"{self._owner.title} {'runs' if runs else 'stops'}")
        for log in lane.logs:
            if log.name not in self._left_out:
                yield from self._of_log(log, with_markers=runs)
        if not runs:
            return
        for name, words in lane.crowned.items():
            if name not in self._left_out:
                yield from self._of_leader(name, words)
        for name, title in lane.members.items():
            yield from self._of_items(name, title, "members")
        for name, title in lane.boxes.items():
            yield from self._of_items(name, title, "items")
        for name, title in lane.facts.items():
            if name not in lane.crowned and name not in lane.members and name != lane.alive:
                yield from self._of_items(name, title, "value")

    def _effect(self, kind: EffectKind, text: str, short: str = "") -> StepEffect:
        return StepEffect(self._owner.title, self._owner.member is None, kind, text, short or text)

    def _values(self, name: str) -> tuple[Any, Any]:
        return value_of(self._old, self._owner, name), value_of(self._new, self._owner, name)

    def _of(self, noun: str) -> str:
        """Return a part of the lane as text."""
        title = self._owner.title
        if noun == title:
            return title
        return f"{noun} of {title}" if " " in title or title.endswith("s") else f"{title}'s {noun}"

    def _of_log(self, log: Log, with_markers: bool) -> Iterator[StepEffect]:
        before, after = self._values(log.name)
        start, lost, gained = difference_of_logs(before, after)
        is_sequence = isinstance(type_of(self._spec, self._owner, log.name), SeqType)
        noun = self._of(log.title or (log.name if "." not in log.name else "log").replace("_", " "))
        if lost:
            verb = "is" if len(lost) == 1 else "are"
            effect = self._effect(
                "lost", f"{self._items(log.name, lost)} {verb} gone from {noun}", f"loses {self._items(log.name, lost)}"
            )
            # A log that loses its first items, as by retention, is not truncated.
            is_truncated = is_sequence and (start > 0 or len(lost) == len(before))
            yield replace(effect, truncated_to=start) if is_truncated else effect
        if gained:
            offset = f" at offset {start}" if is_sequence else ""
            yield self._effect("appended", f"{noun} gets {self._items(log.name, gained)}{offset}")
        for name, label in log.markers.items():
            before, after = self._values(name)
            if with_markers and before != after:
                moved = f"{show(before)} → {show(after)}"
                yield self._effect("offset", f"{self._of(label)} {moved}", f"{label} {moved}")

    def _of_leader(self, name: str, words: str) -> Iterator[StepEffect]:
        before, after = self._values(name)
        if isinstance(after, bool):
            if after and not before:
                yield self._effect("members", f"{self._owner.title} {words}", words)
        elif before != after:
            yield self._effect("leader" if after is not None else "members", f"{words}: {show(after)}")

    def _of_items(self, name: str, title: str, kind: EffectKind) -> Iterator[StepEffect]:
        """Yield the changes of a value: one for each part that differs."""
        before, after = self._values(name)
        if before == after or name in self._left_out:
            return
        own = title if self._owner.member is None and kind != "members" else self._of(title)
        declared = type_of(self._spec, self._owner, name)
        parts = [StateChange("", before, after)]
        if declared is not None and kind != "members":
            parts = list(changes_within("", declared, before, after))
        for part in parts:
            items = came_and_went(part) if name in self._drawing.gains else None
            if items is not None and items.got and not items.lost:
                gained = f"{self._drawing.gains[name]} {self._items(name, items.got)}"
                yield replace(self._effect(kind, gained), is_gain=True)
                continue
            text = self._text(name, part, is_whole=kind == "members")
            if text:
                yield self._effect(kind, f"{own}{text}", f"{title}{text}")

    def _text(self, name: str, change: StateChange, is_whole: bool) -> str:
        """Return a change as text; "" if only the order of the items differs."""
        items = came_and_went(change) if not is_whole else None
        if items is None:
            return f"{_path(change.path)} {_short(change.before)} → {_short(change.after)}"
        parts = [f"loses {self._items(name, items.lost)}"] if items.lost else []
        parts += [f"gets {self._items(name, items.got)}"] if items.got else []
        return f"{_path(items.path)} {' and '.join(parts)}" if parts else ""

    def _items(self, name: str, items: list[Any]) -> str:
        return ", ".join(_short(item_text(self._drawing, name, item)) for item in items)


def _path(path: str) -> str:
    """Return a path within a value as it follows a title: `[p1]` is "of p1" in most texts, a field is a word."""
    return path.replace(".", " ")


def _short(value: Any) -> str:
    """Return the text of a value, cut after a line."""
    text = value if isinstance(value, str) else show(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
