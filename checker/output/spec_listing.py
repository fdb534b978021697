"""The families with their specs, constants, properties and scenarios, as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from checker.language.declarations import Constant
from checker.language.roles import PROPERTY_ROLES, Role
from checker.language.spec import Scenario, Spec
from checker.output.counterexample_text import constants_text
from checker.output.styled_lines import BLANK, Line, line
from checker.printable import quantity
from checker.run import registry

_WIDTH = 62
"""The most characters of a list of names on one line, which begins after 14 columns."""


_LEAST_SUMMARY = 20
"""The fewest columns of a summary: a line with less room for it is broken."""


def listing_to_json(families: list[registry.Family]) -> dict[str, Any]:
    """Return families as one JSON object."""
    return {
        "families": [
            {
                "name": family.name,
                "summary": family.summary,
                "specs": [_spec_to_json(entry) for entry in family.entries],
            }
            for family in families
        ]
    }


def listing_lines(
    families: list[registry.Family], with_constants: bool = False, width: int | None = None
) -> list[Line]:
    """Return the lines that list families: a line for each spec, or the scenarios of a single one.

    A line of several specs has at most `width` columns, if the name of the spec leaves room for a few words.
    """
    entries = [entry for family in families for entry in family.entries]
    if len(entries) == 1:
        return _entry_lines(entries[0], with_constants)
    lines: list[Line] = []
    for family in families:
        lines += [line((family.name, "bold"), (f"  {_in_short(family.summary, family.name, width)}", "dim"))]
        for entry in family.entries:
            summary = _in_short(entry.spec.summary(), f"  {entry.target}", width)
            lines += [line("  ", (entry.target, "cyan"), f"  {summary}")]
            lines += _constant_lines(entry) if with_constants else []
    names = sum(len(entry.scenarios) for entry in entries)
    counts = f"{quantity(len(entries), 'spec')}, {quantity(names, 'scenario')}"
    return [*lines, BLANK, line((f"{counts}; list SPEC shows those of a spec", "dim"))]


def _in_short(summary: str, before: str, width: int | None) -> str:
    """Return the first words of a summary, which fit on the line after a name and two spaces."""
    room = width - len(before) - 2 if width is not None else len(summary)
    return textwrap.shorten(summary, max(room, _LEAST_SUMMARY), placeholder=" …")


def _entry_lines(entry: registry.SpecEntry, with_constants: bool) -> list[Line]:
    lines = [line((entry.target, "bold cyan"), f"  {entry.spec.summary()}")]
    lines += _constant_lines(entry) if with_constants else []
    if properties := [_property_text(name, role) for name, role in _properties(entry.spec).items()]:
        lines += _wrap("properties", properties)
    for scenario in entry.scenarios:
        lines += [BLANK, line("  ", (scenario.name, "bold"), f"  {_expectation_text(scenario)}")]
        details = (scenario.description, constants_text(scenario.constants) if with_constants else "")
        lines += [line(f"    {text}") for text in details if text]
    if entry.spec.declared_constants and not with_constants:
        constants = quantity(len(entry.spec.declared_constants), "constant")
        lines += [BLANK, line((f"{constants}; list --constants shows them", "dim"))]
    return lines


def _constant_lines(entry: registry.SpecEntry) -> list[Line]:
    constants = [_constant_text(name, constant) for name, constant in entry.spec.declared_constants.items()]
    return _wrap("constants", constants) if constants else []


def _wrap(heading: str, words: list[str]) -> list[Line]:
    """Return words after a heading, on as many lines as they need."""
    # A no-break space keeps `acks=all of 0|1|all` on one line.
    joined = ", ".join(word.replace(" ", "\N{NO-BREAK SPACE}") for word in words)
    rows = [row.replace("\N{NO-BREAK SPACE}", " ") for row in textwrap.wrap(joined, _WIDTH, break_long_words=False)]
    headings = [heading, *[""] * (len(rows) - 1)]
    return [line((f"  {shown:<10}  ", "dim"), row) for shown, row in zip(headings, rows, strict=True)]


def _properties(spec: type[Spec]) -> dict[str, Role]:
    return {name: role for name, role in spec.roles.items() if role in PROPERTY_ROLES}


def _property_text(name: str, role: Role) -> str:
    return name if role is Role.INVARIANT else f"{name} ({role.value.removesuffix(' invariant')})"


def _constant_text(name: str, constant: Constant) -> str:
    if constant.one_of is not None:
        choices = "|".join(constant.one_of)
        if len(choices) > _WIDTH:
            choices = f"{quantity(len(constant.one_of), 'value')}: {constant.one_of[0]}, ..., {constant.one_of[-1]}"
        return f"{name}={constant.default} ({choices})"
    return constants_text({name: constant.default})


def _expectation_text(scenario: Scenario) -> str:
    if isinstance(scenario.expect, str):
        return {"holds": "holds", "error": "a value leaves its bounds"}.get(scenario.expect, scenario.expect)
    violated = [f"{name} {length}" if length else name for name, length in scenario.expect.items()]
    return f"violated: {', '.join(violated)}"


def _spec_to_json(entry: registry.SpecEntry) -> dict[str, Any]:
    spec = entry.spec
    return {
        "name": entry.name,
        "target": entry.target,
        "summary": spec.summary(),
        "constants": {
            name: {
                "default": constant.default,
                "at_least": constant.at_least,
                "at_most": constant.at_most,
                "one_of": list(constant.one_of) if constant.one_of is not None else None,
            }
            for name, constant in spec.declared_constants.items()
        },
        "actions": [name for name, role in spec.roles.items() if role is Role.ACTION],
        "properties": {name: role.value.replace(" ", "_") for name, role in _properties(spec).items()},
        "scenarios": [
            {
                "name": scenario.name,
                "constants": dict(scenario.constants),
                "expect": dict(scenario.expect) if isinstance(scenario.expect, Mapping) else scenario.expect,
                "deadlock": scenario.deadlock,
                "description": scenario.description,
            }
            for scenario in entry.scenarios
        ],
    }
