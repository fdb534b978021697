"""The checkpoint of an exploration: mismatches and damage are refused with one sentence."""

import json
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checker.engines.native import engine as native
from checker.errors import UserError
from checker.run.plan import Plan
from spark_analysis.explore import checkpoint, jobs
from spark_analysis.explore.checkpoint import (
    ExplorationIdentity,
    ExplorationTotals,
    StoredLevels,
    open_checkpoint,
)
from spark_analysis.explore.level_tasks import ExpansionReport
from spark_analysis.explore.spark_explorer import explore
from spark_analysis.session import LazySession
from tests.spark_analysis import toys
from tests.support.object_store import object_store, place

PLAN = Plan(("corner",), max_depth=3)


@pytest.fixture(scope="module")
def begun(session: LazySession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkpoint of three levels in two partitions."""
    folder = tmp_path_factory.mktemp("checkpoints") / "begun"
    explore(toys.Deadlocked(), PLAN, session, checkpoint=folder, partitions=2)
    return folder


@pytest.fixture
def kept(begun: Path, tmp_path: Path) -> Path:
    """Return a copy of the checkpoint, to be damaged."""
    return Path(shutil.copytree(begun, tmp_path / "kept"))


def refused(session: LazySession, folder: Path, spec: object = None, plan: Plan = PLAN) -> str:
    with pytest.raises(UserError) as caught:
        explore(spec or toys.Deadlocked(), plan, session, checkpoint=folder)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(folder), "DIR")


def test_another_spec(session: LazySession, kept: Path) -> None:
    assert refused(session, kept, toys.Leaping()) == (
        "DIR holds an exploration of the spec deadlocked: choose another folder, or remove it"
    )


def test_other_constants(session: LazySession, kept: Path) -> None:
    message = refused(session, kept, toys.Deadlocked(size=2))
    assert message == "DIR holds an exploration of other constants, size=3: choose another folder, or remove it"


def test_other_properties(session: LazySession, kept: Path) -> None:
    assert "an exploration of other properties" in refused(session, kept, plan=Plan(("corner", "outside")))


def test_changed_spec(session: LazySession, kept: Path) -> None:
    _edit(kept, lambda manifest: manifest["identity"].update(digest="0" * 32))
    assert "another version of" in refused(session, kept)


def test_another_schema_version(session: LazySession, kept: Path) -> None:
    _edit(kept, lambda manifest: manifest.update(version=99))
    newer = "DIR has schema version 99; this program reads version 2: explore again in a new folder"
    assert refused(session, kept) == newer
    (kept / "exploration.json").unlink()
    (kept / "level-00000.json").write_text("{}")
    assert refused(session, kept) == newer.replace("99", "1")


def test_damaged_manifest(session: LazySession, kept: Path) -> None:
    path = kept / "exploration.json"
    whole = path.read_text()
    path.write_text(whole[:100])
    assert refused(session, kept) == (
        "the checkpoint DIR is damaged, exploration.json is truncated or no manifest: remove it and explore again"
    )
    # A count of states, as one flipped bit of the file would change it.
    path.write_text(whole.replace('"levels": [2, 5', '"levels": [3, 5', 1))
    assert path.read_text() != whole
    assert "damaged, exploration.json was changed: remove it" in refused(session, kept)


@pytest.mark.parametrize(
    "on_executors", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["driver", "executors"]
)
def test_a_flipped_bit_in_a_run_is_refused(
    session: LazySession, kept: Path, monkeypatch: pytest.MonkeyPatch, on_executors: bool
) -> None:
    if on_executors:
        monkeypatch.setattr(jobs, "BYTES_TO_VERIFY", -1)
    path = min(kept.glob("runs/*"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)
    refusal = f"DIR/runs/{path.name} is missing, truncated or changed: remove the checkpoint and explore again"
    assert refused(session, kept) == refusal
    path.unlink()
    assert refused(session, kept) == refusal


@pytest.mark.parametrize("limit", [1 << 20, -1], ids=["driver", "executors"])
def test_a_flipped_bit_in_a_candidate_is_refused(
    session: LazySession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    folder = tmp_path / "kept"
    explore(toys.Deadlocked(), Plan(("corner",), max_states=9), session, checkpoint=folder)
    [path] = folder.glob("candidates/*")
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    monkeypatch.setattr(jobs, "CANDIDATES_BEFORE_JOB", limit)
    monkeypatch.setattr(jobs, "CANDIDATES_BEFORE_SPARK", limit)
    assert refused(session, folder, plan=Plan(("corner",))) == (
        f"DIR/candidates/{path.name} is missing, truncated or changed: remove the checkpoint and explore again"
    )


def test_files_of_an_incomplete_level_are_removed(session: LazySession, kept: Path) -> None:
    for name in ("runs/00003-00000-dead", "candidates/.00004-00000-000-dead.7.aa"):
        (kept / name).parent.mkdir(exist_ok=True)
        (kept / name).write_bytes(b"half")
    explore(toys.Deadlocked(), PLAN, session, checkpoint=kept)
    assert not list(kept.glob("*/*dead*"))


def test_a_commit_waits_until_new_files_are_on_the_disk(
    session: LazySession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[set[Path]] = []
    monkeypatch.setattr(checkpoint, "sync", synced.append)
    explore(toys.Deadlocked(), PLAN, session, checkpoint=tmp_path / "kept")
    assert set().union(*synced) >= {*tmp_path.glob("kept/runs/*"), *tmp_path.glob("kept/candidates/*")} != set()
    assert sum(map(len, synced)) == len(set().union(*synced)), "once each"


def test_full_disk(session: LazySession, tmp_path: Path) -> None:
    """A write that fails ends the run with one sentence. With more room, the run is resumed."""
    folder, spec, plan = tmp_path / "kept", toys.Deadlocked(size=40), Plan(("corner",))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The limit stands for a disk that fills up: the kernel refuses larger files, as it refuses blocks of a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        message = refused(session, folder, spec, plan)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert message == "the states cannot be written to DIR: File too large"
    found = explore(spec, plan, session, checkpoint=folder)
    assert (found.ended, found.distinct_states) == ("complete", 41 * 41)


def test_deeper_run_resumes_a_limited_one(session: LazySession, kept: Path) -> None:
    """The last level of a limited run was not expanded: the next run does that first, and generates the same steps."""
    plan = Plan(("corner",))
    expected = native.explore(toys.Deadlocked(), plan)
    found = explore(toys.Deadlocked(), plan, session, checkpoint=kept)
    assert (found.levels, found.generated_states) == (expected.levels, expected.generated_states)


def test_folder_with_other_files(session: LazySession, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    assert refused(session, tmp_path) == "DIR holds other files: choose a new folder for --checkpoint"
    file = tmp_path / "thesis.txt"
    assert refused(session, file) == "the checkpoint DIR cannot be written: File exists"


def test_partitions_are_split_evenly(begun: Path) -> None:
    levels = StoredLevels([(), ()], None, ExpansionReport())
    with pytest.raises(ValueError, match="2 partitions cannot be split evenly into 3"):
        levels.split(3)
    levels.split(6)
    assert levels.partitions == 6 and checkpoint.has_checkpoint(begun) and not checkpoint.has_checkpoint(begun.parent)


def test_folder_in_use(session: LazySession, kept: Path) -> None:
    with open_checkpoint(kept, None, durable=True):  # type: ignore[arg-type]
        assert refused(session, kept) == "another run explores into DIR: wait for it, or choose another folder"


def _edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest, with a new digest."""
    path = folder / "exploration.json"
    content = json.loads(path.read_text())
    del content["digest"]
    change(content)
    path.write_text(json.dumps(content | {"digest": checkpoint._digest_of(content)}))


def test_checkpoint_in_a_store(session: LazySession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels of the driver and of executors, a resumed run, damage, and a second driver that takes the folder over."""
    spec, plan = toys.Deadlocked(size=5), Plan(("corner",))
    expected = native.explore(spec, plan)
    with object_store("states") as url:
        folder = place(url, "kept")
        explore(spec, Plan(("corner",), max_depth=3), session, checkpoint=folder, partitions=2)
        monkeypatch.setattr(jobs, "CANDIDATES_BEFORE_JOB", -1)
        monkeypatch.setattr(jobs, "CANDIDATES_BEFORE_SPARK", -1)
        found = explore(spec, plan, session, checkpoint=folder)
        assert (found.levels, found.generated_states) == (expected.levels, expected.generated_states)
        assert found.reached == expected.reached
        identity = ExplorationIdentity("toy", {}, [], "", 1)
        totals, levels = ExplorationTotals([], [], []), StoredLevels([()], (), ExpansionReport())
        with (
            open_checkpoint(folder, identity, durable=True) as first,
            open_checkpoint(folder, identity, durable=True),
            pytest.raises(UserError, match="another run took over the exploration in"),
        ):
            first.commit(totals, levels, files_are_on_disk=True)
        run = next(iter((folder / "runs").iterdir()))
        content = bytearray(run.read_bytes())
        content[len(content) // 2] ^= 16
        run.write_bytes(bytes(content))
        with pytest.raises(UserError, match=f"{run.name}.* is missing, truncated or changed: remove the checkpoint"):
            explore(spec, plan, session, checkpoint=folder)
