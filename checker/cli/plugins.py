"""Commands that other packages register through the entry point group `tidemark.commands`.

An entry point of the group names a `CommandGroup`; each of its commands becomes a command here. The entry points are
read only for a command that is not built in, and for the list of all commands.
"""

from __future__ import annotations

import functools
import sys

import click

from checker.cli.declaration import CommandGroup

GROUP = "tidemark.commands"


class PluginGroup(CommandGroup):
    """The built-in commands, followed by the registered ones."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *(name for group in registered_groups() for name in group.summaries())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None if no command has the name."""
        if command := super().get_command(ctx, cmd_name):
            return command
        commands = (group.get_command(ctx, cmd_name) for group in registered_groups())
        return next((command for command in commands if command is not None), None)

    def hint_on_unknown_commands(self) -> str:
        """Return how to install the package if it is not installed: the registered commands are then missing."""
        if registered_groups():
            return ""
        return f" {sys.executable} lacks the commands of Kafka: run pip install -e . there, in the folder of Tidemark"

    def summaries(self) -> dict[str, str]:
        """Return the summary of each command by its name."""
        return super().summaries() | {
            name: summary for group in registered_groups() for name, summary in group.summaries().items()
        }


@functools.cache
def registered_groups() -> list[CommandGroup]:
    """Return the registered groups of commands, in the order of their entry points."""
    # Imported here: reading the metadata of all distributions takes longer than many commands.
    from importlib.metadata import entry_points

    return [entry_point.load() for entry_point in sorted(entry_points(group=GROUP), key=lambda each: each.name)]
