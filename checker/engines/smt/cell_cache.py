"""Proved cells in the user's cache, by the digest of what they depend on.

The name of an entry is a digest of the action, the conjunct, the variables, the constants, the prover's sources and the
version of Z3. The entry has the hypotheses that the proof needed, each with its digest. It is valid if all of them are
hypotheses with the same digests: other lemmas may come, change and go.

The entries are in the folder of the machine code, which belongs to this user alone (`code_cache`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import z3

from checker.engines.native.cache.compiler_sources import sources_digest
from checker.engines.native.llvm import code_cache
from checker.ir import nodes
from checker.ir.digest import digest_of_parts
from checker.language.spec import Spec


@dataclass(frozen=True)
class CachedCell:
    """A proved cell: the hypotheses that it needed, and the seconds that it took."""

    needed: tuple[str, ...]
    seconds: float


class CellCache:
    """The proved cells of one spec with its constants."""

    def __init__(self, spec: Spec, program: nodes.Program):
        # The text of an open constant is its name; its expression has its bounds, too.
        constants = {name: repr(getattr(value, "expression", value)) for name, value in spec.constants.items()}
        context = digest_of_parts(program.variables, constants, program.init)
        self._context = f"proof {context} {sources_digest('engines/smt')} {z3.get_full_version()}"
        self._actions = {action.name: digest_of_parts(action) for action in program.actions}
        predicates = [*program.properties, *program.constraints]
        self._predicates = {predicate.name: digest_of_parts(predicate) for predicate in predicates}

    def load(self, place: tuple[str, str]) -> CachedCell | None:
        """Return a cell if an earlier proof of it is valid for this spec."""
        content = code_cache.load(self._name(place))
        if content is None:
            return None
        try:
            entry = json.loads(content)
            needed = {str(name): str(digest) for name, digest in entry["needed"].items()}
            seconds = float(entry["seconds"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        is_valid = all(self._predicates.get(name, "") == digest for name, digest in needed.items())
        return CachedCell(tuple(needed), seconds) if is_valid else None

    def store(self, place: tuple[str, str], needed: tuple[str, ...], seconds: float) -> None:
        """Write a proved cell."""
        entry: Mapping[str, object] = {
            "needed": {name: self._predicates.get(name, "") for name in needed},
            "seconds": seconds,
        }
        code_cache.store(self._name(place), json.dumps(entry).encode())

    def _name(self, place: tuple[str, str]) -> str:
        conjunct, action = place
        # The types and the bounds are conditions without a predicate; so is `init` without an action.
        return code_cache.digest_of(
            self._context, conjunct, self._predicates.get(conjunct, ""), action, self._actions.get(action, "")
        )
