"""From a spec's Python source to the typed representation of `checker.ir`; refuses what the language does not have."""

from checker.frontend.program import compile_spec

__all__ = ["compile_spec"]
