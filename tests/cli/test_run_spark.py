"""`run --engine spark`: input that is rejected before Spark starts. tests/spark_analysis tests the exploration."""

from pathlib import Path

import pytest

from checker.cli import app

TOY = "examples/peterson"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--master", "local[1]"], "--master and --partitions need --engine spark"),
        (["--engine", "python", "--partitions", "3"], "need --engine spark"),
        (["--engine", "spark", "--strict"], "--strict needs all states in memory: omit it"),
        (["--engine", "spark", "--master", "spork"], "--master spork: write local[CORES]"),
        (
            ["--engine", "spark", "--master", "spark://host:7077"],
            "a cluster needs a folder that this driver and all executors share",
        ),
    ],
)
def test_conflicting_options(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert app.main(["run", TOY, *arguments]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1 and not shown.out


def test_a_checkpoint_needs_a_single_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert app.main(["run", "examples", "--engine", "spark", "--checkpoint", str(kept)]) == 2
    assert "--checkpoint keeps one exploration, but there are" in capsys.readouterr().err
    assert not kept.exists()


def test_missing_java(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert app.main(["run", TOY, "--engine", "spark"]) == 2
    assert capsys.readouterr().err.startswith("error: Spark needs Java 17 or newer")
