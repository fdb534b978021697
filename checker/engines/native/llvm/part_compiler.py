"""The compilation of a module, part by part. A part whose text is known before the others is compiled in a thread.

    begin(text of a part)            a thread looks it up in the cache, or compiles it
    begin(text of the next part)     another thread does, or the same one later
    finished(text of the module)     this thread compiles what is left, and waits

LLVM needs no lock of Python while it compiles, so this process can receive the text of the next part meanwhile.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue

from checker.engines.native.llvm import code_cache
from checker.engines.native.llvm.compiler import initialise, object_file, target_text
from checker.engines.native.llvm.parts import PART
from checker.records import dataclass
from checker.run.workers import default_workers

_VERSION = 8
"""The version of `object_file` and of the content of an entry of the cache, a part of its digest: change it with them.

Code of another version must not be loaded. Up to version 7, an entry had all parts of a module.
"""

_SECONDS_WORTH_KEEPING = 0.01


@dataclass(frozen=True)
class CompiledPart:
    """The object file of a part of a module, its name in the cache, and the seconds of compiling (0: cached)."""

    name: str
    code: bytes
    seconds: float


class PartCompiler:
    """Compiles the parts of one module: in threads, and in the thread that waits for them.

    `quick`: compile in a seventh of the time; the code takes about twice as long to run.
    """

    def __init__(self, *, quick: bool = False):
        self.quick = quick
        self._texts: set[str] = set()
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._found: dict[str, CompiledPart | Exception] = {}
        self._threads: list[threading.Thread] = []
        initialise()

    def begin(self, text: str) -> None:
        """Let a thread compile a part, if there is a processor for it. Not after `finished`."""
        self._add(text)
        if len(self._threads) >= default_workers() - 1:
            return
        # A daemon: a command that is interrupted does not wait for LLVM.
        thread = threading.Thread(target=self._work, name="compiler", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # The system has no room for another thread.
            return
        self._threads.append(thread)

    def finished(self, text: str, *, is_indexed: bool = False) -> list[CompiledPart]:
        """Compile the parts of a module that were not begun, wait for the others, and return all parts.

        The cache keeps what took a while; with `is_indexed`, the names will be kept, so the cache keeps everything.
        Raises RuntimeError if a part is not LLVM's language.
        """
        *others, last = parts = text.split(PART)
        for part in others:
            if part not in self._texts:
                # A part that is compiled quickly is not worth a thread.
                (self._add if self.quick else self.begin)(part)
        if last not in self._texts:
            self._add(last)
        self._end_threads()
        self._waiting.put(None)
        self._work()
        for thread in self._threads:
            thread.join()
        found = [self._result(part) for part in parts]
        for compiled in found:
            # A smaller part is compiled about as fast as it is read.
            if compiled.seconds and (is_indexed or compiled.seconds >= _SECONDS_WORTH_KEEPING):
                code_cache.store(compiled.name, compiled.code)
        return found

    def cancel(self) -> None:
        """Compile no further part; nobody waits for them."""
        while not self._waiting.empty():
            with suppress(Empty):
                self._waiting.get_nowait()
        self._end_threads()

    def _end_threads(self) -> None:
        for _ in self._threads:
            self._waiting.put(None)

    def _add(self, text: str) -> None:
        self._texts.add(text)
        self._waiting.put(text)

    def _work(self) -> None:
        while (text := self._waiting.get()) is not None:
            try:
                self._found[text] = self._compiled(text)
            except Exception as error:
                self._found[text] = error

    def _compiled(self, text: str) -> CompiledPart:
        name = code_cache.digest_of(text, target_text(), f"{_VERSION} {self.quick}")
        code = code_cache.load(name)
        if code is not None:
            return CompiledPart(name, code, 0)
        started = time.perf_counter()
        code = object_file(text, quick=self.quick)
        return CompiledPart(name, code, time.perf_counter() - started)

    def _result(self, text: str) -> CompiledPart:
        found = self._found[text]
        if isinstance(found, Exception):
            raise found
        return found
