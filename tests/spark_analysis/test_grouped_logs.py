"""Logs with many traces, grouped by Spark, give the traces that one process reads from them."""

import json
import random

import pyarrow
import pytest

from checker.errors import InputError
from spark_analysis.validate import grouped_logs
from spark_analysis.validate.grouped_logs import _Naming, _read_lines, group_traces
from traces.validate.events import read_many


@pytest.fixture
def small_blocks(spark):
    """Make Spark read files in blocks of 2 kB, so that lines and traces cross their bounds."""
    settings = {"spark.sql.files.maxPartitionBytes": "2k", "spark.sql.shuffle.partitions": "2"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def log(path, seed, lines):
    choose = random.Random(seed)
    text = [
        json.dumps({"run": f"r{choose.randrange(9)}", "at": number, "pad": "ä" * choose.randrange(40)})
        if choose.randrange(12)
        else ""
        for number in range(lines)
    ]
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(text).encode())
    return path


@pytest.mark.parametrize("lines", [50, pytest.param(150, marks=pytest.mark.slow)])
def test_groups_are_those_of_one_process(small_blocks, tmp_path, monkeypatch, lines):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a folder").mkdir()
    files = [log(tmp_path / "one log.jsonl", 1, lines), log(tmp_path / "a folder" / "two%.jsonl", 2, lines)]
    shown = [path.relative_to(tmp_path) for path in files]
    frame = group_traces(small_blocks, shown, "run")
    found = {(row.trace, row.file): (row.events, row.lines) for row in frame.collect()}
    expected = {(raw.name, raw.file): (raw.texts, raw.lines) for path in shown for raw in read_many(path, "run")}
    assert found == expected and len(found) == 18


def test_a_byte_order_mark_is_removed_where_the_reader_leaves_it():
    """Spark removes that of a local file. A file of a store is read whole."""
    lines = [{"uri": "s3://b/l", "line": line, "bytes": b"\xef\xbb\xbf{}"} for line in (1, 2)]
    lines[0]["bytes"] = b'\xef\xbb\xbf{"run": 1}'
    (named,) = _Naming("run", {"s3://b/l": "l"})(iter([pyarrow.RecordBatch.from_pylist(lines)]))
    assert [(row["text"], row["error"] is None) for row in named.to_pylist()] == [
        ('{"run": 1}', True),
        ("\ufeff{}", False),
    ]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_task_reads_the_lines_of_a_file_of_a_store(tmp_path, monkeypatch, end):
    """In this process. Blank lines count in the numbers of lines, and wrong ones have their error."""
    monkeypatch.setattr(grouped_logs, "_ROWS", 2)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"run": 1}\n \n{"run": 2}\n\n{"at": 3}\n\xff' + end)
    names = pyarrow.RecordBatch.from_pydict({"file": [str(path)]})
    batches = list(_read_lines("run", iter([names])))
    found = [row for batch in batches for row in batch.to_pylist()]
    assert {row["file"] for row in found} == {str(path)} and len(batches) == 3
    assert [(row["line"], row["trace"], row["text"]) for row in found] == [
        (1, "1", '{"run": 1}'),
        (3, "2", '{"run": 2}'),
        (5, None, None),
        (6, None, ""),
    ]
    assert [(row["error"] or "").partition(":")[0] for row in found[2:]] == [
        'the event has no "run", which names its trace',
        "this is not text in UTF-8",
    ]


def test_a_file_has_the_name_that_was_given(tmp_path):
    shown = _Naming("run", {f"{tmp_path}/a b%": "a b%", "s3://b/l": "s3://b/l"})
    uris = [f"file://{tmp_path}/a%20b%25", f"file:{tmp_path}/other", "s3://b/l"]
    assert [shown._file(uri) for uri in uris] == ["a b%", f"{tmp_path}/other", "s3://b/l"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"at": 3}', 'the event has no "run", which names its trace'),
        (b'{"run": 1', "this is not JSON"),
        (b'{"run": "\xff"}', "this is not text in UTF-8"),
    ],
)
def test_the_first_wrong_line_is_an_error_with_its_place(spark, tmp_path, line, message):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"run": 1}\n\n' + line + b"\n" + line)
    with pytest.raises(InputError, match=message) as raised:
        group_traces(spark, [path], "run")
    assert (raised.value.file, raised.value.line) == (str(path), 3)


def test_a_missing_file_is_an_error(spark, tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        group_traces(spark, [tmp_path / "nowhere"], "run")
