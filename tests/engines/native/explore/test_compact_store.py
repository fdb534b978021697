"""The compact store, compared with the usual one: the same states in the same order, findings and paths."""

import errno
import os
import random
from pathlib import Path

import numpy as np
import pytest

from checker.engines.native.explore import search as search_module
from checker.engines.native.explore.compact import compact_store, state_files, table_record
from checker.engines.native.explore.compact.compact_store import CompactStore
from checker.engines.native.explore.compact.quotient import TableShape, mix_key, unmix_key
from checker.engines.native.explore.compact.state_code import Digit, StateCode
from checker.engines.native.explore.compact.table_kernels import CompactKernels
from checker.engines.native.explore.exploration import Exploration
from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.search import breadth_first_search
from checker.engines.native.explore.store import Store
from checker.engines.native.llvm.control_flow import word
from tests.engines.native.explore.test_breadth_first import TOYS
from tests.engines.native.explore.toys import compile_toy, grid


@pytest.fixture(autouse=True)
def always_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "PARALLEL_FROM", 0)


def explored(
    name: str,
    kernels: dict[str, Kernels],
    *,
    slots: int = 0,
    displacement_bits: int = 7,
    workers: int = 1,
    **more: object,
) -> Exploration:
    """Explore a toy with the compact store; `slots`: of a new table."""
    toy = TOYS[name]
    code = StateCode.of_words(toy.words)
    smallest = TableShape(code.bits, slots or 4096, displacement_bits)
    tables = CompactKernels(code, kernels[name].layout, smallest)
    return breadth_first_search(
        kernels[name],
        toy.initial_array(),
        workers=workers,
        store_of=lambda found: CompactStore(found, tables),
        **{**toy.masks(), **more},
    )


def usual(name: str, kernels: dict[str, Kernels], **more: object) -> Exploration:
    toy = TOYS[name]
    return breadth_first_search(kernels[name], toy.initial_array(), **{**toy.masks(), **more})


def assert_same(found: Exploration, expected: Exploration) -> None:
    """Assert that two explorations are equal to the last bit, except for time and memory."""
    assert (found.outcome, found.distinct, found.generated) == (expected.outcome, expected.distinct, expected.generated)
    assert (found.levels, found.levels_within) == (expected.levels, expected.levels_within)
    assert np.array_equal(found.all_states(), expected.all_states())
    assert np.array_equal(found.distinct_per_instance, expected.distinct_per_instance)
    assert np.array_equal(found.generated_per_instance, expected.generated_per_instance)
    assert (found.error, found.property_error is None, found.deadlock) == (
        expected.error,
        expected.property_error is None,
        expected.deadlock,
    )
    assert found.violations.keys() == expected.violations.keys()
    for bit, where in expected.violations.items():
        assert str(found.path_to(found.violations[bit])) == str(expected.path_to(where))
    if expected.deadlock is not None:
        assert str(found.path(expected.deadlock)) == str(expected.path(expected.deadlock))


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", TOYS)
def test_finds_the_same_as_the_usual_store(name: str, workers: int, kernels: dict[str, Kernels]) -> None:
    assert_same(explored(name, kernels, workers=workers), usual(name, kernels))


@pytest.mark.parametrize("slots", [2, 100])
def test_tables_grow_from_a_few_slots(slots: int, kernels: dict[str, Kernels]) -> None:
    found = explored("scatter, 3 words", kernels, slots=slots)
    assert_same(found, usual("scatter, 3 words", kernels))
    assert found.store._shapes[0].slots > 1000


@pytest.mark.parametrize("bits", [1, 2])
def test_codes_far_from_their_homes_are_listed(bits: int, kernels: dict[str, Kernels]) -> None:
    found = explored("scatter, 1 word", kernels, slots=64, displacement_bits=bits, workers=2)
    assert_same(found, usual("scatter, 1 word", kernels))
    # With so few bits for displacements, codes were listed, and the tables grew instead of being filled.
    assert found.distinct / sum(shape.slots for shape in found.store._shapes) < 0.75


def test_listed_codes_are_found(kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact_store, "OVERFLOW_BEFORE_GROWTH", table_record.OVERFLOW_ENTRIES)
    found = explored("scatter, 1 word", kernels, slots=4096, displacement_bits=1)
    assert found.store._table_field("overflow_count").sum() > 0
    assert_same(found, usual("scatter, 1 word", kernels))


def test_a_full_list_of_codes_ends_the_search(kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact_store, "OVERFLOW_BEFORE_GROWTH", 10**9)
    monkeypatch.setattr("checker.engines.native.explore.compact.table_kernels.OVERFLOW_ENTRIES", 5)
    found = explored("scatter, 3 words", kernels, slots=4096, displacement_bits=1)
    assert found.outcome == "max_memory"
    assert found.distinct < usual("scatter, 3 words", kernels).distinct


def test_files_grow_in_tiny_steps_and_are_released_often(
    kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_files, "FIRST_BYTES", 8)
    monkeypatch.setattr(state_files, "MOST_STEP_BYTES", 64)
    monkeypatch.setattr(compact_store, "RELEASE_BYTES", 1)
    name = "scatter, 3 words, checked"
    assert_same(explored(name, kernels, workers=2), usual(name, kernels))


def test_the_files_have_no_names(kernels: dict[str, Kernels], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    found = explored("scatter, 3 words", kernels)
    assert found.outcome == "complete"
    names = [line.split()[-2] for line in Path("/proc/self/maps").read_text().splitlines() if str(tmp_path) in line]
    assert len(set(names)) == 16
    assert not list(tmp_path.iterdir())


def test_a_full_disk_ends_the_search(kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = os.posix_fallocate

    def limited(descriptor: int, start: int, size: int) -> None:
        if start + size > 20_000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        reserve(descriptor, start, size)

    monkeypatch.setattr(state_files, "FIRST_BYTES", 1024)
    monkeypatch.setattr(os, "posix_fallocate", limited)
    found = explored("scatter, 3 words", kernels)
    assert found.outcome == "max_disk"
    assert 0 < found.distinct <= 16 * 20_000 // 24


def test_finds_every_stored_state_and_no_other(kernels: dict[str, Kernels]) -> None:
    found = explored("scatter, 3 words", kernels)
    for words in found.all_states()[::97]:
        number = found.find(words)
        assert number is not None
        assert np.array_equal(found.store.words_of(number), words)
        absent = words.copy()
        absent[2] ^= np.uint64(1 << 63)
        assert found.find(absent) is None


@pytest.mark.parametrize("depth", [1, 5])
def test_a_limited_search_finds_the_same(depth: int, kernels: dict[str, Kernels]) -> None:
    name = "scatter, 3 words, checked"
    assert_same(explored(name, kernels, max_depth=depth), usual(name, kernels, max_depth=depth))
    limit = {"max_states": 100 * depth}
    assert_same(explored(name, kernels, **limit), usual(name, kernels, **limit))


def test_a_dropped_bit_of_the_remainder_is_noticed(
    kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison with the usual store fails if two states count as one: here those that differ in one bit."""
    emit = StateCode.emit

    def without_a_bit(self, builder, words):
        found = emit(self, builder, words)
        found[-1] = builder.and_(found[-1], word(2**64 - 2))
        return found

    monkeypatch.setattr(StateCode, "emit", without_a_bit)
    with pytest.raises(AssertionError):
        assert_same(explored("grid", kernels), usual("grid", kernels))


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", ["scatter, 3 words, checked", "scatter, 2 words, constrained"])
def test_the_states_of_a_full_usual_store_move(
    name: str, workers: int, kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "is_nearly_full", property(lambda store: store.distinct >= 1000))
    monkeypatch.setattr(compact_store, "_TAKE_OVER_GAIN", 0)
    toy = TOYS[name]
    expected = usual(name, kernels)
    activities: list[str] = []
    code = StateCode.of_words(toy.words)
    moved: list[CompactStore] = []

    def compact_of(found: Kernels) -> CompactStore:
        moved.append(CompactStore(found, CompactKernels(code, found.layout)))
        return moved[-1]

    found = usual(
        name,
        kernels,
        workers=workers,
        compact_store_of=compact_of,
        on_progress=lambda progress: activities.append(progress.activity),
    )
    assert len(moved) == 1
    assert found.store is moved[0]
    assert any("moving" in activity for activity in activities)
    assert_same(found, expected)


def test_short_memory_moves_the_states() -> None:
    toy = grid(200)
    compiled = compile_toy(toy)
    expected = breadth_first_search(compiled, toy.initial_array())
    code = StateCode(((Digit(0, 0, 8, 200), Digit(0, 32, 8, 200)),))
    assert code.bits == 16
    found = breadth_first_search(
        compiled,
        toy.initial_array(),
        max_memory=expected.memory_bytes * 2 // 3,
        compact_store_of=lambda found: CompactStore(found, CompactKernels(code, found.layout, TableShape(16, 64))),
    )
    assert isinstance(found.store, CompactStore)
    assert_same(found, expected)
    assert found.memory_bytes < expected.memory_bytes // 3


def test_states_that_need_every_bit_stay(kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "is_nearly_full", property(lambda store: store.distinct >= 1000))
    name = "scatter, 3 words"
    code = StateCode.of_words(3)
    found = usual(name, kernels, compact_store_of=lambda found: CompactStore(found, CompactKernels(code, found.layout)))
    assert isinstance(found.store, Store)
    assert_same(found, usual(name, kernels))


def test_a_disk_without_space_keeps_the_usual_store(
    kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "is_nearly_full", property(lambda store: store.distinct >= 1000))

    def full(descriptor: int, start: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr(compact_store, "_TAKE_OVER_GAIN", 0)
    code = StateCode.of_words(3)
    name = "scatter, 3 words"
    found = usual(name, kernels, compact_store_of=lambda found: CompactStore(found, CompactKernels(code, found.layout)))
    assert isinstance(found.store, Store)
    assert_same(found, usual(name, kernels))


def crafted(codes: list[int]) -> np.ndarray:
    """Return the states of two words that have these codes."""
    return np.array([[code & 2**64 - 1, code >> 64] for code in codes], np.uint64)


def inserted(states: np.ndarray, kernels: dict[str, Kernels]) -> Exploration:
    """Insert states into a new store, and do nothing else."""
    tables = CompactKernels(StateCode.of_words(2), kernels["scatter, 2 words, constrained"].layout)
    return breadth_first_search(
        kernels["scatter, 2 words, constrained"],
        states,
        max_depth=1,
        store_of=lambda found: CompactStore(found, tables),
    )


def test_every_bit_of_a_code_distinguishes_states(kernels: dict[str, Kernels]) -> None:
    # Mixing makes most states differ in many bits of their hashes. These pairs differ in one bit of the hash or of the
    # rest. One pair in 16 is in one shard, so several pairs for each bit are.
    random_numbers = random.Random(7)
    codes = []
    for bit in range(64):
        for _ in range(150):
            hashed, rest = random_numbers.getrandbits(64), random_numbers.getrandbits(64)
            codes += [unmix_key(hashed, rest, 128)]
            codes += [unmix_key(hashed ^ 1 << bit, rest, 128), unmix_key(hashed, rest ^ 1 << bit, 128)]
    assert mix_key(codes[0], 128) == mix_key(codes[2], 128)
    assert inserted(crafted(codes), kernels).distinct == len(codes)


def test_clusters_survive_the_growth_of_a_table(kernels: dict[str, Kernels]) -> None:
    # About 100 codes of each shard have one home. Some of them are far from it, in the next block that moves.
    shape = TableShape(128)
    clusters = [shape.start_of(home) + number for home in (10, 1200, 4090) for number in range(1500)]
    random_numbers = np.random.default_rng(7)
    others = random_numbers.integers(0, 2**64, (150_000, 2), np.uint64)
    states = np.concatenate([crafted([unmix_key(hashed, hashed, 128) for hashed in clusters]), others])
    found = inserted(states, kernels)
    assert found.distinct == len(states)
    assert found.store._shapes[0].slots > 2 * shape.slots
    assert inserted(np.concatenate([states, states]), kernels).distinct == len(states)
