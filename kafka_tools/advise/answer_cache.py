"""Results of explorations on disk, in the user's cache folder.

An entry is a JSON file whose name is a digest of everything that determines the result: the source of the specs and the
checker, the constants, the failures, the properties and the limit. It contains that request once more, the result, and
a digest of both. An entry that cannot be read, differs from its digest, or has a counterexample that the interpreter
cannot replay is ignored and later replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import checker
import specs
from checker.data_files import read_data
from checker.errors import BoundsError, SpecError
from checker.language.json_values import from_plain_json
from checker.language.spec import Spec
from checker.run.result import TraceStep, Violation
from kafka_tools.advise.survey import Explored, ModelExploration, ModelExplorer, is_usable, replayed
from traces.trace_file import arguments_to_json

MOST_ENTRIES = 500
"""The number of entries of `advise` that are kept; the least recently used are removed."""


def default_folder() -> Path:
    """Return the folder of the user's cache: XDG_CACHE_HOME, or the platform's convention."""
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given) / "tidemark" / "advise"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "tidemark" / "cache" / "advise"
    base = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return base / "tidemark" / "advise"


def source_digest() -> str:
    """Return the SHA-256 of the source of specs and checker, and of the versions that translate it."""
    digest = hashlib.sha256(f"{sys.version_info[:3]} {importlib.metadata.version('llvmlite')}".encode())
    for package in (checker, specs):
        (root,) = package.__path__
        for file in sorted(Path(root).rglob("*.py")):
            content = file.read_bytes()
            digest.update(f"{file.relative_to(root)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


class AnswerCache:
    """The entries in a folder that only this user can access; any other folder is not used.

    `most`: the number of entries that are kept.
    """

    def __init__(self, folder: Path, source: str | None = None, most: int = MOST_ENTRIES):
        self._most = most
        self._source = source_digest() if source is None else source
        self._folder = folder if _make_private(folder) else None

    def load(self, explorer: ModelExplorer, asked: ModelExploration) -> Explored | None:
        """Return the result of an exploration of the pipeline, or None if no valid entry has it."""

        def replay(result: dict[str, Any]) -> Explored | None:
            explored = _replay(result, explorer.spec, lambda steps, name: explorer.replay(asked.left, steps, name))
            return explored if explored is not None and _answers(explored, asked.checked, asked.wanted) else None

        return self._load(_request_of(asked), replay)

    def store(self, explorer: ModelExplorer, asked: ModelExploration, explored: Explored) -> None:
        """Write the entry of an exploration of the pipeline, unless a limit, an interrupt or an error ended it."""
        if is_usable(explored):
            self._store(_request_of(asked), _to_json(explorer.spec, explored))

    def load_checked(self, spec: Spec, properties: Sequence[str], max_states: int | None) -> Explored | None:
        """Return the result of an exploration of a spec for some properties, or None if no valid entry has it."""

        def replay(result: dict[str, Any]) -> Explored | None:
            explored = _replay(result, spec, lambda steps, name: replayed(spec, spec.initial_states()[0], steps, name))
            return explored if explored is not None and _answers(explored, properties, ()) else None

        return self._load(_request_of_check(spec, properties, max_states), replay)

    def store_checked(self, spec: Spec, properties: Sequence[str], max_states: int | None, explored: Explored) -> None:
        """Write the entry of an exploration of a spec, unless it has a lasso: an entry has the steps of one trace."""
        if is_usable(explored) and all(violation.loop_start is None for violation in explored.violations):
            self._store(_request_of_check(spec, properties, max_states), _to_json(spec, explored))

    def _load(self, request: dict[str, Any], replay: Callable[[dict[str, Any]], Explored | None]) -> Explored | None:
        """Return what an intact entry of a request has, if its counterexamples can be replayed."""
        if self._folder is None:
            return None
        request = {"source": self._source, **request}
        path = self._path(request)
        try:
            entry = json.loads(read_data(path))
            if entry["digest"] != _digest([entry["request"], entry["result"]]) or entry["request"] != request:
                return None
            explored = replay(entry["result"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, BoundsError, SpecError):
            return None
        if explored is not None:
            with contextlib.suppress(OSError):
                os.utime(path)
        return explored

    def _store(self, request: dict[str, Any], result: dict[str, Any]) -> None:
        if self._folder is None:
            return
        request = {"source": self._source, **request}
        text = json.dumps({"request": request, "result": result, "digest": _digest([request, result])})
        with contextlib.suppress(OSError):
            # Renamed when it is complete: another process never reads a part of it. `mkstemp` makes it private.
            number, name = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(number, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.replace(name, self._path(request))

    def prune(self) -> None:
        """Remove the least recently used entries above the limit."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            entries = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
            for path in entries[: max(0, len(entries) - self._most)]:
                path.unlink(missing_ok=True)

    def _path(self, request: dict[str, Any]) -> Path:
        assert self._folder is not None
        return self._folder / f"{_digest(request)}.json"


def _request_of(asked: ModelExploration) -> dict[str, Any]:
    return {
        "spec": asked.model.spec.name,
        "constants": dict(asked.model.constants),
        "left": dict(asked.left),
        "checked": list(asked.checked),
        "wanted": list(asked.wanted),
        "max_states": asked.max_states,
    }


def _request_of_check(spec: Spec, properties: Sequence[str], max_states: int | None) -> dict[str, Any]:
    return {
        "spec": spec.name,
        "constants": dict(spec.constants),
        "checked": list(properties),
        "max_states": max_states,
    }


def _make_private(folder: Path) -> bool:
    """Make a folder that only the user can access; return whether it is one."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    return os.name != "posix" or (status.st_uid == os.getuid() and status.st_mode & 0o077 == 0)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _to_json(spec: Spec, explored: Explored) -> dict[str, Any]:
    with spec.bound():
        return {
            "ended": explored.ended,
            "distinct_states": explored.distinct_states,
            "violations": {
                violation.property: [
                    [step.action, arguments_to_json(spec, step.action, step.arguments)] for step in violation.trace[1:]
                ]
                for violation in explored.violations
            },
        }


def _replay(
    result: dict[str, Any], spec: Spec, replay: Callable[[Sequence[TraceStep], str], Violation | None]
) -> Explored | None:
    """Return the result in an entry, or None if a counterexample is none."""
    replays = [replay(_steps_of(spec, steps), name) for name, steps in result["violations"].items()]
    violations = tuple(violation for violation in replays if violation is not None)
    return Explored(result["ended"], result["distinct_states"], violations) if len(violations) == len(replays) else None


def _answers(explored: Explored, checked: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether a result has a verdict on every wanted property, and on no property that was not checked."""
    violated = {violation.property for violation in explored.violations}
    is_violated = explored.ended == "violation" and bool(violated) and violated >= set(wanted)
    return (explored.ended == "complete" or is_violated) and violated <= set(checked)


def _steps_of(spec: Spec, steps: Sequence[Any]) -> list[TraceStep]:
    """Return the actions in an entry as steps; their states are left to the replay."""
    initial = spec.initial_states()[0]
    trace = []
    with spec.bound():
        for action, arguments in steps:
            given = tuple(
                from_plain_json(parameter.type, arguments[parameter.name]) for parameter in spec.parameters_of(action)
            )
            trace.append(TraceStep(action, given, initial))
    return trace
