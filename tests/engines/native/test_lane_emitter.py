"""The emitter of vectors leaves out instructions, and never changes a result."""

import ctypes
import random

import numpy as np
import pytest

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.lowering.emitter import I64, WORD_POINTER
from checker.engines.native.lowering.lane_emitter import LANES, LaneEmitter

WORDS = 2
COMPARED = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


class Emitted:
    """A function under construction that stores truths of LANES states, and the same truths of each state."""

    def __init__(self):
        # Kept: a function does not keep its module.
        self.module = ir.Module()
        kind = ir.FunctionType(ir.VoidType(), [WORD_POINTER, WORD_POINTER])
        self.function = ir.IrFunction(self.module, kind, "truths")
        self.emit = LaneEmitter(self.function)
        self.words = [self.emit.lanes_of(self.function.args[0], word, WORDS) for word in range(WORDS)]
        self.truths = []

    def results(self, states):
        """Return the stored truths (lanes, truths) of some states (lanes, words)."""
        found = 0
        for bit, (truth, _) in enumerate(self.truths):
            found = self.emit.bit_or(found, self.emit.select(truth, 1 << bit, 0))
        for lane in range(LANES):
            word = self.emit.builder.extract_element(self.emit.value(found), ir.ConstantValue(I64, lane))
            self.emit.builder.store(word, self.emit.word_pointer(self.function.args[1], ir.ConstantValue(I64, lane)))
        self.emit.builder.ret_void()
        self.emit.finish()
        code = MachineCode(self.module)
        stored = np.zeros(LANES, np.uint64)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address_of("truths"))
        call(states.ctypes.data, stored.ctypes.data)
        return [[bool(int(word) >> bit & 1) for bit in range(len(self.truths))] for word in stored]


def with_random_truths(emitted, chosen, count):
    """Append truths of all kinds: comparisons of bits of the words, and what is made of former truths."""
    for _ in range(count):
        kind = chosen.choice(("constant", "bits", "negate", "both", "either")) if emitted.truths else "constant"
        if kind in ("constant", "bits"):
            number, value = _random_bits(emitted, chosen)
            operator = chosen.choice(list(COMPARED))
            constant = chosen.randrange(-1, 9) if kind == "constant" else None
            lowest = emitted.emit.bit_and(emitted.words[0], 7)
            left, right = (lowest, number) if constant is None else (number, constant)
            emitted.truths.append((emitted.emit.compare(operator, left, right), _comparison(operator, value, constant)))
        else:
            emitted.truths.append(
                _combined(emitted, kind, chosen.choice(emitted.truths), chosen.choice(emitted.truths))
            )


def _random_bits(emitted, chosen):
    """Return bits of bits of a word, and the function that computes them from the words of a state."""
    word, shift, further = chosen.randrange(WORDS), chosen.choice((0, 1, 5, 62)), chosen.choice((0, 1))
    mask, narrow = chosen.choice((1, 3, 7, 2**64 - 1)), chosen.choice((1, 2**64 - 1))
    emit = emitted.emit
    number = emit.bit_and(emit.shift_right(emitted.words[word], shift), mask)

    def value(words):
        found = (words[word] >> shift & mask) >> further & narrow
        # Words are signed integers.
        return found - 2**64 if found >= 2**63 else found

    return emit.bit_and(emit.shift_right(number, further), narrow), value


def _comparison(operator, value, constant):
    """Return the function that compares bits with a constant, or the lowest bits of the state with them (None)."""
    if constant is None:
        return lambda words: COMPARED[operator](words[0] & 7, value(words))
    return lambda words: COMPARED[operator](value(words), constant)


def _combined(emitted, kind, first, second):
    """Return the truth that is made of two others, and its function."""
    (left, of_left), (right, of_right) = first, second
    if kind == "negate":
        return emitted.emit.negate(left), lambda words: not of_left(words)
    if kind == "both":
        return emitted.emit.both(left, right), lambda words: of_left(words) and of_right(words)
    return emitted.emit.either(left, right), lambda words: of_left(words) or of_right(words)


@pytest.mark.parametrize("seed", range(6))
def test_random_truths_have_the_values_of_python(seed):
    chosen = random.Random(seed)
    emitted = Emitted()
    with_random_truths(emitted, chosen, 60)
    numbers = [chosen.choice((0, 1, 5, 2**62, 2**64 - 1, chosen.getrandbits(64))) for _ in range(LANES * WORDS)]
    states = np.array(numbers, np.uint64).reshape(LANES, WORDS)
    found = emitted.results(states)
    for lane, state in enumerate(states.tolist()):
        assert found[lane] == [expected(state) for _, expected in emitted.truths]


def test_what_is_implied_or_excluded_is_not_emitted():
    emitted = Emitted()
    emit, (word, other) = emitted.emit, emitted.words
    low, high = emit.compare("<", emit.bit_and(word, 7), 3), emit.compare("==", emit.bit_and(other, 7), 2)
    both = emit.both(low, high)
    assert emit.both(high, low) is both is emit.both(both, low)
    assert emit.either(both, low) is low
    assert emit.both(both, emit.negate(low)) is False
    assert emit.either(low, emit.negate(low)) is True
    assert emit.compare(">=", emit.bit_and(word, 7), 3) is emit.negate(low)
    assert emit.compare("<", emit.bit_and(word, 7), 8) is True
    assert emit.compare("==", emit.bit_and(word, 7), 8) is False
    assert emit.compare("==", word, word) is True


def test_instructions_without_a_use_are_removed():
    emitted = Emitted()
    emitted.emit.compare("<", emitted.words[0], 1)
    emitted.truths.append((emitted.emit.compare("<", emitted.words[1], 2), None))
    emitted.results(np.zeros((LANES, WORDS), np.uint64))
    assert str(emitted.function.module).count("icmp slt") == 1
