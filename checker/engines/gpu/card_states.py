"""The states in the memory of a card: the code of each (`StateCode`), in as few 32-bit units as it needs.

An entry has the words of its state, so the code is computed in two kernels, and not at every place of a spec's actions.
"""

from __future__ import annotations

from dataclasses import dataclass

from checker.engines.native.explore.compact.state_code import StateCode
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I32, I64, word
from checker.engines.native.lowering.state_layout import StateLayout

_UNIT = 32


@dataclass(frozen=True)
class CardStates:
    """How states of `words` words are stored. Code of a kernel under construction reads and writes them."""

    code: StateCode
    words: int

    @classmethod
    def of_layout(cls, layout: StateLayout) -> CardStates:
        """Return how states of a layout are stored: as they are, unless their codes take fewer units."""
        code, whole = (
            cls(StateCode.of_layout(layout), layout.words),
            cls(StateCode.of_words(layout.words), layout.words),
        )
        return code if code.units < whole.units else whole

    @property
    def units(self) -> int:
        """The 32-bit units of a stored state."""
        return -(-self.code.bits // _UNIT)

    def encode(self, builder: ir.IRBuilder, state: list[ir.Value]) -> list[ir.Value]:
        """Return the words of the code of a state."""
        return self.code.emit(builder, state)

    def decode(self, builder: ir.IRBuilder, code: list[ir.Value]) -> list[ir.Value]:
        """Return the words of the state of a code."""
        return self.code.emit_words(builder, code, self.words)

    def read(self, builder: ir.IRBuilder, states: ir.Value, index: ir.Value) -> list[ir.Value]:
        """Return the words of the code of the state at an index."""
        units = [builder.zext(builder.load(self._unit(builder, states, index, at)), I64) for at in range(self.units)]
        code = units[::2]
        for at, high in enumerate(units[1::2]):
            code[at] = builder.or_(code[at], builder.shl(high, word(_UNIT)))
        return code

    def write(self, builder: ir.IRBuilder, states: ir.Value, index: ir.Value, code: list[ir.Value]) -> None:
        """Store the code of a state at an index."""
        for at in range(self.units):
            part = code[at // 2] if at % 2 == 0 else builder.lshr(code[at // 2], word(_UNIT))
            builder.store(builder.trunc(part, I32), self._unit(builder, states, index, at))

    def _unit(self, builder: ir.IRBuilder, states: ir.Value, index: ir.Value, at: int) -> ir.Value:
        units = builder.bitcast(states, I32.as_pointer())
        position = builder.add(builder.mul(index, word(self.units)), word(at))
        return builder.gep(units, [position], inbounds=True)
