"""The solvers that proofs need. This module imports none, so that their absence is one sentence."""

from __future__ import annotations

import importlib

from checker.errors import MissingExtraError


def require_solvers(*, second: bool = False) -> None:
    """Raise MissingExtraError if Z3 is not installed, or, for a check by a `second` solver, cvc5."""
    for module, name in (("z3", "Z3"), *([("cvc5", "cvc5")] if second else [])):
        try:
            importlib.import_module(module)
        except ModuleNotFoundError:
            raise MissingExtraError(
                f"proofs need {name}, which is not installed: pip install 'tidemark[prove]', "
                "or pip install -e '.[prove]' in a checkout"
            ) from None
