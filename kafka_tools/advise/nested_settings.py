"""Settings in nested form: JSON, TOML and YAML. An error never contains a value, because a value may be a secret."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from checker.errors import InputError
from kafka_tools.advise.written_settings import WrittenSetting

YAML_SUFFIXES = (".yml", ".yaml")
NESTED_SUFFIXES = (".json", ".toml", *YAML_SUFFIXES)

Table = Mapping[str, Any]
"""Nested mappings and lists; a leaf is text, a number or a Boolean."""

_MOST_LEVELS, _MOST_SETTINGS = 60, 20_000
"""Limits for YAML, whose aliases make a short file large."""


class LocatedText(str):
    """A text of a YAML file, with its line."""

    line: int

    @classmethod
    def at(cls, text: str, line: int) -> LocatedText:
        """Return a text with its line."""
        located = cls(text)
        located.line = line
        return located


def documents(path: Path, text: str) -> list[Table]:
    """Return the mappings of a file, one for each document of YAML. Raises InputError if it is malformed."""
    parsed = _yaml_documents(path, text) if path.suffix in YAML_SUFFIXES else [_parse(path, text)]
    for document in parsed:
        if not isinstance(document, dict):
            raise InputError(f"{path} is not an object: write names and values, or sections for each role")
    return parsed


def _parse(path: Path, text: str) -> Any:
    try:
        return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text, object_pairs_hook=_no_duplicates)
    except tomllib.TOMLDecodeError as error:
        # The message may contain a piece of the file, which may be a secret. Its end is the place.
        place = re.search(r"\(at [^()]*\)$", str(error))
        raise InputError(f"{path} is not TOML {place.group() if place else ''}".rstrip()) from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except _DuplicateError as error:
        raise InputError(f"{path}: {plain(str(error))} occurs twice: keep one of the two") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} has a number with thousands of digits, or is nested too deeply") from None


def plain(name: str) -> str:
    """Return a name if it is safe to print."""
    return name if re.fullmatch(r"[A-Za-z0-9._-]{1,80}", name) else "a name"


class _DuplicateError(Exception):
    pass


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for name, value in pairs:
        if name in seen:
            raise _DuplicateError(name)
        seen[name] = value
    return seen


def _yaml_documents(path: Path, text: str) -> list[Any]:
    try:
        parsed = list(_YamlReader(path, text).read())
    except RecursionError:
        raise InputError(f"{path} is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}" if mark else ""
        hint = "; render the templates of Helm or Ansible first" if "{{" in text else ""
        raise InputError(f"{path}{place}: not YAML{hint}") from None
    return [document for document in parsed if document != ""]


class _ShallowLoader(yaml.SafeLoader):  # type: ignore[misc] # PyYAML has no types
    """Refuses deep nesting while it reads: PyYAML's time grows with the square of the depth."""

    def __init__(self, text: str):
        super().__init__(text)
        self._level = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node; raise RecursionError below the deepest level."""
        self._level += 1
        if self._level > _MOST_LEVELS:
            raise RecursionError
        node: yaml.Node | None = super().compose_node(parent, index)
        self._level -= 1
        return node


class _YamlReader:
    """Reads YAML as mappings, lists and texts. An aliased part is read once."""

    def __init__(self, path: Path, text: str):
        self._path, self._loader = path, _ShallowLoader(text)
        self._read: dict[int, tuple[yaml.Node, Any]] = {}

    def read(self) -> Iterator[Any]:
        """Yield the documents."""
        while self._loader.check_node():
            yield self._data(self._loader.get_node(), 0)

    def _data(self, node: yaml.Node, level: int) -> Any:
        if level > _MOST_LEVELS:
            raise InputError(f"{self._path} is nested too deeply")
        if id(node) not in self._read:
            self._read[id(node)] = (node, self._new_data(node, level))
        return self._read[id(node)][1]

    def _new_data(self, node: yaml.Node, level: int) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return [self._data(item, level + 1) for item in node.value]
        if isinstance(node, yaml.MappingNode):
            self._check_names(node)
            self._loader.flatten_mapping(node)
            return {str(key.value): self._data(value, level + 1) for key, value in node.value}
        return LocatedText.at(self._scalar(node), node.start_mark.line + 1)

    def _check_names(self, node: yaml.MappingNode) -> None:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem_mark=key.start_mark)
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                line = key.start_mark.line + 1
                raise InputError(f"{self._path}:{line}: {plain(key.value)} occurs twice: keep one of the two")
            seen.add(key.value)

    def _scalar(self, node: yaml.Node) -> str:
        """Return a scalar as text; Booleans and whole numbers as Kafka writes them."""
        if node.tag == "tag:yaml.org,2002:bool":
            return str(self._loader.construct_yaml_bool(node)).lower()
        if node.tag == "tag:yaml.org,2002:int":
            return str(self._loader.construct_yaml_int(node))
        return "" if node.tag == "tag:yaml.org,2002:null" else str(node.value)


def flat(path: Path, table: Table) -> list[WrittenSetting]:
    """Return the settings of a table, with names joined by dots. Raises InputError if there are too many."""
    settings = []
    for setting in _flat(path, table, ""):
        settings.append(setting)
        if len(settings) > _MOST_SETTINGS:
            raise InputError(f"{path} has more than {_MOST_SETTINGS:,} settings: name a configuration file")
    return settings


def _flat(path: Path, table: Table, prefix: str) -> Iterator[WrittenSetting]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(path, value, f"{prefix}{name}.")
        elif isinstance(value, list):
            plain_items = [item for item in value if not isinstance(item, (dict, list))]
            yield WrittenSetting(prefix + name, ",".join(map(str, plain_items)), path.name, line_of(plain_items))
            for number, item in enumerate(value):
                if isinstance(item, (dict, list)):
                    yield from _flat(path, {f"{name}[{number}]": item}, prefix)
        else:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            yield WrittenSetting(prefix + name, text, path.name, line_of([value]))


def line_of(values: list[Any]) -> int | None:
    """Return the line of the first value that has one."""
    return next((value.line for value in values if isinstance(value, LocatedText)), None)


class FormError(Exception):
    """A part of a document has another form than its program reads: it would be dropped."""


def section(document: Table, *names: str) -> Table:
    """Return a nested mapping; an empty one if it is absent. Raises FormError for another part."""
    table = document
    for name in names:
        part = table.get(name)
        if part is None or part == "":
            return {}
        if not isinstance(part, dict):
            raise FormError(f"{plain(name)} is no mapping of names to values")
        table = part
    return table


def items(table: Table, name: str) -> list[Any]:
    """Return the items of a list; none if it is absent. Raises FormError for another part."""
    part = table.get(name)
    if part is None or part == "":
        return []
    if not isinstance(part, list):
        raise FormError(f"{name} is no list")
    return part


def mappings(table: Table, name: str) -> list[Table]:
    """Return the mappings of a list; none if it is absent. Raises FormError for another part."""
    parts = items(table, name)
    if not all(isinstance(part, dict) for part in parts):
        raise FormError(f"{name} has an item that is no mapping of names to values")
    return parts


def texts(value: Any) -> list[Any]:
    """Return the texts in a value, at any depth."""
    if isinstance(value, (dict, list)):
        return [text for part in (value.values() if isinstance(value, dict) else value) for text in texts(part)]
    return [] if value is None else [value]
