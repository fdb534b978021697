"""Collections as rows of boxes, with what a step added to them and took out of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from checker.language.declared_types import declared_fields
from checker.language.types import BagType, MapType, SeqType, SetType
from checker.language.values import show

Fate = Literal["kept", "added", "gone"]
"""What a step did to a part of the drawing; `gone` is shown struck through for this one step."""


@dataclass(frozen=True)
class Box:
    """An item of a collection, with its index where it stands in a sequence, or its key in a map."""

    text: str
    fate: Fate = "kept"
    index: int | str | None = None


def rows_of_boxes(title: str, before: Any, after: Any) -> Iterator[tuple[str, tuple[Box, ...]]]:
    """Iterate over the titles and boxes of a collection; a map of collections has a row for each key."""
    kind = getattr(after, "type", None)
    if not isinstance(kind, MapType):
        yield title, boxes_of(before, after)
        return
    keys = [show(key) for key in kind.key.values()]
    values = list(zip(keys, before.items_in_order(), after.items_in_order(), strict=True))
    if isinstance(kind.value, (SeqType, SetType, BagType)):
        for key, old, new in values:
            yield (f"{title} {key}" if len(keys) > 1 else title), boxes_of(old, new)
        return
    yield title, tuple(box for key, old, new in values for box in _entry_boxes(key, old, new))


def _entry_boxes(key: str, old: Any, new: Any) -> tuple[Box, ...]:
    """Return the box of a map's entry; where it changed, the old one and the new one."""
    return (Box(show(new), "kept", key),) if old == new else _replaced(key, old, new)


def boxes_of(before: Any, after: Any) -> tuple[Box, ...]:
    """Return the items of a collection, those that a step took out of it among them."""
    old, new = _items(before), _items(after)
    is_sequence = isinstance(getattr(after, "type", None), SeqType)
    boxes: list[Box] = []
    for what, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        gone, added = old[start:end], new[new_start:new_end]
        indices = list(range(new_start, new_end)) if is_sequence else [None] * len(added)
        if what == "replace" and len(gone) == len(added):
            boxes += [box for found in zip(indices, gone, added, strict=True) for box in _replaced(*found)]
            continue
        if what != "equal":
            boxes += [Box(show(item), "gone") for item in gone]
        fate: Fate = "kept" if what == "equal" else "added"
        boxes += [Box(show(item), fate, index) for index, item in zip(indices, added, strict=True)]
    return tuple(boxes)


def _replaced(index: int | str | None, old: Any, new: Any) -> tuple[Box, ...]:
    """Return the boxes of an item that another one took the place of."""
    if show(old) != show(new):
        return Box(show(old), "gone"), Box(show(new), "added", index)
    # What the type prints is the same: what it does not print has changed.
    fields = [
        f"{name} {show(new.field(name))}" for name in declared_fields(type(new)) if new.field(name) != old.field(name)
    ]
    return (Box(f"{show(new)}, {', '.join(fields)}", "added", index),)


def _items(value: Any) -> list[Any]:
    return [] if value is None else list(value) if hasattr(value, "__iter__") else [value]
