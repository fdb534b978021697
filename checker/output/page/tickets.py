"""Links to the tickets that texts about a spec name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from checker.language.spec import Spec

if TYPE_CHECKING:
    from markupsafe import Markup


def ticket_links(spec: type[Spec], text: str) -> tuple[tuple[str, str], ...]:
    """Return the tickets in a text with their addresses.

    The top-level package of a spec may define `TICKETS`, which maps patterns to addresses with `{}` for the ticket. Of
    two patterns that match it, the later one counts.
    """
    package = importlib.import_module(spec.__module__.partition(".")[0])
    addresses: dict[str, str] = getattr(package, "TICKETS", {})
    links = {
        ticket: address.format(ticket) for pattern, address in addresses.items() for ticket in re.findall(pattern, text)
    }
    return tuple(links.items())


def with_links(text: str, addresses: Mapping[str, str]) -> Markup:
    """Return a text as markup in which each ticket with an address is a link."""
    from markupsafe import Markup

    if not addresses:
        return Markup.escape(text)
    # KIP-1 is no part of KIP-101.
    pattern = rf"(?<!\w)({'|'.join(map(re.escape, addresses))})(?!\w)"
    parts = re.split(pattern, text)
    return Markup("").join(
        Markup('<a href="{}">{}</a>').format(addresses[part], part) if at % 2 else part for at, part in enumerate(parts)
    )
