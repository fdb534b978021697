"""The identity of a search: everything on which the content of its checkpoint depends."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence

from checker.engines.native.cache.compiler_sources import sources_digest
from checker.engines.native.explore.checkpoint import SearchIdentity
from checker.engines.native.explore.reserved import U64
from checker.ir import nodes
from checker.ir.digest import digest_of
from checker.language.spec import Spec
from checker.run.plan import Plan
from checker.run.version import tidemark_version


def identity_of(
    spec: Spec, plan: Plan, *, program: nodes.Program, premises: int, symmetry: str, initial: Sequence[Sequence[int]]
) -> SearchIdentity:
    """Return the identity of a search for a plan; `SearchIdentity` documents the arguments.

    `initial` (n, words): the packed initial states.
    """
    words = array(U64, [word for state in initial for word in state])
    stop = plan.stop if isinstance(plan.stop, str) else " ".join(sorted(plan.stop))
    return SearchIdentity(
        version=f"{tidemark_version()}, sources {sources_digest()}",
        spec=type(spec).name,
        constants=dict(spec.constants),
        properties=[*plan.properties, *(["deadlock"] if plan.deadlock else [])],
        stop=stop,
        premises=premises,
        symmetry=symmetry,
        store=plan.store,
        program=digest_of(program, with_view=True),
        initial=hashlib.blake2b(words.tobytes(), digest_size=16).hexdigest(),
    )
