"""The engines that run a spec: the Python interpreter, native code, and the SMT solver Z3."""
