"""The HTTP interface of the explorer.

Every path begins with the token of the server. All requests are GET, and none changes anything outside of the memory
of the server. The query of a page is an address (see `address`), to which these parameters are added:

| path | answer | parameters |
| --- | --- | --- |
| `/TOKEN/` | the page of the address | |
| `/TOKEN/enabled` | a fragment: enabled steps of an action | `action`, `first` (position), `with` (a text in them) |
| `/TOKEN/disabled` | a fragment: disabled steps of an action with the `require` that is false | `action`, `first` |
| `/TOKEN/search` | a fragment: a shortest continuation to a violation | `property`, `pane`, `states`, `seconds` |
| `/TOKEN/random` | a redirection to the page after random steps | `n` or `depth`, `seed` |
| `/TOKEN/export` | the path as a file | `format` (json, test, itf, html, text), `pane` |
| `/TOKEN/page.css`, `explorer.css`, `explorer.js` | style sheets and script | |

A step of the address that does not apply is refused with status 400: the page has the reason, and shows the state
before the step. A wrong token has the answer 404, a wrong `Host` header 403.
"""

from __future__ import annotations

import asyncio
import functools
import hmac
import random
import threading
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from checker.errors import InputError, UserError
from checker.explorer import page
from checker.explorer.address import Address, number_in
from checker.explorer.exports import EXPORTS, exported
from checker.explorer.random_walk import MOST_DEPTH, random_walk
from checker.explorer.session import ExplorerSession, Place
from checker.explorer.steps import codes_of
from checker.explorer.violation_search import SearchLimits, search_violation, searchable_properties
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
_MOST_STATES, _MOST_SECONDS = 20_000_000, 600
"""The most that a search may ask for."""


def explorer_app(session: ExplorerSession, token: str, hosts: frozenset[str]) -> ASGIApp:
    """Return the application of a session. `hosts` are the values of the `Host` header that it answers."""
    views = _Views(session)
    routes = [
        Route("/", views.page),
        Route("/enabled", views.enabled),
        Route("/disabled", views.disabled),
        Route("/search", views.search),
        Route("/random", views.random),
        Route("/export", views.export),
        *(Route(f"/{name}", functools.partial(_asset, name, kind)) for name, kind in _ASSETS.items()),
    ]
    application = Starlette(routes=routes, exception_handlers={UserError: _refusal, Exception: _failure})
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


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, UserError)
    text = " ".join(part.message for part in error.parts)
    return HTMLResponse(page.problem_page("This address does not apply", text), 400)


async def _failure(request: Request, error: Exception) -> Response:
    """Answer a request that a mistake of the project ended; the terminal and the page name the report."""
    return HTMLResponse(page.problem_page("The explorer failed", ending(error).message), 500)


class _Views:
    """The answers. Work on specs runs in threads, so that a long search does not stop other requests."""

    def __init__(self, session: ExplorerSession):
        self._session = session

    async def page(self, request: Request) -> Response:
        """Answer with the page of an address."""
        return await _in_thread(self._page, Address.of(request.query_params.multi_items()), request)

    def _page(self, address: Address, request: Request) -> Response:
        problem = ""
        try:
            place = self._place(address)
        except UserError as error:
            # Wrong constants: the page keeps them in its form, and shows the initial state of the base.
            problem = " ".join(part.message for part in error.parts)
            place = self._session.place(Address())
        walk = request.query_params.get("walk", "")
        text = page.explorer_page(self._session, place, problem=problem, walk=walk, given=address if problem else None)
        return HTMLResponse(text, 400 if problem or place.refused is not None else 200)

    async def enabled(self, request: Request) -> Response:
        """Answer with the next enabled steps of an action."""

        def answer(place: Place) -> str:
            first = number_in(request.query_params.get("first", "0"), "first", 0, 10_000_000)
            wanted = request.query_params.get("with", "")
            return page.more_offers(self._session, place, request.query_params.get("action", ""), first, wanted)

        return await self._fragment(request, answer)

    async def disabled(self, request: Request) -> Response:
        """Answer with disabled steps of an action."""

        def answer(place: Place) -> str:
            first = number_in(request.query_params.get("first", "0"), "first", 0, 10_000_000)
            return page.fragment_of_disabled_steps(place, request.query_params.get("action", ""), first)

        return await self._fragment(request, answer)

    async def search(self, request: Request) -> Response:
        """Answer with the result of a search; it is interrupted when the browser no longer waits for it."""
        cancelled = SignalEvent()
        self._session.searches.add(cancelled)
        try:
            return await _watch(
                request,
                cancelled,
                lambda: self._fragment(request, lambda place: self._search(place, request, cancelled)),
            )
        finally:
            self._session.searches.discard(cancelled)

    def _search(self, place: Place, request: Request, cancelled: threading.Event) -> str:
        name, wanted = request.query_params.get("property", ""), SearchLimits()
        states = number_in(request.query_params.get("states", str(wanted.states)), "states", 1, _MOST_STATES)
        seconds = number_in(request.query_params.get("seconds", f"{wanted.seconds:.0f}"), "seconds", 1, _MOST_SECONDS)
        number = _pane_number(request, place)
        pane = place.panes[number]
        if name not in searchable_properties(pane.spec):
            raise InputError(f"{pane.spec.name} has no property {name[:80]} of states or steps")
        result = search_violation(pane.spec, pane.state, name, SearchLimits(states, seconds), cancelled)
        codes = codes_of(pane.spec, result.trace)
        longer = place.address.query(
            property=name,
            pane=number + 1,
            states=min(states * 10, _MOST_STATES),
            seconds=min(seconds * 6, _MOST_SECONDS),
        )
        return page.search_fragment(place, number, name, result, codes, f"search{longer}")

    async def random(self, request: Request) -> Response:
        """Redirect to the page after random steps."""

        def answer() -> Response:
            query = request.query_params
            depth = 1 if "n" in query else number_in(query.get("depth", "20"), "depth", 1, MOST_DEPTH)
            seed = query.get("seed")
            generator = random.Random(seed) if seed is not None else random.SystemRandom()
            place = self._place(Address.of(query.multi_items()))
            walk = random_walk(self._session, place, depth, generator)
            more = {} if depth == 1 and walk.end == "depth" else {"walk": walk.end}
            # A query alone would keep the last part of the path.
            return RedirectResponse(f"./{walk.address.query(**more)}", 303)

        return await _in_thread(answer)

    async def export(self, request: Request) -> Response:
        """Answer with the path as a file."""

        def answer() -> Response:
            format = request.query_params.get("format", "")
            if format not in EXPORTS:
                raise InputError(f"unknown format {format[:40]!r}: choose from {', '.join(EXPORTS)}")
            place = self._place(Address.of(request.query_params.multi_items()))
            file = exported(place.panes[_pane_number(request, place)], format)
            headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}"}
            return Response(file.text, media_type=file.media_type, headers=headers)

        return await _in_thread(answer)

    def _place(self, address: Address) -> Place:
        return self._session.place(self._session.without_base_constants(address))

    async def _fragment(self, request: Request, answer: Callable[[Place], str]) -> Response:
        def run() -> Response:
            return HTMLResponse(answer(self._place(Address.of(request.query_params.multi_items()))))

        return await _in_thread(run)


def _pane_number(request: Request, place: Place) -> int:
    return number_in(request.query_params.get("pane", "1"), "pane", 1, len(place.panes)) - 1


async def _in_thread(function: Callable[..., Response], *arguments: Any) -> Response:
    return await run_in_threadpool(function, *arguments)


async def _watch(request: Request, cancelled: threading.Event, answer: Callable[[], Awaitable[Response]]) -> Response:
    """Return an answer; set the event if the client closes its connection before."""

    async def watch() -> None:
        while not await request.is_disconnected():
            await asyncio.sleep(0.2)
        cancelled.set()

    watcher = asyncio.create_task(watch())
    try:
        return await answer()
    finally:
        watcher.cancel()
