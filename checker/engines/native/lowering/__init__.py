"""Lowering: from typed expressions and statements to LLVM code over packed states."""
