"""A spec that another process lowers gives the same module, and every failure of that process is made good."""

import os
import select
import signal
import threading
from contextlib import ExitStack

import pytest

from checker.engines.native import engine, lowering_process
from checker.engines.native.llvm.part_compiler import PartCompiler
from checker.engines.native.lowered_spec import lowered_with_kernels
from checker.engines.native.lowering_process import LoweredSpec, LoweringProcess, begun_lowering
from checker.errors import SpecError
from checker.execution.engine_choice import native_engine_for
from checker.frontend import compile_spec
from checker.language import Range, Spec, action, invariant
from checker.run import command_process
from checker.run.plan import Plan
from specs.examples.peterson import Peterson
from specs.replication.kip320 import Kip320

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="another process is forked")


class OutsideTheLanguage(Spec):
    """A spec that the compiler refuses."""

    number = Range(0, 1)

    @action
    def read(self):
        self.number = hash(self.number)

    @invariant
    def small(self):
        return self.number < 2


@pytest.fixture
def started():
    """Start processes that lower a spec, and end them."""
    with ExitStack() as opened:

        def start(spec, properties):
            process = LoweringProcess(spec, properties)
            process.receive(PartCompiler())
            opened.callback(process.close)
            return process

        yield start


@pytest.fixture
def command(monkeypatch):
    """Let this process count as a command with two processors and without other threads, whose cache is empty."""
    monkeypatch.setattr(command_process, "is_command", lambda: True)
    monkeypatch.setattr(lowering_process, "default_workers", lambda: 2)
    monkeypatch.setattr(threading, "active_count", lambda: 1)


@pytest.mark.parametrize("spec", [Peterson(), Kip320(replicas=2, max_leader_epoch=1)], ids=lambda spec: spec.name)
def test_the_text_is_that_of_this_process(started, spec):
    names = [name for name in spec.properties if spec.roles[name].name == "INVARIANT"]
    process = started(spec, names)
    own = lowered_with_kernels(spec, compile_spec(spec, names), names, with_lanes=True)
    assert process.lowered(spec, names) == LoweredSpec.of(own, names)


def test_a_process_that_fails_has_no_result_and_the_caller_gets_the_error(started):
    spec = OutsideTheLanguage()
    process = started(spec, ["small"])
    with pytest.raises(SpecError, match="hash"):
        engine.compile_native(spec, ["small"], lowering=process.lowered)


def test_a_process_that_was_killed_has_no_result(started):
    spec = Peterson()
    process = started(spec, [])
    os.kill(process._process, signal.SIGKILL)
    assert process.lowered(spec, []) is None
    assert engine.compile_native(spec, [], lowering=process.lowered).kernels.layout.words > 0


class Received(PartCompiler):
    """A compiler that only notes the parts that it is given; `error` is raised at the first one."""

    def __init__(self, error=None):
        super().__init__()
        self.error, self.parts = error, []

    def begin(self, text):
        self.parts.append(text)
        if self.error is not None:
            raise self.error


def test_the_parts_of_a_process_that_was_killed_are_not_used(monkeypatch):
    def killed(*arguments, on_part, **options):
        on_part("; first part")
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("checker.engines.native.lowered_spec.lowered_with_kernels", killed)
    spec, received = Peterson(), Received()
    process = LoweringProcess(spec, [])
    process.receive(received)
    assert process.lowered(spec, []) is None
    assert received.parts == ["; first part"]
    process.close()


def test_a_compiler_that_fails_does_not_block_the_process(monkeypatch):
    def more_than_a_pipe_holds(*arguments, on_part, **options):
        for number in range(3):
            on_part(f"; {number} {'x' * 500_000}")

    monkeypatch.setattr("checker.engines.native.lowered_spec.lowered_with_kernels", more_than_a_pipe_holds)
    spec, received = Peterson(), Received(MemoryError())
    process = LoweringProcess(spec, [])
    process.receive(received)
    assert process.lowered(spec, []) is None
    assert len(received.parts) == 1
    process.close()


def test_without_a_thread_there_is_no_process(command, monkeypatch):
    def no_thread(thread):
        raise RuntimeError("can't start new thread")

    def noted(process):
        ended.append(process._process)
        close(process)

    ended, close = [], LoweringProcess.close
    monkeypatch.setenv("TIDEMARK_CODE_CACHE", "off")
    monkeypatch.setattr(LoweringProcess, "close", noted)
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert begun_lowering(Peterson(), []) is None
    with pytest.raises(ChildProcessError):
        os.waitpid(ended[0], os.WNOHANG)


def test_another_spec_or_other_properties_have_no_result(started):
    spec = Peterson()
    process = started(spec, ["mutual_exclusion"])
    assert process.lowered(Peterson(), ["mutual_exclusion"]) is None
    assert process.lowered(spec, []) is None
    assert process.lowered(spec, ["mutual_exclusion"]) is not None


def test_close_ends_a_process_that_nothing_waited_for(started):
    process = started(Kip320(), [])
    number = process._process
    process.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(number, 0)


def test_an_exploration_with_the_process_has_the_same_result(command, monkeypatch):
    monkeypatch.setenv("TIDEMARK_CODE_CACHE", "off")
    spec, plan = Kip320(replicas=2, max_leader_epoch=1), Plan(("weak_isr", "strong_isr"))
    with ExitStack() as opened:
        explore = native_engine_for(spec, list(plan.properties), opened)
        assert explore is not engine.explore
        found, alone = explore(spec, plan), engine.explore(spec, plan)
    assert (found.distinct_states, found.generated_states, found.depth) == (
        alone.distinct_states,
        alone.generated_states,
        alone.depth,
    )
    assert found.verdict == alone.verdict


def test_no_process_is_started_where_it_is_of_no_use(command, monkeypatch, tmp_path):
    spec = Peterson()
    monkeypatch.setenv("TIDEMARK_CODE_CACHE", str(tmp_path / "cache"))
    process = begun_lowering(spec, [])
    assert process is not None
    engine.compile_native(spec, [], lowering=process.lowered)
    assert begun_lowering(spec, []) is None, "the cache has the code"
    monkeypatch.setenv("TIDEMARK_CODE_CACHE", "off")
    for target, name, value in (
        (lowering_process, "default_workers", 1),
        (threading, "active_count", 2),
        (command_process, "is_command", False),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(target, name, lambda value=value: value)
            assert begun_lowering(spec, []) is None


def test_the_process_ends_after_a_kill_of_its_parent():
    source, target = os.pipe()
    if not (parent := os.fork()):
        # The process inherits `target`, which is open as long as one of the two runs.
        LoweringProcess(Kip320(replicas=2, max_leader_epoch=1), ["weak_isr"])
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(target)
    os.waitpid(parent, 0)
    readable, _, _ = select.select([source], [], [], 20)
    os.close(source)
    assert readable
