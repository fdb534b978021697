"""The proxies of a cluster that outlives a command: a process of their own, with a socket for commands.

A command is a line of JSON, {"verb": "cut", "brokers": [1, 2]}; the verbs are cut, heal and status. The answer is a
line {"cuts": [[1, 2]]}. The socket is in the folder of the cluster.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from checker.errors import InputError
from kafka_tools.lab.cluster.cluster import Cluster
from kafka_tools.lab.cluster.process import python_command, python_environment, require_free, started
from kafka_tools.lab.cluster.proxy import ProxyNetwork

_SOCKET = "proxies.sock"
_START_SECONDS, _ANSWER_SECONDS = 60, 30
_POLL = 0.05


def start_proxies(cluster: Cluster) -> None:
    """Start the process of a cluster's proxies, if it does not run; raise InputError if it does not listen."""
    if not cluster.has_proxies or (cluster.proxies is not None and cluster.proxies.is_alive):
        return
    require_free({link.port: f"the proxy of broker {link.broker}" for link in cluster.links()})
    (cluster.folder / _SOCKET).unlink(missing_ok=True)
    output = cluster.folder / "proxies.log"
    command = python_command("kafka_tools.lab.cluster.proxy_process", str(cluster.folder))
    cluster.set_proxies(started(command, output, ends_with_parent=False, environment=python_environment()))
    end = time.monotonic() + _START_SECONDS
    while not (cluster.folder / _SOCKET).exists():
        if cluster.proxies is None or not cluster.proxies.is_alive or time.monotonic() > end:
            raise InputError(f"the proxies do not start: see {output}")
        time.sleep(_POLL)


def send_command(cluster: Cluster, verb: str, brokers: Sequence[int] = ()) -> list[list[int]]:
    """Send a command to the proxies of a cluster; return the pairs of brokers that are cut off from each other.

    Raises InputError if the cluster has no proxies or they do not run.
    """
    if not cluster.has_proxies:
        raise InputError(f"the cluster in {cluster.folder} has no proxies: make one with `cluster up DIR --proxies`")
    message = json.dumps({"verb": verb, "brokers": list(brokers)}) + "\n"
    try:
        with _address(cluster.folder) as address, socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            connection.connect(address)
            connection.sendall(message.encode())
            with connection.makefile() as stream:
                return list(json.loads(stream.readline())["cuts"])
    except (OSError, ValueError):
        raise InputError(
            f"the proxies of {cluster.folder} do not run: `cluster up {cluster.folder}` starts them"
        ) from None


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """Yield an address of the socket that is short enough, whatever the folder's path."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{_SOCKET}"
    finally:
        os.close(descriptor)


def _serve(folder: Path) -> None:
    """Run the proxies of the cluster in a folder until the process ends."""
    cluster = Cluster.open(folder)
    os.umask(0o077)
    with (
        ProxyNetwork(cluster.links(lambda: Cluster.open(folder).nodes)) as network,
        _address(folder) as address,
        socket.socket(socket.AF_UNIX) as listener,
    ):
        listener.bind(address)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            # A command that is not whole changes nothing.
            with connection, connection.makefile("rw") as stream, suppress(OSError, ValueError):
                _execute(network, json.loads(stream.readline()))
                stream.write(json.dumps({"cuts": network.cuts()}) + "\n")
                stream.flush()


def _execute(network: ProxyNetwork, command: dict[str, object]) -> None:
    match command:
        case {"verb": "cut", "brokers": [int(one), int(other)]}:
            network.cut(one, other)
        case {"verb": "heal"}:
            network.heal()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
