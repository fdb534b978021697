"""A card that this process plays: the kernels as machine code of this processor, run by pretended threads.

A launch runs the threads in a random order. Each stops in front of every claim of a slot, where the card may run any
other thread, from its begin to its end; that one stops in the same way. So a slot may be taken between the read that
sees it empty and the claim.
"""

import ctypes
import functools
import random
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm
import numpy as np

from checker.engines.gpu.engine import CardSpec, explore_on, lower_for_card
from checker.engines.gpu.kernels import host_threads
from checker.engines.native.llvm.compiler import initialise
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.llvm.word_arrays import Words
from checker.language.spec import Spec
from checker.run.plan import Plan
from checker.run.result import Result

_PAUSE = "pretended.card.pause"
_DEEPEST = 20


class PretendedCard:
    """The device of a module's kernels; `change` changes the text of the module first, such as to a faulty one."""

    def __init__(
        self,
        compiled: CardSpec,
        seed: int = 0,
        memory: int = 1 << 26,
        most_threads: int = 24,
        change: Callable[[str], str] = lambda text: text,
    ):
        self._random = random.Random(seed)
        self._memory, self._most_threads, self._regions = memory, most_threads, compiled.shape.regions
        self._arrays: dict[int, Words] = {}
        self._waiting: list[Callable[[], None]] = []
        self._depth = 0
        initialise()
        self._pause = ctypes.CFUNCTYPE(None)(self._run_another)
        llvm.add_symbol(_PAUSE, ctypes.cast(self._pause, ctypes.c_void_p).value)
        self._code = MachineCode(change(_with_pauses(compiled.text)))
        self.launches: list[str] = []

    def free_bytes(self) -> int:
        return self._memory

    def allocate(self, words: int) -> int:
        # Not zero, as the memory of a card.
        array = np.full(max(words, 1), 0x5A5A5A5A5A5A5A5A, np.uint64)
        self._arrays[array.ctypes.data] = array
        return array.ctypes.data

    def release(self, address: int) -> None:
        del self._arrays[address]

    def clear(self, address: int, words: int) -> None:
        ctypes.memset(address, 0, 8 * words)

    def write(self, address: int, content: Words) -> None:
        ctypes.memmove(address, content.ctypes.data, content.nbytes)

    def read(self, address: int, words: int) -> Words:
        return np.frombuffer(ctypes.string_at(address, 8 * words), np.uint64)

    def launch(self, kernel: str, items: int, arguments: Sequence[int]) -> None:
        self.launches.append(kernel)
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * (len(arguments) + 4))
        function = kind(self._code.address_of(kernel))
        most = max(1, min(items, self._most_threads) // self._regions)
        blocks = self._regions * self._random.randint(1, most)
        size = self._random.randint(1, max(1, self._most_threads // blocks))
        self._waiting = [
            functools.partial(function, *arguments, block, blocks, thread, size)
            for block in range(blocks)
            for thread in range(size)
        ]
        self._random.shuffle(self._waiting)
        while self._waiting:
            self._waiting.pop()()

    def _run_another(self) -> None:
        if self._waiting and self._depth < _DEEPEST and self._random.random() < 0.5:
            self._depth += 1
            self._waiting.pop()()
            self._depth -= 1


def _with_pauses(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if " cmpxchg " in line:
            lines.append(f'call void @"{_PAUSE}"()')
        lines.append(line)
    return "\n".join([*lines, f'declare void @"{_PAUSE}"()', ""])


def lowered_for_pretended_card(regions: int) -> Callable[..., CardSpec]:
    """Return a function like `lower_for_card`, for a card with some regions."""
    return functools.partial(lower_for_card, threads_of=host_threads, regions=regions, linkage="")


def explore_on_pretended_card(
    spec: Spec,
    plan: Plan,
    seed: int = 0,
    regions: int = 4,
    memory: int = 1 << 26,
    most_threads: int = 24,
    change: Callable[[str], str] = lambda text: text,
) -> Result:
    """Explore a spec with the engine of cards, on a pretended one."""
    return explore_on(
        spec,
        plan,
        lowered_for_pretended_card(regions),
        lambda compiled: PretendedCard(compiled, seed, memory, most_threads, change),
    )
