"""Connections to the explorer that send no request: others are still answered, and nothing is printed."""

from __future__ import annotations

import contextlib
import re
import resource
import select
import socket
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("uvicorn")


def test_half_open_connections_do_not_keep_others_out():
    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

    words = [sys.executable, "-m", "checker", "explore", "examples/peterson", "--no-browser"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=few_files)
    try:
        address = re.search(r"http://127.0.0.1:(\d+)/\S+", process.stdout.readline() + process.stdout.readline())
        opened = []
        for number in range(300):
            connection = socket.create_connection(("127.0.0.1", int(address[1])), timeout=20)
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" if number % 2 else b"")
            opened.append(connection)
        assert b"peterson" in urllib.request.urlopen(address[0], timeout=20).read()
        # The newest are the last to be closed: their requests may be on their way.
        assert not select.select(opened[-20:], [], [], 0)[0]
        # Each of them is closed, with no answer or none at all.
        for connection in opened:
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(100) == b""
            connection.close()
    finally:
        process.terminate()
        _, printed = process.communicate(timeout=20)
    assert "Traceback" not in printed and printed.count("\n") <= 2
