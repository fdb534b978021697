"""The place of a batch among the batches whose offsets are known."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any


def add_offset(offsets: list[tuple[int, int]], offset: int, number: int) -> dict[str, Any]:
    """Return an offset with the batches before and after it, and add the batch to the known (offset, number), sorted.

    Another batch at the same offset is before and after it, which no log allows.
    """
    place = bisect_left(offsets, (offset, number))
    if place == len(offsets) or offsets[place] != (offset, number):
        offsets.insert(place, (offset, number))
    before = offsets[place - 1][1] if place else None
    after = offsets[place + 1][1] if place + 1 < len(offsets) else None
    near = offsets[max(place - 1, 0) : place + 2]
    others = [other for known, other in near if known == offset and other != number]
    if others:
        before = after = others[0]
    return {"base_offset": offset, "before": before, "after": after}
