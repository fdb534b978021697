"""Collections as rows of boxes, with the items that a step added and removed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from checker.language.declared_types import Struct, fields_of_struct
from checker.language.types import BagType, MapType, SeqType, SetType
from checker.language.values import show

Text = Callable[[Any], str]
"""A function that returns the text of an item."""

ItemChange = Literal["kept", "added", "removed"]
"""The effect of a step on an item. A `removed` item is shown struck through at this step and omitted afterwards."""


@dataclass(frozen=True)
class Box:
    """An item of a collection. `index` is its position in a sequence or its key in a map (None: it has neither)."""

    text: str
    change: ItemChange = "kept"
    index: int | str | None = None


def rows_of_boxes(title: str, before: Any, after: Any, text: Text = show) -> Iterator[tuple[str, tuple[Box, ...]]]:
    """Iterate over the rows (title, boxes) of a collection; a map of collections has one row per key.

    `text` returns the text of an item.
    """
    kind = getattr(after, "type", None)
    if not isinstance(kind, MapType):
        yield title, boxes_of(before, after, text)
        return
    keys = [show(key) for key in kind.key.values()]
    values = list(zip(keys, before.items_in_order(), after.items_in_order(), strict=True))
    if isinstance(kind.value, (SeqType, SetType, BagType)):
        for key, old, new in values:
            yield (f"{title} {key}" if len(keys) > 1 else title), boxes_of(old, new, text)
        return
    yield title, tuple(box for key, old, new in values for box in _entry_boxes(key, old, new, text))


def _entry_boxes(key: str, old: Any, new: Any, text: Text) -> tuple[Box, ...]:
    """Return the box of an unchanged map entry, or the boxes of the old and the new entry."""
    return (Box(text(new), "kept", key),) if old == new else _boxes_of_change(key, old, new, text)


def boxes_of(before: Any, after: Any, text: Text = show) -> tuple[Box, ...]:
    """Return the boxes of a collection after a step, including the items that the step removed."""
    old, new = _items(before), _items(after)
    is_sequence = isinstance(getattr(after, "type", None), SeqType)
    boxes: list[Box] = []
    for edit, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        removed, added = old[start:end], new[new_start:new_end]
        indices = list(range(new_start, new_end)) if is_sequence else [None] * len(added)
        if edit == "replace" and len(removed) == len(added):
            boxes += [
                box for group in zip(indices, removed, added, strict=True) for box in _boxes_of_change(*group, text)
            ]
            continue
        if edit != "equal":
            boxes += [Box(text(item), "removed") for item in removed]
        change: ItemChange = "kept" if edit == "equal" else "added"
        boxes += [Box(text(item), change, index) for index, item in zip(indices, added, strict=True)]
    return tuple(boxes)


def _boxes_of_change(index: int | str | None, old: Any, new: Any, text: Text) -> tuple[Box, ...]:
    """Return the boxes of a replaced item."""
    if text(old) != text(new) or not (isinstance(new, Struct) and type(old) is type(new)):
        return Box(text(old), "removed"), Box(text(new), "added", index)
    # Both are printed alike, because `shows` of the struct leaves out the changed fields: name these.
    fields = [
        f"{name} {show(new.field(name))}" for name in fields_of_struct(type(new)) if new.field(name) != old.field(name)
    ]
    return (Box(f"{text(new)}, {', '.join(fields)}", "added", index),)


def _items(value: Any) -> list[Any]:
    return [] if value is None else list(value) if hasattr(value, "__iter__") else [value]
