"""A process that lowers a spec while this one imports the rest of the native engine and compiles.

    this process                         the other process
    begun_lowering(spec, properties)     type-check the spec
    import LLVM and the explorer         lower the first part of the module
    compile it, in a thread      <----   send its text through a pipe
                                         lower the next part
    compile it, in a thread      <----   send its text
    LoweringProcess.lowered()            end

Threads of one process cannot run Python code at the same time, but LLVM compiles beside them.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Never

from checker.engines.native.llvm import code_cache
from checker.engines.native.llvm.parts import PART, contents_of, packed
from checker.language.spec import Spec
from checker.records import dataclass
from checker.run import command_process
from checker.run.memory import available_address_space
from checker.run.workers import default_workers

if TYPE_CHECKING:
    from checker.engines.native.llvm.part_compiler import PartCompiler
    from checker.engines.native.lowering.native_spec import NativeSpec


@dataclass(frozen=True)
class LoweredSpec:
    """The text of a spec's LLVM module, for states of `words` words and a number of action instances.

    Bit i of a mask is properties[i]. `runtime`: the constants that the code reads at run time, in the order of their
    words (`lowering.constant_block`). `compiler`: compiles the parts of the text already; None: nothing was begun.
    """

    words: int
    instances: int
    text: str
    properties: tuple[str, ...] = ()
    runtime: tuple[str, ...] = ()
    compiler: PartCompiler | None = field(default=None, repr=False, compare=False)

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
        self._compiler: PartCompiler | None = None
        self._receiver: threading.Thread | None = None
        self._received: LoweredSpec | None = None

    def receive(self, compiler: PartCompiler) -> None:
        """Receive the text in a thread, which lets a compiler begin with each part as soon as it arrives.

        Raises RuntimeError if the system cannot start a thread.
        """
        self._compiler = compiler
        receiver = threading.Thread(target=self._receive, args=(compiler,), name="receiver", daemon=True)
        receiver.start()
        self._receiver = receiver

    def _receive(self, compiler: PartCompiler) -> None:
        # After an exception, the caller of `lowered` lowers the spec itself. The other process must not wait until
        # somebody reads: with the pipe closed, it fails to write, and ends.
        with suppress(Exception), self._source:
            sizes, parts = self._source.readline(), []
            for content in contents_of(self._source):
                parts.append(content.decode())
                compiler.begin(parts[-1])
            if parts:
                words, instances = map(int, sizes.split())
                self._received = LoweredSpec(
                    words, instances, PART.join(parts), tuple(self._properties), compiler=compiler
                )

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
        """End the process if nothing has waited for it, and compile no further part."""
        is_unused = self._process is not None
        if self._process is not None:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            self._process = None
        if self._receiver is not None:
            self._receiver.join()
        if is_unused and self._compiler is not None:
            self._compiler.cancel()
        self._source.close()


def begun_lowering(spec: Spec, properties: list[str]) -> LoweringProcess | None:
    """Return a process that lowers a spec, of which each part is compiled as soon as it arrives.

    None if the cache has the code of the spec, or if this process cannot use another one. Raises ModuleNotFoundError if
    LLVM is not installed.
    """
    # Other threads may hold locks, which the forked process would wait for.
    is_useful = command_process.is_command() and default_workers() > 1 and threading.active_count() == 1
    # Threads that compile take address space.
    if not is_useful or not hasattr(os, "fork") or available_address_space() is not None:
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
        from checker.engines.native.llvm.part_compiler import PartCompiler

        process.receive(PartCompiler())
    except RuntimeError:
        process.close()
        return None
    except BaseException:
        process.close()
        raise
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
