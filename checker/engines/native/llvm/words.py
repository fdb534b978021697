"""Reads and writes of 64-bit words in arrays and structs, in kernels under construction."""

from __future__ import annotations

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I8, I32, word


def item(builder: ir.IRBuilder, array: ir.Value, index: ir.Value, size: int) -> ir.Value:
    """Return the address of item `index` of an array (i64*) whose items have `size` words."""
    return builder.gep(array, [index if size == 1 else builder.mul(index, word(size))], inbounds=True)


def read_words(builder: ir.IRBuilder, address: ir.Value, count: int) -> list[ir.Value]:
    """Return the `count` words from an address on."""
    return [builder.load(builder.gep(address, [word(i)], inbounds=True)) for i in range(count)]


def write_words(builder: ir.IRBuilder, address: ir.Value, values: list[ir.Value]) -> None:
    """Store words from an address on."""
    for i, value in enumerate(values):
        builder.store(value, builder.gep(address, [word(i)], inbounds=True))


def struct_field(builder: ir.IRBuilder, struct: ir.Value, index: int) -> ir.Value:
    """Return the address of field `index` of the struct at an address."""
    return builder.gep(struct, [ir.ConstantValue(I32, 0), ir.ConstantValue(I32, index)], inbounds=True)


def prefetch(builder: ir.IRBuilder, address: ir.Value) -> None:
    """Emit a prefetch for reading, with the highest locality. A prefetch of an invalid address does nothing."""
    byte_pointer = I8.as_pointer()
    function = builder.module.declared("llvm.prefetch.p0", ir.VoidType(), [byte_pointer, I32, I32, I32])
    to_read, keep, data = (ir.ConstantValue(I32, value) for value in (0, 3, 1))
    builder.call(function, [builder.bitcast(address, byte_pointer), to_read, keep, data])
