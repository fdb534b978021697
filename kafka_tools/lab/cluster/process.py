"""Processes that may outlive this one, by their pid and the moment of their start."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from checker.errors import InputError

LOOPBACK = "127.0.0.1"
_POLL = 0.05
_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl(2)."""

_LISTENING = "0A"
"""The state of a listening socket in /proc/net/tcp."""

_FIRST_PORT = 10_000
_RESERVATIONS: list[socket.socket] = []
"""The sockets that reserve ports for this process."""


@dataclass(frozen=True)
class ProcessId:
    """A process: its pid, and the clock ticks of its start since the machine's, so that no other process is meant."""

    pid: int
    started: int

    @property
    def is_alive(self) -> bool:
        """Whether the process runs or is stopped by a signal."""
        state = _state(self.pid)
        return state is not None and state[1] == self.started and state[0] not in "ZX"

    @property
    def is_paused(self) -> bool:
        """Whether SIGSTOP stopped the process."""
        state = _state(self.pid)
        return state is not None and state[1] == self.started and state[0] == "T"

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process is alive."""
        if self.is_alive:
            os.kill(self.pid, number)

    def wait(self, seconds: float) -> bool:
        """Wait until the process has ended; return whether it has."""
        end = time.monotonic() + seconds
        while self.is_alive:
            if time.monotonic() > end:
                return False
            # A child stays in the process table until its parent asks for its status.
            with suppress(ChildProcessError):
                os.waitpid(self.pid, os.WNOHANG)
            time.sleep(_POLL)
        return True


def _state(pid: int) -> tuple[str, int] | None:
    """Return the state letter and the start time of a process from /proc; None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])


def started(
    command: Sequence[str], output: Path, *, ends_with_parent: bool, environment: Mapping[str, str] | None = None
) -> ProcessId:
    """Start a process in a session of its own, with its output appended to a file.

    With `ends_with_parent`, the kernel kills it when this process ends, however that happens.
    """
    with output.open("ab") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=environment,
            start_new_session=True,
            preexec_fn=die_with_parent if ends_with_parent else None,
        )
    # The process is ours until `wait` has asked for its status: Python must not warn about it.
    process.returncode = 0
    state = _state(process.pid)
    return ProcessId(process.pid, state[1] if state else -1)


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module as this process would import it, with `python_environment`."""
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment() -> dict[str, str]:
    """Return the environment in which a Python process finds the modules that this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(folder) for folder in sys.path)}


def die_with_parent() -> None:
    """Let the kernel kill this process when the thread that forked it ends. For `preexec_fn`."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, int(signal.SIGKILL))


def start_driver(command: Sequence[str], errors: IO[str]) -> subprocess.Popen[str]:
    """Start a process that reads and writes lines, and that does not outlive this thread; `errors` gets its errors."""
    return subprocess.Popen(
        command,
        env=python_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
        preexec_fn=die_with_parent,
    )


def free_ports(count: int) -> list[int]:
    """Return free ports of the loopback address, which no other process gets from this function; or raise InputError.

    The kernel chooses the ports of outgoing connections from a range. None of these ports is in it, so that no
    connection takes the port of a broker that is down. (A range that begins below 11000 leaves too few ports: then
    those from 10000 to 10999 are used.) A name in the abstract namespace of Unix sockets reserves each
    port until this process ends, so that clusters that are made at the same time have different ports.
    """
    candidates = range(_FIRST_PORT, _first_outgoing_port())
    ports: list[int] = []
    for port in random.sample(candidates, len(candidates)):
        if len(ports) == count:
            return ports
        if _is_free(port) and _reserve(port):
            ports.append(port)
    raise InputError(f"a cluster needs {count} free ports from {candidates[0]} to {candidates[-1]}")


def _first_outgoing_port() -> int:
    """Return the first port of the range for outgoing connections."""
    try:
        return max(int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]), _FIRST_PORT + 1000)
    except (OSError, ValueError, IndexError):
        return 32768


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _reserve(port: int) -> bool:
    """Reserve a port until this process ends; return whether no other process has it."""
    reservation = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        reservation.bind(f"\0tidemark-port-{port}")
    except OSError:
        reservation.close()
        return False
    _RESERVATIONS.append(reservation)
    return True


def is_listening(port: int) -> bool:
    """Return whether a process accepts connections at a port of the loopback address."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((LOOPBACK, port)) == 0


def require_free(ports: Mapping[int, str]) -> None:
    """Raise InputError if a process listens at a port, with the one that needs the port and the one that has it."""
    for port, user in ports.items():
        if owner := listener_at(port):
            raise InputError(f"port {port} of {user} is taken by {owner}: end that process, or make a new cluster")


def listener_at(port: int) -> str:
    """Return the process that listens at a TCP port, such as "java (pid 7)"; "another process" if none can be named.

    The text is empty if no process listens.
    """
    inodes = {fields[9] for fields in _connections() if _port(fields[1]) == port and fields[3] == _LISTENING}
    if not inodes:
        return ""
    for folder in Path("/proc").glob("[0-9]*"):
        if _has_socket(int(folder.name), inodes):
            with suppress(OSError):
                return f"{(folder / 'comm').read_text().strip()} (pid {folder.name})"
    return "another process"


def _has_socket(pid: int, inodes: Collection[str]) -> bool:
    """Return whether a process has a socket. Of another user's process it is not known."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    with suppress(OSError):
        for descriptor in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if os.readlink(descriptor.path) in wanted:
                    return True
    return False


def _connections() -> Iterator[list[str]]:
    """Yield the fields of each TCP socket of this machine. Java's are for IPv6, and reach IPv4 addresses too."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            yield from (row.split() for row in Path(table).read_text().splitlines()[1:])


def owner_of_connection(port: int, to_port: int, candidates: Iterable[int]) -> int | None:
    """Return which of some processes has the connection from a local port to another; None if it is none of them.

    The kernel lists the inode of each socket in /proc/net/tcp, and a process has its sockets as file descriptors.
    """
    inode = _inode_of_connection(port, to_port)
    if inode is None:
        return None
    return next((pid for pid in candidates if _has_socket(pid, [inode])), None)


def _inode_of_connection(port: int, to_port: int) -> str | None:
    ports = (port, to_port)
    return next((fields[9] for fields in _connections() if (_port(fields[1]), _port(fields[2])) == ports), None)


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)
