"""Commands that other packages register through the entry point group `tidemark.commands`.

An entry point of the group names a `typer.Typer` application; each of its commands becomes a command here. The entry
points are read only for a command that is not built in, and for the list of all commands.
"""

from __future__ import annotations

import functools
from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperGroup

GROUP = "tidemark.commands"


class CommandGroup(TyperGroup):
    """The built-in commands, followed by the registered ones."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *registered_commands()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or None if no command has the name."""
        return super().get_command(ctx, cmd_name) or registered_commands().get(cmd_name)


@functools.cache
def registered_commands() -> dict[str, Any]:
    """Return the registered commands by name, in the order of their entry points."""
    commands: dict[str, Any] = {}
    for entry_point in sorted(entry_points(group=GROUP), key=lambda found: found.name):
        commands |= typer.main.get_group(entry_point.load()).commands
    return commands
