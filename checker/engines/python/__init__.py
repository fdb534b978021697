"""The python engine: breadth-first exploration through the interpreter, the reference for the other engines."""
