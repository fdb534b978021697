"""The text that the builder writes means what the instructions say: LLVM compiles it, and the code runs."""

from __future__ import annotations

import ctypes
import threading

import pytest

from checker.engines.native.llvm import code_cache, ir, part_compiler, parts
from checker.engines.native.llvm.control_flow import I1, I8, I16, I64, WORD_POINTER, word
from checker.engines.native.llvm.machine_code import MachineCode, object_code
from checker.engines.native.llvm.part_compiler import PartCompiler
from checker.engines.native.llvm.words import struct_field
from checker.engines.native.lowered_spec import lowered_with_kernels
from checker.frontend import compile_spec
from checker.run.request import Request, runs_for
from specs.examples.peterson import Peterson


def function(module: ir.Module, arguments: int) -> tuple[ir.IRBuilder, tuple[ir.Value, ...]]:
    found = ir.IrFunction(module, ir.FunctionType(I64, [I64] * arguments), "computed")
    return ir.IRBuilder(found.append_basic_block("entry")), found.args


def computed(module: ir.Module, *arguments: int) -> int:
    code = MachineCode(module, quick=True)
    kind = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * len(arguments))
    return int(kind(code.address_of("computed"))(*arguments))


@pytest.mark.parametrize(("number", "expected"), [(0, 10), (1, 11), (2, 5)])
def test_a_switch_jumps_to_the_block_of_its_number(number: int, expected: int) -> None:
    module = ir.Module()
    builder, (value,) = function(module, 1)
    result = builder.alloca(I64, name="result")
    builder.store(word(5), result)
    end = builder.append_basic_block("an end")
    switch = builder.switch(value, end)
    for case in (0, 1):
        block = builder.append_basic_block("case")
        switch.add_case(word(case), block)
        builder.position_at_end(block)
        builder.store(word(10 + case), result)
        builder.branch(end)
    builder.position_at_end(end)
    builder.ret(builder.load(result))
    assert computed(module, number) == expected


@pytest.mark.parametrize("likely", [None, True, False])
def test_both_sides_of_a_branch_run_in_their_case(likely: bool | None) -> None:
    module = ir.Module()
    builder, (value,) = function(module, 1)
    result = builder.alloca(I64)
    with builder.if_else(builder.icmp_signed("<", value, word(0)), likely) as (then, otherwise):
        with then:
            builder.store(builder.not_(value), result)
        with otherwise:
            builder.store(value, result)
            with builder.if_then(builder.icmp_unsigned("==", value, word(7)), likely):
                builder.store(word(70), result)
    builder.ret(builder.load(result))
    assert [computed(module, number) for number in (3, 2**64 - 1, 7)] == [3, 0, 70]


def test_tables_structs_and_narrow_numbers_keep_their_bits() -> None:
    module = ir.Module()
    table = ir.GlobalVariable(module, ir.ArrayType(I16, 3), "table")
    table.initializer = ir.ConstantValue(table.value_type, [7, ir.ConstantValue(I16, 65535), 9])
    table.linkage, table.global_constant = "internal", True
    builder, (index,) = function(module, 1)
    pair = builder.alloca(ir.LiteralStructType([I64, WORD_POINTER]))
    item = builder.zext(builder.load(builder.gep(table, [word(0), index], inbounds=True)), I64)
    builder.store(item, struct_field(builder, pair, 0))
    bytes_of = builder.bitcast(pair, I8.as_pointer())
    low = builder.zext(builder.load(builder.gep(bytes_of, [word(1)])), I64)
    # 65535 has a low byte and a high byte of 255.
    builder.ret(low)
    assert [computed(module, number) for number in range(3)] == [0, 255, 0]


def test_an_overflow_is_noticed() -> None:
    module = ir.Module()
    builder, (left, right) = function(module, 2)
    both = builder.sadd_with_overflow(left, right)
    builder.ret(builder.zext(builder.extract_value(both, 1), I64))
    assert [computed(module, 2**63 - 1, added) for added in (0, 1)] == [0, 1]


def test_llvm_refuses_an_operand_of_another_type() -> None:
    module = ir.Module()
    builder, (value,) = function(module, 1)
    builder.ret(builder.add(value, builder.icmp_unsigned("==", value, word(0))))
    with pytest.raises(RuntimeError, match="i1"):
        MachineCode(module, quick=True)


def test_a_block_has_one_end_and_a_module_one_function_of_a_name() -> None:
    module = ir.Module()
    builder, _ = function(module, 0)
    builder.ret(word(1))
    with pytest.raises(AssertionError):
        builder.ret(word(2))
    with pytest.raises(AssertionError):
        function(module, 0)
    assert module.get_unique_name("computed") == "computed.1"
    assert ir.ConstantValue(I1, True).ref == "1"


def in_two_parts(on_part: parts.OnPart | None = None) -> ir.Module:
    """Return a module of which `computed` calls a function of the first part, and reads its global variable."""
    module = ir.Module(on_part)
    added = ir.GlobalVariable(module, I64, "added")
    added.initializer = ir.ConstantValue(I64, 5)
    other = ir.IrFunction(module, ir.FunctionType(I64, [I64]), "other")
    builder = ir.IRBuilder(other.append_basic_block("entry"))
    builder.ret(builder.add(other.args[0], builder.load(added)))
    module.end_part()
    builder, (value,) = function(module, 1)
    result = builder.call(other, [value])
    builder.ret(builder.add(result, builder.load(added)))
    return module


def test_the_parts_of_a_module_are_linked() -> None:
    assert len(str(in_two_parts()).split(parts.PART)) == 2
    assert computed(in_two_parts(), 37) == 47


def test_a_part_declares_only_what_it_uses() -> None:
    module = in_two_parts()
    module.end_part()
    last = ir.IrFunction(module, ir.FunctionType(I64, []), "last")
    builder = ir.IRBuilder(last.append_basic_block("entry"))
    builder.ret(builder.call(module.declared("other", I64, [I64]), [word(1)]))
    _, _, part = str(module).split(parts.PART)
    assert [line for line in part.splitlines() if line.startswith("declare") and '@"other"' in line]
    assert '@"computed"' not in part and '@"added"' not in part
    assert computed(module, 37) == 47


def test_the_kernels_of_specs_with_states_of_one_size_are_the_same() -> None:
    def parts_for(target: str) -> list[str]:
        (run,) = runs_for(Request((target,)))
        names = list(run.spec.safety_properties)
        return str(lowered_with_kernels(run.spec, compile_spec(run.spec, names), names).module).split(parts.PART)

    # Only one of them has helpers with functions of their own, which the kernels do not use.
    without, with_helpers = parts_for("examples/echo/square"), parts_for("producer/idempotent_producer/i1_fixed")
    assert "helper." in with_helpers[0] and "helper." not in without[0]
    assert with_helpers[-1] == without[-1]


@pytest.mark.parametrize("quick", [False, True])
def test_threads_compile_the_same_code_as_one(quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(code_cache.VARIABLE, code_cache.OFF)
    names = list(Peterson().safety_properties)
    native = lowered_with_kernels(Peterson(), compile_spec(Peterson(), names), names, with_lanes=True)
    text = str(native.module)
    assert len(text.split(parts.PART)) == 4
    monkeypatch.setattr(part_compiler, "default_workers", lambda: 3)
    in_threads = [object_code(text, quick=quick) for _ in range(5)]
    monkeypatch.setattr(part_compiler, "default_workers", lambda: 1)
    assert {*in_threads} == {object_code(text, quick=quick)}
    assert len(list(parts.object_files(in_threads[0]))) == 4


@pytest.mark.parametrize("processors", [1, 2])
def test_an_error_in_a_part_is_raised(processors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_compiler, "default_workers", lambda: processors)
    with pytest.raises(RuntimeError, match="parsing error"):
        object_code(f"{ir.Module()}{parts.PART}no text of LLVM", quick=True)


def test_a_part_is_known_as_soon_as_it_ends() -> None:
    known: list[str] = []
    text = str(in_two_parts(known.append))
    assert text.split(parts.PART)[:-1] == known
    assert '@"computed"' not in known[0]


def test_contents_are_read_whole_or_not_at_all() -> None:
    joined = parts.packed([b"first", b"", b"second"])
    assert list(parts.object_files(joined)) == [b"first", b"", b"second"]
    for end in range(len(joined)):
        found = list(parts.object_files(joined[:end]))
        assert found == [b"first", b"", b"second"][: len(found)]
        assert len(found) == (end >= 13) + (end >= 21)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the texts that LLVM compiles; the cache is off."""
    monkeypatch.setenv(code_cache.VARIABLE, code_cache.OFF)
    texts: list[str] = []
    whole = part_compiler.object_file
    monkeypatch.setattr(
        part_compiler, "object_file", lambda text, **options: texts.append(text) or whole(text, **options)
    )
    return texts


@pytest.mark.parametrize("processors", [1, 2, 8])
def test_parts_that_were_begun_are_compiled_once(
    processors: int, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_compiler, "default_workers", lambda: processors)
    compiler = PartCompiler()
    text = str(in_two_parts(compiler.begin))
    found = compiler.finished(text)
    assert sorted(compiled) == sorted(text.split(parts.PART))
    assert parts.packed(part.code for part in found) == object_code(text)


def test_without_another_thread_this_one_compiles_all(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(part_compiler, "default_workers", lambda: 4)
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    text = str(in_two_parts())
    assert len(PartCompiler().finished(text)) == len(compiled) == 2


def test_a_cancelled_compiler_ends_its_threads(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_compiler, "default_workers", lambda: 4)
    compiler = PartCompiler()
    in_two_parts(compiler.begin)
    compiler.cancel()
    for thread in compiler._threads:
        thread.join(10)
        assert not thread.is_alive()


def test_an_interrupt_is_raised_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(text: str, **options: bool) -> bytes:
        begun.append(text)
        raise KeyboardInterrupt

    begun: list[str] = []
    monkeypatch.setenv(code_cache.VARIABLE, code_cache.OFF)
    monkeypatch.setattr(part_compiler, "default_workers", lambda: 1)
    monkeypatch.setattr(part_compiler, "object_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        PartCompiler().finished(str(in_two_parts()))
    assert len(begun) == 1
