"""The native search, compared with a plain breadth-first search of the same toys."""

import mmap
import resource
import signal
import threading

import numpy as np
import pytest

from checker.engines.native.explore import search as search_module
from checker.engines.native.explore import search_store as search_store_module
from checker.engines.native.explore import store as store_module
from checker.engines.native.explore.exploration import Exploration, FoundViolation, SearchProgress
from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.memory_layout import SHARDS, MemoryLayout
from checker.engines.native.explore.search import breadth_first_search
from tests.engines.native.explore.toys import (
    Reference,
    Toy,
    below,
    compile_toy,
    even_only,
    failing_grid,
    fan,
    grid,
    no_leap,
    scatter,
    search,
)

TOYS = {
    "grid": grid(40),
    "scatter, 1 word": scatter(1, 3000, 3),
    "scatter, 3 words": scatter(3, 20000),
    "scatter, 3 words, checked": scatter(3, 20000, **below(19900, 5), **no_leap(5000, 9)),
    "scatter, 2 words, constrained": scatter(2, 20000, **below(19990, 62), **even_only()),
    "grid of several initial states": grid(30),
}
TOYS["grid of several initial states"].initial = [(3,), (7,), (3,), (0,), *((x,) for x in range(5, 29)), (1 << 32,)]


@pytest.fixture(scope="module")
def references() -> dict[str, Reference]:
    return {name: search(toy) for name, toy in TOYS.items()}


@pytest.fixture(autouse=True)
def always_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the threads even for small frontiers."""
    monkeypatch.setattr(search_module, "PARALLEL_FROM", 0)


def assert_path(toy: Toy, exploration: Exploration, violation: FoundViolation) -> int:
    """Assert that a counterexample starts in an initial state and follows real steps; return its length."""
    path = exploration.path_to(violation)
    states = [tuple(int(part) for part in words) for _, words in path]
    assert path[0][0] is None
    assert states[0] in toy.initial
    for old, (instance, _), new in zip(states, path[1:], states[1:], strict=False):
        assert (instance, new) in [(step.instance, step.successor) for step in toy.steps(old)]
    return len(path)


def as_set(states: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(row) for row in states.tolist()}


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("name", TOYS)
def test_agrees_with_a_plain_search(
    name: str, workers: int, kernels: dict[str, Kernels], references: dict[str, Reference]
) -> None:
    toy, expected = TOYS[name], references[name]
    found = breadth_first_search(kernels[name], toy.initial_array(), workers=workers, **toy.masks())
    assert found.outcome == "complete"
    assert found.levels == [len(level) for level in expected.levels]
    assert (found.distinct, found.depth) == (len(expected.states), len(expected.levels))
    assert found.generated == expected.generated
    assert as_set(found.all_states()) == expected.states
    assert found.generated_per_instance == [expected.per_instance.get(i, 0) for i in range(toy.instances)]
    assert sum(found.distinct_per_instance) == found.distinct - len(set(toy.initial))
    lengths = {bit: assert_path(toy, found, violation) for bit, violation in found.violations.items()}
    assert lengths == expected.lengths


@pytest.mark.parametrize("name", TOYS)
def test_is_the_same_for_any_number_of_workers(name: str, kernels: dict[str, Kernels]) -> None:
    toy = TOYS[name]
    one, *others = (
        breadth_first_search(kernels[name], toy.initial_array(), workers=workers, **toy.masks())
        for workers in (1, 2, 3, 20)
    )
    for other in others:
        assert np.array_equal(one.all_states(), other.all_states())
        assert np.array_equal(one.distinct_per_instance, other.distinct_per_instance)
        assert (one.deadlock, one.generated, one.violations.keys()) == (
            other.deadlock,
            other.generated,
            other.violations.keys(),
        )
        for bit, violation in one.violations.items():
            assert str(one.path_to(violation)) == str(other.path_to(other.violations[bit]))


def test_finds_every_stored_state_and_no_other(kernels: dict[str, Kernels]) -> None:
    found = breadth_first_search(kernels["scatter, 3 words"], TOYS["scatter, 3 words"].initial_array())
    for words in found.all_states()[::97]:
        state = found.find(words)
        assert state is not None
        assert np.array_equal(found.path(state)[-1][1], words)
        assert found.find(words + np.uint64(1)) is None


def test_find_refuses_words_of_another_shape(kernels: dict[str, Kernels]) -> None:
    found = breadth_first_search(kernels["grid"], TOYS["grid"].initial_array())
    with pytest.raises(ValueError, match="1 words"):
        found.find(np.zeros(2, np.uint64))


def test_reports_a_deadlock_and_continues(kernels: dict[str, Kernels]) -> None:
    found = breadth_first_search(kernels["grid"], TOYS["grid"].initial_array())
    assert found.outcome == "complete"
    assert found.deadlock is not None
    assert [int(words[0]) for _, words in found.path(found.deadlock)][-1] == 39 | 39 << 32
    assert len(found.path(found.deadlock)) == found.depth == 79


def test_stops_on_a_deadlock() -> None:
    toy = grid(3)
    toy.initial = [(0,), (2 | 2 << 32,)]
    found = breadth_first_search(compile_toy(toy), toy.initial_array(), stop_on_deadlock=True)
    assert found.outcome == "stopped"
    assert found.levels == [2, 2]
    assert found.deadlock == found.find(np.array([2 | 2 << 32], np.uint64))


def test_a_state_outside_the_constraint_is_no_deadlock() -> None:
    toy = scatter(1, 100, **even_only())
    toy.initial = [(1,)]
    found = breadth_first_search(compile_toy(toy), toy.initial_array())
    assert (found.outcome, found.distinct, found.deadlock) == ("complete", 1, None)


@pytest.mark.parametrize("workers", [1, 2])
def test_stops_with_the_first_failure(workers: int) -> None:
    toy = failing_grid(20, 4)
    found = breadth_first_search(compile_toy(toy), toy.initial_array(), workers=workers)
    assert found.outcome == "error"
    assert found.error is not None
    assert (found.error.instance, found.error.site) == (1, 7)
    path = found.path(found.error.state)
    assert int(path[-1][1][0]) & 0xFFFFFFFF == 4
    assert len(path) == search(toy).failure_level == 5
    assert found.deadlock is None


@pytest.mark.parametrize("stop_on_any", [True, False])
def test_stops_on_a_violation_only_if_asked(stop_on_any: bool, kernels: dict[str, Kernels]) -> None:
    name = "scatter, 3 words, checked"
    toy = TOYS[name]
    expected = search(toy).lengths
    found = breadth_first_search(kernels[name], toy.initial_array(), stop_on_any=stop_on_any, **toy.masks())
    assert found.outcome == ("stopped" if stop_on_any else "complete")
    assert set(found.violations) <= set(expected)
    if stop_on_any:
        assert found.depth <= min(expected.values())
    for bit, violation in found.violations.items():
        assert assert_path(toy, found, violation) == expected[bit]


def test_waits_for_all_named_properties() -> None:
    toy = scatter(3, 20000, **below(19900, 5), **no_leap(300, 9))
    expected = search(toy).lengths
    found = breadth_first_search(compile_toy(toy), toy.initial_array(), stop_after=1 << 5 | 1 << 9, **toy.masks())
    assert found.outcome == "stopped"
    assert {bit: assert_path(toy, found, violation) for bit, violation in found.violations.items()} == expected


def test_a_step_violation_has_its_old_state_and_its_step() -> None:
    toy = scatter(2, 20000, **no_leap(20000, 0))
    found = breadth_first_search(compile_toy(toy), toy.initial_array(), workers=2, stop_on_any=True, **toy.masks())
    violation = found.violations[0]
    assert violation.step is not None
    old, new = found.store.words_of(violation.state), violation.step.words
    assert (int(old[0]) ^ int(new[0])) & 63 == 0


def test_a_reachable_is_reached_not_violated() -> None:
    toy = scatter(1, 1000, **below(990, 3))
    found = breadth_first_search(compile_toy(toy), toy.initial_array(), reachable_mask=1 << 3, stop_on_any=True)
    assert (found.outcome, found.violations, list(found.reached)) == ("complete", {}, [3])


def test_properties_outside_the_masks_are_not_checked(kernels: dict[str, Kernels]) -> None:
    name = "scatter, 3 words, checked"
    assert breadth_first_search(kernels[name], TOYS[name].initial_array()).violations == {}


def test_a_property_that_leaves_its_bounds_is_an_error() -> None:
    toy = scatter(1, 1000, **below(900, 63))
    found = breadth_first_search(compile_toy(toy), toy.initial_array(), invariant_mask=1)
    assert (found.outcome, found.violations, found.error) == ("error", {}, None)
    assert found.property_error is not None
    assert int(found.path_to(found.property_error)[-1][1][0]) >= 900


def test_a_step_property_that_leaves_its_bounds_is_an_error() -> None:
    toy = scatter(1, 1000, **no_leap(1000, 63))
    found = breadth_first_search(compile_toy(toy), toy.initial_array(), step_mask=1)
    assert found.outcome == "error"
    assert found.property_error is not None
    assert found.property_error.step is not None


@pytest.mark.parametrize("limit", [1, 100, 9000])
def test_stops_at_max_states(limit: int, kernels: dict[str, Kernels]) -> None:
    found = breadth_first_search(
        kernels["scatter, 3 words"], TOYS["scatter, 3 words"].initial_array(), max_states=limit
    )
    assert found.outcome == "max_states"
    assert limit <= found.distinct == sum(found.levels)


def test_a_limit_above_the_number_of_states_has_no_effect(kernels: dict[str, Kernels]) -> None:
    initial = TOYS["grid"].initial_array()
    assert breadth_first_search(kernels["grid"], initial, max_states=1601).outcome == "complete"
    assert breadth_first_search(kernels["grid"], initial, max_depth=80).outcome == "complete"


@pytest.mark.parametrize("limit", [1, 2, 10])
def test_stops_at_max_depth(limit: int, kernels: dict[str, Kernels]) -> None:
    found = breadth_first_search(kernels["grid"], TOYS["grid"].initial_array(), max_depth=limit)
    assert found.outcome == "max_depth"
    assert found.levels == list(range(1, limit + 1))


def test_the_last_level_of_max_depth_is_checked() -> None:
    toy = grid(10, **below(1, 0))
    found = breadth_first_search(compile_toy(toy), toy.initial_array(), max_depth=2, **toy.masks())
    assert (found.outcome, list(found.violations)) == ("max_depth", [0])


def test_ends_when_cancelled(kernels: dict[str, Kernels]) -> None:
    cancelled = threading.Event()
    cancelled.set()
    found = breadth_first_search(kernels["grid"], TOYS["grid"].initial_array(), cancelled=cancelled)
    assert (found.outcome, found.levels) == ("interrupted", [1])


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_keeps_the_states_found(
    workers: int, kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "PROGRESS_SECONDS", 0.0)
    seen: list[SearchProgress] = []

    def interrupt(progress: SearchProgress) -> None:
        seen.append(progress)
        if progress.level == 5:
            signal.raise_signal(signal.SIGINT)

    found = breadth_first_search(kernels["grid"], TOYS["grid"].initial_array(), workers=workers, on_progress=interrupt)
    assert found.outcome == "interrupted"
    assert found.levels == [1, 2, 3, 4, 5, 6]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert seen[-1].distinct == found.distinct
    assert seen[-1].generated == found.generated


def test_an_interrupt_that_raises_keeps_the_states_found(
    kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "PROGRESS_SECONDS", 0.0)

    def interrupt(progress: SearchProgress) -> None:
        raise KeyboardInterrupt

    found = breadth_first_search(kernels["grid"], TOYS["grid"].initial_array(), on_progress=interrupt)
    assert (found.outcome, found.distinct) == ("interrupted", 1)


def test_progress_counts_the_queue(kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "PROGRESS_SECONDS", 0.0)
    reports: list[SearchProgress] = []
    breadth_first_search(kernels["grid"], TOYS["grid"].initial_array(), on_progress=reports.append)
    assert [(report.level, report.distinct, report.queue) for report in reports[:4]] == [
        (1, 1, 1), (1, 3, 2), (2, 6, 3), (3, 10, 4),
    ]  # fmt: skip
    assert reports[-1].queue == 0


@pytest.mark.parametrize("size", [1 << 10, 1 << 12, 64 << 10])
def test_a_full_store_ends_the_search(size: int, kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "physical_memory", lambda: size)
    found = breadth_first_search(kernels["scatter, 3 words"], TOYS["scatter, 3 words"].initial_array())
    assert found.outcome == "max_memory"
    assert found.distinct <= size // 30


def test_stops_before_the_states_take_more_memory(kernels: dict[str, Kernels]) -> None:
    initial = TOYS["scatter, 3 words"].initial_array()
    whole = breadth_first_search(kernels["scatter, 3 words"], initial)
    needed = whole.memory_bytes
    found = breadth_first_search(kernels["scatter, 3 words"], initial, max_memory=needed // 2)
    assert found.outcome == "max_memory"
    assert 0 < found.memory_bytes <= needed // 2
    assert found.levels[:-1] == whole.levels[: len(found.levels) - 1]
    enough = breadth_first_search(kernels["scatter, 3 words"], initial, max_memory=64 << 20)
    assert (enough.outcome, enough.distinct) == ("complete", whole.distinct)


def test_no_page_of_a_table_is_read_before_it_is_written(kernels: dict[str, Kernels]) -> None:
    # Such a page costs two page faults. The second one interrupts all workers, which then gain little from each other.
    store = store_module.Store(kernels["grid"])
    states = 40_000
    for shard, words in enumerate(store.states):
        words[:states, 0] = np.arange(states) * SHARDS + shard
    store.field("count")[:] = states
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    store.rebuild(lambda work: work())
    pages = SHARDS * store_module.slots_for(states) * 4 // mmap.PAGESIZE
    assert pages > SHARDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 1.2 * pages


@pytest.mark.parametrize("megabytes", [1, 100, 10_000])
def test_a_limited_address_space_reserves_less(megabytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_store_module, "available_address_space", lambda: megabytes << 20)
    layout = MemoryLayout(2, 50)
    capacity = store_module._capacity(layout)
    assert capacity >= 512
    if megabytes > 1:
        assert SHARDS * store_module._shard_bytes(layout, capacity) <= megabytes << 20


@pytest.mark.parametrize(
    ("initial", "more", "message"),
    [
        (np.zeros((0, 1)), {}, "initial states"),
        (np.zeros((1, 2)), {}, "initial states"),
        (np.zeros((1, 1)), {"max_depth": 0}, "max_depth"),
        (np.zeros((1, 1)), {"workers": 0}, "workers"),
    ],
)
def test_refuses_arguments_out_of_range(
    initial: np.ndarray, more: dict[str, int], message: str, kernels: dict[str, Kernels]
) -> None:
    with pytest.raises(ValueError, match=message):
        breadth_first_search(kernels["grid"], initial, **more)


def test_many_initial_states_and_states_with_more_successors_than_an_outbox() -> None:
    toy = fan(9000, 3000)
    toy.initial = [(number,) for number in range(4500)]
    found = breadth_first_search(compile_toy(toy), toy.initial_array(), workers=2)
    assert found.levels == [4500, 4500]
    assert found.generated == 4500 + 9000 * 3000
    assert found.generated_per_instance == [9000] * 3000
