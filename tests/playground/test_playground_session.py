"""The Python side of the playground: runs, errors with lines, steps; and its archive, without a browser."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.errors import MissingExtraError
from checker.playground import pyodide_package
from checker.playground.session import Playground
from checker.playground.site_files import write_playground

ROOT = Path(__file__).parents[2]
RETRY = ROOT / "examples" / "retry.py"
PETERSON = ROOT / "specs" / "examples" / "peterson.py"


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Return a function that calls a playground; the working folder is that of the test again afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    playground = Playground()
    return lambda *arguments: json.loads(playground.call(*arguments))


def explored(call, most=20_000):
    return call("explore", most, lambda states, seconds: None)


def test_a_spec_has_the_verdict_of_the_command(call, capsys):
    assert call("open", "retry", RETRY.read_text(), "") == {"run": "retry/retry", "runs": ["retry/retry"]}
    result = explored(call)
    assert main(["run", str(RETRY), "--engine", "python"]) == 1
    printed = capsys.readouterr().out
    assert result["text"] in printed and result["verdict"] == "violated"
    assert result["sentences"] == ["no_duplicate: record 0 is in the log 2 times"]
    (counterexample,) = result["counterexamples"]
    assert "no_duplicate</code> is false" in counterexample["page"]
    assert "is false: record 0 is in the log 2 times" in call("answer", "", counterexample["path"])["text"]


def test_a_run_is_selected_by_its_name(call):
    wanted = "peterson/peterson_hasty/swapped_steps"
    assert call("open", "peterson", PETERSON.read_text(), wanted)["run"] == wanted
    assert explored(call)["verdict"] == "violated"
    assert call("open", "peterson", PETERSON.read_text(), "none/of/them")["run"] == "peterson/peterson/exclusive"
    assert explored(call)["verdict"] == "holds"
    assert "No continuation of this state" in call("answer", "search", "?property=mutual_exclusion")["text"]


def test_the_counter_repairs_the_stack(call):
    text = (ROOT / "specs" / "examples" / "aba_stack.py").read_text()
    call("open", "aba_stack", text, "")
    result = explored(call)
    assert result["sentences"] == ["top_is_not_popped: n2 is on top of the stack, but a process has popped it"]
    call("open", "aba_stack", text, "aba_stack/counted_stack/counter_beside_the_top")
    assert explored(call)["verdict"] == "holds"


def test_a_run_that_reaches_the_bound_decides_nothing(call):
    call("open", "peterson", PETERSON.read_text(), "")
    result = explored(call, most=5)
    assert result["verdict"] == "incomplete" and "stopped before the answer" in result["text"]
    assert "the limit on states was reached" in result["details"]


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ("self.acknowledged += 1", "self.acknowleged += 1", 20, "acknowleged"),
        ("def send(self):", "def send(self:", 13, "this is not Python"),
        ("log = Seq(Range(0, 1), 3)", "log = Seq(Range(1, 0), 3)", 9, "Range"),
        ("class Retry(Spec):", "class Retry:", 0, "defines no spec"),
    ],
)
def test_a_wrong_spec_names_its_line(call, old, new, line, text):
    assert old in RETRY.read_text()
    opened = call("open", "retry", RETRY.read_text().replace(old, new), "")
    (error,) = opened["errors"] if "errors" in opened else explored(call)["errors"]
    assert error["line"] == line and text in error["text"]


def test_a_changed_spec_is_read_again(call):
    call("open", "retry", RETRY.read_text(), "")
    assert explored(call)["verdict"] == "violated"
    # As long as before.
    call("open", "retry", RETRY.read_text().replace("== 1 for", "<= 3 for"), "")
    assert explored(call)["verdict"] == "holds"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (AssertionError("x\ny"), "internal error: AssertionError: x. This is a mistake of Tidemark, not a verdict"),
        (MemoryError(), "out of memory: use smaller constants, or fewer states"),
    ],
)
def test_an_internal_error_names_no_file_of_the_browser(call, monkeypatch, error, says):
    def explore(spec, plan):
        raise error

    monkeypatch.setattr("checker.playground.session.explore", explore)
    call("open", "retry", RETRY.read_text(), "")
    (shown,) = explored(call)["errors"]
    assert shown["line"] == 0 and shown["text"].startswith(says)
    assert "tidemark-error" not in shown["text"] and "--" not in shown["text"]
    assert "address of this page" in shown["text"] or isinstance(error, MemoryError)


def test_random_steps_lead_to_a_page_with_its_address(call):
    call("open", "retry", RETRY.read_text(), "")
    answer = call("answer", "random", "?n=1&seed=1")
    assert answer["query"] == "?s=send" and 'data-address="?s=send"' in answer["text"]
    assert "retry" in call("answer", "export", "?s=send&format=json")["file"]


def test_the_archive_suffices_without_packages_and_without_posix(tmp_path):
    write_playground(tmp_path, {}, [RETRY])
    program = f"""
import sys, zipfile
sys.modules["resource"] = None
zipfile.ZipFile({str(tmp_path / "playground" / "checker.zip")!r}).extractall("archive")
sys.path.insert(0, "archive")
from checker.playground.session import Playground
playground = Playground()
playground.call("open", "kip101", open({str(ROOT / "specs" / "replication" / "kip101.py")!r}).read(), "")
print(playground.call("explore", 20_000, lambda states, seconds: None))
print(playground.call("answer", "search", "?property=log_matching&states=5")[:20])
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    explored_result, searched = done.stdout.splitlines()
    assert json.loads(explored_result)["text"] == "kip101/kip101/two_replicas: every property holds, as expected"
    assert "errors" not in searched


def test_two_archives_are_equal(tmp_path):
    for name in ("one", "other"):
        write_playground(tmp_path / name, {"pyodide.mjs": b""}, [RETRY])
    one, other = (tmp_path / name / "playground" / "checker.zip" for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()


def test_without_npm_there_is_no_pyodide(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match="npm is not installed"):
        pyodide_package.pyodide_files(tmp_path)


@pytest.mark.parametrize(
    ("script", "message"), [("exit 1", "cannot download"), ('echo other > "$4/pyodide-314.0.7.tgz"', "the digest")]
)
def test_a_package_that_is_missing_or_another_one_is_not_used(tmp_path, monkeypatch, script, message):
    npm = tmp_path / "npm"
    npm.write_text(f"#!/bin/sh\n{script}\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    (tmp_path / "pyodide-314.0.7.tgz").write_bytes(b"cut")
    with pytest.raises(MissingExtraError, match=message):
        pyodide_package.pyodide_files(tmp_path)
