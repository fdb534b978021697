"""The cells of a proof by induction: one for each action and conjunct, proved independently of each other.

A cell needs few of the hypotheses. Which ones it needed is part of its result, so that

- the cell is asked with these alone in a later proof (`known`),
- a cell whose parts have not changed need not be proved again (`cache`),
- the lemmas that no cell needs can be named.

Cells share nothing, so processes prove them side by side. A cell is stored as soon as it is proved: a proof that was
killed continues where it stopped.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from checker.engines.smt.bounded import BOUNDS
from checker.engines.smt.cell_cache import CellCache
from checker.engines.smt.lowering.logic import Term, Truth
from checker.engines.smt.solving import seeded
from checker.language.interpreter import State as PlainState
from checker.run.process_pool import results_in_order

INIT = "init"
"""Name of the table row of the initial states."""

SERIAL_SECONDS = 2.0
"""Seconds of a proof in this process, before processes share the cells that are left: most proofs are shorter."""

Outcome = Literal["proved", "fails", "unknown"]

CellPlace = tuple[str, str]
"""The conjunct and the action of a cell."""

OnQuery = Callable[[str, str], None]
"""Callback before each query: the conjunct and the action."""


@dataclass(frozen=True)
class CounterexampleToInduction:
    """A step from a state that satisfies the hypothesis to one that violates a conjunct.

    `before` is None if `after` is an initial state; `after` is None if the action leaves the bounds of a type.
    """

    before: PlainState | None
    action: str
    arguments: tuple[Any, ...]
    after: PlainState | None


@dataclass(frozen=True)
class ProofCell:
    """One query: whether an action (or `init`) preserves a conjunct.

    `needed` are the hypotheses of a proved cell that imply it. `is_cached`: an earlier proof has proved it, in
    `seconds`. `processor_seconds` are the work for the cell: other processes do not change them.
    """

    conjunct: str
    action: str
    outcome: Outcome
    seconds: float
    reason: str = ""
    counterexample: CounterexampleToInduction | None = None
    needed: tuple[str, ...] = ()
    is_cached: bool = False
    processor_seconds: float = 0.0

    @property
    def place(self) -> CellPlace:
        """The conjunct and the action."""
        return self.conjunct, self.action


@dataclass
class InductionProof:
    """The queries of a proof. `never_taken`: actions that are disabled in every state of the hypothesis."""

    targets: list[str]
    lemmas: list[str]
    cells: list[ProofCell] = field(default_factory=list)
    never_taken: list[str] = field(default_factory=list)

    @property
    def conjuncts(self) -> list[str]:
        """The names of the conjuncts, in order."""
        return list(dict.fromkeys(cell.conjunct for cell in self.cells))

    def outcome(self, conjunct: str) -> Outcome:
        """Return the outcome of one conjunct's queries."""
        outcomes = {cell.outcome for cell in self.cells if cell.conjunct == conjunct}
        return "fails" if "fails" in outcomes else "unknown" if "unknown" in outcomes else "proved"

    @property
    def verdict(self) -> Outcome:
        """The outcome of all queries: if one fails, the others rest on a hypothesis that is not proved."""
        outcomes = {cell.outcome for cell in self.cells}
        return "fails" if "fails" in outcomes else "unknown" if "unknown" in outcomes else "proved"

    @property
    def seconds(self) -> float:
        """The time of all queries, those of earlier proofs included."""
        return sum(cell.seconds for cell in self.cells)

    @property
    def unused_lemmas(self) -> list[str]:
        """The lemmas without which the same cells prove the targets and the bounds; empty unless all is proved."""
        if self.verdict != "proved":
            return []
        used, waiting = {BOUNDS}, [BOUNDS, *self.targets]
        while waiting:
            name = waiting.pop()
            used.add(name)
            needed = {lemma for cell in self.cells if cell.conjunct == name for lemma in cell.needed}
            waiting += [lemma for lemma in needed if lemma not in used]
        return [name for name in self.lemmas if name not in used]


@dataclass(frozen=True)
class ProofAids:
    """What makes a proof faster and leaves its result as it is.

    - `known`: the hypotheses that an earlier proof of a cell needed. The cell is asked with these first.
    - `cache`: the cells that are proved already. `processes`: the number of processes.
    - `minimal`: look for few needed hypotheses, even if that takes longer than the proof.
    - `seed`: the number from which each cell has its random seed (`seed_of`).
    """

    known: Mapping[CellPlace, frozenset[str]] = field(default_factory=dict)
    cache: CellCache | None = None
    processes: int = 1
    minimal: bool = False
    seed: int = 0


class CellProver(Protocol):
    """A proof as cells that can be proved in any order."""

    @property
    def places(self) -> Sequence[CellPlace]:
        """The cells, in the order in which one process proves them."""

    def cell(self, place: CellPlace) -> ProofCell:
        """Prove one cell."""


class RefutableCells(CellProver, Protocol):
    """Cells that can be stated as conditions to refute."""

    def conditions(self, place: CellPlace, needed: frozenset[str]) -> list[list[Truth]]:
        """Return conjunctions that are all unsatisfiable if some hypotheses are sufficient for a cell."""

    def instances(self, conditions: list[Truth], seconds: float) -> list[Term] | None:
        """Return instances of some conditions that are unsatisfiable, without quantifiers; None if none are found."""


def seed_of(place: CellPlace, seed: int) -> int:
    """Return the random seed of a cell: 0 is Z3's default, and from other numbers each cell has its own."""
    return zlib.crc32(f"{seed} {'/'.join(place)}".encode()) % 2**31 if seed else 0


def prove_cells(prover: CellProver, aids: ProofAids, on_query: OnQuery) -> list[ProofCell]:
    """Return the cells of a proof: from the cache, then proved in this process, then in several.

    Raises KeyboardInterrupt if Ctrl-C ended a query.
    """
    cells: dict[CellPlace, ProofCell] = {}
    for place in prover.places:
        entry = aids.cache.load(place) if aids.cache is not None else None
        if entry is not None:
            cells[place] = ProofCell(*place, "proved", entry.seconds, needed=entry.needed, is_cached=True)
    waiting = [place for place in prover.places if place not in cells]
    started = time.perf_counter()
    while waiting and (aids.processes == 1 or time.perf_counter() - started < SERIAL_SECONDS):
        place = waiting.pop(0)
        on_query(*place)
        cells[place] = _prove(prover, place, aids)
    for cell in _prove_in_processes(prover, aids, waiting):
        on_query(*cell.place)
        # A state of a spec in a file cannot be sent between processes: the step is found again here.
        cells[cell.place] = _ask(prover, cell.place, aids) if cell.outcome == "fails" else cell
    return [cells[place] for place in prover.places]


def _ask(prover: CellProver, place: CellPlace, aids: ProofAids) -> ProofCell:
    """Prove one cell with its own random seed."""
    with seeded(seed_of(place, aids.seed)):
        return prover.cell(place)


def _prove(prover: CellProver, place: CellPlace, aids: ProofAids) -> ProofCell:
    """Prove one cell, measure the work, and store the cell."""
    started = time.process_time()
    cell = _ask(prover, place, aids)
    if aids.cache is not None and cell.outcome == "proved":
        aids.cache.store(cell.place, cell.needed, cell.seconds)
    return replace(cell, processor_seconds=time.process_time() - started)


def _prove_in_processes(prover: CellProver, aids: ProofAids, places: Sequence[CellPlace]) -> Iterator[ProofCell]:
    cancelled = threading.Event()

    def prove(number: int, cancelled: threading.Event) -> ProofCell:
        return replace(_prove(prover, places[number], aids), counterexample=None)

    def died(number: int) -> ProofCell:
        return ProofCell(*places[number], "unknown", 0.0, "the process that asked it died twice")

    processes = min(aids.processes, len(places))
    if places:
        yield from results_in_order(len(places), processes, prove, cancelled, died)
