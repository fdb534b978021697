"""Symmetry in a run: the domains whose members are interchangeable, and the orbits of states.

An orbit is the set of all states that differ only in the names of members. An engine that explores with symmetry stores
one state of each orbit that it reaches.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from checker.errors import SpecError
from checker.frontend.symmetry import Asymmetry, ProgramSymmetry, symmetry_of
from checker.ir import nodes
from checker.language.interpreter import State
from checker.language.permutations import generators, permute_state
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.types import DomainType
from checker.language.values import show


def symmetry_of_run(spec: Spec, program: nodes.Program, initial: Sequence[State]) -> ProgramSymmetry:
    """Return the symmetric domains of a spec's program and initial states.

    Raises SpecError if no domain is symmetric, with the reason for the first domain.
    """
    if views := spec.names_of(Role.VIEW):
        raise SpecError(
            f"{spec.name}: symmetry cannot be used with a view: use --no-symmetry, or set {views[0]} = None"
        )
    symmetry = symmetry_of(program)
    closed, asymmetries = [], list(symmetry.asymmetries)
    for domain in symmetry.domains:
        difference = _difference(spec, domain, initial)
        if difference:
            asymmetries.append(Asymmetry(domain, difference))
        else:
            closed.append(domain)
    if closed:
        return dataclasses.replace(symmetry, domains=tuple(closed), asymmetries=tuple(asymmetries))
    if asymmetries:
        raise asymmetries[0].error
    raise SpecError(f"{spec.name} has no symmetry: no variable or parameter has a Domain of two or more members")


def require_symmetry(program: nodes.Program, domain: DomainType) -> ProgramSymmetry:
    """Return the symmetry of a program in one domain; raise SpecError if the domain is not symmetric.

    The initial states are not examined. Symmetric initial states are not necessary: a path from the representative of
    an initial state is, with members renamed, a path from the initial state itself. So the explorer finds the orbits
    that have a reachable state, a property that holds in one state of an orbit holds in all of them, and shortest
    traces keep their lengths.
    """
    symmetry = symmetry_of(program)
    for asymmetry in symmetry.asymmetries:
        if asymmetry.domain == domain:
            raise asymmetry.error
    return ProgramSymmetry(tuple(other for other in symmetry.domains if other == domain), (), symmetry.unordered_folds)


def _difference(spec: Spec, domain: DomainType, initial: Sequence[State]) -> str:
    """Return how initial states distinguish the members of a domain, or "" if they do not."""
    known = set(initial)
    for first, by in enumerate(generators(domain)):
        for state in initial:
            other = permute_state(spec.variables, state, by)
            if other in known:
                continue
            name = next(name for name in spec.variables if state.values[name] != other.values[name])
            one, two = (show(member) for member in domain.members[first : first + 2])
            return (
                f"with {one} and {two} exchanged, the initial state with {name} = {show(state.values[name])} "
                f"is not initial: give init a parameter, as in `def init(self, first: {domain})`"
            )
    return ""
