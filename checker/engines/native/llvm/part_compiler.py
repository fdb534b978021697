"""The compilation of a module, part by part. A part whose text is known before the others can be begun in a thread.

    begin(text of a part)               a thread looks it up in the cache, or compiles it
    begin(text of the next part)        another thread does, or the same one later
    compiled_parts(text of the module)  this thread compiles what is left, waits, and stores all in the cache

LLVM needs no lock of Python while it compiles, so this process can receive the text of the next part meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from queue import SimpleQueue

from checker.engines.native.llvm import code_cache
from checker.engines.native.llvm.compiler import initialise, object_file, target_text
from checker.engines.native.llvm.parts import PART
from checker.records import dataclass
from checker.run.workers import default_workers

_PASSES = 7
"""The version of `object_file`, which is part of the digest of cached code: change it with the passes."""

_SECONDS_WORTH_KEEPING = 0.01


@dataclass(frozen=True)
class CompiledPart:
    """The object file of a part of a module, its name in the cache, and the seconds of compiling (0: cached)."""

    name: str
    code: bytes
    seconds: float


_begun: _Compilations | None = None
"""The parts that `begin` was called with. `compiled_parts` takes them over."""


def begin(text: str) -> None:
    """Begin to compile a part of a module that `compiled_parts` will be called with."""
    global _begun
    if _begun is None:
        _begun = _Compilations(quick=False)
    _begun.begin(text)


def compiled_parts(text: str, *, quick: bool, is_indexed: bool = False) -> Sequence[CompiledPart]:
    """Return the compiled parts of a module, given its text.

    With several processors, parts are compiled at the same time. `quick`: compile in a seventh of the time; the code
    takes about twice as long to run. `is_indexed`: the names will be kept, so the cache keeps even what is compiled in
    a moment. Raises RuntimeError if a part is not LLVM's language.
    """
    global _begun
    if quick or _begun is None:
        compilations = _Compilations(quick=quick)
    else:
        compilations, _begun = _begun, None
    parts = text.split(PART)
    found = compilations.finished(parts)
    for part in found:
        # A smaller part is compiled about as fast as it is read.
        if part.seconds and (is_indexed or part.seconds >= _SECONDS_WORTH_KEEPING):
            code_cache.store(part.name, part.code)
    return found


class _Compilations:
    """Parts that are compiled by threads, and by the thread that needs them when it has nothing else to do."""

    def __init__(self, *, quick: bool):
        self._quick = quick
        self._texts: set[str] = set()
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._found: dict[str, CompiledPart | BaseException] = {}
        self._threads: list[threading.Thread] = []
        initialise()

    def begin(self, text: str) -> None:
        """Let a thread compile a part, if there is a processor for it."""
        self._add(text)
        if len(self._threads) < default_workers() - 1:
            # A daemon: a command that is interrupted does not wait for LLVM.
            self._threads.append(threading.Thread(target=self._work, name="compiler", daemon=True))
            self._threads[-1].start()

    def finished(self, texts: Sequence[str]) -> list[CompiledPart]:
        """Compile the parts that were not begun, wait for the others, and return all; raise the first exception."""
        *others, last = texts
        for text in others:
            if text not in self._texts:
                self.begin(text)
        if last not in self._texts:
            self._add(last)
        for _ in range(len(self._threads) + 1):
            self._waiting.put(None)
        self._work()
        for thread in self._threads:
            thread.join()
        return [self._result(text) for text in texts]

    def _add(self, text: str) -> None:
        self._texts.add(text)
        self._waiting.put(text)

    def _work(self) -> None:
        while (text := self._waiting.get()) is not None:
            try:
                self._found[text] = self._compiled(text)
            except BaseException as error:
                self._found[text] = error

    def _compiled(self, text: str) -> CompiledPart:
        name = code_cache.digest_of(text, target_text(), f"{_PASSES} {self._quick}")
        code = code_cache.load(name)
        if code is not None:
            return CompiledPart(name, code, 0)
        started = time.perf_counter()
        code = object_file(text, quick=self._quick)
        return CompiledPart(name, code, time.perf_counter() - started)

    def _result(self, text: str) -> CompiledPart:
        found = self._found[text]
        if isinstance(found, BaseException):
            raise found
        return found
