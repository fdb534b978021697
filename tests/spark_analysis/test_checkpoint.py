"""The checkpoint of an exploration: mismatches and damage are refused with one sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from checker.errors import UserError
from checker.run.plan import Plan
from spark_analysis.explore.checkpoint import open_checkpoint
from spark_analysis.explore.spark_explorer import explore
from tests.spark_analysis import toys

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAN = Plan(("corner",), max_depth=3)


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkpoint of three levels in two partitions."""
    folder = tmp_path_factory.mktemp("checkpoints") / "begun"
    explore(toys.Deadlocked(), PLAN, spark, checkpoint=folder, partitions=2)
    return folder


@pytest.fixture
def kept(begun: Path, tmp_path: Path) -> Path:
    """Return a copy of the checkpoint, to be damaged."""
    return Path(shutil.copytree(begun, tmp_path / "kept"))


def refused(spark: SparkSession, folder: Path, spec: object = None, plan: Plan = PLAN) -> str:
    with pytest.raises(UserError) as caught:
        explore(spec or toys.Deadlocked(), plan, spark, checkpoint=folder)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(folder), "DIR")


def test_another_spec(spark: SparkSession, kept: Path) -> None:
    assert refused(spark, kept, toys.Leaping()) == (
        "DIR holds an exploration of the spec deadlocked: choose another folder, or remove it"
    )


def test_other_constants(spark: SparkSession, kept: Path) -> None:
    message = refused(spark, kept, toys.Deadlocked(size=2))
    assert message == "DIR holds an exploration of other constants, size=3: choose another folder, or remove it"


def test_other_properties(spark: SparkSession, kept: Path) -> None:
    assert "an exploration of other properties" in refused(spark, kept, plan=Plan(("corner", "outside")))


def test_changed_spec(spark: SparkSession, kept: Path) -> None:
    _edit(kept / "level-00002.json", lambda manifest: manifest["identity"].update(digest="0" * 32))
    assert "another version of" in refused(spark, kept)


def test_another_schema_version(spark: SparkSession, kept: Path) -> None:
    _edit(kept / "level-00002.json", lambda manifest: manifest.update(version=99))
    assert refused(spark, kept) == (
        "DIR/level-00002.json has schema version 99; this program reads version 1: explore again in a new folder"
    )


def test_truncated_manifest(spark: SparkSession, kept: Path) -> None:
    path = kept / "level-00001.json"
    path.write_text(path.read_text()[:100])
    assert refused(spark, kept) == (
        "the checkpoint DIR is damaged, level-00001.json is truncated or no manifest: remove it and explore again"
    )


def test_missing_manifest(spark: SparkSession, kept: Path) -> None:
    (kept / "level-00001.json").unlink()
    assert "level-00001.json cannot be read" in refused(spark, kept)


@pytest.mark.parametrize("part", ["part-00000/level-00000.arrow", "part-00001/level-00002.arrow"])
def test_missing_or_truncated_part(spark: SparkSession, kept: Path, part: str) -> None:
    path = kept / part
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert f"damaged, {part} is truncated or was changed: remove it" in refused(spark, kept)
    path.write_bytes(bytes(len(content)))
    assert f"damaged, {part} is truncated or was changed: remove it" in refused(spark, kept)
    path.unlink()
    assert f"damaged, {part} is missing" in refused(spark, kept)


def test_folder_with_other_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    assert refused(spark, tmp_path) == "DIR holds other files: choose a new folder for --checkpoint"
    file = tmp_path / "thesis.txt"
    assert refused(spark, file) == "the checkpoint DIR cannot be written: File exists"


def test_folder_in_use(spark: SparkSession, kept: Path) -> None:
    with open_checkpoint(kept, None, 2):  # type: ignore[arg-type]
        assert refused(spark, kept) == "another run explores into DIR: wait for it, or choose another folder"


def _edit(path: Path, change: Callable[[dict], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
