"""Functions that other packages register as entry points: what the checker does not know, because it knows no Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from checker.errors import MissingExtraError

NOTES = "tidemark.notes"
"""Functions from a scenario, given as FAMILY/SPEC/SCENARIO, to a line below its counterexample, "" for none."""

NAMES = "tidemark.names"
"""Functions from a name, such as that of a bug, to the scenarios FAMILY/SPEC/SCENARIO that show it."""

STORIES = "tidemark.stories"
"""Functions from such a name, or from a scenario, to lines of text about it; no line if they do not know it."""

SPARK = "tidemark.spark"
"""What works on Spark: `engine` explores for `run`, `has_checkpoint` is its question about a folder, and `validate`
validates logs.
"""


def _registrations(group: str) -> Iterator[Callable[[str], Any]]:
    # Imported here: reading the metadata of all distributions takes longer than many commands.
    from importlib.metadata import entry_points

    for entry_point in sorted(entry_points(group=group), key=lambda each: each.name):
        yield entry_point.load()


def notes_on(scenario: str) -> list[str]:
    """Return the notes on a scenario, for example how to see it happen."""
    return [note for function in _registrations(NOTES) if (note := str(function(scenario)))]


def scenarios_named(name: str) -> list[str]:
    """Return the scenarios that a registered name stands for, none if nobody knows the name."""
    return [target for function in _registrations(NAMES) for target in function(name)]


def story_of(name: str) -> list[str]:
    """Return the text about a registered name, nothing if nobody knows it."""
    return [text for function in _registrations(STORIES) for text in function(name)]


def function_on_spark(name: str) -> Callable[..., Any]:
    """Return a registered function of the group `tidemark.spark`; raise MissingExtraError if there is none."""
    from importlib.metadata import entry_points

    for entry_point in entry_points(group=SPARK, name=name):
        function: Callable[..., Any] = entry_point.load()
        return function
    raise MissingExtraError("Spark has no entry points here: run pip install -e . in the folder of Tidemark again")
