"""A process that lowers a spec while this one imports the rest of the native engine and compiles.

    this process                         the other process
    begun_lowering(spec, properties)     type-check the spec
    import LLVM and the explorer         lower the first part of the module
    compile it, in a thread      <----   send its text through a pipe
                                         lower the next part
    compile it, in a thread      <----   send its text
    LoweringProcess.lowered()            end

Threads of one process cannot run Python code at the same time. LLVM needs no lock of Python.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Never

from checker.engines.native.llvm import code_cache
from checker.engines.native.llvm.parts import PART, OnPart, contents_of, packed
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
        self._receiver: threading.Thread | None = None
        self._received: LoweredSpec | None = None

    def receive(self, on_part: OnPart) -> None:
        """Receive the text in a thread, which calls `on_part` with each part as soon as it arrives."""
        self._receiver = threading.Thread(target=self._receive, args=(on_part,), name="receiver", daemon=True)
        self._receiver.start()

    def _receive(self, on_part: OnPart) -> None:
        sizes, parts = self._source.readline(), []
        for content in contents_of(self._source):
            parts.append(content.decode())
            on_part(parts[-1])
        if parts:
            words, instances = map(int, sizes.split())
            self._received = LoweredSpec(words, instances, PART.join(parts), tuple(self._properties))

    def lowered(self, spec: Spec, properties: list[str]) -> LoweredSpec | None:
        """Wait for the process and return its result; None if it lowers another spec, or failed.

        `receive` was called before. After a failure the caller lowers the spec itself, and so gets the exception.
        """
        if spec is not self._spec or properties != self._properties or self._process is None:
            return None
        assert self._receiver is not None
        self._receiver.join()
        _, status = os.waitpid(self._process, 0)
        self._process = None
        return self._received if status == 0 else None

    def close(self) -> None:
        """End the process if nothing has waited for it."""
        if self._process is not None:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            self._process = None
        if self._receiver is not None:
            self._receiver.join()
        self._source.close()


def begun_lowering(spec: Spec, properties: list[str]) -> LoweringProcess | None:
    """Return a process that lowers a spec, of which each part is compiled as soon as it arrives.

    None if the cache has the code of the spec, or if this process cannot use another one. Raises ModuleNotFoundError if
    LLVM is not installed.
    """
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
        process = LoweringProcess(spec, properties)
    except OSError:
        return None
    try:
        # Imported now: it takes time, in which the other process works.
        from checker.engines.native.llvm import part_compiler
    except BaseException:
        process.close()
        raise
    process.receive(part_compiler.begin)
    return process


def _send(spec: Spec, properties: list[str], target: int) -> Never:
    """Lower a spec, write the result to a file descriptor, and end this process."""
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        gc.disable()
        # Imported here: the other process does not need them.
        from checker.engines.native.lowered_spec import lowered_with_kernels
        from checker.engines.native.lowering.state_layout import state_layout
        from checker.frontend import compile_spec

        program = compile_spec(spec, properties)
        with open(target, "wb") as file:
            file.write(f"{state_layout(program.variables).words} {program.instances}\n".encode())

            def send(part: str) -> None:
                file.write(packed([part.encode()]))
                file.flush()

            # Kept in a name: freeing the module would take time, and this process ends in a moment.
            native = lowered_with_kernels(spec, program, properties, with_lanes=True, on_part=send)  # noqa: F841
        status = 0
    finally:
        # Not the end of Python: it would write what the standard streams of the other process still hold.
        os._exit(status)
