"""The server of the explorer: on 127.0.0.1 only, with a random port and a random token, until Ctrl-C."""

from __future__ import annotations

import contextlib
import logging
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from checker.errors import InputError, MissingExtraError
from checker.explorer.session import ExplorerSession

ADDRESS = "127.0.0.1"


def serve(session: ExplorerSession, *, port: int, opens_browser: bool, announce: Callable[[str], None]) -> None:
    """Serve a session until Ctrl-C or SIGTERM; `port` 0 takes a free one. `announce` gets the address of the page.

    Raises MissingExtraError without Starlette or uvicorn, and InputError if the port is in use.
    """
    uvicorn = require_server()
    from checker.explorer.app import explorer_app
    from checker.explorer.bounded_connections import BoundedConnection

    token = secrets.token_urlsafe(16)
    with listening(port) as listener:
        number = listener.getsockname()[1]
        hosts = frozenset({f"{ADDRESS}:{number}", f"localhost:{number}"})
        application = explorer_app(session, token, hosts)
        # No log: the address of each request has the token.
        config = uvicorn.Config(
            application,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            ws="none",
            http=BoundedConnection,
            # So many are accepted at once, before the first of them is counted.
            backlog=32,
            # A path of many steps is a long line.
            h11_max_incomplete_event_size=1 << 20,
            timeout_graceful_shutdown=1,
        )
        # Asyncio would print a traceback for each connection beyond the limit of open files.
        for name in ("uvicorn.error", "asyncio"):
            logging.getLogger(name).disabled = True

        class Server(uvicorn.Server):  # type: ignore[name-defined, misc]
            """A server that interrupts the searches when it ends."""

            def handle_exit(self, sig: int, frame: FrameType | None) -> None:
                session.stop_searches()
                super().handle_exit(sig, frame)

        address = f"http://{ADDRESS}:{number}/{token}/{session.start.query().removeprefix('.')}"
        announce(address)
        if opens_browser:
            # Some programs that open a browser wait until it ends.
            threading.Thread(target=_open, args=(address,), daemon=True).start()
        # uvicorn raises the signal again when the server has ended.
        with contextlib.suppress(KeyboardInterrupt):
            Server(config).run(sockets=[listener])


def require_server() -> Any:
    """Return the module uvicorn; raise MissingExtraError if it or Starlette is not installed."""
    try:
        import starlette  # noqa: F401 - only whether it is installed
        import uvicorn
    except ImportError:
        raise MissingExtraError("the explorer needs Starlette and uvicorn: pip install 'tidemark[explore]'") from None
    return uvicorn


def _open(address: str) -> None:
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(address)


@contextlib.contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """Yield a socket on a port of this machine only; raise InputError if the port cannot be used."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((ADDRESS, port))
        # The browser may connect before the server accepts.
        listener.listen()
    except OSError as error:
        listener.close()
        raise InputError(f"port {port} cannot be used: {error.strerror}; leave out --port for a free one") from None
    with listener:
        yield listener
