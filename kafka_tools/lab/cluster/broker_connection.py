"""A request to one broker on a connection of its own, and the response."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress

from kafka_tools.experiments.api_keys import API_KEYS
from kafka_tools.lab.cluster.messages import LARGEST, LENGTH, correlation_of

_CORRELATION = 1


def response_to(message: bytes, address: tuple[str, int], seconds: float) -> bytes:
    """Send a request to a broker, and return its response without the length.

    Raises OSError if the broker does not answer within some seconds, or closes the connection before its response is
    whole.
    """
    with socket.create_connection(address, seconds) as connection, connection.makefile("rb") as stream:
        connection.sendall(LENGTH.pack(len(message)) + message)
        front = stream.read(LENGTH.size)
        length = LENGTH.unpack(front)[0] if len(front) == LENGTH.size else 0
        if not 0 <= length <= LARGEST:
            raise ConnectionError(f"port {address[1]} does not answer as a broker does")
        response = stream.read(length)
    if not length or len(response) < length:
        raise ConnectionError(f"the broker at port {address[1]} has closed the connection")
    return response


def answers_as_broker(address: tuple[str, int], seconds: float) -> bool:
    """Return whether an address answers an ApiVersions request, which a broker does before a client authenticates."""
    with suppress(OSError, ValueError):
        request = struct.pack(">hhih", API_KEYS["ApiVersions"], 0, _CORRELATION, -1)
        return correlation_of(response_to(request, address, seconds)) == _CORRELATION
    return False
