"""The view of a spec, for the output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checker.language.roles import Role
from checker.language.spec import Spec

if TYPE_CHECKING:
    from checker.ir import nodes


def spec_view(spec: Spec) -> nodes.View | None:
    """Return the view of a spec, or None. Most specs have none, and do not need the front end for that."""
    if not spec.names_of(Role.VIEW):
        return None
    from checker.frontend import compile_view

    return compile_view(spec)
