"""A process that lowers a spec while this one imports the rest of the native engine.

    this process                           the other process
    begun_lowering(spec, properties)       type-check the spec
    import NumPy, LLVM and the explorer    lower it, write LLVM's text
    LoweringProcess.lowered()       <----  send the text through a pipe

Both sides take about as long, and threads of one process cannot run Python code at the same time.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Never

from checker.engines.native.llvm import code_cache
from checker.language.spec import Spec
from checker.records import dataclass
from checker.run import command_process
from checker.run.workers import default_workers

if TYPE_CHECKING:
    from checker.engines.native.lowering.native_spec import NativeSpec


@dataclass(frozen=True)
class LoweredSpec:
    """The text of a spec's LLVM module, for states of `words` words and a number of action instances.

    Bit i of a mask is properties[i]. `runtime`: the constants that the code reads at run time, in the order of their
    words (`lowering.constant_block`).
    """

    words: int
    instances: int
    text: str
    properties: tuple[str, ...] = ()
    runtime: tuple[str, ...] = ()

    @classmethod
    def of(cls, native: NativeSpec, properties: Sequence[str] = (), runtime: tuple[str, ...] = ()) -> LoweredSpec:
        """Return the text of a module, with what the machine code does not contain."""
        return cls(native.layout.words, native.instances, str(native.module), tuple(properties), runtime)


class LoweringProcess:
    """A forked process that lowers a spec for the exploration, with the functions that look at several states."""

    def __init__(self, spec: Spec, properties: list[str]):
        """Start the process; raise OSError if the system cannot start another one."""
        self._spec, self._properties = spec, properties
        source, target = os.pipe()
        self._source = open(source, "rb")  # noqa: SIM115 - open until `close`
        try:
            process = os.fork()
            if process == 0:
                # Only the other process reads: if it is killed, writing fails, and this process ends too.
                self._source.close()
                _send(spec, properties, target)
        except OSError:
            self._source.close()
            raise
        finally:
            os.close(target)
        self._process: int | None = process

    def lowered(self, spec: Spec, properties: list[str]) -> LoweredSpec | None:
        """Wait for the process and return its result; None if it lowers another spec, or failed.

        After a failure the caller lowers the spec itself, and so gets the exception.
        """
        if spec is not self._spec or properties != self._properties or self._process is None:
            return None
        content = self._source.read()
        _, status = os.waitpid(self._process, 0)
        self._process = None
        if status != 0:
            return None
        words, instances, text = content.decode().split(" ", 2)
        return LoweredSpec(int(words), int(instances), text, tuple(properties))

    def close(self) -> None:
        """End the process if nothing has waited for it."""
        self._source.close()
        if self._process is not None:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            self._process = None


def begun_lowering(spec: Spec, properties: list[str]) -> LoweringProcess | None:
    """Return a process that lowers a spec; None if the cache has its code, or this process cannot use another one."""
    # Other threads may hold locks, which the forked process would wait for.
    is_useful = command_process.is_command() and default_workers() > 1 and threading.active_count() == 1
    if not is_useful or not hasattr(os, "fork"):
        return None
    if code_cache.folder() is not None:
        # Imported here: the target of the machine code, a part of the key, is known to LLVM only.
        from checker.engines.native.source_index import SourceIndex

        if SourceIndex(spec, "explore", properties).has_code():
            return None
    try:
        return LoweringProcess(spec, properties)
    except OSError:
        return None


def _send(spec: Spec, properties: list[str], target: int) -> Never:
    """Lower a spec, write the result to a file descriptor, and end this process."""
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        gc.disable()
        # Imported here: the other process does not need them.
        from checker.engines.native.lowered_spec import lowered_with_kernels
        from checker.frontend import compile_spec

        program = compile_spec(spec, properties)
        # Kept in a name: freeing the module would take time, and this process ends in a moment.
        native = lowered_with_kernels(spec, program, properties, with_lanes=True)
        found = LoweredSpec.of(native)
        with open(target, "wb") as file:
            file.write(f"{found.words} {found.instances} {found.text}".encode())
        status = 0
    finally:
        # Not the end of Python: it would write what the standard streams of the other process still hold.
        os._exit(status)
