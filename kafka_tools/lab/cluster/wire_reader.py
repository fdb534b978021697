"""A reader of Kafka's messages: numbers, texts, arrays and tagged fields, one after the other.

Source: Kafka's protocol guide, KIP-482 for flexible versions.
"""

from __future__ import annotations

import struct

_MOST_TAGGED_FIELDS = 1000
"""The tagged fields of a struct that are read. Kafka defines fewer than 10 for each."""


class WireReader:
    """Reads a message from its beginning to its end, with the types of flexible versions and of older ones.

    A message that is cut off raises struct.error or IndexError, or gives fewer bytes.
    """

    def __init__(self, data: bytes, position: int = 0):
        self._data, self._at = data, position

    @property
    def position(self) -> int:
        """The position of the next byte."""
        return self._at

    def number(self, kind: str) -> int:
        """Return the next number; `kind` is a format character of `struct`."""
        numbers = struct.unpack_from(f">{kind}", self._data, self._at)
        self._at += struct.calcsize(f">{kind}")
        return int(numbers[0])

    def take(self, length: int) -> bytes:
        """Return the next bytes; none for a negative length, which encodes null."""
        taken = self._data[self._at : self._at + max(length, 0)]
        self._at += max(length, 0)
        return taken

    def unsigned(self) -> int:
        """Return an unsigned number of variable length; raise ValueError if it has more than five bytes."""
        value = 0
        for shift in range(0, 35, 7):
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
        raise ValueError("a number of variable length with more than 5 bytes")

    def text(self, is_flexible: bool) -> bytes:
        """Return a string; none for null."""
        return self.take(self.unsigned() - 1 if is_flexible else self.number("h"))

    def records(self, is_flexible: bool) -> bytes:
        """Return the bytes of records; none for null."""
        return self.take(self.count(is_flexible))

    def count(self, is_flexible: bool) -> int:
        """Return the length of an array."""
        return self.unsigned() - 1 if is_flexible else self.number("i")

    def end_of_struct(self, is_flexible: bool) -> None:
        """Skip the tagged fields that end a struct of a flexible version; raise ValueError if they are too many."""
        count = self.unsigned() if is_flexible else 0
        if count > _MOST_TAGGED_FIELDS:
            raise ValueError(f"a message of more than {_MOST_TAGGED_FIELDS} tagged fields")
        for _ in range(count):
            self.unsigned()
            self.take(self.unsigned())

    def varint(self) -> int:
        """Return a zigzag-encoded number of variable length."""
        raw = shift = 0
        while True:
            byte = self.number("B")
            raw |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return (raw >> 1) ^ -(raw & 1)
