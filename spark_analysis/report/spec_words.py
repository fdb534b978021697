"""What a spec says about itself: the promises of its properties, its description, and the tickets that it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from checker.explain.step_sentences import first_sentence
from checker.language.spec import Spec
from checker.output.page.tickets import ticket_links
from checker.run.plan import DEADLOCK

_DEADLOCK_PROMISE = "Every reachable state has an enabled action."


def promise_of(spec: type[Spec], name: str) -> str:
    """Return the first sentence of a property's docstring; "" if it has none."""
    return _DEADLOCK_PROMISE if name == DEADLOCK else first_sentence(_docstring(spec, name))


def description_of(spec: type[Spec], scenario: str) -> list[str]:
    """Return the first sentence about a spec, and the description of its scenario if it has one."""
    return [text for text in (first_sentence(spec.__doc__ or ""), scenario) if text]


def tickets_of(spec: type[Spec], methods: Iterable[str]) -> list[str]:
    """Return the tickets that the docstrings of methods name, such as KIP-320 and KAFKA-7128, each once."""
    return list(ticket_addresses(spec, [_docstring(spec, name) for name in methods]))


def ticket_addresses(spec: type[Spec], texts: Sequence[str]) -> dict[str, str]:
    """Return the address of each ticket that some text names."""
    return {ticket: address for text in texts for ticket, address in ticket_links(spec, text)}


def texts_of(data: Any) -> list[str]:
    """Return all strings in plain data."""
    if isinstance(data, str):
        return [data]
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [text for part in parts for text in texts_of(part)]


def _docstring(spec: type[Spec], name: str) -> str:
    method = getattr(spec, name, None)
    return (method.__doc__ or "") if method is not None else ""
