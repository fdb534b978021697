"""The Python engine: breadth-first exploration with the interpreter. It is the reference for the other engines."""
