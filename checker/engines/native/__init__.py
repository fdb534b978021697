"""The native engine: specs as machine code on states packed into 64-bit words.

- `lowering`: from the typed program to LLVM functions. `llvm`: building blocks for emitting LLVM code.
- `explore`: exhaustive breadth-first exploration. `engine` is its entry point, `results` builds its results.
- `walk`: random walks. `batch`: kernels on arrays of states. `single_state`: one state at a time, for comparisons.
"""
