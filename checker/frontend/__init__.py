"""The front end: type-checks a spec's Python source and translates it to the representation in `checker.ir`."""

from checker.frontend.program import compile_shared, compile_spec, compile_view

__all__ = ["compile_shared", "compile_spec", "compile_view"]
