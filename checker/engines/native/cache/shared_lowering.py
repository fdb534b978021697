"""Lowered specs that serve several runs of a command.

Scenarios of a spec often differ only in constants on which no type depends. Code that reads these constants at run time
(`checker.frontend.compile_shared`) serves all of them: it is typed, lowered and compiled once. It is a little slower
than code that has the values in it, so a long exploration gets optimised code of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checker.errors import UserError
from checker.language.declared_types import Domain
from checker.language.spec import Spec
from checker.language.types import LARGEST

if TYPE_CHECKING:
    from checker.engines.native.explore.lowered_spec import LoweredSpec

Wanted = tuple[Spec, Sequence[str]]
"""A spec of a run, and the properties that are searched."""

MOST_TOGETHER = 8
"""The most runs that one worker process executes one after the other because they may share code."""


def groups(wanted: Sequence[Wanted]) -> list[list[int]]:
    """Return the positions of the specs that may share code, in groups; each is in one group.

    The groups are in the order of their first members. Whether a spec really shares code is known after typing it.
    """
    together: list[list[int]] = []
    last_of: dict[Hashable, list[int]] = {}
    for position, (spec, _) in enumerate(wanted):
        key = (type(spec), frozenset((name, repr(spec.constants[name])) for name in spec.constants_of_types))
        group = last_of.get(key)
        if group is None or len(group) == MOST_TOGETHER:
            group = last_of[key] = []
            together.append(group)
        group.append(position)
    return together


@dataclass
class SharedLowered:
    """A lowered spec that serves every spec of its class with the same values of some constants.

    - `fixed`: these constants, with their values. The code contains them, and reads the others at run time.
    - `room`: constants of which the code reads the value too, and the largest value that its variables have room for.
    - `spec`, `lowered`: the class, and its code with the properties that it checks.
    """

    spec: type[Spec]
    fixed: dict[str, int | bool | str]
    room: dict[str, int]
    lowered: LoweredSpec = field(repr=False)

    def serves(self, spec: Spec, properties: Sequence[str] = ()) -> bool:
        """Return whether the code computes the successors and some properties of a spec."""
        is_same = type(spec) is self.spec and set(properties) <= set(self.lowered.properties)
        has_room = is_same and all(int(spec.constants[name]) <= largest for name, largest in self.room.items())
        return has_room and all(spec.constants[name] == value for name, value in self.fixed.items())


def lower_shared(
    spec: Spec, properties: list[str], *, symmetric: type[Domain] | None = None, room: Collection[str] = ()
) -> SharedLowered:
    """Return a lowered spec that reads the constants on which no type depends at run time.

    `symmetric`: a domain of which the members are interchangeable. `room`: see `compile_shared`. Raises SpecError if
    the spec is outside the language, or distinguishes these members anywhere but in its initial states.
    """
    # Imported here: a process that finds the code in the cache does not need them.
    from checker.engines.native.explore.lowered_spec import LoweredSpec, lower_with_kernels
    from checker.frontend import compile_shared
    from checker.run.symmetry import require_symmetry

    program, runtime = compile_shared(spec, properties, room)
    symmetry = None if symmetric is None else require_symmetry(program, spec.resolved_type(symmetric))
    native = lower_with_kernels(spec, program, properties, runtime, symmetry=symmetry)
    fixed = {name: value for name, value in spec.constants.items() if name not in runtime}
    largest = {name: int(spec.constants[name]) for name in room if name in runtime}
    return SharedLowered(type(spec), fixed, largest, LoweredSpec.of(native, properties, runtime))


class SharedLowering:
    """Lowers the specs of a group; all have one class, and each is wanted with some properties."""

    def __init__(self, wanted: Sequence[Wanted]):
        self._specs = [spec for spec, _ in wanted]
        names = {name for _, properties in wanted for name in properties}
        # In the order of the declarations, as in the properties of each run.
        self._properties = [name for name in self._specs[0].safety_properties if name in names]
        self._known: list[SharedLowered] = []

    def lowered(self, spec: Spec, properties: Sequence[str]) -> LoweredSpec | None:
        """Return code for a spec and some properties; None if it is better lowered alone.

        The code may check more properties. A spec outside the language is lowered alone too, which raises its error.
        """
        if len(self._specs) == 1 or not set(properties) <= set(self._properties) or not _has_words(spec):
            return None
        for known in self._known:
            if known.serves(spec):
                return known.lowered
        try:
            known = lower_shared(spec, self._properties)
        except UserError:
            return None
        if sum(map(known.serves, self._specs)) > 1:
            self._known.append(known)
        return known.lowered


def _has_words(spec: Spec) -> bool:
    """Return whether every integer constant fits into a word of the code."""
    return all(abs(value) <= LARGEST for value in spec.constants.values() if isinstance(value, int))
