"""A request to one broker on a connection of its own, and the response."""

from __future__ import annotations

import socket

from kafka_tools.cluster.messages import LENGTH


def response_to(message: bytes, address: tuple[str, int], seconds: float) -> bytes:
    """Send a request to a broker, and return its response without the length.

    Raises OSError if the broker does not answer within some seconds, or closes the connection before its response is
    whole.
    """
    with socket.create_connection(address, seconds) as connection, connection.makefile("rb") as stream:
        connection.sendall(LENGTH.pack(len(message)) + message)
        front = stream.read(LENGTH.size)
        length = LENGTH.unpack(front)[0] if len(front) == LENGTH.size else 0
        response = stream.read(length)
    if not length or len(response) < length:
        raise ConnectionError(f"the broker at port {address[1]} has closed the connection")
    return response
