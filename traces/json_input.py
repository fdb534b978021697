"""Reading of JSON that others wrote: numbers without end, deep nesting and broken text are refused."""

from __future__ import annotations

import json
import math
from typing import Any

MOST_DEPTH = 100
"""The most arrays and objects within each other. Reading and showing a value recurses over its depth."""


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises JSONDecodeError if the text is not JSON, and another ValueError if its value cannot be used: it is nested too
    deeply, an object has a key twice, a number is not finite or too long, or a string is not Unicode text.
    """
    return _check(text, json.loads(text, object_pairs_hook=_object, parse_constant=_refuse, parse_float=_finite))


def parse_json_line(text: str) -> Any:
    """Return the value of a JSON text as `parse_json`, but take the last value of a key that an object has twice.

    Logs have many lines: the check for such keys would halve the speed.
    """
    return _check(text, json.loads(text, parse_constant=_refuse, parse_float=_finite))


def _check(text: str, value: Any) -> Any:
    if text.count("[") + text.count("{") > MOST_DEPTH:
        _require_depth(value)
    if "\\u" in text:
        _require_unicode(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the key {twice!r} twice")
    return content


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:20]} is too large")
    return value


def _require_depth(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH):
        level = [item for container in level for item in _items(container)]
        if not level:
            return
    raise ValueError(f"it has more than {MOST_DEPTH} arrays and objects within each other")


def _items(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _require_unicode(value: Any) -> None:
    """Raise ValueError for a string with half of a surrogate pair, which no file can hold."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"the string {value[:40]!a} is not Unicode text") from None
    elif isinstance(value, dict):
        for name, item in value.items():
            _require_unicode(name)
            _require_unicode(item)
    elif isinstance(value, list):
        for item in value:
            _require_unicode(item)
