"""The limit of action instances, which every explorer has: no one of them accepts a spec that another refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.errors import SpecError

if TYPE_CHECKING:
    from checker.ir import nodes

MOST_INSTANCES = 65535
"""The packed formats number instances in 16 bits, and one number is reserved."""


def require_few_instances(program: nodes.Program) -> None:
    """Raise SpecError if a program has more action instances than an explorer takes."""
    if program.instances > MOST_INSTANCES:
        raise SpecError(
            f"{program.name} has {program.instances} action instances, over {MOST_INSTANCES}: "
            "bind a parameter with require(parameter in self.collection)"
        )
