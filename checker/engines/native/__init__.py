"""The native engine: specs as LLVM code on states packed into 64-bit words."""
