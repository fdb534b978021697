"""The request that sets the levels of a broker's loggers, and the answers of a broker."""

import socket
import struct
import threading

import pytest

from checker.errors import InputError
from kafka_tools.lab.recording.dynamic_loggers import set_levels

REQUEST = (
    b"\x00\x2c\x00\x00\x00\x00\x00\x01\x00\x08tidemark"
    b"\x00\x00\x00\x01\x08\x00\x013\x00\x00\x00\x01\x00\x01a\x00\x00\x05TRACE\x00"
)
"""Version 0 of IncrementalAlterConfigs (44), correlation 1, BROKER_LOGGER (8) "3": "a" is set to TRACE."""


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (struct.pack(">iiihh", 1, 0, 1, 0, -1), None),
        (struct.pack(">iiihh", 1, 0, 1, 40, 2) + b"noX", "broker 3 does not set its loggers: error 40 no$"),
        (struct.pack(">iiihh", 1, 0, 1, 40, -1) + b"X", "broker 3 does not set its loggers: error 40$"),
        (b"short", "broker 3 does not answer at port"),
    ],
)
def test_the_answer_of_a_broker(answer, error):
    received = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def respond():
            with server.accept()[0] as connection:
                stream = connection.makefile("rb")
                received.append(stream.read(struct.unpack(">i", stream.read(4))[0]))
                connection.sendall(struct.pack(">i", len(answer)) + answer)

        thread = threading.Thread(target=respond)
        thread.start()
        port = server.getsockname()[1]
        if error is None:
            set_levels(port, 3, {"a": "TRACE"})
        else:
            with pytest.raises(InputError, match=error):
                set_levels(port, 3, {"a": "TRACE"})
        thread.join()
    assert received == [REQUEST]
