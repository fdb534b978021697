"""Codes of states, their hashes, and the division of hashes by a table: every step is reversible."""

import ctypes
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.engines.native.explore.compact.quotient import (
    TableShape,
    emit_home,
    emit_mixed_key,
    emit_start,
    mix_key,
    unmix_key,
)
from checker.engines.native.explore.compact.state_code import StateCode
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I64, WORD_POINTER, word
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.llvm.words import read_words, write_words
from checker.engines.native.lowering.state_layout import state_layout
from checker.run.registry import select_spec

SIZES = [1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 90, 127, 128, 129, 300]


@given(bits=st.sampled_from(SIZES), data=st.data())
def test_mixing_is_reversible(bits: int, data: st.DataObject) -> None:
    code = data.draw(st.integers(0, 2**bits - 1))
    hashed = mix_key(code, bits)
    assert 0 <= hashed < 2 ** min(64, bits)
    assert unmix_key(hashed, code >> min(64, bits), bits) == code


@pytest.mark.parametrize("bits", [1, 2, 3, 8, 11])
def test_mixing_is_a_bijection(bits: int) -> None:
    assert {mix_key(code, bits) for code in range(2**bits)} == set(range(2**bits))


@given(bits=st.sampled_from(SIZES), slots=st.integers(2, 2**34), data=st.data())
def test_home_and_remainder_determine_the_hash(bits: int, slots: int, data: st.DataObject) -> None:
    shape = TableShape(bits, slots)
    hashed = data.draw(st.integers(0, 2**shape.hash_bits - 1))
    home, remainder = shape.divide(hashed)
    assert 0 <= home < slots
    assert 0 <= remainder < 2**shape.remainder_bits
    assert shape.start_of(home) + remainder == hashed


@given(bits=st.sampled_from(SIZES), slots=st.integers(2, 2**34))
def test_the_last_hash_of_every_home_has_a_remainder_that_fits(bits: int, slots: int) -> None:
    shape = TableShape(bits, slots)
    for home in {0, 1, slots // 3, slots // 2, slots - 2, slots - 1}:
        # The greatest hash with this home or a lower one.
        hashed = -(-((home + 1) << shape.hash_bits) // slots) - 1
        assert shape.divide(hashed)[1] < 2**shape.remainder_bits


def test_a_slot_takes_the_bits_of_the_code_without_those_of_its_place() -> None:
    shape = TableShape(90, slots=2**26)
    assert (shape.rest_bits, shape.remainder_bits) == (26, 39)
    assert shape.slot_bytes == 9


@given(bits=st.sampled_from(SIZES), slots=st.integers(2, 2**30))
def test_a_grown_table_has_more_slots_and_an_eighth_more_bytes(bits: int, slots: int) -> None:
    shape = TableShape(bits, slots)
    grown = shape.grown()
    assert grown.slots > shape.slots
    assert 8 * grown.slots * grown.slot_bytes >= 9 * shape.slots * shape.slot_bytes
    assert grown.slot_bytes <= shape.slot_bytes


@pytest.mark.parametrize("bits", [20, 45, 64, 66, 90, 300])
def test_the_bytes_of_a_table_grow_by_an_eighth(bits: int) -> None:
    shape, sizes = TableShape(bits), set()
    while shape.slots < 2**32:
        grown = shape.grown()
        ratio = grown.slots * grown.slot_bytes / (shape.slots * shape.slot_bytes)
        # Not less, even if its slots are smaller: a table that grows in place moves every code to a higher address.
        assert ratio >= 9 / 8
        if grown.slots > 2**16:
            assert ratio < 1.127
        sizes.add(grown.slot_bytes)
        shape = grown
    assert len(sizes) >= (3 if bits >= 64 else 1)


def _compiled(code: StateCode, words: int, shape: TableShape) -> object:
    """Return a function that computes code, hash, home and start of a state."""
    module = ir.Module()
    function = ir.IrFunction(module, ir.FunctionType(ir.VoidType(), [WORD_POINTER, WORD_POINTER]), "divide")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    found = code.emit(builder, read_words(builder, function.args[0], words))
    hashed = emit_mixed_key(builder, found, code.bits)
    home = emit_home(builder, hashed, word(shape.slots), shape.hash_bits)
    start = emit_start(builder, home, ir.ConstantValue(I64, shape.inverse), shape.hash_bits)
    write_words(builder, function.args[1], [*found, hashed, home, start])
    builder.ret_void()
    compiled = MachineCode(module)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(compiled.address_of("divide"))

    def divide(state: list[int]) -> list[int]:
        source = (ctypes.c_uint64 * words)(*state)
        target = (ctypes.c_uint64 * (code.words + 3))()
        call(source, target)
        return list(target)

    divide.owner = compiled
    return divide


SPECS = ("replication/kip320", "examples/peterson", "producer/idempotent_producer", "pipeline/pipeline")


@pytest.mark.parametrize("name", SPECS)
def test_the_machine_code_computes_the_same_numbers(name: str) -> None:
    spec = select_spec(name).spec()
    layout = state_layout(spec.variables)
    code = StateCode.of_layout(layout)
    shape = TableShape(code.bits, 54_321)
    divide = _compiled(code, layout.words, shape)
    random_numbers = random.Random(7)
    states = [layout.encode(state.values) for state in spec.initial_states()[:3]]
    # Also states that do not exist: a digit of any bits that the code reads as they are.
    for _ in range(50):
        state = [0] * layout.words
        for digit in (digit for group in code.groups for digit in group):
            value = random_numbers.randrange(digit.radix)
            if digit.ranks is not None:
                value = random_numbers.choice([raw for raw, rank in enumerate(digit.ranks) if rank == value])
            state[digit.word] |= value << digit.shift
        states.append(state)
    for state in states:
        number = code.encode(state)
        hashed = mix_key(number, code.bits)
        home, remainder = shape.divide(hashed)
        parts = [number >> shift & 2**64 - 1 for shift in range(0, 64 * code.words, 64)]
        assert divide(state) == [*parts, hashed, home, hashed - remainder]
