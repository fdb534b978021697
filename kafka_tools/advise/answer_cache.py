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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import checker
import specs
from checker.errors import BoundsError, SpecError
from checker.language.spec import Spec
from checker.run.result import TraceStep, Violation
from kafka_tools.advise.survey import Explored, PipelineExploration, PipelineExplorer, is_usable
from traces.json_values import from_plain_json
from traces.trace_file import arguments_to_json

MOST_ENTRIES = 500
"""The number of entries that are kept; the least recently used are removed."""


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
    """The entries in a folder that only this user can access; any other folder is not used."""

    def __init__(self, folder: Path, source: str | None = None):
        self._source = source_digest() if source is None else source
        self._folder = folder if _make_private(folder) else None

    def load(self, explorer: PipelineExplorer, asked: PipelineExploration) -> Explored | None:
        """Return the result of an exploration, or None if no valid entry has it."""
        if self._folder is None:
            return None
        path = self._path(asked)
        try:
            entry = json.loads(path.read_bytes())
            request, result = entry["request"], entry["result"]
            if entry["digest"] != _digest([request, result]) or request != self._request(asked):
                return None
            found = _result_of(explorer, asked, result)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, BoundsError, SpecError):
            return None
        if found is not None:
            with contextlib.suppress(OSError):
                os.utime(path)
        return found

    def store(self, explorer: PipelineExplorer, asked: PipelineExploration, explored: Explored) -> None:
        """Write the entry of an exploration, unless a limit, an interrupt or an error ended it."""
        if self._folder is None or not is_usable(explored):
            return
        request, result = self._request(asked), _to_json(explorer.spec, explored)
        text = json.dumps({"request": request, "result": result, "digest": _digest([request, result])})
        with contextlib.suppress(OSError):
            # Renamed when it is complete: another process never reads a part of it. `mkstemp` makes it private.
            number, name = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(number, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.replace(name, self._path(asked))

    def prune(self) -> None:
        """Remove the least recently used entries above the limit."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            entries = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
            for path in entries[: max(0, len(entries) - MOST_ENTRIES)]:
                path.unlink(missing_ok=True)

    def _path(self, asked: PipelineExploration) -> Path:
        assert self._folder is not None
        return self._folder / f"{_digest(self._request(asked))}.json"

    def _request(self, asked: PipelineExploration) -> dict[str, Any]:
        return {
            "source": self._source,
            "settings": dict(asked.settings),
            "left": dict(asked.left),
            "checked": list(asked.checked),
            "wanted": list(asked.wanted),
            "max_states": asked.max_states,
        }


def _make_private(folder: Path) -> bool:
    """Make a folder that only the user can access; return whether it is one."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    return os.name != "posix" or (found.st_uid == os.getuid() and found.st_mode & 0o077 == 0)


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


def _result_of(explorer: PipelineExplorer, asked: PipelineExploration, result: dict[str, Any]) -> Explored | None:
    """Return the result in an entry; None if a counterexample is none, or if a wanted property has no verdict."""
    found: list[Violation] = []
    for name, steps in result["violations"].items():
        violation = explorer.replay(asked.left, _steps_of(explorer.spec, steps), name)
        if violation is None or name not in asked.checked:
            return None
        found.append(violation)
    violated = {violation.property for violation in found}
    explored = Explored(result["ended"], result["distinct_states"], tuple(found))
    if explored.ended == "complete" or (explored.ended == "violation" and violated >= set(asked.wanted)):
        return explored
    return None


def _steps_of(spec: Spec, steps: Sequence[Any]) -> list[TraceStep]:
    """Return the actions in an entry as steps; their states are left to the replay."""
    initial = spec.initial_states()[0]
    found = []
    with spec.bound():
        for action, arguments in steps:
            given = tuple(
                from_plain_json(parameter.type, arguments[parameter.name]) for parameter in spec.parameters_of(action)
            )
            found.append(TraceStep(action, given, initial))
    return found
