"""Whether this process was started to run one command.

Such a process runs no code but the project's and that of specs. A test or a notebook may have replaced a function or a
constant of the checker: what it computes must not be kept for other processes under the name of the source.
"""

from __future__ import annotations

_is_command = False


def begin() -> None:
    """Note that this process, with the processes that it forks, runs one command."""
    global _is_command
    _is_command = True


def is_command() -> bool:
    """Return whether this process runs one command."""
    return _is_command
