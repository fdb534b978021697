"""Every end of a process has the right exit status, and its reports have an entry for every run."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from checker import __main__
from checker.engines.native import engine
from checker.engines.python import explorer
from checker.errors import OutputError
from checker.output.output_files import open_for_writing
from tests.cli.conftest import TOY

ROOT = Path(__file__).parent.parent.parent

ENDLESS = """
from pathlib import Path

from checker.language import Range, Scenario, Spec, action, invariant

class Endless(Spec):
    one = Range(0, 1_000_000)
    two = Range(0, 1_000_000)

    @action
    def count(self):
        self.one = (self.one + 1) % 1_000_000

    @action
    def count_too(self):
        self.two = (self.two + 1) % 1_000_000

    @invariant
    def small(self):
        return self.one >= 0

scenarios = [Scenario(Endless, "first"), Scenario(Endless, "second"), Scenario(Endless, "third")]
Path(__file__).with_suffix(".loaded").touch()
"""


def command(*words, **options):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "checker", *map(str, words)], env=environment, text=True, **{"stderr": -1, **options}
    )


def wait_for_workers(process, count):
    """Wait until some worker processes of a process explore: each has used 0.1 seconds of a CPU."""

    def seconds_of(number):
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and sum(seconds_of(child) > 0.1 for child in children.read_text().split()) < count:
        time.sleep(0.02)


def entries(path):
    """Return the names of the suites of a JUnit file, and of those with an error."""
    root = ElementTree.parse(path).getroot()
    return [suite.get("name") for suite in root], [suite.get("name") for suite in root if suite.get("errors") != "0"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_whole_reports(tmp_path, number):
    (tmp_path / "endless.py").write_text(ENDLESS)
    reports = {name: tmp_path / f"out.{name}" for name in ("json", "junit", "sarif")}
    (tmp_path / "out.json").write_text("old")
    options = [word for name, path in reports.items() for word in (f"--{name}", path)]
    words = ["run", tmp_path / "endless.py", *options, "--workers", 2, "--engine", "python"]
    process = command(*words, stdout=subprocess.DEVNULL)
    while process.poll() is None and not (tmp_path / "endless.loaded").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    assert reports["json"].read_text() == "old"
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, "Traceback" in err) == (3, False), err
    names = [f"endless/endless/{name}" for name in ("first", "second", "third")]
    suites, failed = entries(reports["junit"])
    assert set(suites) == set(names)
    lines = [json.loads(line) for line in reports["json"].read_text().splitlines()]
    assert {f"{line['spec']}/{line['scenario']}" for line in lines} == set(names)
    without_result = {f"{line['spec']}/{line['scenario']}" for line in lines if "error" in line}
    assert without_result == set(failed) and "endless/endless/third" in failed
    sarif = json.loads(reports["sarif"].read_text())
    assert not sarif["runs"][0]["invocations"][0]["executionSuccessful"]
    assert sorted(path.name for path in tmp_path.iterdir() if "endless" not in path.name and path.is_file()) == sorted(
        f"out.{name}" for name in reports
    )


def test_a_signal_to_all_processes_keeps_the_results(tmp_path):
    """`timeout` terminates the command, and then its process group: the command once more, and its workers."""
    (tmp_path / "endless.py").write_text(ENDLESS)
    words = ["run", tmp_path / "endless.py", "--json", tmp_path / "out.json", "--workers", 2, "--engine", "python"]
    process = command(*words, stdout=subprocess.DEVNULL, start_new_session=True)
    wait_for_workers(process, 2)
    process.send_signal(signal.SIGTERM)
    os.killpg(process.pid, signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (3, "")
    lines = [json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()]
    assert [line.get("verdict", "error") for line in lines] == ["incomplete", "incomplete", "error"]
    assert all(line["distinct_states"] > 1 for line in lines[:2])


def test_a_full_disk_is_not_a_verdict():
    with open("/dev/full", "w") as full:
        process = command("run", f"{TOY}/counter", stdout=full)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert err == "error: an output cannot be written: No space left on device\n"


def test_a_dead_worker_costs_its_run_only(checker, monkeypatch, tmp_path):
    real = engine.explore

    def explore(spec, plan, **more):
        if spec.constants.get("limit") == 3:
            os._exit(9)
        return real(spec, plan, **more)

    text = Path(TOY).read_text().split("scenarios = [")[0]
    scenarios = ", ".join(
        f'Scenario(Counter, "to_{limit}", dict(limit={limit}), properties=["never_falls"])' for limit in (1, 2, 3, 4, 5)
    )
    (tmp_path / "mine.py").write_text(f"{text}\nscenarios = [{scenarios}]\n")
    monkeypatch.setattr(engine, "explore", explore)
    junit = tmp_path / "out.xml"
    outcome = checker("run", tmp_path / "mine.py/counter", "--workers", 2, "--junit", junit)
    assert outcome.status == 3, outcome
    assert "a worker process ended" in outcome.err and "Traceback" not in outcome.err
    suites, failed = entries(junit)
    assert failed == ["mine/counter/to_3"]
    assert {f"mine/counter/to_{limit}" for limit in (1, 2, 4, 5)} <= set(suites)


def test_a_crash_costs_its_run_only(checker, monkeypatch, tmp_path):
    real = explorer.explore

    def explore(spec, plan):
        if spec.name == "counter":
            raise KeyError("a mistake")
        return real(spec, plan)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(explorer, "explore", explore)
    outcome = checker("run", TOY, "--engine", "python", "--workers", 1, "--json", tmp_path / "out.json")
    assert outcome.status == 70
    assert "internal error: KeyError: 'a mistake' while exploring toy/counter" in outcome.err
    lines = [json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()]
    assert any("internal error" in line.get("error", "") for line in lines)
    assert any(line.get("verdict") == "holds" for line in lines)


def test_an_error_that_cannot_be_reported_is_not_a_verdict(checker, monkeypatch):
    """Status 1 would be Python's own end."""

    def ending(error):
        raise ModuleNotFoundError("a spec has emptied sys.path")

    written = []
    monkeypatch.setattr("checker.cli.app.ending", ending)
    monkeypatch.setattr(os, "write", lambda number, text: written.append((number, text)))
    assert checker("run", "nothing.py").status == 70
    ((number, text),) = written
    assert number == 2 and text.startswith(b"internal error: ModuleNotFoundError while the command ended")


@pytest.mark.parametrize("option", ["--json", "--junit", "--sarif", "--html"])
def test_no_output_is_an_input(checker, tmp_path, option):
    # The index page needs a name that ends with .html; a hard link is the same file under another name.
    own, link = tmp_path / "own.py", tmp_path / "link.html"
    own.write_text(Path(TOY).read_text())
    os.link(own, link)
    for name in (own, link) if option != "--html" else (link,):
        outcome = checker("run", own, option, name)
        assert (outcome.status, "is an input of this command" in outcome.err) == (2, True), outcome
    assert own.read_text() == Path(TOY).read_text()


def test_two_outputs_are_two_files(checker, tmp_path):
    outcome = checker("run", TOY, "--json", tmp_path / "out", "--junit", tmp_path / "folder" / ".." / "out")
    assert (outcome.status, "--json and --junit name the same file" in outcome.err) == (2, True), outcome


def test_runs_that_share_the_names_of_counterexamples_are_refused(checker, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(Path(TOY).read_text())
    files = [tmp_path / name / "mine.py" for name in ("one", "two")]
    outcome = checker("run", *files, "--out", tmp_path / "out")
    assert (outcome.status, "would write the same files" in outcome.err) == (2, True), outcome


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path, link = tmp_path / "report.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with contextlib.suppress(ZeroDivisionError), open_for_writing(link) as stream:
        stream.write("half")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    with open_for_writing(link) as stream:
        stream.write("new")
        assert path.read_text() == "old"
    assert (path.read_text(), link.is_symlink(), path.stat().st_mode & 0o777) == ("new", True, 0o640)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_a_long_name_and_links_without_a_file_are_no_files(tmp_path):
    loop, lost = tmp_path / "loop", tmp_path / "lost"
    loop.symlink_to(loop)
    lost.symlink_to(tmp_path / "nothing" / "here")
    for path in (tmp_path, tmp_path / ("x" * 300), loop, lost):
        with pytest.raises(OutputError, match="cannot be written"), open_for_writing(path) as stream:
            stream.write("text")


@pytest.mark.parametrize("option", [["--update-ledger"], ["--ledger", "mine.toml"]])
def test_a_ledger_that_the_command_cannot_use_is_refused(checker, option):
    outcome = checker("run", f"{TOY}/counter", "--set", "limit=2", *option)
    assert (outcome.status, f"{option[0]} is for complete runs of scenarios" in outcome.err) == (2, True), outcome


def test_logs_that_share_the_names_of_their_pages_are_refused(checker, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.jsonl").write_text('{"event": "x"}\n')
    (tmp_path / "mapping.py").write_text("")
    logs = [tmp_path / name / "log.jsonl" for name in ("one", "two")]
    words = ["validate", f"{TOY}/counter", *logs, "--mapping", tmp_path / "mapping.py"]
    outcome = checker(*words, "--out", tmp_path / "out")
    assert (outcome.status, "would write the same file, log.html" in outcome.err) == (2, True), outcome
    outcome = checker(*words, "--json", logs[0])
    assert (outcome.status, "is an input of this command" in outcome.err) == (2, True), outcome
    assert logs[0].read_text() == '{"event": "x"}\n'


class EndedError(Exception):
    """The process has ended with a status."""


@pytest.fixture
def calls(monkeypatch):
    """Return the list of what happens at the end of the process, without any of it."""
    seen = []

    def end(status):
        seen.append("end")
        raise EndedError(status)

    monkeypatch.setattr(__main__.atexit, "_run_exitfuncs", lambda: seen.append("atexit"))
    monkeypatch.setattr(__main__.os, "_exit", end)
    monkeypatch.setattr(__main__, "_is_observed", lambda: False)
    monkeypatch.setattr(__main__.threading, "enumerate", lambda: [threading.main_thread()])
    return seen


class Stream:
    """A standard stream that notes when it is written."""

    def __init__(self, calls):
        self.flush = lambda: calls.append("flush")


def test_exit_functions_are_called_and_streams_written_before_the_end(calls, monkeypatch):
    monkeypatch.setattr(sys, "stdout", Stream(calls))
    monkeypatch.setattr(sys, "stderr", Stream(calls))
    with pytest.raises(SystemExit) as ended:
        __main__._end(3)
    # `os._exit` does not return: here it raised an exception, after which Python ends the process.
    assert calls == ["atexit", "flush", "flush", "end"]
    assert ended.value.code == 3


def test_python_ends_a_process_that_is_observed(calls, monkeypatch):
    monkeypatch.setattr(__main__, "_is_observed", lambda: True)
    with pytest.raises(SystemExit):
        __main__._end(0)
    assert calls == []


def test_python_waits_for_threads(calls, monkeypatch):
    monkeypatch.setattr(__main__.threading, "enumerate", lambda: [threading.main_thread(), threading.Thread()])
    with pytest.raises(SystemExit):
        __main__._end(0)
    assert calls == []


def test_a_profiler_is_noticed():
    before = sys.getprofile()
    sys.setprofile(lambda *event: None)
    try:
        assert __main__._is_observed()
    finally:
        sys.setprofile(before)
