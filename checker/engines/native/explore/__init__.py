"""Exhaustive breadth-first exploration: engine kernels in LLVM, an exact store, and the driver over both."""
