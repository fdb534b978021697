"""The constants of a spec that compiled code reads at run time: one global array of words in the module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.emitter import I32, I64
from checker.errors import SpecError
from checker.language.declarations import Constant
from checker.language.types import LARGEST

SYMBOL = "spec.constants"
"""The name of the array in the module: `i64 spec.constants[n]`, zero until the loader writes it."""


class ConstantBlock:
    """The array, in the module under construction. Constant `names[i]` is word i: see `words_of`."""

    def __init__(self, module: ir.Module, names: Sequence[str]):
        self._positions = {name: position for position, name in enumerate(names)}
        if names:
            # Of external linkage, so that LLVM does not take the initial zeros for the values.
            kind = ir.ArrayType(I64, len(names))
            self._array = ir.GlobalVariable(module, kind, SYMBOL)
            self._array.initializer = ir.ConstantValue(kind, None)

    def address(self, name: str) -> ir.Value:
        """Return the address (i64*) of a constant."""
        return self._array.gep([ir.ConstantValue(I32, 0), ir.ConstantValue(I32, self._positions[name])])


def words_of(
    names: Sequence[str], values: Mapping[str, int | bool | str], declared: Mapping[str, Constant]
) -> list[int]:
    """Return the words of some constants: a bool as 0 or 1, an integer, or the position of a name in `one_of`.

    Raises SpecError for an integer beyond 62 bits.
    """
    words = []
    for name in names:
        value = values[name]
        if isinstance(value, str):
            words.append((declared[name].one_of or ()).index(value))
        elif abs(value) > LARGEST:
            raise SpecError(f"{value} is beyond 62 bits: use smaller numbers")
        else:
            words.append(int(value))
    return words
