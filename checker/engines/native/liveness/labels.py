"""The truth of goals, premises and constraints in each stored state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.cache.source_index import SourceIndex
from checker.engines.native.explore.memory_layout import OUT_OF_BOUNDS_BIT
from checker.engines.native.explore.search_store import SearchStore
from checker.engines.native.liveness.kernels import LABEL, MOST_LABELS, LabelKernel
from checker.engines.native.liveness.memory_budget import MemoryBudget
from checker.engines.native.llvm.word_arrays import Words
from checker.frontend.liveness_typing import TypedLiveness
from checker.ir import nodes
from checker.language.spec import Spec

Truth = NDArray[np.bool_]


class LabelFailure(Exception):  # noqa: N818 - an outcome of the spec, not an error of the program
    """The evaluation of label number `label` left its bounds in some states, of which `states` has the numbers."""

    def __init__(self, label: int, states: NDArray[np.int64]):
        super().__init__(label)
        self.label, self.states = label, states


class StateLabels:
    """Labels of all stored states; label i is typed predicate i. They are compiled at once, and evaluated on demand.

    `truth` raises TooLargeError if they do not fit into the budget.
    """

    def __init__(
        self,
        spec: Spec,
        typed: TypedLiveness,
        store: SearchStore,
        budget: MemoryBudget,
        *,
        quick: bool = False,
    ):
        self._store, self._budget = store, budget
        self._sizes: list[int] = []
        self._kernels: list[LabelKernel] = []
        self._words: dict[int, Words] = {}
        self._fails: dict[int, bool] = {}
        for first in range(0, len(typed.predicates), MOST_LABELS):
            chosen = list(typed.predicates[first : first + MOST_LABELS])
            # The names of the properties determine the predicates and their order.
            index = SourceIndex(spec, f"{LABEL} from {first}", list(typed.properties))
            self._sizes.append(len(chosen))
            self._kernels.append(
                LabelKernel(index, nodes.Program(spec.name, dict(spec.variables), properties=chosen), quick=quick)
            )

    def truth(self, label: int) -> Truth:
        """Return the truth of a label in each state (distinct,), shard by shard; raise LabelFailure."""
        word, bit = divmod(label, MOST_LABELS)
        if word not in self._words:
            self._budget.require_labels(self._store.distinct)
            self._words[word] = self._kernels[word].label(self._store, (1 << self._sizes[word]) - 1)
            self._fails[word] = bool(int(np.bitwise_or.reduce(self._words[word])) >> OUT_OF_BOUNDS_BIT)
        bits = self._words[word]
        if self._fails[word]:
            # Some label of the word leaves its bounds. The others must not: each is evaluated alone.
            bits = self._kernels[word].label(self._store, 1 << bit)
            failed = np.flatnonzero(bits >> np.uint64(OUT_OF_BOUNDS_BIT))
            if len(failed):
                raise LabelFailure(label, failed)
        return (bits >> np.uint64(bit) & np.uint64(1)).astype(np.bool_)
