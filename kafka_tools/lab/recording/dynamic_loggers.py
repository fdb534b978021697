"""Levels of loggers of a running broker: IncrementalAlterConfigs with the resource type BROKER_LOGGER.

librdkafka's admin client does not know this resource type, so the request is written here: version 0, which brokers of
3.9 and 4.x answer. The levels last until the broker's process ends.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping

from checker.errors import InputError
from kafka_tools.lab.cluster.process import LOOPBACK

_INCREMENTAL_ALTER_CONFIGS, _VERSION = 44, 0
_BROKER_LOGGER, _SET = 8, 0
_SECONDS = 10


def set_levels(port: int, broker: int, levels: Mapping[str, str]) -> None:
    """Set the levels of a broker's loggers; raise InputError if the broker refuses or does not answer."""
    configs = b"".join(_text(name) + struct.pack(">b", _SET) + _text(level) for name, level in levels.items())
    resource = struct.pack(">b", _BROKER_LOGGER) + _text(str(broker)) + struct.pack(">i", len(levels)) + configs
    body = struct.pack(">i", 1) + resource + struct.pack(">?", False)
    header = struct.pack(">hhi", _INCREMENTAL_ALTER_CONFIGS, _VERSION, 1) + _text("tidemark")
    try:
        answer = _ask(port, header + body)
        error, length = struct.unpack_from(">hh", answer, 12)
    except (OSError, struct.error):
        raise InputError(f"broker {broker} does not answer at port {port}: is it running?") from None
    if error:
        reason = answer[16 : 16 + max(length, 0)].decode(errors="replace")
        raise InputError(f"broker {broker} does not set its loggers: error {error} {reason}".rstrip())


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _ask(port: int, message: bytes) -> bytes:
    with socket.create_connection((LOOPBACK, port), _SECONDS) as connection:
        connection.sendall(struct.pack(">i", len(message)) + message)
        stream = connection.makefile("rb")
        (size,) = struct.unpack(">i", stream.read(4))
        return stream.read(size)
