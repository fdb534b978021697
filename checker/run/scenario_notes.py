"""Notes on scenarios from other packages: an entry point `tidemark.notes` is a function from a scenario to a line.

The checker does not know what a scenario specifies. A package that does may say, for example, how to see it happen.
"""

from __future__ import annotations

GROUP = "tidemark.notes"


def notes_on(name: str) -> list[str]:
    """Return the notes on a scenario, given as FAMILY/SPEC/SCENARIO; a function returns "" if it has none."""
    from importlib.metadata import entry_points

    functions = sorted(entry_points(group=GROUP), key=lambda found: found.name)
    return [note for function in functions if (note := str(function.load()(name)))]
