"""No output is an input or another output, in any command and under any name of the file."""

import json
import os
import shutil
from pathlib import Path

import pytest

from checker.cli.app import main
from tests.spark_analysis.walks.walked import walks_in

TESTS = Path(__file__).parent.parent
LOG = '{"event": "send", "number": 0}\n'
MAPPING = "from traces.validate import Mapping\n\n\nclass Mine(Mapping):\n    skips = ('send',)\n"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    walks_in(folder, walks=5)
    words = ["traces", "replay", str(folder / "walks"), "--walk", "0", "--spec", str(folder / "queueing.py")]
    assert main([*words, "--format", "json", "--out", str(folder / "trace.json")]) == 0
    return folder


@pytest.fixture
def files(recorded, tmp_path, monkeypatch):
    """A folder with an input of each kind, links to them, and the digests of all files."""
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    for name, text in {
        "a.json": LOG,
        "mapping.py": MAPPING,
        "server.properties": "acks=all\n",
        "report.jsonl": LOG,
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "LOG.jsonl").write_text(LOG)
    (tmp_path / "log.jsonl").write_text(LOG)
    (tmp_path / "index.html").symlink_to("server.properties")
    (tmp_path / "sym").symlink_to("trace.json")
    os.link(tmp_path / "trace.json", tmp_path / "hard")
    os.link(tmp_path / "queueing.py", tmp_path / "hard-spec")
    (tmp_path / "old-1").write_text("")
    os.link(tmp_path / "old-1", tmp_path / "old-2")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


SHOW = ["show", "trace.json", "--spec", "queueing.py"]
REPLAY = ["traces", "replay", "walks", "--walk", "0", "--spec", "queueing.py"]
REPORT = ["report", "walks", "--spec", "queueing.py"]
SIMULATE = ["simulate", "queueing.py/queue/hasty", "--traces", "5"]
SIBLING = ["simulate", "examples/echo", "--out", "new", "--report", "--against"]
VALIDATE = ["validate", f"{TESTS}/traces/validate/toys.py/wire", "--mapping", "mapping.py"]
RUN = ["run", "queueing.py", "--engine", "python"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*SHOW, "--out", "trace.json"], "--out trace.json is an input"),
        ([*SHOW, "--out", "sym"], "--out sym is an input"),
        ([*SHOW, "--out", "hard"], "--out hard is an input"),
        ([*SHOW, "--out", "./walks/../trace.json"], "is an input"),
        ([*SHOW, "--out", "queueing.py"], "is an input"),
        ([*SHOW, "--against", "queueing.py/queue", "--out", "hard-spec"], "is an input"),
        ([*REPLAY, "--out", "walks/run.json"], "is part of the walks"),
        ([*REPLAY, "--out", "walks/walks/new"], "is part of the walks"),
        ([*REPLAY, "--out", "walks/report/../digests/x"], "is part of the walks"),
        ([*REPLAY, "--out", "walks"], "is part of the walks"),
        ([*REPLAY, "--out", "hard-spec"], "is an input"),
        ([*REPORT, "--json", "walks/run.json"], "is part of the walks"),
        ([*REPORT, "--json", "queueing.py"], "is an input"),
        ([*REPORT, "--json", "walks/report/report.html"], "name the same file"),
        ([*REPORT, "--out", "walks/walks"], "is part of the walks"),
        ([*REPORT, "--out", "new", "--json", "new/causes.dot"], "name the same file"),
        ([*SIMULATE, "--out", "walks", "--json", "walks/run.json"], "is part of the walks"),
        ([*SIMULATE, "--out", "new", "--json", "new/walks/x"], "is part of the walks"),
        ([*SIMULATE, "--out", "new", "--json", "queueing.py"], "is an input"),
        ([*SIBLING, "queueing.py/queue", "--json", "hard-spec"], "is an input"),
        (["advise", "server.properties", "--json", "server.properties"], "is an input"),
        (["advise", "broker=server.properties", "--json", "server.properties"], "is an input"),
        (["advise", "server.properties", "--out", "."], "index.html is an input"),
        (["advise", "server.properties", "--out", "new", "--json", "new/index.html"], "name the same file"),
        ([*VALIDATE, "a.json", "--out", "."], "a.json is an input"),
        ([*VALIDATE, "LOG.jsonl", "log.jsonl", "--out", "new"], "would write the same file"),
        ([*VALIDATE, "report.jsonl", "--out", "new"], "name the same file"),
        ([*VALIDATE, "log.jsonl", "--json", "mapping.py"], "is an input"),
        ([*VALIDATE, "log.jsonl", "--out", "new", "--json", "new/log.html"], "name the same file"),
        ([*RUN, "--json", "hard-spec"], "is an input"),
        ([*RUN, "--json", "old-1", "--junit", "old-2"], "name the same file"),
        (
            [*RUN, "--out", "new", "--json", "new/queueing-queue-hasty-in_order.json"],
            "could be the file of a counterex",
        ),
        ([*RUN, "--checkpoint", "new", "--json", "new"], "name the same file"),
        (["prove", "queueing.py", "--json", "queueing.py"], "is an input"),
        (["mutate", "queueing.py", "--json", "hard-spec"], "is an input"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_an_output_that_is_in_use_is_refused(files, capsys, words, says):
    before = contents(files)
    status, printed = main(words), capsys.readouterr()
    assert (status, printed.out) == (2, ""), printed
    assert says in printed.err
    # The reports of `run` are written at every end.
    assert contents(files).items() >= before.items()


def test_scenarios_of_which_the_files_share_a_name(tmp_path, capsys):
    text = (TESTS / "toy.py").read_text().split("scenarios = [")[0]
    for names in (("a/b", "a-b"), ("a", "A")):
        scenarios = ", ".join(f"Scenario(Log, {name!r})" for name in names)
        (tmp_path / "mine.py").write_text(f"{text}\nscenarios = [{scenarios}]\n")
        words = ["run", str(tmp_path / "mine.py"), "--engine", "python", "--out", str(tmp_path / "out")]
        assert main(words) == 2
        assert "would write the same files" in capsys.readouterr().err


def test_parallel_runs_with_one_file_write_one_whole_report(tmp_path):
    if not (child := os.fork()):
        os._exit(main(["run", f"{TESTS}/toy.py", "--engine", "python", "--json", str(tmp_path / "out.json")]))
    status = main(["run", f"{TESTS}/toy.py", "--engine", "python", "--json", str(tmp_path / "out.json")])
    assert (status, os.waitpid(child, 0)[1]) == (0, 0)
    assert len([json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()]) == 4
    assert len(list(tmp_path.iterdir())) == 1
