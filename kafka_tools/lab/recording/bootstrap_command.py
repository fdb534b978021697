"""The work of `record --bootstrap`: proxies in front of the brokers of any cluster, and the events of what passes."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from checker.errors import InputError, OutputError
from kafka_tools.lab.cluster.broker_connection import answers_as_broker
from kafka_tools.lab.cluster.process import listener_at
from kafka_tools.lab.cluster.proxy import Link, ProxyLimits, ProxyNetwork
from kafka_tools.lab.recording.broker_addresses import Address
from kafka_tools.lab.recording.passing_producers import PassingProducers

_SECONDS = 5.0
_SHOWN = 20
"""The reasons that the summary lists."""
_EVERY_ADDRESS = ("0.0.0.0", "::")
"""Clients connect to the host that the proxies name in responses, and these are no hosts."""

_NO_BROKER = -1
"""The number of the bootstrap broker, which is not known yet."""


def record_through_proxies(log: Path, bootstrap: str, listen: str, partition: str | None, seconds: int) -> None:
    """Record producers for some seconds, or until Ctrl-C; print what the recording has.

    The events are written as they come. Raises InputError if there is no broker or the port is taken.
    """
    target, (host, port) = address_of(bootstrap, "--bootstrap"), address_of(listen, "--listen")
    if host in _EVERY_ADDRESS:
        raise InputError(f"--listen {listen}: name the address of this machine by which clients reach it")
    if not answers_as_broker(target, _SECONDS):
        raise InputError(
            f"--bootstrap {bootstrap}: no broker answers there within {_SECONDS:.0f} s. Its listener must be without "
            "TLS, because the proxies read what passes"
        )
    with _open(log) as stream:

        def write(event: dict[str, Any]) -> None:
            try:
                stream.write(json.dumps(event).encode() + b"\n")
            except OSError as error:
                raise OutputError(f"the log {log} cannot be written: {error.strerror}") from None

        producers = PassingProducers(write, partition, host)
        producers.network = ProxyNetwork([Link(port, _NO_BROKER, target)], producers, host, ProxyLimits())
        with _listening(producers.network, listen) as network:
            producers.add_proxy(target, network.ports[0])
            print(f"clients connect with bootstrap.servers={_text(host, network.ports[0])}", flush=True)
            _wait(producers.has_failed, seconds)
    for line in summary(log, producers):
        print(line)


def _listening(network: ProxyNetwork, listen: str) -> ProxyNetwork:
    """Return the network after it was started; raise InputError if the port is taken or the host is another one's."""
    try:
        return network.start()
    except OSError as error:
        owner = listener_at(address_of(listen, "--listen")[1])
        raise InputError(f"--listen {listen}: {error.strerror}{owner and f' by {owner}'}") from None


def address_of(text: str, option: str) -> Address:
    """Return the host and the port of HOST:PORT; raise InputError for another text."""
    if "," in text:
        raise InputError(f"{option} {text}: name one address; the brokers name the others")
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 0xFFFF:
        raise InputError(f"{option} {text}: write HOST:PORT")
    return host.strip("[]"), int(port)


def _text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def summary(log: Path, producers: PassingProducers) -> Iterator[str]:
    """Yield lines about a recording: its traces, what was left out, and the command that validates it."""
    yield (
        f"{log}: {producers.events:,} events of {producers.traces} producers, each at one partition, "
        f"at {len(producers.brokers)} addresses of brokers"
    )
    for what, count in producers.left_out.most_common(_SHOWN):
        yield f"  not recorded: {what} ({count:,} times)"
    if (others := len(producers.left_out) - _SHOWN) > 0:
        yield f"  not recorded: {others} other reasons"
    if producers.traces:
        mapping = "kafka_tools.lab.recording.passed_batches"
        yield f"python -m checker validate producer/idempotent_producer {log} --by trace --mapping {mapping}"


def _open(log: Path) -> FileIO:
    """Return a new file without a buffer, so that a kill loses no event that was written."""
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        return log.open("wb", buffering=0)
    except OSError as error:
        raise OutputError(f"the log {log} cannot be written: {error.strerror}") from None


def _wait(ended: threading.Event, seconds: int) -> None:
    try:
        ended.wait(seconds or None)
    except KeyboardInterrupt:
        print("stopped: the events until now are recorded", file=sys.stderr)
