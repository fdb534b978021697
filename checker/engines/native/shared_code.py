"""Machine code that serves all specs that differ only in constants without an effect on the layout of states.

Compiling the pipeline takes longer than most of its explorations. The code of `SharedCode` reads such constants at run
time (`checker.frontend.compile_shared`); each `CompiledSpec` has its own copy of the code, with its own constants.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from checker.engines.native.cache.shared_lowering import SharedLowered, lower_shared
from checker.engines.native.engine import CompiledSpec, garbage_collection_paused
from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.llvm.machine_code import MachineCode, object_code
from checker.engines.native.lowering.constant_block import SYMBOL, words_of
from checker.engines.native.lowering.state_layout import state_layout
from checker.frontend.symmetry import ProgramSymmetry
from checker.language.declared_types import Domain
from checker.language.spec import Spec


@dataclass
class SharedCode(SharedLowered):
    """The machine code of a spec class. It can be pickled, and depends on nothing but its fields.

    - `symmetric`: the domain that is stored up to renaming.
    - `quick`, `optimised`: the machine code of the lowered spec; the latter is compiled at its first use, or at once.
    """

    symmetric: type[Domain] | None
    quick: bytes = field(repr=False)
    optimised: bytes = field(default=b"", repr=False)

    def loaded(self, spec: Spec) -> CompiledSpec:
        """Return a spec that this code serves, with a copy of the code that has the spec's constants."""
        assert self.serves(spec)
        spec = self._with_room(spec)
        layout = state_layout(spec.variables)
        symmetry = None if self.symmetric is None else ProgramSymmetry((spec.resolved_type(self.symmetric),))
        words = words_of(self.lowered.runtime, spec.constants, spec.declared_constants)
        code = self.optimised or self.quick
        kernels = self._kernels(layout.words, code, words, is_quick=not self.optimised)
        return CompiledSpec(spec, layout, kernels, list(self.lowered.properties), symmetry=symmetry)

    def _with_room(self, spec: Spec) -> Spec:
        """Return a spec with the types that were compiled: the numbers of action instances depend on them too."""
        if not self.room:
            return spec
        roomy = copy.copy(self.spec(**{**spec.constants, **self.room}))
        roomy.constants, roomy.constant_values = spec.constants, spec.constant_values
        return roomy

    def _kernels(self, words: int, code: bytes, constants: Sequence[int], *, is_quick: bool) -> Kernels:
        machine_code = MachineCode(code, quick=is_quick)
        if constants:
            machine_code.write_words(SYMBOL, constants)

        def better() -> Kernels:
            self.optimised = self.optimised or object_code(self.lowered.text).code
            return self._kernels(words, self.optimised, constants, is_quick=False)

        return Kernels(
            words, self.lowered.instances, machine_code.address_of, machine_code, better if is_quick else None
        )


def compile_shared_code(
    spec: Spec,
    properties: list[str],
    *,
    symmetric: type[Domain] | None = None,
    room: Collection[str] = (),
    quick: bool = True,
) -> SharedCode:
    """Return machine code for a spec and for specs with other values of some constants.

    The arguments are those of `compile_native`, which raises the same errors. `symmetric`: a domain of which the
    members are interchangeable; SpecError if the spec distinguishes them anywhere but in its initial states. `room`:
    see `compile_shared`.
    """
    with garbage_collection_paused():
        shared = lower_shared(spec, properties, symmetric=symmetric, room=room)
    code = object_code(shared.lowered.text, quick=quick, is_shared=quick).code
    versions = {"quick": code} if quick else {"quick": b"", "optimised": code}
    return SharedCode(shared.spec, shared.fixed, shared.room, shared.lowered, symmetric, **versions)
