"""From what an engine counted to findings: sentences, each with the place in the spec that it is about."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from checker.evidence.tallies import Tallies, unused
from checker.language.source import source_of
from checker.language.spec import Spec, StateVariable
from checker.language.values import show
from checker.run.finding import Finding
from checker.run.result import Coverage


@dataclass(frozen=True)
class IdlePremise:
    """A premise that no reachable state (or step) makes true."""

    property: str
    text: str
    file: str
    line: int
    is_of_steps: bool


@dataclass
class Evidence:
    """What a complete exploration counted.

    `constant_variables` maps those that never change to their value, `idle_actions` names the actions whose every
    successor is the state it came from. `idle_premises` is None where the engine does not look for them.
    """

    coverage: Mapping[str, Coverage]
    unreached: Iterable[str]
    idle_actions: Iterable[str]
    constant_variables: Mapping[str, Any]
    tallies: Tallies
    idle_premises: list[IdlePremise] | None = field(default=None)


def findings_of(spec: Spec, evidence: Evidence) -> tuple[Finding, ...]:
    """Return what is idle in a spec that was explored completely."""
    return tuple(_findings(spec, evidence))


def _findings(spec: Spec, evidence: Evidence) -> Iterator[Finding]:
    for name, coverage in evidence.coverage.items():
        if not coverage.generated:
            yield Finding("never_enabled", name, f"{name} is never enabled", *_method_place(spec, name))
    for name in evidence.idle_actions:
        if _is_meant_to_be_idle(spec, name):
            continue
        message = f"{name} never changes a variable: each of its steps leads back to the same state"
        yield Finding("never_changes_anything", name, message, *_method_place(spec, name))
    for name in evidence.unreached:
        yield Finding("never_reached", name, f"{name} is never reached", *_method_place(spec, name))
    for premise in evidence.idle_premises or ():
        scope = "step" if premise.is_of_steps else "reachable state"
        message = f"{premise.property} is vacuous for `{premise.text}`: no {scope} satisfies this premise"
        yield Finding("premise_never_true", premise.property, message, premise.file, premise.line, premise.text)
    for name, value in evidence.constant_variables.items():
        message = f"{name} never changes: it is {show(value)} in every reachable state"
        yield Finding("never_changes", name, message, *_variable_place(spec, name), key="constant")
    yield from _values_never_taken(spec, evidence)


def _is_meant_to_be_idle(spec: Spec, action: str) -> bool:
    """Say whether an action only requires: a step that lets a finished behaviour go on, not one that fails to act."""
    body = source_of(getattr(type(spec), action)).tree.body
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Expr) and ast.unparse(statement).startswith("require("))
        for statement in body
    )


def _values_never_taken(spec: Spec, evidence: Evidence) -> Iterator[Finding]:
    for found in unused(evidence.tallies):
        variable = found.path.partition("[")[0].partition(".")[0]
        if variable not in evidence.constant_variables:
            place = _variable_place(spec, variable)
            yield Finding("never_taken", found.path, f"{found.path} {found.words}", *place, key=found.key)


def _method_place(spec: Spec, name: str) -> tuple[str, int]:
    source = source_of(getattr(type(spec), name))
    return source.file, source.tree.lineno


def _variable_place(spec: Spec, name: str) -> tuple[str, int]:
    """Return where a state variable is declared; the first line of its class where that cannot be found."""
    owner = next(base for base in type(spec).__mro__ if isinstance(vars(base).get(name), StateVariable))
    file = inspect.getsourcefile(owner) or inspect.getfile(owner)
    return file, _declarations(file, "".join(linecache.getlines(file))).get((owner.__qualname__, name), 1)


@functools.lru_cache(maxsize=64)
def _declarations(file: str, text: str) -> dict[tuple[str, str], int]:
    """Map each (class, name) assigned in a class body of a file to its line."""
    found: dict[tuple[str, str], int] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                name = f"{prefix}{node.name}"
                for statement in node.body:
                    targets = statement.targets if isinstance(statement, ast.Assign) else []
                    found.update(
                        {(name, target.id): statement.lineno for target in targets if isinstance(target, ast.Name)}
                    )
                    if isinstance(statement, ast.ClassDef):
                        found[name, statement.name] = statement.lineno
                visit(node.body, f"{name}.")

    visit(ast.parse(text, file).body, "")
    return found
