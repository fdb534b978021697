"""The index of the cache of machine code by the sources of specs: a spec that did not change is not compiled again.

    FOLDER/DIGEST.o     as every entry of the cache; its content is JSON: the name of the machine code in the cache, and
                        the numbers of words and action instances

The digest of an entry covers the source of the spec (`checker.language.source_digest`), its constants, the kernels that
are wanted, the sources of the compiler, and the target of the machine code.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from checker.engines.native.compiler_sources import compiler_sources
from checker.engines.native.llvm import code_cache
from checker.engines.native.llvm.machine_code import target_text
from checker.engines.native.lowering.state_layout import state_layout
from checker.language.source_digest import PROCESS_START, source_digest
from checker.language.spec import Spec


@dataclass(frozen=True)
class IndexedCode:
    """Machine code of a spec: an object file, for states of `words` words and a number of action instances."""

    words: int
    instances: int
    code: bytes


class SourceIndex:
    """The entries about a spec and some kernels, such as those of the exploration with its properties.

    If the source of the spec or of the compiler is unknown, the index has no entry, and does not keep one.
    """

    def __init__(self, spec: Spec, kernels: str, names: Sequence[str]):
        self._spec = spec
        self._key: str | None = None
        source = source_digest(spec) if code_cache.folder() is not None else None
        if source is not None and compiler_sources().changed < PROCESS_START:
            wanted = json.dumps([source, kernels, list(names)])
            self._key = f"{wanted} {compiler_sources().digest} {sys.version} {target_text()}"

    def find(self, *, quick: bool) -> IndexedCode | None:
        """Return the machine code, or None if the cache does not have it."""
        if self._key is None:
            return None
        content = code_cache.load(self._entry(quick=quick))
        if content is None:
            return None
        entry = json.loads(content)
        words, instances, name = entry["words"], entry["instances"], entry["code"]
        # The numbers that the code and the results have in common are computed anew: a wrong entry is not used.
        expected = (state_layout(self._spec.variables).words, sum(shape.instances for shape in self._spec.shapes()))
        if (words, instances) != expected or not re.fullmatch("[0-9a-f]{64}", name):
            return None
        code = code_cache.load(name)
        return None if code is None else IndexedCode(words, instances, code)

    @property
    def is_kept(self) -> bool:
        """Whether the index keeps entries about the spec."""
        return self._key is not None

    def keep(self, words: int, instances: int, name: str, *, quick: bool) -> None:
        """Add an entry: the name of the machine code in the cache."""
        if self._key is not None:
            content = json.dumps({"words": words, "instances": instances, "code": name})
            code_cache.store(self._entry(quick=quick), content.encode())

    def _entry(self, *, quick: bool) -> str:
        return code_cache.digest_of(str(self._key), f"quick {quick}")
