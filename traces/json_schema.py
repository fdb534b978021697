"""Check of plain JSON against a published JSON Schema, in the part of the language that the schemas of the project use.

The keywords are `$ref` to `$defs`, `type`, `enum`, `required`, `properties`, `additionalProperties`, `items`,
`minimum`, `maximum` and `pattern`. A test compares this check with the package `jsonschema`.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}


@functools.cache
def read_schema(path: Path) -> Schema:
    """Return a schema of the project."""
    schema: Schema = json.loads(path.read_text(encoding="utf-8"))
    return schema


def schema_error(schema: Schema, value: Any) -> str | None:
    """Return the first difference of a value from a schema, as `steps[2].state must be an object`; None if it fits."""
    return next(_errors(schema, schema, value, ""), None)


def _errors(root: Schema, schema: Schema, value: Any, path: str) -> Iterator[str]:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    shown = path or "it"
    types = schema.get("type", list(_TYPES))
    names = [types] if isinstance(types, str) else types
    if not any(_is_of(name, value) for name in names):
        yield f"{shown} must be {' or '.join(_article(name) for name in names)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{shown} must be one of {', '.join(map(json.dumps, schema['enum']))}"
    if isinstance(value, dict):
        yield from _object_errors(root, schema, value, path)
    elif isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from _errors(root, schema["items"], item, f"{path}[{number}]")
    elif isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{shown} must match {schema['pattern']}"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            yield f"{shown} must be at least {schema['minimum']}"
        if "maximum" in schema and value > schema["maximum"]:
            yield f"{shown} must be at most {schema['maximum']}"


def _object_errors(root: Schema, schema: Schema, value: dict[str, Any], path: str) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path or 'it'} has no {name}"
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in known:
            yield from _errors(root, known[name], item, _inside(path, name))
        elif others is False:
            yield f"{path or 'it'} has the unknown key {json.dumps(name)}"
        elif others is not True:
            yield from _errors(root, others, item, _inside(path, name))


def _is_of(name: str, value: Any) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _article(name: str) -> str:
    return name if name == "null" else f"{'an' if name[0] in 'aio' else 'a'} {name}"


def _inside(path: str, name: str) -> str:
    if name.isidentifier():
        return f"{path}.{name}" if path else name
    return f"{path}[{json.dumps(name)}]"
