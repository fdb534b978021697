"""Digests of programs: they depend on the meaning of a spec, but not on comments, line numbers or file names."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import re
from typing import Any

from checker.ir import nodes

_IGNORED = (nodes.Site,)
"""Nodes without meaning: locations in the source."""

_PLACE = re.compile(r"^( .*) \d+:\d+$")
"""The front end names a local without a name in the source by its line and column."""


def digest_of(program: nodes.Program, *, with_view: bool = False) -> str:
    """Return the digest, 32 hexadecimal digits, of the variables, `init`, actions and predicates of a program.

    `with_view`: of its view, too.
    """
    walk = _DigestWalk()
    walk.write(program)
    if with_view and program.view is not None:
        walk.write(program.view)
    return walk.digest.hexdigest()


def digest_of_parts(*parts: Any) -> str:
    """Return the digest, 32 hexadecimal digits, of some nodes and of what they contain."""
    walk = _DigestWalk()
    walk.write(parts)
    return walk.digest.hexdigest()


class _DigestWalk:
    """Feeds a graph of nodes to a hash function.

    Helpers and locals are shared between nodes, so the graph is not a tree. A node that is compared by identity is
    numbered at its first visit and represented by this number afterwards. Every text is preceded by its length, so
    that different graphs do not feed the same bytes.
    """

    def __init__(self) -> None:
        # 16 bytes: digests identify versions of specs in files, and an accidental collision of 128 bits is out of the
        # question.
        self.digest = hashlib.blake2b(digest_size=16)
        self._numbers: dict[int, int] = {}

    def write(self, value: Any) -> None:
        """Feed a value, a node, or a collection of them."""
        if isinstance(value, _IGNORED):
            return
        # A class is named by its text, and an enum by its members too: removing or reordering members changes the
        # meaning.
        if isinstance(value, type):
            members = list(value.__members__) if issubclass(value, enum.Enum) else []
            self._text(f"class {value.__qualname__} {members}")
        elif isinstance(value, enum.Enum):
            self._text(f"member {type(value).__qualname__}.{value.name}")
        elif dataclasses.is_dataclass(value):
            self._dataclass(value)
        elif isinstance(value, (tuple, list)):
            self._items(value)
        elif isinstance(value, dict):
            # In the order of the dict, which is the order of declaration: it decides the numbers of variables and
            # actions.
            self._items([part for pair in value.items() for part in pair])
        else:
            self._text(f"{type(value).__qualname__} {value}")

    def _items(self, items: Any) -> None:
        self._text(f"{len(items)} items")
        for item in items:
            self.write(item)

    def _dataclass(self, value: Any) -> None:
        # Nodes are compared by identity and may be shared. Types are compared by value: equal ones feed equal bytes.
        is_identity = not type(value).__dataclass_params__.eq
        if is_identity and id(value) in self._numbers:
            self._text(f"again {self._numbers[id(value)]}")
            return
        # The ids stay valid, because the program keeps all its nodes alive.
        if is_identity:
            self._numbers[id(value)] = len(self._numbers)
        self._text(f"node {type(value).__qualname__}")
        if isinstance(value, nodes.Local):
            value = dataclasses.replace(value, name=_PLACE.sub(r"\1", value.name))
        for field in dataclasses.fields(value):
            if field.compare or is_identity:
                self.write(getattr(value, field.name))

    def _text(self, text: str) -> None:
        content = text.encode()
        self.digest.update(len(content).to_bytes(4, "big") + content)
