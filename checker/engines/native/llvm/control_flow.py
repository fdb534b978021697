"""Structured control flow for LLVM's builder: loops, and local variables that LLVM keeps in registers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from checker.engines.native.llvm import ir

I1, I8, I16, I32, I64 = (ir.IntegerType(bits) for bits in (1, 8, 16, 32, 64))
WORD_POINTER = I64.as_pointer()


def word(value: int) -> ir.Value:
    """Return a 64-bit constant; `value` is taken modulo 2**64."""
    return ir.ConstantValue(I64, value % 2**64)


class LocalVariable:
    """A local variable of the function under construction: an alloca that LLVM turns into a register."""

    def __init__(self, builder: ir.IRBuilder, initial: ir.Value, name: str = "") -> None:
        self._builder = builder
        # In the entry block, so that a loop does not take new stack memory in each iteration, and LLVM can promote the
        # slot.
        with builder.goto_entry_block():
            self._slot = builder.alloca(initial.type, name=name)
        self.set(initial)

    def get(self) -> ir.Value:
        """Return the current value."""
        return self._builder.load(self._slot)

    def set(self, value: ir.Value) -> None:
        """Replace the value."""
        self._builder.store(value, self._slot)

    def add(self, amount: int) -> None:
        """Add a constant to the value."""
        value = self.get()
        self.set(self._builder.add(value, ir.ConstantValue(value.type, amount)))


@dataclass(frozen=True)
class Loop:
    """A loop under construction. `name` is the prefix of the names of its blocks in the LLVM code."""

    builder: ir.IRBuilder
    exit: ir.Block
    name: str

    def leave_if(self, condition: ir.Value) -> None:
        """Emit a jump to the exit for the case that `condition` (i1) is true."""
        rest = self.builder.append_basic_block(f"{self.name}.rest")
        self.builder.cbranch(condition, self.exit, rest)
        self.builder.position_at_end(rest)


@contextmanager
def endless_loop(builder: ir.IRBuilder, name: str = "loop") -> Iterator[Loop]:
    """Emit a loop around the body of the `with` block; only `Loop.leave_if` ends it."""
    head = builder.append_basic_block(name)
    loop = Loop(builder, builder.append_basic_block(f"{name}.end"), name)
    builder.branch(head)
    builder.position_at_end(head)
    yield loop
    builder.branch(head)
    builder.position_at_end(loop.exit)


@contextmanager
def for_loop(
    builder: ir.IRBuilder, start: ir.Value, stop: ir.Value, step: ir.Value | None = None, name: str = "loop"
) -> Iterator[ir.Value]:
    """Emit a loop over start, start + step, ... below `stop` (unsigned i64; step: default 1); yield the index."""
    index = LocalVariable(builder, start, f"{name}.index")
    with endless_loop(builder, name) as loop:
        current = index.get()
        loop.leave_if(builder.icmp_unsigned(">=", current, stop))
        yield current
        index.set(builder.add(current, word(1) if step is None else step))


@contextmanager
def each_bit(builder: ir.IRBuilder, bits: ir.Value) -> Iterator[ir.Value]:
    """Emit a loop over the positions (i64) of the bits that are set in `bits`, lowest first."""
    rest = LocalVariable(builder, bits, "bits.rest")
    with endless_loop(builder, "bits") as loop:
        current = rest.get()
        loop.leave_if(builder.icmp_unsigned("==", current, word(0)))
        # The second argument promises that the number is not 0, which the test above ensures.
        yield builder.cttz(current, ir.ConstantValue(I1, 1))
        # x & (x - 1) clears the lowest bit that is set.
        rest.set(builder.and_(current, builder.sub(current, word(1))))
