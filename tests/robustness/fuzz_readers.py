"""Fuzzing of the readers of files that others made: every damaged file gives a sentence and a right exit status.

    python -m tests.robustness.fuzz_readers --minutes 10 [--reader trace --reader log ...] [--seed 1]

Hypothesis chooses a file of each kind and damages its bytes, its lines or its JSON. Where a digest protects a file,
some of the damaged files get a right one, so that the readers behind it are tested too.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import hypothesis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from checker.cli.app import main
from checker.engines.native.kernels.row_kernels import HASH_RANGE, SortedRows, filter_words
from checker.errors import UserError
from kafka_tools.advise import configuration_files
from kafka_tools.experiments.experiment import experiment_files, read_experiment
from spark_analysis.explore.checkpoint import Checkpoint, ExplorationIdentity, ExplorationTotals, StoredLevels
from spark_analysis.explore.level_tasks import ExpansionReport
from spark_analysis.explore.row_files import (
    CANDIDATES,
    RUNS,
    StoredRun,
    is_whole_run,
    map_run,
    read_candidates,
    write_candidates,
    write_run,
)
from spark_analysis.walks.digests import digest_of_run, write_digest
from spark_analysis.walks.records import WALK_SCHEMA, WALKS, part_path
from tests.audit.real_log import extract
from tests.spark_analysis.walks.walked import spec_of_walks, walks_in

TESTS = Path(__file__).parent.parent
TOY, LASSO = TESTS / "toy.py", TESTS / "lasso_toy.py"

NASTY_TEXTS = [
    "",
    "\x1b[2J",
    "::error::x",
    "\ud800",
    "b1",
    "__import__('os')",
    "a" * 5000,
    "\n",
    "0]",
    "{x}",
    "*&a",
    "%d",
]
NASTY_VALUES = [None, True, False, -1, 0, 1, 2**31, 2**63, 10**40, 1.5, -0.0, [], {}, [[]], {"": []}, *NASTY_TEXTS]
NASTY_BYTES = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"[" * 3000,
    b"{" * 300,
    b"9" * 5000,
    b"1e999",
    b"NaN",
    b"\r\n",
]
NASTY_BYTES += [
    b'"',
    b"\\",
    b"\\ud800",
    b": ",
    b"=",
    b"&a *a",
    b"<<",
    b"!!python/object:os.system ",
    b"${env:HOME}",
    b"- ",
]

Draw = Callable[[st.SearchStrategy[Any]], Any]


def changed_bytes(draw: Draw, content: bytes) -> bytes:
    """Return a content with up to three changes."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from([0, 1, 1, 4, 30, 1000])))
        new = draw(st.sampled_from([*NASTY_BYTES, content[end : end + 20], bytes([draw(st.integers(0, 255))])]))
        content = content[:start] + new + content[end:]
    return content


def changed_json(draw: Draw, value: Any) -> Any:
    """Return a JSON value with up to three changed, removed or additional parts."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        places = [(part, key) for part in _containers(value) for key in _keys(part)]
        if not places:
            return value
        part, key = draw(st.sampled_from(places))
        other, other_key = draw(st.sampled_from(places))
        match draw(st.sampled_from(["nasty", "nasty", "swap", "remove", "add"])):
            case "remove":
                del part[key]
            case "swap":
                part[key] = copy.deepcopy(other[other_key])
            case "add" if isinstance(part, dict):
                part[draw(st.sampled_from(NASTY_TEXTS))] = copy.deepcopy(draw(st.sampled_from(NASTY_VALUES)))
            case _:
                part[key] = copy.deepcopy(draw(st.sampled_from(NASTY_VALUES)))
    return value


def _containers(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, (dict, list)) else []
    return own + [found for item in inner for found in _containers(item)]


def _keys(value: Any) -> list[Any]:
    return list(value) if isinstance(value, dict) else list(range(len(value)))


def damaged_text(draw: Draw, content: bytes) -> bytes:
    """Return a JSON file with damaged bytes or damaged values."""
    if draw(st.booleans()):
        return changed_bytes(draw, content)
    return json.dumps(changed_json(draw, json.loads(content))).encode()


def called(*words: object, allowed: tuple[int, ...] = (0, 2, 3)) -> str:
    """Call the command line, check its end, and return what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(word) for word in words])
    printed = out.getvalue() + err.getvalue()
    assert status in allowed, (status, printed)
    assert "Traceback" not in printed and "internal error" not in printed, printed
    assert "\x1b" not in printed and not any(line.lstrip().startswith("::") for line in printed.split("\n")), printed
    assert status != 2 or "error: " in printed, printed
    return printed


class TraceReader:
    """Trace files, by `show`."""

    def __init__(self, folder: Path):
        self._path = folder / "trace.json"
        for name, file in (("log", TOY), ("overflow", TOY), ("sending/starved", LASSO)):
            called("run", f"{file}/{name}", "--engine", "python", "--keep-going", "--out", folder, allowed=(0, 1))
        walks = ["traces", "replay", walks_in(folder, walks=5)[1], "--walk", "0", "--format", "json"]
        called(*walks, "--spec", folder / "queueing.py", "--out", folder / "walk-0.json")
        specs = {"toy": TOY, "lasso_toy": LASSO, "walk": folder / "queueing.py"}
        self._bases = [
            (path.read_bytes(), specs[path.name.split("-")[0]])
            for path in sorted(folder.glob("*-*.json"))
            if ".itf." not in path.name
        ]

    def check(self, draw: Draw) -> None:
        """Show a damaged trace."""
        content, spec = draw(st.sampled_from(self._bases))
        self._path.write_bytes(damaged_text(draw, content))
        called("show", self._path, "--spec", spec, "--format", draw(st.sampled_from(["text", "html", "json", "itf"])))


class LogReader:
    """Recorded logs, by `validate`."""

    def __init__(self, folder: Path):
        self._path = folder / "log.jsonl"
        recorded = TESTS / "kafka_tools" / "lab" / "recorded"
        self._bases = [(path.read_bytes(), path.name.split("-")[0]) for path in sorted(recorded.glob("[ip]*-*.jsonl"))]

    def check(self, draw: Draw) -> None:
        """Validate a damaged log."""
        content, kind = draw(st.sampled_from(self._bases))
        lines = content.splitlines()
        if draw(st.booleans()):
            content = changed_bytes(draw, content)
        else:
            number = draw(st.integers(0, len(lines) - 1))
            lines[number] = json.dumps(changed_json(draw, json.loads(lines[number]))).encode()
            content = b"\n".join(lines)
        self._path.write_bytes(content)
        words = ["validate", f"producer/{kind}_producer", self._path, "--mapping", f"kafka_tools.lab.librdkafka.{kind}"]
        called(*words, "--engine", "python", "--candidates", 50, allowed=(0, 1, 2, 3))


class MappingReader:
    """Mappings: their text, and the expressions in them."""

    _PARTS = [
        "wire",
        "stored",
        "[0]",
        "[",
        "]",
        "len(",
        "(",
        ")",
        ".",
        "sent",
        "newest",
        "max",
        "9",
        " + ",
        "**",
        " in ",
    ]
    _PARTS += [
        "for x in ",
        "if ",
        "lambda: ",
        "__class__",
        "'",
        "{",
        ":",
        ",",
        "not ",
        " == ",
        "colour",
        "red",
        "\n",
        "\0",
    ]

    def __init__(self, folder: Path):
        self._mapping, self._log = folder / "mapping.py", folder / "events.jsonl"
        self._log.write_text('{"event": "send", "number": 0}\n{"event": "see", "value": 1}\n')
        self._text = (
            "from traces.validate import Mapping, Observation, PossibleStep, event\n\n\nclass Mine(Mapping):\n"
            '    silent = ("lose",)\n\n    @event("send")\n    def send(self, found):\n'
            '        return PossibleStep("send", number=found["number"]).after({EXPRESSION: found["number"]})\n\n'
            '    @event("see")\n    def see(self, found):\n        return Observation({"sent": found["value"]})\n'
        )

    def check(self, draw: Draw) -> None:
        """Validate a log with a damaged mapping."""
        expression = "".join(draw(st.lists(st.sampled_from(self._PARTS), min_size=1, max_size=8)))
        content = self._text.replace("EXPRESSION", repr(expression)).encode()
        if draw(st.booleans()):
            content = changed_bytes(draw, content)
        self._mapping.write_bytes(content)
        words = ["validate", f"{TESTS}/traces/validate/toys.py/wire", self._log, "--mapping", self._mapping]
        called(*words, "--engine", "python", allowed=(0, 1, 2, 3))


class PropertiesReader:
    """Configuration files of `advise`: properties, YAML, TOML, JSON and environment files."""

    def __init__(self, folder: Path):
        self._folder = folder
        fixtures = TESTS / "kafka_tools" / "advise" / "fixtures"
        self._bases = [(path.read_bytes(), path.name) for path in sorted(fixtures.rglob("*")) if path.is_file()]

    def check(self, draw: Draw) -> None:
        """Read a damaged configuration."""
        content, name = draw(st.sampled_from(self._bases))
        path = self._folder / name
        path.write_bytes(changed_bytes(draw, content))
        with contextlib.suppress(UserError):
            configuration_files.read(str(path))
        path.unlink()


class WalkReader:
    """Folders of random walks, by `traces replay`."""

    def __init__(self, folder: Path):
        self._run, self._walks = walks_in(folder, walks=20)
        self._spec = spec_of_walks(self._walks)
        self._part, self._file = part_path(self._walks, WALKS, 0), self._walks / "run.json"
        self._content, self._text = self._part.read_bytes(), self._file.read_bytes()
        self._rows = pq.read_table(self._part).to_pylist()

    def check(self, draw: Draw) -> None:
        """Replay a walk of a damaged folder."""
        self._part.write_bytes(self._content)
        self._file.write_bytes(self._text)
        write_digest(self._part, self._part)
        match draw(st.sampled_from(["run", "run with digest", "part", "rows"])):
            case "run":
                self._file.write_bytes(damaged_text(draw, self._text))
            case "run with digest":
                content = changed_json(draw, json.loads(self._text))
                content.pop("digest", None)
                with contextlib.suppress(UnicodeEncodeError):
                    content["digest"] = digest_of_run(content)
                self._file.write_text(json.dumps(content))
            case "part":
                self._part.write_bytes(changed_bytes(draw, self._content))
            case _:
                rows = copy.deepcopy(self._rows)
                row, name = draw(st.sampled_from(rows)), draw(st.sampled_from(list(rows[0])))
                row[name] = draw(
                    st.sampled_from([*NASTY_VALUES, b"", b"\1", b"\xff\xff" * 9, -5, 7, "in_order", "bounds"])
                )
                with contextlib.suppress(pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError):
                    written = io.BytesIO()
                    pq.write_table(pa.Table.from_pylist(rows, WALK_SCHEMA), written)
                    self._part.write_bytes(written.getvalue())
                write_digest(self._part, self._part)
        walk = draw(st.sampled_from([0, 1, 7, 19]))
        called("traces", "replay", self._walks, "--spec", self._spec, "--walk", walk)


class CheckpointReader:
    """Checkpoints of the native engine, by `run --resume`."""

    def __init__(self, folder: Path):
        self._whole, self._folder = folder / "whole", folder / "damaged"
        self._words = ["run", f"{TOY}/log/two_leaders"]
        called(*self._words, "--checkpoint", self._whole, "--max-states", 3, "--workers", 1, allowed=(0, 1, 3))
        self._names = sorted(path.name for path in self._whole.iterdir() if path.stat().st_size)

    def check(self, draw: Draw) -> None:
        """Resume from a damaged checkpoint."""
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.copytree(self._whole, self._folder)
        path = self._folder / draw(st.sampled_from(self._names))
        content = path.read_bytes()
        path.write_bytes(damaged_text(draw, content) if path.suffix == ".json" else changed_bytes(draw, content))
        called(*self._words, "--resume", self._folder, allowed=(0, 1, 2, 3))


class SegmentReader:
    """Files of an exploration on Spark: runs of states, candidates, and the manifest. Damaged content is never used."""

    def __init__(self, folder: Path):
        self._folder = folder / "exploration"
        self._rows = np.arange(60, dtype=np.uint64).reshape(20, 3)
        hashes = np.arange(20, dtype=np.uint64) << np.uint64(59)
        filtered = np.zeros(filter_words(20), np.uint64)
        self._run_path, candidates = self._folder / RUNS / "run", self._folder / CANDIDATES / "candidates"
        digest = write_run(self._run_path, [self._rows], filtered, durable=False)
        self._run = StoredRun("run", 0, 20, digest, 0, HASH_RANGE)
        written = write_candidates(candidates, SortedRows(self._rows, hashes), 2, durable=False)
        self._expected = [read_candidates(candidates, partition, 2, 3).tolist() for partition in (0, 1)]
        self._totals = ExplorationTotals([2, 5], [6], [7])
        levels = StoredLevels([(self._run,), (self._run,)], (written,), ExpansionReport({}, {}, None, None))
        self._checkpoint = Checkpoint(self._folder, ExplorationIdentity("toy", {}, [], "0", 1), durable=False)
        self._checkpoint.commit(self._totals, levels, files_are_on_disk=True)
        self._contents = {path: path.read_bytes() for path in self._folder.rglob("*") if path.is_file()}

    def check(self, draw: Draw) -> None:
        """Read files of which one is damaged: each is refused in a sentence, or has the content that was written."""
        for path, content in self._contents.items():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        path = draw(st.sampled_from(sorted(self._contents)))
        content = self._contents[path]
        path.write_bytes(damaged_text(draw, content) if path.suffix == ".json" else changed_bytes(draw, content))
        if is_whole_run(self._run_path, self._run):
            assert map_run(self._run_path, self._run, 3)[0].tolist() == self._rows.tolist()
        for partition, expected in enumerate(self._expected):
            with contextlib.suppress(UserError):
                found = read_candidates(self._folder / CANDIDATES / "candidates", partition, 2, 3)
                assert found.tolist() == expected
        with contextlib.suppress(UserError):
            loaded = self._checkpoint.load()
            assert loaded is not None
            assert loaded[0] == self._totals


class AuditReader:
    """Segments of logs with their indexes, snapshots of producers and checkpoint files, by `audit`."""

    def __init__(self, folder: Path):
        self._partition = extract(folder) / "restarted-0"
        files = [path for path in sorted(self._partition.iterdir()) if path.is_file()]
        self._contents = {path: path.read_bytes() for path in files}

    def check(self, draw: Draw) -> None:
        """Audit a partition of which one file is damaged."""
        path = draw(st.sampled_from(list(self._contents)))
        path.write_bytes(changed_bytes(draw, self._contents[path]))
        try:
            called("audit", self._partition, "--workers", 1, allowed=(0, 1, 2, 3))
        finally:
            path.write_bytes(self._contents[path])


class ExperimentReader:
    """Files of experiments. No broker starts: the file is only read."""

    def __init__(self, folder: Path):
        self._path = folder / "mine.toml"
        self._bases = [path.read_bytes() for path in experiment_files()]

    def check(self, draw: Draw) -> None:
        """Read a damaged experiment."""
        self._path.write_bytes(changed_bytes(draw, draw(st.sampled_from(self._bases))))
        with contextlib.suppress(UserError):
            read_experiment(str(self._path))


class ClusterReader:
    """The file of a cluster, by `cluster status`."""

    _PORTS: ClassVar[dict[str, int]] = {"PLAINTEXT": 7, "CONTROLLER": 8, "CLIENT": 9}
    _FILE: ClassVar[dict[str, Any]] = {
        "version": "4.3.1",
        "identifier": "abcdefghijklmnopqrstuv",
        "settings": {"num.partitions": "3"},
        "has_proxies": False,
        "proxies": None,
        "is_traced": False,
        "nodes": [
            {"number": 1, "ports": _PORTS, "advertised": _PORTS, "process": None},
            {"number": 2, "ports": _PORTS, "advertised": _PORTS, "process": {"pid": 4_000_000, "started": 12}},
        ],
    }

    def __init__(self, folder: Path):
        self._folder = folder
        (folder / "cluster.json").write_text(json.dumps(self._FILE))
        called("cluster", "status", folder, allowed=(0,))

    def check(self, draw: Draw) -> None:
        """Show the status of a cluster with a damaged file."""
        content = damaged_text(draw, json.dumps(self._FILE).encode())
        (self._folder / "cluster.json").write_bytes(content)
        called("cluster", "status", self._folder)


class CertificateReader:
    """The certificate of a proof, by `prove --check`."""

    def __init__(self, folder: Path):
        self._path = folder / "certificate.toml"
        self._base = (TESTS.parent / "specs/examples/proofs/peterson.toml").read_bytes()

    def check(self, draw: Draw) -> None:
        """Check a damaged certificate: the proof is confirmed, stale or unknown, or the file is refused."""
        self._path.write_bytes(changed_bytes(draw, self._base))
        called("prove", "--check", self._path, "--workers", 1, allowed=(0, 1, 2, 3))


READERS = {
    "trace": TraceReader,
    "log": LogReader,
    "mapping": MappingReader,
    "properties": PropertiesReader,
    "walks": WalkReader,
    "checkpoint": CheckpointReader,
    "segment": SegmentReader,
    "audit": AuditReader,
    "experiment": ExperimentReader,
    "cluster": ClusterReader,
    "certificate": CertificateReader,
}


def fuzz(name: str, folder: Path, *, examples: int, seed: int = 1) -> None:
    """Check some damaged files of a reader; raise AssertionError, or what escaped, with the example."""
    reader = READERS[name](folder)
    _round(reader, examples, seed)


def _round(reader: Any, examples: int, seed: int) -> None:
    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(st.data())
    def check(data: st.DataObject) -> None:
        reader.check(data.draw)

    check()


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="time for each reader (default: 10)")
    parser.add_argument("--reader", action="append", choices=READERS, help="only this reader (repeatable)")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    os.environ["TIDEMARK_CODE_CACHE"] = "off"
    for name in options.reader or READERS:
        with tempfile.TemporaryDirectory(prefix=f"fuzz-{name}-") as folder:
            reader, count, ends = READERS[name](Path(folder)), 0, time.monotonic() + options.minutes * 60
            while time.monotonic() < ends:
                _round(reader, 50, options.seed + count)
                count += 50
            print(f"{name}: {count:,} damaged files, nothing but sentences", flush=True)


if __name__ == "__main__":
    _main()
