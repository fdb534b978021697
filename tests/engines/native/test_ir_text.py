"""The text that the builder writes means what the instructions say: LLVM compiles it, and the code runs."""

import ctypes
from concurrent.futures import ThreadPoolExecutor

import pytest

from checker.engines.native.explore.lowered_spec import lower_with_kernels
from checker.engines.native.llvm import code_cache, ir
from checker.engines.native.llvm.control_flow import I1, I8, I16, I64, WORD_POINTER, word
from checker.engines.native.llvm.machine_code import MachineCode, object_code
from checker.engines.native.llvm.words import struct_field
from checker.frontend import compile_spec
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


def test_text_that_is_not_llvms_language_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(code_cache.VARIABLE, code_cache.OFF)
    with pytest.raises(RuntimeError, match="parsing error"):
        object_code("no text of LLVM", quick=True)


def test_threads_compile_the_same_code_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(code_cache.VARIABLE, code_cache.OFF)
    names = list(Peterson().safety_properties)
    text = str(lower_with_kernels(Peterson(), compile_spec(Peterson(), names), names, with_lanes=True).module)
    with ThreadPoolExecutor(3) as pool:
        assert {*pool.map(object_code, [text] * 5)} == {object_code(text)}
