"""Validation of recorded traces on Spark gives the same verdicts as one process, for every kind of input."""

import dataclasses
import json
import os
import resource
import threading
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace

import pyarrow
import pytest
from pyarrow import parquet

from checker.errors import UserError
from spark_analysis.validate import validation, verdict_parts
from spark_analysis.validate.validation import validate_on_spark
from spark_analysis.validate.verdict_parts import VERDICTS, VerdictParts, open_verdicts
from tests.cli.test_validate import BAD, GOOD, MAPPING, RETRY
from tests.support.object_store import object_store, place
from traces.validate.events import UnparsedTrace
from traces.validate.task import RunningValidation, ValidationTask
from traces.validate.totals import ValidationTotals, verdict_row


@pytest.fixture
def task(tmp_path) -> ValidationTask:
    mapping = tmp_path / "mapping.py"
    mapping.write_text(MAPPING)
    return ValidationTask(RETRY, str(mapping), controls=3)


def texts(events: list[dict]) -> list[str]:
    return [json.dumps(event) for event in events]


def dataset(folder: Path) -> Path:
    """Write 40 traces to Parquet: three in four conform, one is rejected, and the last one cannot be read."""
    rows = [{"trace": f"trace-{n:02}", "events": texts(BAD if n % 4 == 3 else GOOD)} for n in range(40)]
    rows.append({"trace": "trace-xx", "events": ['{"event": ']})
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "traces.parquet")
    return folder / "traces.parquet"


def test_spark_gives_the_verdicts_of_one_process(spark, task, tmp_path):
    path, rows = dataset(tmp_path), []
    found = validate_on_spark(task, (path,), out=tmp_path, write=rows.append, spark=spark)
    validation, expected = RunningValidation(task), ValidationTotals()
    for row in parquet.read_table(path).to_pylist():
        raw = UnparsedTrace(row["trace"], str(path), row["events"], list(range(1, len(row["events"]) + 1)))
        try:
            outcome = validation.outcome(raw.recorded())
        except UserError:
            continue
        expected.add(verdict_row(outcome, validation.controls(raw.recorded(), outcome)))
    assert found.verdicts == {"conforms": 30, "rejected": 10, "unreadable": 1}
    assert expected.verdicts == {"conforms": 30, "rejected": 10}
    assert (found.tried, found.caught, found.skipped) == (expected.tried, expected.caught, expected.skipped)
    clusters = {cluster.verdict: cluster for cluster in found.ranked()}
    assert clusters["rejected"].cause.startswith("acked: acknowledge: require(self.acknowledged in self.log)")
    assert [row["trace"] for row in clusters["rejected"].examples] == [f"trace-{n:02}" for n in (3, 7, 11, 15, 19)]
    assert "traces.parquet:1: this is not JSON" in clusters["unreadable"].cause
    assert [row["trace"] for row in rows] == [*(f"trace-{n:02}" for n in range(40)), "trace-xx"]
    assert parquet.read_table(tmp_path / VERDICTS).num_rows == 41


def test_files_with_one_trace_and_with_many(spark, task, tmp_path):
    # Spark's readers take such names for patterns.
    folder = tmp_path / "a[1]{b,c}?*"
    folder.mkdir()
    good, bad, many = folder / "good.jsonl", folder / "bad.jsonl", folder / "many.jsonl"
    good.write_text("\n".join(texts(GOOD)))
    bad.write_text("\n".join([*texts(GOOD), "{"]))
    one_each = validate_on_spark(task, (good, bad), spark=spark)
    assert one_each.verdicts == {"conforms": 1, "unreadable": 1}
    assert f"{bad.resolve()}:4: this is not JSON" in one_each.ranked()[0].cause
    many.write_text("\n".join(texts([event | {"run": run} for event in BAD for run in ("a", "b")])))
    mixed = validate_on_spark(task, (many,), "run", spark=spark)
    assert mixed.verdicts == {"rejected": 2}
    assert [row["line"] for row in mixed.ranked()[0].examples] == [7, 8]
    assert validate_on_spark(task, (dataset(folder),), spark=spark).traces == 41


def test_wrong_dataset_is_refused_with_one_sentence(spark, task, tmp_path):
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(dataset(tmp_path).read_bytes()[:200])
    with pytest.raises(
        UserError, match=r"cut.parquet cannot be read as Parquet|cut.parquet is not a complete Parquet file"
    ):
        validate_on_spark(task, (cut,), spark=spark)
    other = tmp_path / "other.parquet"
    parquet.write_table(pyarrow.table({"trace": [1]}), other)
    with pytest.raises(UserError, match=r'other.parquet has the columns trace bigint: it needs the columns "trace"'):
        validate_on_spark(task, (other,), spark=spark)


def test_a_validation_is_resumed_with_the_missing_parts(spark, task, tmp_path):
    path, rows, again = dataset(tmp_path), [], []
    found = validate_on_spark(task, (path,), out=tmp_path, write=rows.append, spark=spark)
    parts = sorted((tmp_path / VERDICTS).glob("part-*"))
    contents = {part: part.read_bytes() for part in parts}
    assert len(parts) > 2
    parts[0].unlink()
    kept = parquet.read_table(parts[1])
    assert validate_on_spark(task, (path,), out=tmp_path, write=again.append, spark=spark).to_json() == found.to_json()
    assert again == rows and {part: part.read_bytes() for part in parts} == contents
    digest = parts[1].with_name(f"_{parts[1].stem}.sha256")
    correct = digest.read_bytes()
    digest.write_bytes(b"\xff")
    with pytest.raises(UserError, match=f"{parts[1].name} is truncated or was changed: remove it"):
        validate_on_spark(task, (path,), out=tmp_path, spark=spark)
    digest.write_bytes(correct)
    parts[1].write_bytes(contents[parts[2]])
    with pytest.raises(UserError, match=f"{parts[1].name} is truncated or was changed: remove it"):
        validate_on_spark(task, (path,), out=tmp_path, spark=spark)
    parts[1].unlink()
    cancelled = threading.Event()
    cancelled.set()
    partial = validate_on_spark(task, (path,), out=tmp_path, spark=spark, cancelled=cancelled)
    assert partial.is_interrupted and partial.traces == found.traces - kept.num_rows
    # Other controls are another validation.
    other = validate_on_spark(dataclasses.replace(task, controls=0), (path,), out=tmp_path, spark=spark)
    assert other.traces == found.traces and not other.tried


def rows_of(batches):
    return [row for batch in batches for row in batch.to_pylist()]


def test_a_task_writes_the_rows_of_its_parts(task, tmp_path, monkeypatch):
    """In this process: what the executors run."""
    monkeypatch.setattr(validation, "_BATCH", 2)
    good, folder = tmp_path / "good.jsonl", tmp_path / "verdicts"
    good.write_text("\n".join(texts(GOOD)))
    given = [
        {"part": 3, "trace": "a", "file": "f", "events": texts(GOOD)},
        {"part": 3, "trace": "b", "file": "f", "events": texts(BAD), "lines": list(range(11, 11 + len(BAD)))},
        {"part": 3, "trace": "c", "file": "f", "events": texts(BAD)},
        {"part": 5, "trace": str(good), "file": str(good)},
        {"part": 5, "trace": "e", "file": str(tmp_path / "nowhere")},
    ]
    batch = pyarrow.RecordBatch.from_pylist([{"events": None, "lines": None} | row for row in given])
    folder.mkdir()
    done = rows_of(validation._write_parts(task, str(folder), 6, iter([batch])))
    assert [(row["part"], row["error"]) for row in done] == [(3, None), (5, None)]
    totals = [ValidationTotals.from_json(json.loads(row["summary"])).verdicts for row in done]
    assert totals == [{"conforms": 1, "rejected": 2}, {"conforms": 1, "unreadable": 1}]
    first, second = (list(VerdictParts(folder, 6).rows(number)) for number in (3, 5))
    assert [(row["trace"], row["verdict"], row["line"]) for row in first] == [
        ("a", "conforms", None),
        ("b", "rejected", 10 + len(BAD)),
        ("c", "rejected", len(BAD)),
    ]
    assert [row["verdict"] for row in second] == ["conforms", "unreadable"]
    (failed,) = rows_of(validation._write_parts(task, str(good), 6, iter([batch.slice(0, 1)])))
    assert failed["part"] == 3 and failed["error"].startswith(f"{good} cannot be written: ")


def test_a_task_reads_the_files_of_a_data_set(tmp_path, monkeypatch):
    monkeypatch.setattr(validation, "_BATCH", 2)
    path, wrong = tmp_path / "traces.parquet", tmp_path / "wrong.parquet"
    kept = [{"trace": f"t{number}", "events": ["{}"], "more": number} for number in range(5)]
    parquet.write_table(pyarrow.Table.from_pylist(kept), path)
    parquet.write_table(pyarrow.table({"trace": ["a"], "x": [1]}), wrong)

    def read(file):
        return list(validation._read_dataset(iter([pyarrow.RecordBatch.from_pydict({"file": [str(file)]})])))

    assert [len(batch) for batch in read(path)] == [2, 2, 1]
    assert rows_of(read(path)) == [
        {"trace": row["trace"], "file": str(path), "events": ["{}"], "lines": None} for row in kept
    ]
    with pytest.raises(UserError, match=r"wrong.parquet has the columns trace, x: it needs the columns"):
        read(wrong)


@pytest.mark.parametrize(
    ("size", "parts"), [(0, 12), (13 * (4 << 20) - 1, 12), (13 * (4 << 20), 13), (1 << 40, 10_000)]
)
def test_the_number_of_parts_grows_with_the_logs(monkeypatch, size, parts):
    monkeypatch.setattr(validation, "cores_of", lambda spark: 3)
    file = SimpleNamespace(stat=lambda: SimpleNamespace(st_size=size))
    assert validation._number_of_parts(None, [file]) == parts


def test_the_file_of_a_mapping_has_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert validation._absolute("own.py:Mapping") == f"{tmp_path}/own.py:Mapping"
    assert validation._absolute("kafka") == "kafka"


def test_more_parts_than_files_may_be_open_are_read_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(verdict_parts, "_OPEN_FILES", 4)
    monkeypatch.setattr(verdict_parts, "_ROWS", 2)
    parts, rows = open_verdicts(tmp_path, {"by": ""}, 14), []
    for number in range(14):
        part = [{"trace": f"t{n:02}", "file": f"f{number % 3}", "events": n} for n in range(number % 5, 40, 7)]
        parts.write(number, pyarrow.Table.from_pylist(sorted(part, key=itemgetter("trace", "file"))))
        rows += part
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 9, limits[1]))
    try:
        found = list(parts.all_rows())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert [(row["trace"], row["file"]) for row in found] == sorted((row["trace"], row["file"]) for row in rows)
    assert sorted(map(str, found)) == sorted(map(str, rows))


def test_files_that_no_validation_wrote_are_kept(tmp_path):
    verdicts = tmp_path / VERDICTS
    verdicts.mkdir()
    foreign = verdicts / "part-00000.parquet"
    foreign.write_text("of another program")
    for identity in ({"by": "run"}, {"by": ""}):
        with pytest.raises(UserError, match=r"files that no validation wrote \(part-00000.parquet\): choose another"):
            open_verdicts(tmp_path, identity, 2)
        assert [path.name for path in verdicts.iterdir()] == [foreign.name]
    foreign.unlink()
    parts = open_verdicts(tmp_path, {"by": "run"}, 2)
    parts.write(0, pyarrow.table({"trace": ["a"]}))
    (verdicts / "._part-00001.sha256.17.0123abcd").write_text("of a killed attempt")
    (verdicts / "notes.txt").write_text("of a person")
    with pytest.raises(UserError, match=r"no validation wrote \(notes.txt\)"):
        open_verdicts(tmp_path, {"by": ""}, 2)
    assert open_verdicts(tmp_path, {"by": "run"}, 5).count == 2 and parts.done() == [0]
    parts.remove_unfinished()
    assert not list(verdicts.glob(".*")) and (verdicts / "notes.txt").exists()
    (verdicts / "notes.txt").unlink()
    assert open_verdicts(tmp_path, {"by": ""}, 3).done() == []


def test_a_data_set_with_folders_is_read_as_a_whole(spark, task, tmp_path):
    logs = tmp_path / "logs"
    for name in ("_day=1", "day=2", "others/of a person"):
        (logs / name).mkdir(parents=True)
        dataset(logs / name)
    found = validate_on_spark(task, (logs,), out=tmp_path / "out", spark=spark)
    assert found.verdicts == {"conforms": 90, "rejected": 30, "unreadable": 3}
    # The verdicts of earlier logs do not count after a file in a folder was written again.
    rows = [{"trace": "only", "events": texts(GOOD)}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), logs / "day=2" / "traces.parquet")
    again = validate_on_spark(task, (logs,), out=tmp_path / "out", spark=spark)
    assert again.verdicts == {"conforms": 61, "rejected": 20, "unreadable": 2}


def test_logs_and_verdicts_in_a_store(spark, task, tmp_path):
    with object_store("logs") as url:
        many, folder = place(url, "many.jsonl"), place(url, "parquet")
        many.write_text("\n".join(texts([event | {"run": run} for event in BAD for run in ("a", "b")])))
        (folder / "traces.parquet").upload(dataset(tmp_path))
        mixed = validate_on_spark(task, (many,), "run", out=place(url, "mixed"), spark=spark)
        assert mixed.verdicts == {"rejected": 2} and [row["line"] for row in mixed.ranked()[0].examples] == [7, 8]
        rows = []
        found = validate_on_spark(task, (folder,), out=place(url, "out"), write=rows.append, spark=spark)
        assert found.verdicts == {"conforms": 30, "rejected": 10, "unreadable": 1}
        assert [row["trace"] for row in rows] == [*(f"trace-{n:02}" for n in range(40)), "trace-xx"]
        (folder / "of=today" / "more.parquet").upload(dataset(tmp_path))
        (folder / "_temporary" / "unfinished.parquet").write_text("not read")
        nested = validate_on_spark(task, (folder,), out=place(url, "nested"), spark=spark)
        assert nested.verdicts == {"conforms": 60, "rejected": 20, "unreadable": 2}
        one_each = validate_on_spark(task, (many,), out=place(url, "one"), spark=spark)
        assert one_each.verdicts == {"rejected": 1}
