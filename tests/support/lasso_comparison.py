"""The comparison of Z3's bounded search for lassos with the decisions of the interpreter."""

from checker.engines.python import explorer
from checker.engines.smt.bounded import search
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language import Spec
from checker.language.liveness import liveness_names
from checker.run.plan import Plan

LIMITS = QueryLimits(60.0)


def compare_lassos(spec: Spec, least_depth: int, most_depth: int) -> list[bool]:
    """Compare the decisions on all liveness properties of a spec; return for each whether Z3 finds a violation.

    Z3 searches traces up to the length of the interpreter's longest lasso, within the two limits. It must find each
    violation of which the interpreter's lasso fits into the bound, with the same length of the stem. Of the others it
    may find a lasso with a longer stem. Both engines check their lassos with `lasso_violation`.
    """
    names = liveness_names(spec, spec.properties)
    decided = explorer.explore(spec, Plan(tuple(names), stop="all"))
    expected = {found.property: found for found in decided.violations}
    longest = max((len(found.trace) for found in decided.violations), default=0)
    depth = min(max(least_depth, longest), most_depth)
    searched = search(TransitionSystem(spec, []), names, depth, LIMITS, stop="all")
    found = {found.property: found for found in searched.violations}
    assert not searched.unknown
    for name in names:
        one, other = expected.get(name), found.get(name)
        what = f"{name} of {type(spec).__name__} under {spec.fairness}, up to {depth} states"
        if one is None or len(one.trace) <= depth:
            lengths = [None if each is None else (each.kind, each.length) for each in (one, other)]
            assert lengths[0] == lengths[1], f"{what}: {lengths}"
        elif other is not None:
            assert other.length >= one.length, f"{what}: Z3's stem is shorter"
    return [name in found for name in names]
