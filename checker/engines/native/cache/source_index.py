"""The index of the cache of machine code by the sources of specs: a spec that did not change is not compiled again.

    FOLDER/DIGEST.o     as every entry of the cache; its content is JSON: the name of the machine code in the cache, the
                        numbers of words and action instances, the properties that the code checks, and the
                        constants that it reads at run time

The digest of an entry covers the source of the spec (`checker.language.source_digest`), its constants, the kernels that
are wanted, the sources of the compiler, and the target of the machine code.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checker.engines.native.cache.compiler_sources import last_change, sources_digest
from checker.engines.native.llvm import code_cache
from checker.engines.native.llvm.compiler import target_text
from checker.engines.native.llvm.machine_code import object_code
from checker.engines.native.lowering.state_layout import state_layout
from checker.language.source_digest import PROCESS_START, is_current, source_digest
from checker.language.spec import Spec
from checker.run import command_process

if TYPE_CHECKING:
    from checker.engines.native.explore.lowered_spec import LoweredSpec


@dataclass(frozen=True)
class IndexedCode:
    """Machine code of a spec, for states of `words` words and a number of action instances.

    `is_quick`: it was compiled quickly; see `object_code`. `LoweredSpec` documents `properties` and `runtime`.
    """

    words: int
    instances: int
    code: bytes
    is_quick: bool
    properties: tuple[str, ...]
    runtime: tuple[str, ...]


class SourceIndex:
    """The entries about a spec and some kernels, such as those of the exploration, with the names of the properties.

    If the source of the spec or of the compiler is unknown, the index has no entry, and does not keep one. The same
    holds in a process that runs other code too, such as tests.
    """

    def __init__(self, spec: Spec, kernels: str, names: Sequence[str] = ()):
        self._spec, self.names = spec, tuple(names)
        self._key: str | None = None
        is_used = command_process.is_command() and code_cache.folder() is not None
        self._source = source_digest(spec) if is_used else None
        if self._source is not None and last_change() < PROCESS_START:
            wanted = json.dumps([self._source, kernels, list(names)])
            self._key = f"{wanted} {sources_digest()} {sys.version} {target_text()}"

    def code(self, lowered: Callable[[], LoweredSpec], *, quick: bool = False) -> IndexedCode:
        """Return the machine code of a lowered spec; `lowered` is called if the cache does not have the code.

        `quick`: compile quickly. Optimised code is preferred if the cache has it.
        """
        indexed = self._find(quick=False)
        if indexed is None and quick:
            indexed = self._find(quick=True)
        if indexed is not None:
            return indexed
        spec = lowered()
        compiled = object_code(spec.text, quick=quick, is_indexed=self._key is not None)
        if self._is_unchanged():
            entry = {
                "words": spec.words,
                "instances": spec.instances,
                "properties": spec.properties,
                "runtime": spec.runtime,
                "code": compiled.name,
            }
            code_cache.store(self._entry(quick=quick), json.dumps(entry).encode())
        return IndexedCode(spec.words, spec.instances, compiled.code, quick, spec.properties, spec.runtime)

    def _is_unchanged(self) -> bool:
        """Return whether the sources are still those of the key: the front end has read them after the digest."""
        if self._key is None or self._source is None or last_change() >= PROCESS_START:
            return False
        return is_current(self._source, self._spec)

    def _find(self, *, quick: bool) -> IndexedCode | None:
        if self._key is None:
            return None
        content = code_cache.load(self._entry(quick=quick))
        if content is None:
            return None
        entry = json.loads(content)
        words, instances = entry["words"], entry["instances"]
        properties, runtime = tuple(entry["properties"]), tuple(entry["runtime"])
        # The numbers that the code and the results share are computed again: an entry that contradicts them is wrong.
        all_instances = sum(shape.instances for shape in self._spec.shapes())
        if words != state_layout(self._spec.variables).words or instances not in (0, all_instances):
            return None
        if not set(self.names) <= set(properties) or not set(runtime) <= self._spec.constants.keys():
            return None
        name = entry["code"]
        code = code_cache.load(name) if re.fullmatch("[0-9a-f]{64}", name) else None
        return None if code is None else IndexedCode(words, instances, code, quick, properties, runtime)

    def _entry(self, *, quick: bool) -> str:
        return code_cache.digest_of(str(self._key), f"quick {quick}")
