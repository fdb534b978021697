"""Building blocks for LLVM code: control flow, arrays of words, machine code."""
