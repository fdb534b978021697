"""Random walks in native code: the kernel, and the `Walker` that calls it."""
