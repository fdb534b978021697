"""Coverage of a spec by behaviours: which actions they take, and which outcomes of `if` statements.

The steps are run again by the interpreter, which executes the methods as they are written, while the lines that it
executes are traced.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from checker.language.spec import Spec
from checker.run.result import TraceStep

_END = -1
"""The line after the last one of a method."""


@dataclass(frozen=True)
class BranchOutcome:
    """An outcome of an `if` statement: its method, file and line, the condition as text, and its value."""

    method: str
    file: str
    line: int
    condition: str
    value: bool


@dataclass
class BehaviourCoverage:
    """The number of steps by action, and how often each pair of lines was executed one after the other."""

    steps: Counter[str] = field(default_factory=Counter)
    lines: Counter[tuple[str, int, int]] = field(default_factory=Counter)

    def add(self, spec: Spec, behaviour: Sequence[TraceStep]) -> None:
        """Add the steps of a behaviour of a spec, which begins with an initial state."""
        files = _files(type(spec))
        for before, step in itertools.pairwise(behaviour):
            if step.action is not None:
                self.steps[step.action] += 1
                with _Traced(files, self.lines):
                    spec.step(before.state, step.action, *step.arguments)

    def times(self, branch: _Branch, value: bool) -> int:
        """Return how often a condition had a value."""
        return sum(
            count
            for (file, first, second), count in self.lines.items()
            if file == branch.file and branch.has_value(first, second, value)
        )


@dataclass(frozen=True)
class _Branch:
    """An `if` statement: the lines of its condition, and the first line of its body."""

    method: str
    file: str
    first: int
    last: int
    body: int
    condition: str

    def has_value(self, line: int, following: int, value: bool) -> bool:
        """Return whether a condition that ends in `line` had a value, if `following` is executed next."""
        if not self.first <= line <= self.last or self.first <= following <= self.last:
            return False
        return (following == self.body) == value


class _Traced:
    """Counts pairs of lines of some files while it is entered."""

    def __init__(self, files: frozenset[str], lines: Counter[tuple[str, int, int]]):
        self._files, self._lines = files, lines

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        if file not in self._files:
            return None
        last: list[int] = []

        def executed(frame: FrameType, event: str, _: Any) -> Any:
            line = frame.f_lineno if event == "line" else _END
            if event in ("line", "return"):
                if last:
                    self._lines[file, last[0], line] += 1
                last[:] = [line]
            return executed

        return executed


def coverage_gaps(spec: type[Spec], coverage: BehaviourCoverage) -> tuple[list[str], list[BranchOutcome], int]:
    """Return the actions never taken, the outcomes never seen, and the number of all outcomes.

    A condition on constants alone has one outcome in a run, and is left out.
    """
    actions = [shape.name for shape in spec().shapes()]
    missing, total = [], 0
    for branch in _branches(spec):
        for value in (True, False):
            total += 1
            if not coverage.times(branch, value):
                missing.append(BranchOutcome(branch.method, branch.file, branch.first, branch.condition, value))
    return [name for name in actions if not coverage.steps[name]], missing, total


def _files(spec: type[Spec]) -> frozenset[str]:
    return frozenset(inspect.getfile(base) for base in spec.__mro__ if issubclass(base, Spec) and base is not Spec)


def _branches(spec: type[Spec]) -> Iterator[_Branch]:
    """Iterate over the `if` statements of the actions and helpers of a spec."""
    constants = set(spec().constant_values)
    seen: set[str] = set()
    for base in spec.__mro__:
        if not issubclass(base, Spec) or base is Spec:
            continue
        file = inspect.getfile(base)
        for method in _methods(file, base.__name__):
            if method.name in seen or method.name == "init" or _is_property(method):
                continue
            seen.add(method.name)
            for node in ast.walk(method):
                if isinstance(node, ast.If) and not _reads_only(node.test, constants):
                    last = node.test.end_lineno or node.test.lineno
                    text = ast.unparse(node.test).replace("self.", "")
                    yield _Branch(method.name, file, node.lineno, last, node.body[0].lineno, text)


def _methods(file: str, name: str) -> list[ast.FunctionDef]:
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return [node for each in classes for node in each.body if isinstance(node, ast.FunctionDef)]


def _is_property(method: ast.FunctionDef) -> bool:
    """Return whether a method is a property of the spec, which no step executes."""
    names = {
        node.id if isinstance(node, ast.Name) else getattr(getattr(node, "func", None), "id", "")
        for node in method.decorator_list
    }
    return bool(names & {"invariant", "step_invariant", "reachable", "lemma", "eventually", "always_eventually"})


def _reads_only(test: ast.expr, constants: set[str]) -> bool:
    read = {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    return read <= constants and names <= {"self"}
