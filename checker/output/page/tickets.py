"""Links to the tickets that the description of a scenario names."""

from __future__ import annotations

import importlib
import re

from checker.language.spec import Spec


def ticket_links(spec: type[Spec], text: str) -> tuple[tuple[str, str], ...]:
    """Return the tickets in a text with their addresses.

    The top-level package of a spec may define `TICKETS`, which maps patterns to addresses with `{}` for the ticket.
    """
    package = importlib.import_module(spec.__module__.partition(".")[0])
    addresses: dict[str, str] = getattr(package, "TICKETS", {})
    found = {
        ticket: address.format(ticket) for pattern, address in addresses.items() for ticket in re.findall(pattern, text)
    }
    return tuple(found.items())
