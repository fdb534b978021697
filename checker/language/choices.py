"""The functions `choose` and `subsets`, and the values that the interpreter gives to `choose`."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

from checker.errors import Disabled, SpecError


class _OpenChoices(threading.local):
    """The values for the calls of `choose` that are still to come, of each action that runs in this thread."""

    def __init__(self) -> None:
        self.values: list[Iterator[Any]] = []
        """The last one is of the innermost action."""


_open = _OpenChoices()


class Choosing:
    """While it is entered, the first call of `choose` takes the first value, the second call the second, and so on.

    A class and not a generator with `contextmanager`: every action instance of every state enters one.
    """

    def __init__(self, values: tuple[Any, ...]):
        self._values = values

    def __enter__(self) -> None:
        _open.values.append(iter(self._values))

    def __exit__(self, *error: object) -> None:
        _open.values.pop()


def choose(collection: Any) -> Any:
    """Return a member of a collection: each of them in a step of its own. Without a member the action is disabled.

    It is a statement of an action, `quorum = choose(subsets(Acceptor, size=2))`, outside branches and loops.
    """
    missing = object()
    value = next(_open.values[-1], missing) if _open.values else missing
    if value is missing:
        raise SpecError("choose is a statement of an action, outside branches, loops and helpers: value = choose(...)")
    if not _contains(collection, value):
        raise Disabled
    return value


def _contains(collection: Any, value: Any) -> bool:
    # `in` on a class such as a Domain calls its iteration, which compares with `==`.
    return value in collection


class Subsets:
    """The subsets of a collection, in the order of a bit set: the first item is the lowest bit."""

    def __init__(self, collection: Any, size: int | None):
        self._items = list(collection)
        self._size = size

    def __repr__(self) -> str:
        size = "" if self._size is None else f", size={self._size}"
        return f"subsets({{{', '.join(map(repr, self._items))}}}{size})"

    def __iter__(self) -> Iterator[frozenset[Any]]:
        for bits in itertools.product((False, True), repeat=len(self._items)):
            # The last bit of `product` varies fastest, so it belongs to the first item.
            subset = frozenset(itertools.compress(self._items, reversed(bits)))
            if self._size is None or len(subset) == self._size:
                yield subset

    def __contains__(self, subset: Any) -> bool:
        return frozenset(subset) <= frozenset(self._items) and (self._size is None or len(subset) == self._size)


def subsets(collection: Any, *, size: int | None = None) -> Subsets:
    """Return the subsets of a type or a set, or those with `size` items."""
    return Subsets(collection, size)
