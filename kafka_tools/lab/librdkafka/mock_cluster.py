"""librdkafka's mock cluster: a broker inside this process, from the library in the package confluent-kafka.

Source: `rdkafka_mock.h` of librdkafka, an experimental interface of its C library, called here through ctypes.
"""

from __future__ import annotations

import ctypes
import importlib.util
from ctypes import c_char_p, c_int, c_int16, c_int32, c_size_t, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from checker.errors import InputError, MissingExtraError

PRODUCE = 0
"""The key of the Produce request in Kafka's protocol."""

_PRODUCER = 0
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "conf_new": (c_void_p, []),
    "conf_set": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, c_size_t]),
    "new": (c_void_p, [c_int, c_void_p, c_char_p, c_size_t]),
    "destroy": (None, [c_void_p]),
    "mock_cluster_new": (c_void_p, [c_void_p, c_int]),
    "mock_cluster_destroy": (None, [c_void_p]),
    "mock_cluster_bootstraps": (c_char_p, [c_void_p]),
    "mock_topic_create": (c_int, [c_void_p, c_char_p, c_int, c_int]),
    "mock_set_apiversion": (c_int, [c_void_p, c_int16, c_int16, c_int16]),
    "mock_broker_set_host_port": (None, [c_void_p, c_int32, c_char_p, c_int]),
    "mock_push_request_errors_array": (None, [c_void_p, c_int16, c_size_t, c_void_p]),
}


class Library:
    """The functions of librdkafka that the mock cluster needs.

    Raises MissingExtraError if librdkafka is missing, InputError if it has no mock cluster.
    """

    def __init__(self) -> None:
        module = importlib.util.find_spec("confluent_kafka")
        if module is None or module.origin is None:
            raise MissingExtraError(
                "recording needs confluent-kafka, which is not installed: pip install 'tidemark[record]', "
                "or pip install -e '.[record]' in a checkout"
            )
        package = Path(module.origin).parent
        folders = (package.parent / "confluent_kafka.libs", package / ".dylibs")
        files = sorted(file for folder in folders for file in folder.glob("librdkafka*"))
        try:
            loaded = ctypes.CDLL(str(files[0]) if files else "librdkafka.so.1")
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(loaded, f"rd_kafka_{name}")
                function.restype, function.argtypes = result, arguments
                setattr(self, name, function)
        except (OSError, AttributeError) as error:
            raise InputError(f"the librdkafka of {package} has no usable mock cluster: {error}") from None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class MockCluster:
    """One broker with one topic of one partition; `address` is where it listens."""

    def __init__(self, topic: str, newest_produce: int):
        self._library = Library()
        message = ctypes.create_string_buffer(512)
        configuration = self._library.conf_new()
        # This handle only owns the cluster. At a higher level it would log that it has no broker.
        self._library.conf_set(configuration, b"log_level", b"0", message, len(message))
        self._handle = self._library.new(_PRODUCER, configuration, message, len(message))
        if not self._handle:
            raise InputError(f"librdkafka does not start: {message.value.decode()}")
        self._cluster = self._library.mock_cluster_new(self._handle, 1)
        if not self._cluster:
            raise InputError(
                "librdkafka's mock cluster does not start: can this process listen on the loopback address?"
            )
        host, _, port = self._library.mock_cluster_bootstraps(self._cluster).decode().rpartition(":")
        self.address = host, int(port)
        self._library.mock_topic_create(self._cluster, topic.encode(), 1, 1)
        self._library.mock_set_apiversion(self._cluster, PRODUCE, 3, newest_produce)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.mock_cluster_destroy(self._cluster)
        self._library.destroy(self._handle)

    def advertise(self, host: str, port: int) -> None:
        """Make the broker advertise another address to clients."""
        self._library.mock_broker_set_host_port(self._cluster, 1, host.encode(), port)

    def answer(self, errors: list[int]) -> None:
        """Answer the next Produce requests with these error codes and append nothing; 0 handles the request."""
        codes = (c_int * len(errors))(*errors)
        self._library.mock_push_request_errors_array(self._cluster, PRODUCE, len(errors), codes)
