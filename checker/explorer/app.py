"""The HTTP interface of the explorer.

Every path begins with the token of the server, and ends with the name of a request (see `answers`) or of a style sheet
or script. All requests are GET, and none changes anything outside of the memory of the server. A wrong token has the
answer 404, a wrong `Host` header 403.
"""

from __future__ import annotations

import asyncio
import functools
import hmac
import threading
from collections.abc import Awaitable
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from checker.explorer import page
from checker.explorer.answers import NAMES, Answer, ExplorerAnswers
from checker.explorer.session import ExplorerSession
from checker.run.endings import ending
from checker.run.interrupts import SignalEvent

_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src-elem 'self'",
        # The lanes set the number of their cells by the attribute `style`.
        "style-src-attr 'unsafe-inline'",
        "connect-src 'self'",
        "img-src data:",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_ASSETS = {
    "page.css": "text/css",
    "explorer.css": "text/css",
    "explorer.js": "text/javascript",
}


def explorer_app(session: ExplorerSession, token: str, hosts: frozenset[str]) -> ASGIApp:
    """Return the application of a session. `hosts` are the values of the `Host` header that it answers."""
    answers = ExplorerAnswers(session)
    routes = [
        *(Route(f"/{name}", functools.partial(_answer, answers, name)) for name in NAMES),
        *(Route(f"/{name}", functools.partial(_asset, name, kind)) for name, kind in _ASSETS.items()),
    ]
    application = Starlette(routes=routes, exception_handlers={Exception: _failure})
    return _Guard(application, token, hosts)


class _Guard:
    """Answers only requests for this host that have the token, and adds the headers of every answer."""

    def __init__(self, application: ASGIApp, token: str, hosts: frozenset[str]):
        self._application, self._token, self._hosts = application, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.lower().encode(), value.encode()) for name, value in _HEADERS.items()),
                ]
            await send(message)

        path: str = scope["path"]
        token, slash, inner = path.removeprefix("/").partition("/")
        # Another name may belong to a page of the network that resolves it to this address: DNS rebinding.
        if Headers(scope=scope).get("host", "") not in self._hosts:
            refused: ASGIApp = PlainTextResponse("The explorer answers requests for its own address only.\n", 403)
            await refused(scope, receive, send_with_headers)
            return
        if not hmac.compare_digest(token.encode(errors="replace"), self._token):
            refused = PlainTextResponse("The address lacks the token that the explorer printed.\n", 404)
            await refused(scope, receive, send_with_headers)
            return
        if scope["method"] not in ("GET", "HEAD"):
            await PlainTextResponse("Only GET is answered.\n", 405)(scope, receive, send_with_headers)
            return
        if not slash:
            await RedirectResponse(f"{token}/")(scope, receive, send_with_headers)
            return
        inner_scope = {**scope, "path": f"/{inner}", "raw_path": f"/{inner}".encode()}
        await self._application(inner_scope, receive, send_with_headers)


async def _asset(name: str, kind: str, request: Request) -> Response:
    return Response(page.asset(name), media_type=kind)


async def _failure(request: Request, error: Exception) -> Response:
    """Answer a request that a mistake of the project ended; the terminal and the page name the report."""
    return HTMLResponse(page.problem_page("The explorer failed", ending(error).message), 500)


async def _answer(answers: ExplorerAnswers, name: str, request: Request) -> Response:
    """Answer a request in a thread, so that long work stops no other request."""
    cancelled = SignalEvent()
    answer = run_in_threadpool(answers.answer, name, request.query_params.multi_items(), cancelled)
    if name != "search":
        return _response(await answer)
    answers.session.searches.add(cancelled)
    try:
        # A search is interrupted when the browser no longer waits for it.
        return _response(await _watch(request, cancelled, answer))
    finally:
        answers.session.searches.discard(cancelled)


def _response(answer: Answer) -> Response:
    if answer.location:
        # A query alone would keep the last part of the path.
        return RedirectResponse(f"./{answer.location}", answer.status)
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(answer.file, safe='')}"}
    return Response(answer.text, answer.status, headers if answer.file else None, answer.media_type)


async def _watch(request: Request, cancelled: threading.Event, answer: Awaitable[Answer]) -> Answer:
    """Return an answer; set the event if the client closes its connection before."""

    async def watch() -> None:
        while not await request.is_disconnected():
            await asyncio.sleep(0.2)
        cancelled.set()

    watcher = asyncio.create_task(watch())
    try:
        return await answer
    finally:
        watcher.cancel()
