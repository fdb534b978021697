"""The command `audit`: exit status, text, JSON, wrong input."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checker.cli.app import main
from tests.audit.real_log import batches, change, extract


@pytest.fixture
def log_directory(tmp_path: Path) -> Path:
    return extract(tmp_path)


def test_sound_log(log_directory, capsys):
    begun = time.monotonic()
    assert main(["audit", str(log_directory / "orders-0"), "--workers", "1"]) == 0
    shown, most = capsys.readouterr().out, time.monotonic() - begun + 0.05
    assert 0 <= float(shown.split()[-2]) <= most
    assert "orders-0: offsets 0 to 2999, high watermark 3000; 4 segments, 824 batches, 0.1 MB" in shown
    assert "no findings; 1 partition, 824 batches" in shown.splitlines()[-1]


def test_duplicates_are_counted_without_reading_a_value(log_directory, capsys):
    assert main(["audit", str(log_directory), "--no-crc", "--workers", "2"]) == 1
    shown = capsys.readouterr().out
    assert "3 records are in the log twice" in shown
    assert "appended under leader epoch 0 and again under 2" in shown
    assert "kafka-dump-log.sh --files" in shown
    assert shown.splitlines()[-1].startswith("3 findings (repeated batch: 3); 3 partitions")


def test_json(log_directory, tmp_path, capsys):
    file = tmp_path / "audit.json"
    assert main(["audit", str(log_directory / "restarted-0"), "--json", str(file)]) == 1
    found = json.loads(file.read_text())
    assert (found["version"], found["verdict"]) == (1, "findings")
    [partition] = found["partitions"]
    assert [batch["second_offset"] for batch in partition["repeated"]] == [4, 5, 6]
    assert {finding["kind"] for finding in partition["findings"]} == {"duplicate_batch"}
    capsys.readouterr()
    assert main(["audit", str(log_directory / "orders-0"), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "sound"


def test_page(log_directory, tmp_path, capsys):
    page = tmp_path / "audit.html"
    assert main(["audit", str(log_directory), "--html", str(page)]) == 1
    text = page.read_text()
    assert "3 records are in the log twice." in text and "3 findings" in text and "payments-0" in text


def test_unreadable_file_is_undecided(log_directory, capsys):
    segment = log_directory / "orders-0" / "00000000000000001041.log"
    segment.unlink()
    (log_directory / "folder").mkdir()
    segment.symlink_to(log_directory / "folder")
    assert main(["audit", str(log_directory / "orders-0")]) == 3
    assert "undecided: not everything was read" in capsys.readouterr().out


def test_nothing_is_written(log_directory, capsys):
    before = {path: path.stat().st_mtime_ns for path in log_directory.rglob("*")}
    for path in log_directory.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    main(["audit", str(log_directory)])
    assert {path: path.stat().st_mtime_ns for path in log_directory.rglob("*")} == before
    for path in (log_directory, *log_directory.rglob("*")):
        os.chmod(path, 0o755)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/missing"], "is not a folder"),
        (["{}/replication-offset-checkpoint"], "is not a folder"),
        (["{}/empty"], "has no partitions"),
        (["{}", "--json", "{}/orders-0/audit.json"], "is inside an audited folder"),
        (["{}", "--engine", "native", "--master", "local[1]"], "--master needs --engine spark"),
        (["{}", "--master", "sc://localhost"], "it does not run on Spark Connect"),
    ],
)
def test_wrong_input(log_directory, capsys, arguments, message):
    (log_directory / "empty").mkdir()
    assert main(["audit", *(word.format(log_directory) for word in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_hostile_names_and_lengths(log_directory, capsys):
    folder = log_directory / "orders-0"
    (folder / "not-a-segment.log").write_bytes(b"\xff" * 100)
    (folder / f"{'9' * 20}.log").write_bytes(b"\x7f" * 100)
    (folder / "\x1b[31m.log").write_bytes(b"")
    change(folder / "00000000000000000000.log", lambda data: data[: batches(data)[2][0]] + b"\x7f" * 70)
    assert main(["audit", str(folder)]) == 1
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.slow
def test_spark_gives_the_same_report(log_directory, tmp_path):
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    assert main(["audit", str(log_directory), "--json", str(here)]) == 1
    # In a process of its own: this one may have the Spark session of other tests.
    words = [sys.executable, "-m", "checker", "audit", log_directory, "--json", there, "--master", "local[2]"]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert here.read_text() == there.read_text()
