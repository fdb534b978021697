"""Reads and writes of 64-bit words in arrays and structs, in kernels under construction."""

from __future__ import annotations

from llvmlite import ir

from checker.engines.native.llvm.control_flow import I32, word


def item(builder: ir.IRBuilder, array: ir.Value, index: ir.Value, size: int) -> ir.Value:
    """Return the address of item `index` of an array (i64*) whose items have `size` words."""
    return builder.gep(array, [builder.mul(index, word(size))], inbounds=True)


def read_words(builder: ir.IRBuilder, address: ir.Value, count: int) -> list[ir.Value]:
    """Return the `count` words from an address on."""
    return [builder.load(builder.gep(address, [word(i)], inbounds=True)) for i in range(count)]


def write_words(builder: ir.IRBuilder, address: ir.Value, values: list[ir.Value]) -> None:
    """Store words from an address on."""
    for i, value in enumerate(values):
        builder.store(value, builder.gep(address, [word(i)], inbounds=True))


def struct_field(builder: ir.IRBuilder, struct: ir.Value, index: int) -> ir.Value:
    """Return the address of field `index` of the struct at an address."""
    return builder.gep(struct, [ir.Constant(I32, 0), ir.Constant(I32, index)], inbounds=True)
