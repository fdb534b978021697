"""The bodies of spec classes: the place of each declaration, and names that are declared twice."""

from __future__ import annotations

import inspect
import re
import sys
from types import FunctionType
from typing import Any

from checker.errors import SpecError
from checker.language.declarations import Constant, is_type
from checker.language.drawing import Drawing
from checker.language.fairness import FairUnion
from checker.language.refinement import Refinement
from checker.language.roles import role_of
from checker.language.source import line_error, name_error

DECLARED_AT = "_declared_at"
"""The attribute of a spec class that maps the names of its body to their lines."""


class ClassBody(dict[str, Any]):
    """The namespace in which Python executes the body of a spec class.

    Python lets a second declaration of a name replace the first one. A spec would silently lose an action or a
    property, so this is an error.
    """

    def __init__(self, class_name: str):
        super().__init__()
        self._class_name = class_name
        self.lines: dict[str, tuple[str, int]] = {}

    def __setitem__(self, name: str, value: Any) -> None:
        frame = sys._getframe(1)
        file, line = frame.f_code.co_filename, frame.f_lineno
        before = self.get(name)
        # A name may be decorated in a second statement: `go = action(go)`.
        is_declared = _is_declaration(before) or _is_declaration(value)
        is_same_method = before is value and isinstance(value, FunctionType)
        if name in self and is_declared and not is_same_method and not name.startswith("__"):
            first = self.lines[name][1]
            message = f"{self._class_name}.{name} is declared twice, first in line {first}: use two names"
            raise line_error(file, line, message)
        self.lines[name] = (file, line)
        super().__setitem__(name, value)


def _is_declaration(value: Any) -> bool:
    """Return whether a value of a class body declares a part of the spec, and is not a plain value such as `50`."""
    return isinstance(value, (FunctionType, Drawing)) or is_part(value)


def is_part(value: Any) -> bool:
    """Return whether a value declares what a spec is, and is no helper and no option."""
    return isinstance(value, (Constant, FairUnion, Refinement)) or is_type(value) or role_of(value) is not None


class SpecClass(type):
    """The class of spec classes: it executes their bodies in a `ClassBody`."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **_: Any) -> ClassBody:
        """Return the namespace of a new spec class."""
        return ClassBody(name)

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **keywords: Any) -> Any:
        """Return the spec class, which keeps the lines of its declarations."""
        lines = body.lines if isinstance(body, ClassBody) else {}
        return super().__new__(cls, name, bases, {**body, DECLARED_AT: lines}, **keywords)

    def __setattr__(cls, name: str, value: Any) -> None:
        """Set an attribute; raise SpecError for a new part of the spec, which nothing would check."""
        if is_part(value) and name not in vars(cls):
            raise SpecError(f"{cls.__name__}.{name} is declared after its class: write it in the body of the class")
        super().__setattr__(name, value)


def declaration_error(owner: type, name: str, message: str) -> SpecError:
    """Return a SpecError that points at the declaration of an attribute in a class or in one of its bases."""
    for base in owner.__mro__:
        place = vars(base).get(DECLARED_AT, {}).get(name)
        if place is not None:
            file, line = place
            return name_error(file, line, name, message)
    return SpecError(message)


def class_error(owner: type, message: str) -> SpecError:
    """Return a SpecError that points at the first line of a class."""
    file = getattr(sys.modules.get(owner.__module__), "__file__", None)
    try:
        lines, first = inspect.getsourcelines(owner)
    except (OSError, TypeError):
        return SpecError(message, file=file)
    at = next((number for number, line in enumerate(lines, first) if re.match(r"\s*class\b", line)), first)
    return name_error(inspect.getfile(owner), at, owner.__name__, message)
