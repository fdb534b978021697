"""Addresses of brokers in responses, replaced by those of proxies, so that a client connects to these alone.

ApiVersions is limited to versions that are read here. In particular a client then sends no Produce request that names
topics by id, and no broker answers a Fetch with the addresses of new leaders (KIP-951).
Source: MetadataResponse.json, FindCoordinatorResponse.json, DescribeClusterResponse.json, ApiVersionsResponse.json and
ProduceResponse.json of Kafka's message definitions.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from kafka_tools.experiments.api_keys import API_KEYS
from kafka_tools.lab.cluster.messages import RequestHeader
from kafka_tools.lab.cluster.wire_reader import WireReader
from kafka_tools.lab.recording.produced_batches import read_answers

Address = tuple[str, int]

NEWEST = {"Produce": 12, "Fetch": 15, "Metadata": 13, "FindCoordinator": 6, "DescribeCluster": 1}
"""The newest version of each request whose response may have addresses, or whose content is recorded."""

_KEYS = API_KEYS | {"DescribeCluster": 60}


class AddressRewriter:
    """Replaces addresses in responses. `proxy_of` returns the proxy's address of a broker, from its number and address.

    A broker's number is -1 if a response does not have one.
    """

    def __init__(self, proxy_of: Callable[[int, Address], Address]):
        self._proxy_of = proxy_of

    def rewritten(self, header: RequestHeader, response: bytes) -> bytes:
        """Return a response with the addresses of proxies; raise ValueError if it cannot be read."""
        rewrite = _REWRITERS.get(header.kind)
        if rewrite is None:
            return response
        copier = _Copier(response, self._proxy_of)
        try:
            rewrite(copier, header.version)
            return copier.copy()
        except (struct.error, IndexError, UnicodeDecodeError):
            raise ValueError(f"a {header.kind} response of version {header.version} cannot be read") from None


class _Copier(WireReader):
    """Reads a response and writes a copy, with other addresses."""

    def __init__(self, data: bytes, proxy_of: Callable[[int, Address], Address]):
        super().__init__(data)
        self._written, self._copied, self._proxy_of = bytearray(), 0, proxy_of

    def replace(self, start: int, content: bytes) -> None:
        """Write a content in place of what was read from a position on."""
        self._written += self._data[self._copied : start] + content
        self._copied = self._at

    def broker(self, is_flexible: bool) -> None:
        """Replace the address of one broker: its number, its host and its port."""
        number, start = self.number("i"), self.position
        host, port = self.text(is_flexible).decode(), self.number("i")
        # A coordinator that is not known has no address.
        if host:
            name, port = _to_proxy(self._proxy_of(number, (host, port)))
            length = unsigned_varint(len(name) + 1) if is_flexible else struct.pack(">h", len(name))
            self.replace(start, length + name + struct.pack(">i", port))

    def brokers(self, is_flexible: bool, has_rack: bool) -> None:
        """Replace the addresses in an array of brokers."""
        for _ in range(self.count(is_flexible)):
            self.broker(is_flexible)
            if has_rack:
                self.text(is_flexible)
            self.end_of_struct(is_flexible)

    def copy(self) -> bytes:
        """Return the copy, with the rest of the response."""
        return bytes(self._written + self._data[self._copied :])


def _to_proxy(address: Address) -> tuple[bytes, int]:
    return address[0].encode(), address[1]


def unsigned_varint(number: int) -> bytes:
    """Return an unsigned number of variable length."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _metadata(copier: _Copier, version: int) -> None:
    is_flexible = version >= 9
    copier.number("i")  # the correlation id
    copier.end_of_struct(is_flexible)
    if version >= 3:
        copier.number("i")  # the throttle time
    copier.brokers(is_flexible, has_rack=version >= 1)


def _coordinator(copier: _Copier, version: int) -> None:
    is_flexible = version >= 3
    copier.number("i")
    copier.end_of_struct(is_flexible)
    if version >= 1:
        copier.number("i")
    if version >= 4:
        for _ in range(copier.count(is_flexible)):
            copier.text(True)  # the key
            copier.broker(is_flexible)
            copier.number("h"), copier.text(True)  # the error and its message
            copier.end_of_struct(True)
        return
    copier.number("h")
    if version >= 1:
        copier.text(is_flexible)
    copier.broker(is_flexible)


def _cluster(copier: _Copier, version: int) -> None:
    copier.number("i")
    copier.end_of_struct(True)
    copier.number("i"), copier.number("h"), copier.text(True)  # the throttle time, the error and its message
    if version >= 1:
        copier.number("b")  # the kind of the endpoint
    copier.text(True), copier.number("i")  # the identifier of the cluster, and its controller
    copier.brokers(is_flexible=True, has_rack=True)


def _versions(copier: _Copier, version: int) -> None:
    is_flexible = version >= 3
    newest = {_KEYS[name]: number for name, number in NEWEST.items()}
    copier.number("i")
    # The header has no tagged fields in any version, and an error has the body of version 0.
    if copier.number("h"):
        return
    for _ in range(copier.count(is_flexible)):
        key, oldest, offered = (copier.number("h") for _ in range(3))
        if key in newest and oldest <= newest[key] < offered:
            copier.replace(copier.position - 2, struct.pack(">h", newest[key]))
        copier.end_of_struct(is_flexible)


def _produce(copier: _Copier, version: int) -> None:
    """Leave out the addresses of new leaders; a client asks for the metadata instead."""
    if version >= 10:
        for _ in read_answers(copier, version):
            pass
        start = copier.position
        copier.end_of_struct(True)
        copier.replace(start, unsigned_varint(0))


_REWRITERS: dict[str, Callable[[_Copier, int], None]] = {
    "ApiVersions": _versions,
    "Metadata": _metadata,
    "FindCoordinator": _coordinator,
    str(_KEYS["DescribeCluster"]): _cluster,
    "Produce": _produce,
}
