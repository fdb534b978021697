"""Readers of data files refuse a pipe without a writer, which would block them, and a device without an end."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.data_files import open_data, read_data, read_data_text, reason_of
from checker.errors import InputError, UserError
from checker.run.certificate import read_certificate
from kafka_tools.advise import configuration_files
from kafka_tools.lab.cluster import distribution
from kafka_tools.lab.recording.broker_log import read_broker_log
from kafka_tools.lab.recording.soak_report import read_soak
from spark_analysis.explore.checkpoint import ExplorationIdentity, open_checkpoint
from tests.cli.test_validate import MAPPING

ROOT = Path(__file__).parent.parent.parent
RETRY = str(ROOT / "examples" / "retry.py")
PROOF = next((ROOT / "specs" / "examples" / "proofs").glob("*.toml"))

READERS = {
    "trace": ["show", "FILE"],
    "trace of the explorer": ["explore", "--from", "FILE", "--no-browser"],
    "certificate": ["prove", "--check", "FILE"],
    "ledger": ["run", "examples/peterson", "--ledger", "FILE"],
    "log": ["validate", RETRY, "FILE", "--mapping", "MAPPING"],
    "properties": ["advise", "FILE"],
    "yaml": ["advise", "DIR/a.yaml"],
    "toml": ["advise", "DIR/a.toml"],
    "json": ["advise", "DIR/a.json"],
    "experiment": ["experiment", "DIR/a.toml"],
    "cluster": ["cluster", "status", "DIR"],
    "walks": ["report", "DIR"],
    "checkpoint": ["run", RETRY, "--checkpoint", "DIR"],
    "report": ["report", "WALKS", "--compare", "DIR"],
    "history": ["report", "WALKS", "--history", "FILE"],
}
"""Words that make a command read FILE, or a file of its name in DIR."""


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walks") / "walks"
    assert main(["simulate", RETRY, "--traces", "50", "--out", str(folder)]) in (0, 1)
    return folder


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_is_not_regular_is_refused(reader, kind, walks, tmp_path, capsys):
    names = ("FILE", "a.yaml", "a.toml", "a.json", "cluster.json", "run.json", "manifest.json", "report.json")
    for name in names:
        path = tmp_path / name
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        else:
            path.touch()
            os.truncate(path, 1 << 40)
    (tmp_path / "mapping.py").write_text(MAPPING)
    places = {"FILE": tmp_path / "FILE", "DIR": tmp_path, "WALKS": walks, "MAPPING": tmp_path / "mapping.py"}
    words = [word.replace("DIR/", f"{tmp_path}/") for word in READERS[reader]]
    assert main([str(places.get(word, word)) for word in words]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ") and shown.count("\n") <= 2 and len(shown) < 1000


@pytest.mark.parametrize("name", ["part-00001.bin", "manifest.json"])
def test_a_pipe_in_a_checkpoint_is_refused(tmp_path, capsys, name):
    folder = tmp_path / "checkpoint"
    words = ["run", RETRY, "--keep-going", "--checkpoint", str(folder), "--max-states", "2"]
    main(words)
    assert (folder / name).is_file()
    (folder / name).unlink()
    os.mkfifo(folder / name)
    capsys.readouterr()
    assert main(words[:-2]) == 2
    assert "cannot be read" in capsys.readouterr().err


def locks_in(folder, monkeypatch):
    """Return each lock of the project in a folder: its path, and what takes it."""
    identity = ExplorationIdentity("a/b", {}, [], "", 1)
    monkeypatch.setenv("TIDEMARK_KAFKA_CACHE", str(folder))
    # Maven, which fetches a release under the lock, is not there.
    monkeypatch.setattr(distribution, "require_java", lambda: "java")
    monkeypatch.setattr(distribution.shutil, "which", lambda name: None)
    return {
        "native": (folder / "checkpoint.lock", lambda: main(["run", RETRY, "--checkpoint", str(folder)])),
        "spark": (folder / "exploration.lock", lambda: opened(open_checkpoint(folder, identity, durable=False))),
        "kafka": (folder / ".4.3.1.lock", lambda: distribution.libraries("4.3.1")),
    }


def opened(context):
    with context:
        return 0


@pytest.mark.parametrize("name", ["native", "spark", "kafka"])
def test_a_pipe_in_place_of_a_lock_is_refused_and_a_new_lock_is_private(tmp_path, monkeypatch, capsys, name):
    (tmp_path / "new").mkdir()
    for folder, is_pipe in ((tmp_path, True), (tmp_path / "new", False)):
        path, takes = locks_in(folder, monkeypatch)[name]
        if is_pipe:
            os.mkfifo(path)
        try:
            status = takes()
        except (OSError, UserError) as error:
            status = str(error)
        if is_pipe:
            assert "No such device or address" in (capsys.readouterr().err if name == "native" else status)
        else:
            assert status in (0, 1) or "no mvn is on the PATH" in status
            assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["00000000000000000000.log", "00000000000000000000.index", "leader-epoch-checkpoint"])
def test_a_pipe_in_a_partition_is_refused(tmp_path, capsys, name):
    partition = tmp_path / "t-0"
    partition.mkdir()
    (partition / "00000000000000000000.log").touch()
    (partition / name).unlink(missing_ok=True)
    os.mkfifo(partition / name)
    assert main(["audit", str(partition)]) in (1, 2, 3)
    assert "internal error" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "read"),
    [("soak.json", read_soak), ("broker1.log", lambda folder: read_broker_log(folder / "broker1.log", 1))],
)
def test_a_pipe_in_place_of_what_brokers_wrote_is_refused(tmp_path, name, read):
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="cannot be read: it is a device or a pipe"):
        read(tmp_path)


def test_the_door(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_data(file) == b"12345" and read_data(file, 5) == b"12345" and read_data_text(file) == "12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_data(file, 4)
    # A file of /proc has no size.
    assert read_data_text(Path("/proc/self/status")).startswith("Name:")
    for path in (tmp_path, tmp_path / "none", Path("/dev/null")):
        with pytest.raises(OSError, match=r"directory|No such|not a regular") as refused:
            open_data(path)
        assert reason_of(refused.value) == refused.value.strerror
    file.write_bytes(b"12\xff45")
    with pytest.raises(ValueError, match=r"^it is not text in UTF-8, see byte 2$"):
        read_data_text(file)


class Waiting(io.RawIOBase):
    """As /proc/kmsg, which only root may open: a regular file that has nothing to read now."""

    def readable(self):
        return True

    def readinto(self, _):
        return None


@pytest.mark.parametrize("reader", ["certificate", "ledger"])
def test_a_file_of_the_kernel_without_content_is_refused(monkeypatch, tmp_path, capsys, reader):
    monkeypatch.setattr("checker.data_files.open_data", lambda *_: Waiting())
    words = [word.replace("FILE", str(tmp_path / "file")) for word in READERS[reader]]
    (tmp_path / "file").touch()
    assert main(words) == 2
    assert "it has no content now" in capsys.readouterr().err


@pytest.mark.parametrize("count", [3, 20_000])
def test_a_setting_of_many_lines(tmp_path, count):
    file = tmp_path / "producer.properties"
    # A loop over the lines that copied the text so far would take hours for the larger one.
    file.write_text("acks=a\\\n" + "  l\\\n" * count + "\n# a comment \\\nlinger.ms=5\n\\\n#x=1\nretries=\\u0037")
    settings = {
        given.name: (given.value, given.line) for given in configuration_files.read(str(file)).roles["producer"]
    }
    line = count + 4
    assert settings["acks"] == ("a" + "l" * count, 1) and settings["linger.ms"] == ("5", line)
    assert settings["#x"] == ("1", line + 1) and settings["retries"] == ("7", line + 3)


DAMAGES = [
    ('spec = "', 'x = 1\nspec = "', "it has an unknown field x"),
    ("seconds = ", "seconds = nan #", "seconds of the proof is not a time"),
    ("seconds = ", "seconds = -1 #", "seconds of the proof is not a time"),
    ("seconds = ", "seconds = true #", "seconds of the proof is not a time"),
    ("lemmas = ", "lemmas = 3 #", "lemmas is not a list of names"),
    ("solver = ", "solver = 3 #", "solver is not a text"),
    ("constants = ", "constants = 3 #", "constants is not a table"),
    ("program = ", "# ", "it has no field program"),
    ("needs = ", "need = ", "is not a table of needs and seconds"),
]


@pytest.mark.parametrize(("before", "after", "says"), DAMAGES, ids=[says for *_, says in DAMAGES])
def test_a_field_of_a_certificate_is_wrong(tmp_path, before, after, says):
    file = tmp_path / "proof.toml"
    file.write_text(PROOF.read_text().replace(before, after, 1))
    with pytest.raises(InputError) as caught:
        read_certificate(file)
    message = caught.value.message
    assert says in message and not any(word in message for word in ("__init__", "argument", "KeyError", "object"))


def test_a_certificate_with_a_cell_of_no_proof(tmp_path, capsys):
    file = tmp_path / "proof.toml"
    file.write_text(PROOF.read_text() + '\n[cells."nothing"]\n"at_all" = { seconds = 0.1, needs = [] }\n')
    assert main(["prove", "--check", str(file)]) == 2
    assert "has a cell nothing/at_all, which is not of this proof" in capsys.readouterr().err


@pytest.mark.parametrize("field", ["spec", "scenario", "settings", "unbounded"])
def test_escapes_of_a_certificate_are_not_printed(tmp_path, capsys, field):
    values = {"settings": '{ "\\u001b[31mX" = 1 }', "unbounded": '["\\u001b[31mX"]'}
    file = tmp_path / "proof.toml"
    lines = PROOF.read_text().splitlines()
    given = values.get(field, '"examples/\\u001b[31mX"')
    file.write_text("\n".join(f"{field} = {given}" if line.startswith(f"{field} = ") else line for line in lines))
    assert main(["prove", "--check", str(file)]) in (2, 3)
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err


def test_a_copy_of_a_certificate_is_read(tmp_path):
    shutil.copy(PROOF, tmp_path / "copy.toml")
    assert read_certificate(tmp_path / "copy.toml").cells


def test_a_manifest_has_no_nan(tmp_path, capsys):
    folder = tmp_path / "checkpoint"
    words = ["run", RETRY, "--keep-going", "--checkpoint", str(folder)]
    main([*words, "--max-states", "2"])
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace("{", '{"unread": NaN, ', 1))
    capsys.readouterr()
    assert main(words) == 2
    assert "manifest.json is truncated or no manifest" in capsys.readouterr().err


DUNDERS = ["__getattr__(self, name)", "__getattribute__(self, name)", "__class__(self)", "__eq__(self, other)"]


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize("method", DUNDERS)
@pytest.mark.parametrize("decorator", ["", "@action", "@invariant", "@property"])
def test_names_of_python_are_not_of_a_spec(tmp_path, capsys, engine, method, decorator):
    file = tmp_path / "strange.py"
    method = f"    {decorator}\n    def {method}:\n        return 1\n"
    file.write_text(
        "from checker.language import Range, Spec, action, invariant\nclass Strange(Spec):\n    x = Range(0, 2)\n"
        "    @action\n    def go(self):\n        self.x = 1\n" + method
    )
    assert main(["run", str(file), "--engine", engine]) == 2
    assert "belong to Python, choose another" in capsys.readouterr().err
