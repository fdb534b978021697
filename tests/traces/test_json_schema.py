"""The check against JSON Schemas decides as the package `jsonschema` does, and JSON from outside is read safely."""

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from checker.engines.python.explorer import explore
from checker.run.plan import Plan
from tests.toy import Log, Overflow
from traces import trace_file
from traces.json_input import MOST_DEPTH, parse_json, parse_json_line
from traces.json_schema import read_schema, schema_error

SCHEMAS = sorted(Path(trace_file.__file__).parent.rglob("*.schema.json"))

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.sampled_from(["", "weak", "b1", "0" * 64]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["action", "state", "x"]), inner),
    max_leaves=6,
)


VALIDATOR = Draft202012Validator(read_schema(trace_file.SCHEMA))


def content(spec, name):
    violation = explore(spec, Plan(properties=(name,))).violations[0]
    return trace_file.trace_to_json(spec, violation, trace_file.origin_of(spec, "toy", None, "toy", "explore()"))


CONTENTS = [content(Log(), "logs_agree"), content(Overflow(), "is_two")]


def places(value, path=()):
    """Return the paths of all parts of a JSON value."""
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "enum", "required", "properties"} | {
    "additionalProperties",
    "items",
    "minimum",
    "maximum",
    "pattern",
}
"""The keywords that `traces.json_schema` checks, and those that are for readers."""


def keywords(schema):
    """Return the keywords of a schema and of the schemas in it."""
    yield from schema
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), schema.get("items")]
    for found in [*inner, schema.get("additionalProperties")]:
        yield from keywords(found) if isinstance(found, dict) else ()


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_a_published_schema_is_a_schema(path):
    Draft202012Validator.check_schema(json.loads(path.read_text()))
    assert set(keywords(read_schema(path))) <= KNOWN


@pytest.mark.parametrize("found", CONTENTS)
def test_a_written_trace_fits_the_schema(found):
    schema = read_schema(trace_file.SCHEMA)
    assert Draft202012Validator(schema).is_valid(found) and schema_error(schema, found) is None


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.data())
def test_the_check_decides_as_jsonschema_does(data):
    found = copy.deepcopy(data.draw(st.sampled_from(CONTENTS)))
    *path, last = data.draw(st.sampled_from([place for place in places(found) if place]))
    part = found
    for key in path:
        part = part[key]
    match data.draw(st.sampled_from(["replace", "remove", "add"])):
        case "remove":
            del part[last]
        case "add" if isinstance(part, dict):
            part[data.draw(st.sampled_from(["more", "loop_start", "for_each"]))] = data.draw(VALUES)
        case _:
            part[last] = data.draw(VALUES)
    assert (schema_error(read_schema(trace_file.SCHEMA), found) is None) == VALIDATOR.is_valid(found)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 101 + "]" * 101, f"more than {MOST_DEPTH} arrays and objects within each other"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ("-1e400", "is too large"),
        ('["\\udfff"]', "is not Unicode text"),
        ('{"\\udfff": 1}', "is not Unicode text"),
        ("9" * 5000, "exceeds the limit"),
    ],
)
@pytest.mark.parametrize("parse", [parse_json, parse_json_line])
def test_a_value_that_cannot_be_used_is_refused(parse, text, says):
    with pytest.raises(ValueError, match=says if says[0] != "e" else "(?i)exceeds the limit"):
        parse(text)


def test_usual_values_are_read():
    text = json.dumps({"a": [1, -2.5, None, True, "\N{GRINNING FACE}", "\x1b"], "b": {"c": [[]]}})
    assert parse_json(text) == parse_json_line(text) == json.loads(text)
    assert parse_json("[" * 100 + "]" * 100)
    assert parse_json_line('{"a": 1, "a": 2}') == {"a": 2}
