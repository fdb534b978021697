"""Fixtures that call the command line in this process and return its exit status and output."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from checker.cli.app import main

TOY = str(Path(__file__).parent.parent / "toy.py")


@dataclass
class Outcome:
    status: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def usual_environment(monkeypatch):
    """Remove the variables of a GitHub runner and of a terminal, so that tests behave the same there.

    The folders of specs that `witness_check` puts into `sys.path` leave it: the environment of a process has a limit.
    """
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)


@pytest.fixture
def checker(capsys):
    def call(*arguments):
        status = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Outcome(status, printed.out, printed.err)

    return call


@pytest.fixture
def run(checker):
    """Call `run` with the python engine on a spec of tests/toy.py, or on all of them for an empty name."""
    return lambda name, *arguments: checker("run", f"{TOY}/{name}", "--engine", "python", *arguments)


@pytest.fixture
def damaged(trace):
    """Return a function that writes the `trace` of a test module with a change, and returns the path."""

    def write(change):
        content = json.loads(trace.read_text())
        change(content)
        path = trace.with_name("damaged.json")
        path.write_text(json.dumps(content))
        return path

    return write


@pytest.fixture
def refuse_damaged(checker, damaged):
    """Return a function that checks that `show` refuses a `damaged` trace in one sentence, in each format."""

    def check(change, spec, sentence):
        path = damaged(change)
        for format in ("text", "html"):
            outcome = checker("show", path, "--spec", spec, "--format", format)
            assert (outcome.status, outcome.out) == (2, "")
            assert sentence in outcome.err
            assert outcome.err.count("\n") == 1

    return check
