"""Benchmark of the engine on a card, beside the native engine in the same run: `python bench/gpu.py`."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from typing import Annotated

import numpy as np
from checker_runs import PUBLISHED_PROPERTIES

from checker.cli.declaration import declare_command, option
from checker.engines.gpu.driver import Card
from checker.engines.gpu.engine import lower_for_card
from checker.engines.gpu.ptx import KERNELS, ptx_of, target_of
from checker.engines.gpu.search import CardSearch, Limits, search_on_card
from checker.engines.native import engine as native
from checker.engines.native.explore.results import property_mask
from checker.engines.native.llvm import code_cache
from checker.errors import UserError
from checker.language.roles import STEP_ROLES, Role
from checker.run.plan import DEADLOCK, Plan, properties_to_search
from checker.run.request import Request, Run, runs_for
from checker.run.workers import default_workers

_KIP320 = "replication/kip320"


@dataclasses.dataclass(frozen=True)
class Setting:
    """A run: its target, the constants that differ, its properties (default: all), and the known number of states.

    A number of states stands for the native engine, which would take too long.
    """

    target: str
    constants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    states: int | None = None

    @property
    def run(self) -> Run:
        """The run."""
        return runs_for(Request((self.target,), settings=self.constants, properties=self.properties))[0]


def _kip320(numbers: Sequence[int], properties: tuple[str, ...], states: int | None = None) -> Setting:
    names = ("replicas", "log_size", "max_records", "max_leader_epoch")
    texts = tuple(f"{name}={number}" for name, number in zip(names, numbers, strict=True))
    return Setting(_KIP320, texts, properties, states)


QUICK = (
    _kip320((3, 2, 2, 2), ()),
    _kip320((3, 3, 3, 2), PUBLISHED_PROPERTIES),
    _kip320((3, 3, 3, 2), ()),
    Setting("producer/plain_producer/one_in_flight_keeps_the_order"),
    Setting("pipeline/pipeline/end_to_end"),
)
LARGE = (
    _kip320((3, 2, 2, 4), PUBLISHED_PROPERTIES, 113_065_123),
    _kip320((3, 2, 2, 5), PUBLISHED_PROPERTIES, 1_150_588_699),
    _kip320((3, 2, 2, 5), (), 1_150_588_699),
    Setting("pipeline/pipeline/end_to_end", ("records=3",), states=5_595_729),
)


class TimedCard(Card):
    """A card that waits for each kernel, and adds its time to `seconds`."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[str, float] = {}

    def launch(self, kernel: str, items: int, arguments: Sequence[int]) -> None:
        """Run a kernel to its end."""
        started = time.perf_counter()
        super().launch(kernel, items, arguments)
        self.read(arguments[0], 1)
        self.seconds[kernel] = self.seconds.get(kernel, 0) + time.perf_counter() - started


def main(
    quick: Annotated[bool, option("--quick", help="Only the small state spaces: about a minute.")] = False,
) -> None:
    """Explore on the card that is found, and print what took how long."""
    code_cache.turn_off()
    try:
        are_right = [_measured(setting) for setting in (QUICK if quick else QUICK + LARGE)]
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    if not all(are_right):
        raise SystemExit(1)


def _measured(setting: Setting) -> bool:
    """Measure a run, and print its figures; return whether the counts are right."""
    run = setting.run
    spec, names = run.spec, properties_to_search(run.spec, run.properties)
    times = [time.perf_counter()]
    compiled = lower_for_card(spec, names)
    times.append(time.perf_counter())
    initial = np.array([compiled.layout.encode(state.values) for state in spec.initial_states()], np.uint64)
    states = property_mask(spec, names, Role.INVARIANT, Role.REACHABLE)
    limits = Limits(states, property_mask(spec, names, *STEP_ROLES))
    kernels = [name for name in KERNELS if name != "steps" or compiled.shape.has_steps]
    with closing(Card()) as card:
        times.append(time.perf_counter())
        ptx = ptx_of(compiled.text, target_of(card.capability))
        times.append(time.perf_counter())
        card.load(ptx, kernels)
        times.append(time.perf_counter())
        found = search_on_card(card, compiled.shape, initial, limits)
        times.append(time.perf_counter())
    lowering, opening, llvm, driver, _ = (after - before for before, after in pairwise(times))
    generated, seconds = sum(found.generated), found.seconds
    print(
        f"{' '.join((setting.target, *setting.constants))} {' '.join(setting.properties) or 'all properties'}\n"
        f"  {card.name}, {card.driver}: {found.distinct:,} states, {generated:,} steps, depth {len(found.levels)}, "
        f"{found.outcome}, {compiled.shape.words} words, {compiled.shape.instances} instances\n"
        f"  lowering {lowering:.2f} s, opening the card {opening:.2f} s, LLVM {llvm:.2f} s, driver {driver:.2f} s, "
        f"exploring {seconds:.4f} s, in all {times[-1] - times[0]:.2f} s\n"
        f"  {found.distinct / seconds / 1e6:,.1f} M states/s, {generated / seconds / 1e6:,.1f} M steps/s, "
        f"{found.card_bytes / found.distinct:.1f} bytes a state"
    )
    with closing(TimedCard()) as timed:
        timed.load(ptx, kernels)
        again = search_on_card(timed, compiled.shape, initial, limits)
    parts = ", ".join(f"{kernel} {seconds:.4f} s" for kernel, seconds in timed.seconds.items())
    print(f"  kernels one by one: {parts}; exploring {again.seconds:.4f} s", flush=True)
    return _compared(setting, run, found)


def _compared(setting: Setting, run: Run, found: CardSearch) -> bool:
    """Compare the counts with the native engine's, or with the known ones, and print the comparison."""
    if setting.states is not None:
        is_same = found.distinct == setting.states and found.outcome == "complete"
        print(f"  {'as known' if is_same else f'WRONG: {setting.states:,} states are known'}", flush=True)
        return is_same
    plan = Plan(tuple(name for name in run.properties if name != DEADLOCK), stop="all", workers=default_workers())
    result = native.explore(run.spec, plan)
    counts = (result.distinct_states, result.generated_states, list(result.levels))
    is_same = counts == (found.distinct, sum(found.generated), found.levels)
    print(
        f"  native engine, {plan.workers} workers: {result.seconds:.2f} s, "
        f"{'the same counts' if is_same else f'WRONG: {counts}'}",
        flush=True,
    )
    return is_same


if __name__ == "__main__":
    declare_command(main)()
