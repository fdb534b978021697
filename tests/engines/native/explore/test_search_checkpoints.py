"""A search that is resumed from a checkpoint gives the result of an uninterrupted one, or refuses the checkpoint."""

import errno
import itertools
import json
import mmap
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checker.engines.native.explore import checkpoint as checkpoint_module
from checker.engines.native.explore import memory_layout
from checker.engines.native.explore import search as search_module
from checker.engines.native.explore import store as store_module
from checker.engines.native.explore.checkpoint import SearchIdentity, has_checkpoint, opened_folder
from checker.engines.native.explore.compact import compact_store as compact_store_module
from checker.engines.native.explore.compact.compact_store import CompactStore
from checker.engines.native.explore.compact.state_code import StateCode
from checker.engines.native.explore.compact.table_kernels import CompactKernels
from checker.engines.native.explore.exploration import Exploration, FoundViolation
from checker.engines.native.explore.kernels import Kernels
from checker.engines.native.explore.memory_layout import FIELD_LENGTHS, RESTORED_FIELDS, SHARDS
from checker.engines.native.explore.search import breadth_first_search
from checker.engines.native.explore.search_checkpoints import SearchCheckpoints
from checker.engines.native.explore.search_store import SearchStore
from checker.engines.native.explore.store import Store
from checker.errors import InputError, OutputError
from checker.run.endings import StoppedError
from tests.engines.native.explore.toys import Toy, below, compile_toy, even_only, fan, grid, no_leap, scatter

IDENTITY = SearchIdentity(
    version="1.0",
    spec="toy",
    constants={"replicas": 2, "acks": "all"},
    properties=["safe"],
    stop="all",
    premises=0,
    symmetry="",
    store="usual",
    program="abc",
    initial="def",
)

TOYS = {
    "grid": grid(20),
    "several successors": fan(1000, 40),
    "checked": scatter(3, 6000, **below(5900, 5), **no_leap(2000, 9)),
    "constrained": scatter(2, 6000, **below(5990, 62), **even_only()),
}
TOYS["grid"].initial = [(3,), (7,), (3,), (0,), (1 << 32,)]


@pytest.fixture(scope="module", autouse=True)
def small_outboxes() -> Iterator[None]:
    """Make rounds short, so that successors of a state often wait for the next round."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_layout, "MAXIMUM_OUTBOX_ENTRIES", 8)
        patch.setattr(search_module, "PARALLEL_FROM", 0)
        yield


@pytest.fixture(scope="module")
def kernels(small_outboxes: None) -> dict[str, Kernels]:
    return {name: compile_toy(toy) for name, toy in TOYS.items()}


class SetAfter(threading.Event):
    """An event that is set after it was tested some times: a search tests it once a round."""

    def __init__(self, tests: int):
        super().__init__()
        self._left = tests

    def is_set(self) -> bool:
        self._left -= 1
        return self._left < 0


@contextmanager
def checkpoints(
    folder: Path, *, every: float = 3600, identity: SearchIdentity = IDENTITY, must_exist: bool = False
) -> Iterator[tuple[SearchCheckpoints, list[str]]]:
    notices: list[str] = []
    with (
        opened_folder(folder, identity, must_exist=must_exist) as opened,
        SearchCheckpoints(opened, every, notices.append) as found,
    ):
        yield found, notices


def explore(
    toy: Toy, kernels: Kernels, folder: Path | None = None, *, every: float = 3600, **options: Any
) -> Exploration:
    """Explore a toy; with a folder, keep checkpoints there or resume the last one."""
    options = {**toy.masks(), **options}
    if folder is None:
        return breadth_first_search(kernels, toy.initial_array(), **options)
    with checkpoints(folder, every=every) as (found, _):
        return breadth_first_search(kernels, toy.initial_array(), checkpoints=found, **options)


def stopped(toy: Toy, kernels: Kernels, folder: Path, rounds: int = 20, **options: Any) -> None:
    """Explore some rounds of a toy, and write a checkpoint."""
    found = explore(toy, kernels, folder, cancelled=SetAfter(rounds), **options)
    assert found.outcome == "interrupted"


def assert_same(found: Exploration, expected: Exploration) -> None:
    """Assert that two explorations are equal, state by state in the order of the store."""
    names = ("distinct", "generated", "levels", "levels_within", "outcome", "deadlock", "error", "property_error")
    assert [getattr(found, name) for name in names] == [getattr(expected, name) for name in names]
    assert found.generated_per_instance == expected.generated_per_instance
    assert found.distinct_per_instance == expected.distinct_per_instance
    for kind in ("violations", "reached"):
        ours, theirs = getattr(found, kind), getattr(expected, kind)
        assert list(ours) == list(theirs)
        assert [path_of(found, where) for where in ours.values()] == [path_of(expected, w) for w in theirs.values()]
    ours, theirs = found.store, expected.store
    assert isinstance(ours, SearchStore) and isinstance(theirs, Store)
    arrays, others = ours.growing_arrays(), theirs.growing_arrays()
    assert arrays.keys() == others.keys() or isinstance(ours, CompactStore)
    assert all((arrays[name] == others[name]).all() for name in arrays)
    ids = np.array([shard + 16 * local for shard, count in enumerate(ours.counts()) for local in range(count)])
    if isinstance(ours, Store):
        assert (ours.depths_of(ids) == theirs.depths_of(ids)).all()
    # The tables are built again from the states.
    assert [ours.find(ours.words_of(state)) for state in ids[::7]] == ids[::7].tolist()


def path_of(found: Exploration, where: FoundViolation) -> list[tuple[int | None, list[int]]]:
    return found.path_to(where)


@pytest.mark.parametrize("name", TOYS)
def test_a_search_that_is_stopped_after_every_few_rounds(
    name: str, kernels: dict[str, Kernels], tmp_path: Path
) -> None:
    toy, expected = TOYS[name], explore(TOYS[name], kernels[name])
    random_ = random.Random(name)
    resumed, has_waited = 0, False
    for _ in range(1000):
        rounds = random_.randint(1, 9)
        found = explore(toy, kernels[name], tmp_path, workers=1 + resumed % 3, cancelled=SetAfter(rounds))
        if found.outcome == "complete":
            break
        assert found.outcome == "interrupted"
        resumed += 1
        assert isinstance(found.store, Store)
        has_waited |= bool(found.store.field("pending").any())
    assert 5 <= resumed < 1000
    assert has_waited or name == "grid"
    assert_same(found, expected)


@pytest.mark.parametrize("name", TOYS)
def test_a_checkpoint_after_every_round_changes_nothing(name: str, kernels: dict[str, Kernels], tmp_path: Path) -> None:
    toy = TOYS[name]
    assert_same(explore(toy, kernels[name], tmp_path, every=0, workers=2), explore(toy, kernels[name]))
    assert has_checkpoint(tmp_path)
    # The last checkpoint is some rounds older than the end of the run: those are repeated.
    assert_same(explore(toy, kernels[name], tmp_path), explore(toy, kernels[name]))


def test_limits_are_raised(kernels: dict[str, Kernels], tmp_path: Path) -> None:
    toy, kernel = TOYS["checked"], kernels["checked"]
    for limits in ({"max_states": 500}, {"max_states": 2000}, {"max_depth": 8}, {}):
        assert_same(explore(toy, kernel, tmp_path, **limits), explore(toy, kernel, **limits))
        # The same limit again: the run ends at once.
        assert_same(explore(toy, kernel, tmp_path, **limits), explore(toy, kernel, **limits))


@pytest.mark.parametrize(
    ("limit", "said"), [({"max_states": 500}, "more than --max-states 500"), ({"max_depth": 3}, "beyond --max-depth 3")]
)
def test_a_limit_below_the_checkpoint_is_refused(
    limit: dict[str, int], said: str, kernels: dict[str, Kernels], tmp_path: Path
) -> None:
    stopped(TOYS["checked"], kernels["checked"], tmp_path)
    with pytest.raises(InputError, match=said):
        explore(TOYS["checked"], kernels["checked"], tmp_path, **limit)


@pytest.mark.parametrize(
    "toy", [grid(20, **below(15 << 32, 3)), scatter(1, 6000, 3, **no_leap(300, 4))], ids=["state", "step"]
)
def test_a_violation_that_is_found_after_the_resumption(toy: Toy, small_outboxes: None, tmp_path: Path) -> None:
    kernel, first = compile_toy(toy), {"stop_on_any": True}
    stopped(toy, kernel, tmp_path, 4, **first)
    expected = explore(toy, kernel, **first)
    assert expected.outcome == "stopped"
    assert_same(explore(toy, kernel, tmp_path, workers=2, **first), expected)


@pytest.mark.parametrize("moves_at", [0, 2000])
def test_a_search_in_the_compact_store(
    moves_at: int, kernels: dict[str, Kernels], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The states are in the compact store from the beginning, or move there between two checkpoints."""
    monkeypatch.setattr(Store, "is_nearly_full", property(lambda store: store.distinct >= moves_at))
    # The codes of this toy are not shorter than its states.
    monkeypatch.setattr(compact_store_module, "_TAKE_OVER_GAIN", 0)
    toy, kernel = TOYS["checked"], kernels["checked"]
    expected = explore(toy, kernel)

    def compact_store(found: Kernels) -> CompactStore:
        return CompactStore(found, CompactKernels(StateCode.of_words(toy.words), found.layout))

    options: dict[str, Any] = {"compact_store_of": compact_store} if moves_at else {"store_of": compact_store}
    kinds = []
    for limit in (400, 1500, 2500, 4000, None):
        found = explore(toy, kernel, tmp_path, max_states=limit, every=0, workers=2, **options)
        kinds.append(type(found.store))
    assert kinds == ([Store] * 2 + [CompactStore] * 3 if moves_at else [CompactStore] * 5)
    assert_same(found, expected)


def resident_bytes(name: str) -> int:
    """Return the memory that this process has of files with a name, mapped and private."""
    found, is_named = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0]:
            is_named = name in line
        elif words[0] == "Rss:" and is_named:
            found += int(words[1]) * 1024
    return found


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="the memory of a process is shown by Linux only")
def test_a_checkpoint_keeps_no_states_in_memory(kernels: dict[str, Kernels], tmp_path: Path) -> None:
    """The states of the compact store are in files. The writer of a checkpoint reads them, and releases them."""
    pages = 64
    items = pages * mmap.PAGESIZE // 8
    kernel = kernels["grid"]
    store = CompactStore(kernel, CompactKernels(StateCode.of_words(1), kernel.layout), tmp_path)
    for shard in range(SHARDS):
        store.room_for(f"states-{shard:02}", items)[:] = 1
    store.field("count")[:] = items
    states = str(tmp_path / "states-")
    assert resident_bytes(states) >= SHARDS * pages * mmap.PAGESIZE
    with checkpoints(tmp_path / "checkpoint") as (saved, _):
        saved.save(store, {"distinct": store.distinct, "level": 1})
    # Linux maps up to 16 pages around one that is read: some of them are behind the last state.
    assert resident_bytes(states) <= SHARDS * 16 * mmap.PAGESIZE


# Damage.


@pytest.fixture(scope="module")
def saved(kernels: dict[str, Kernels], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a checkpoint of three parts."""
    folder = tmp_path_factory.mktemp("saved")
    for _ in range(3):
        stopped(TOYS["checked"], kernels["checked"], folder)
    return folder


@pytest.fixture(scope="module")
def expected(kernels: dict[str, Kernels]) -> Exploration:
    return explore(TOYS["checked"], kernels["checked"])


@pytest.fixture
def damaged(saved: Path, tmp_path: Path) -> Path:
    """Return a copy of the checkpoint, to be damaged."""
    return Path(shutil.copytree(saved, tmp_path / "damaged"))


def refusal(kernels: dict[str, Kernels], folder: Path, **options: Any) -> str:
    with pytest.raises(InputError) as refused:
        explore(TOYS["checked"], kernels["checked"], folder, **options)
    return str(refused.value).replace(str(folder), "DIR")


def swap(folder: Path) -> None:
    one, two = folder / "part-00001.bin", folder / "part-00002.bin"
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a part is lost": (lambda d: (d / "part-00002.bin").unlink(), "part-00002.bin cannot be read: No such file"),
    "parts are exchanged": (swap, "part-00001.bin"),
    "a part is truncated": (
        lambda d: rewrite(d / "part-00003.bin", lambda old: old[:-1]),
        "part-00003.bin is truncated or was changed",
    ),
    "a part is longer": (
        lambda d: rewrite(d / "part-00003.bin", lambda old: old + b"\0"),
        "part-00003.bin is truncated or was changed",
    ),
    "a part is empty": (
        lambda d: rewrite(d / "part-00001.bin", lambda old: b""),
        "part-00001.bin is truncated or was changed",
    ),
    "a part is all zeros": (
        lambda d: rewrite(d / "part-00001.bin", lambda old: bytes(len(old))),
        "part-00001.bin was changed",
    ),
    "a part is a folder": (lambda d: replace_by_folder(d / "part-00001.bin"), "part-00001.bin"),
    "the manifest is truncated": (
        lambda d: rewrite(d / "manifest.json", lambda old: old[:-100]),
        "manifest.json is truncated or no manifest",
    ),
    "the manifest is empty": (
        lambda d: rewrite(d / "manifest.json", lambda old: b""),
        "manifest.json is truncated or no manifest",
    ),
    "the manifest is other JSON": (
        lambda d: (d / "manifest.json").write_text('[{"format": 1}]'),
        "manifest.json is truncated or no manifest",
    ),
    "the manifest is nested deeply": (
        lambda d: (d / "manifest.json").write_text("[" * 100_000),
        "manifest.json is truncated or no manifest",
    ),
    "the manifest is no text": (lambda d: (d / "manifest.json").write_bytes(b"\xff\xfe\0"), "manifest.json cannot be"),
    "the manifest lists fewer parts": (
        lambda d: rewrite_manifest(d, lambda content: content["parts"].pop()),
        "manifest.json was changed",
    ),
}


def rewrite_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    outer = json.loads((folder / "manifest.json").read_text())
    change(outer["content"])
    (folder / "manifest.json").write_text(json.dumps(outer))


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_refused_in_one_sentence(name: str, damaged: Path, kernels: dict[str, Kernels]) -> None:
    damage, said = DAMAGES[name]
    damage(damaged)
    message = refusal(kernels, damaged)
    assert message.startswith("the checkpoint DIR is damaged, ") and said in message
    assert message.endswith(": remove the folder and explore again")


def test_any_flipped_bit_is_refused_or_without_effect(
    damaged: Path, expected: Exploration, kernels: dict[str, Kernels]
) -> None:
    random_ = random.Random(1)
    for path in sorted(damaged.iterdir()):
        content, accepted = path.read_bytes(), 0
        # A step that is no multiple of 8: all bytes of a word get their turn.
        for position in range(0, len(content), 101 if path.suffix == ".json" else 6001):
            changed = bytearray(content)
            changed[position] ^= 1 << random_.randrange(8)
            path.write_bytes(changed)
            try:
                assert_same(explore(TOYS["checked"], kernels["checked"], damaged), expected)
                accepted += 1
            except InputError:
                pass
            path.write_bytes(content)
        assert not accepted or path.suffix == ".json"


def test_numbers_that_contradict_each_other_are_refused(damaged: Path, kernels: dict[str, Kernels]) -> None:
    """The digests are right, but the arrays are not: kernels do not check them."""
    with checkpoints(damaged) as (found, _):
        store = Store(kernels["checked"])
        found.load(store)
        changing = store.changing_arrays()
        changing["record-cursor"][3] = changing["record-count"][3] + 1
    with pytest.raises(ValueError, match="contradict"):
        Store(kernels["checked"]).restore(changing)


def test_a_checkpoint_that_does_not_fit_into_memory(
    damaged: Path, kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "physical_memory", lambda: 16 * 30 * 50)
    with pytest.raises(StoppedError, match="needs more memory than this machine has"):
        explore(TOYS["checked"], kernels["checked"], damaged)


def test_every_field_of_a_record_is_saved_or_computed() -> None:
    addresses = {"states", "parents", "instances", "table", "successors", "outboxes", "generated", "step_violations"}
    findings = {"seen_in_states", "seen_in_steps", "first_states", "deadlock", "failures"}
    findings |= {"failed_state", "failed_instance", "failed_site"}
    # `full` and `fills` are 0 between two rounds of a search that continues.
    computed = {"capacity", "table_mask", "full", "fills"}
    assert set(FIELD_LENGTHS) - set(RESTORED_FIELDS) == addresses | findings | computed


# Folders.


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": "1.1"}, "of Tidemark 1.0 (this is 1.1)"),
        ({"spec": "other"}, "of the spec toy"),
        ({"constants": {"replicas": 3, "acks": "all"}}, "of other constants: replicas=2"),
        ({"properties": ["safe", "live"]}, "of other properties: safe"),
        ({"stop": "first"}, "of another choice of when to stop"),
        ({"premises": 4}, "of a run without --coverage or --strict"),
        ({"symmetry": "symmetry of Replica"}, "of a run with no symmetry"),
        ({"store": "compact"}, "of a run with --store usual"),
        ({"program": "abd"}, "of another version of toy"),
        ({"initial": "deg"}, "of another version of toy"),
    ],
)
def test_a_checkpoint_of_another_search_is_refused(saved: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused, checkpoints(saved, identity=replace(IDENTITY, **change)):
        pass
    assert f"holds a checkpoint {said}" in str(refused.value)
    assert "name another folder" in str(refused.value)


def test_another_format_is_refused(damaged: Path, kernels: dict[str, Kernels]) -> None:
    rewrite(damaged / "manifest.json", lambda old: old.replace(b'"version": 1', b'"version": 2', 1))
    assert "has format tidemark-checkpoint, version 2; this program reads" in refusal(kernels, damaged)


def test_a_folder_with_other_files_is_refused(tmp_path: Path, kernels: dict[str, Kernels]) -> None:
    (tmp_path / "thesis.tex").touch()
    assert "DIR holds other files: name a new folder" in refusal(kernels, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_is_in_use_is_refused(saved: Path, kernels: dict[str, Kernels]) -> None:
    with checkpoints(saved):
        assert "another run keeps its checkpoints in DIR: wait for it" in refusal(kernels, saved)


def test_a_folder_without_a_checkpoint_cannot_be_resumed(tmp_path: Path) -> None:
    said = "holds no checkpoint: start the run with --checkpoint"
    with pytest.raises(InputError, match=said), checkpoints(tmp_path / "new", must_exist=True):
        pass
    assert not (tmp_path / "new").exists()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written: File exists"), checkpoints(tmp_path / "file"):
        pass


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, flags: int) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(checkpoint_module, "lock_opener", refuse)
    with pytest.raises(OutputError, match="cannot be written: Permission denied"), checkpoints(tmp_path / "new"):
        pass


def test_the_files_are_private_and_hold_no_code(saved: Path, tmp_path: Path, kernels: dict[str, Kernels]) -> None:
    folder = tmp_path / "new"
    stopped(TOYS["grid"], kernels["grid"], folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == dict.fromkeys(
        ("checkpoint.lock", "manifest.json", "part-00001.bin"), 0o600
    )


def test_parts_without_a_manifest_are_removed(tmp_path: Path, kernels: dict[str, Kernels]) -> None:
    """A run that was killed while it wrote a checkpoint leaves a part that no manifest lists."""
    toy, kernel = TOYS["grid"], kernels["grid"]
    stopped(toy, kernel, tmp_path)
    (tmp_path / "part-00002.bin").write_bytes(b"half")
    (tmp_path / "manifest.partial").write_text("{")
    assert_same(explore(toy, kernel, tmp_path), explore(toy, kernel))
    assert sorted(path.name for path in tmp_path.glob("part-*")) == ["part-00001.bin"]


# A disk that is full.


@pytest.mark.parametrize("failing", ["part", "manifest"])
def test_a_full_disk_ends_the_checkpoints_and_not_the_run(
    failing: str, tmp_path: Path, kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy, kernel = TOYS["checked"], kernels["checked"]
    stopped(toy, kernel, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    real, calls = os.fsync, 0

    def fsync(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == (1 if failing == "part" else 2):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with checkpoints(tmp_path, every=0) as (found, notices):
        assert_same(
            breadth_first_search(kernel, toy.initial_array(), checkpoints=found, **toy.masks()), explore(toy, kernel)
        )
    assert [notice.replace(str(tmp_path), "DIR") for notice in notices[1:]] == [
        "the run continues without further checkpoints: DIR cannot be written, No space left on device; "
        f"the one of {json.loads(before['manifest.json'])['content']['progress']['distinct']:,} states, level 7 remains"
    ]
    monkeypatch.undo()
    # The last good checkpoint is unchanged, and the space of the failed one is free.
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert after == before
    assert_same(explore(toy, kernel, tmp_path), explore(toy, kernel))


def test_a_disk_that_is_full_from_the_beginning(
    tmp_path: Path, kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(checkpoint_module, "_write_part", full)
    toy, kernel = TOYS["grid"], kernels["grid"]
    assert explore(toy, kernel, tmp_path, every=0).outcome == "complete"
    assert not has_checkpoint(tmp_path)


def test_a_second_interrupt_does_not_wait_for_the_checkpoint(
    tmp_path: Path, kernels: dict[str, Kernels], monkeypatch: pytest.MonkeyPatch
) -> None:
    toy, kernel = TOYS["grid"], kernels["grid"]
    stopped(toy, kernel, tmp_path)
    before = (tmp_path / "manifest.json").read_bytes()

    def slow_blocks(arrays: object) -> Iterator[memoryview]:
        for _ in range(1000):
            time.sleep(0.01)
            yield memoryview(b"block")

    with checkpoints(tmp_path) as (found, _):
        store = Store(kernel)
        found.load(store)
        monkeypatch.setattr(checkpoint_module, "_blocks", slow_blocks)
        threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGINT]).start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            found.save_last(store, {"rounds": -1, "distinct": 0, "level": 0})
    assert time.monotonic() - started < 5
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.glob("part-*")) == ["part-00001.bin"]


# A process that is killed.


def killed(toy: Toy, kernel: Kernels, folder: Path, prepare: Callable[[], object]) -> bool:
    """Explore in a child process that `prepare` lets kill itself; return whether it was killed before the end."""
    child = os.fork()
    if child == 0:
        prepare()
        explore(toy, kernel, folder, every=0)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def kill_at_moment(number: int) -> None:
    """Kill this process before (even) or after (odd) one of its calls that change files."""
    moments = itertools.count()

    def killing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if next(moments) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            found = real(*arguments)
            if next(moments) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return call

    for name in ("open", "fsync", "replace"):
        setattr(os, name, killing(getattr(os, name)))


def test_a_kill_between_any_two_steps_of_a_checkpoint(tmp_path: Path, kernels: dict[str, Kernels]) -> None:
    toy, kernel = TOYS["grid"], kernels["grid"]
    expected = explore(toy, kernel)
    stopped(toy, kernel, tmp_path / "start")
    # A checkpoint opens a part, a manifest and the folder, makes each permanent, and replaces the manifest.
    for number in range(2 * 7):
        folder = Path(shutil.copytree(tmp_path / "start", tmp_path / f"{number}"))
        # The first opening is that of the lock.
        assert killed(toy, kernel, folder, partial(kill_at_moment, 2 + number))
        assert_same(explore(toy, kernel, folder), expected)


def test_twenty_kills_at_random_moments(tmp_path: Path, kernels: dict[str, Kernels]) -> None:
    toy, kernel = TOYS["checked"], kernels["checked"]
    expected = explore(toy, kernel)
    random_ = random.Random(3)
    for number in range(20):
        folder = tmp_path / str(number)
        child = os.fork()
        if child == 0:
            # With a checkpoint after every round, the search lasts as long as its checkpoints are written.
            explore(toy, kernel, folder, every=0)
            time.sleep(60)
        # Half of the kills come after the first checkpoint.
        while number % 2 and not has_checkpoint(folder):
            time.sleep(0.0005)
        time.sleep(random_.uniform(0, 0.01))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert_same(explore(toy, kernel, folder), expected)
