"""Findings from the evidence of a complete exploration: sentences with their location in the spec."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from checker.evidence.observed_values import Observations, values_never_seen
from checker.language.source import source_of
from checker.language.spec import Spec, StateVariable
from checker.language.values import show
from checker.run.finding import Finding
from checker.run.result import Coverage

OMITTED_WITH_SYMMETRY = "unused parts of the spec are found only without symmetry: use --no-symmetry"
"""Why a run with symmetry has no findings: the values in the stored states are not those of all states."""


@dataclass(frozen=True)
class UnmetPremise:
    """A premise of a property that no reachable state (or step, if `is_of_steps`) satisfies."""

    property: str
    text: str
    file: str
    line: int
    is_of_steps: bool


@dataclass
class Evidence:
    """The facts that an engine collects in a complete exploration.

    `unreached` are the `@reachable` properties that are false in every state. `unchanging_actions` are the enabled
    actions whose steps all lead back to the same state. `constant_variables` maps each variable that never changes to
    its value. `unmet_premises` is None if the engine does not search for premises.
    """

    coverage: Mapping[str, Coverage]
    unreached: Iterable[str]
    unchanging_actions: Iterable[str]
    constant_variables: Mapping[str, Any]
    observations: Observations
    unmet_premises: list[UnmetPremise] | None = field(default=None)


def findings_of(spec: Spec, evidence: Evidence) -> tuple[Finding, ...]:
    """Return the findings about a spec that was explored completely."""
    return tuple(_findings(spec, evidence))


def _findings(spec: Spec, evidence: Evidence) -> Iterator[Finding]:
    for name, coverage in evidence.coverage.items():
        if not coverage.generated:
            yield Finding("never_enabled", name, f"{name} is never enabled", *_method_place(spec, name))
    for name in evidence.unchanging_actions:
        if _has_only_requires(spec, name):
            continue
        message = f"{name} never changes a variable: each of its steps leads back to the same state"
        yield Finding("never_changes_anything", name, message, *_method_place(spec, name))
    for name in evidence.unreached:
        yield Finding("never_reached", name, f"{name} is never reached", *_method_place(spec, name))
    for premise in evidence.unmet_premises or ():
        scope = "step" if premise.is_of_steps else "reachable state"
        message = f"{premise.property} is vacuous for `{premise.text}`: no {scope} satisfies this premise"
        yield Finding("premise_never_true", premise.property, message, premise.file, premise.line, premise.text)
    for name, value in evidence.constant_variables.items():
        message = f"{name} never changes: it is {show(value)} in every reachable state"
        yield Finding("never_changes", name, message, *_variable_place(spec, name), key="constant")
    yield from _values_never_taken(spec, evidence)


def _has_only_requires(spec: Spec, action: str) -> bool:
    """Return whether the body of an action has only `require` calls.

    Such an action changes nothing on purpose: it lets a finished behaviour continue, so that it is not a deadlock.
    """
    body = source_of(getattr(type(spec), action)).tree.body
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Expr) and ast.unparse(statement).startswith("require("))
        for statement in body
    )


def _values_never_taken(spec: Spec, evidence: Evidence) -> Iterator[Finding]:
    for unused in values_never_seen(evidence.observations):
        variable = unused.path.partition("[")[0].partition(".")[0]
        if variable not in evidence.constant_variables:
            place = _variable_place(spec, variable)
            yield Finding("never_taken", unused.path, f"{unused.path} {unused.predicate}", *place, key=unused.key)


def _method_place(spec: Spec, name: str) -> tuple[str, int]:
    source = source_of(getattr(type(spec), name))
    return source.file, source.tree.lineno


def _variable_place(spec: Spec, name: str) -> tuple[str, int]:
    """Return the file and line that declare a state variable; line 1 if the declaration is not found."""
    owner = next(base for base in type(spec).__mro__ if isinstance(vars(base).get(name), StateVariable))
    file = inspect.getsourcefile(owner) or inspect.getfile(owner)
    return file, _declarations(file, "".join(linecache.getlines(file))).get((owner.__qualname__, name), 1)


@functools.lru_cache(maxsize=64)
def _declarations(file: str, text: str) -> dict[tuple[str, str], int]:
    """Map each (qualified class name, name) that a class body of a file assigns to its line."""
    lines: dict[tuple[str, str], int] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                name = f"{prefix}{node.name}"
                for statement in node.body:
                    targets = statement.targets if isinstance(statement, ast.Assign) else []
                    lines.update(
                        {(name, target.id): statement.lineno for target in targets if isinstance(target, ast.Name)}
                    )
                    if isinstance(statement, ast.ClassDef):
                        lines[name, statement.name] = statement.lineno
                visit(node.body, f"{name}.")

    visit(ast.parse(text, file).body, "")
    return lines
