"""The command `explore`: what it serves, what it refuses, and how it ends."""

import builtins
import json
import socket
import webbrowser

import pytest

from checker.execution import explore_spec
from checker.explorer.address import Address
from tests.cli.conftest import TOY

STEM = "toy-log-two_leaders-logs_agree"


@pytest.fixture
def served(monkeypatch):
    """Serve nothing; return the sessions that the command would serve, with their options."""
    found = []
    monkeypatch.setattr(explore_spec, "serve", lambda session, **options: found.append((session, options)))
    return found


def test_a_scenario(checker, served):
    assert checker("explore", "replication/kip101/fast_elections", "--no-browser", "--port", "0").status == 0
    ((session, options),) = served
    (variant,) = session.variants
    assert variant.name == "replication/kip101/fast_elections"
    assert (variant.constants["max_records"], variant.checks("weak_isr"), variant.checks("deadlock")) == (
        3,
        True,
        False,
    )
    assert (options["port"], options["opens_browser"]) == (0, False)
    assert session.start == Address()


def test_constants_and_a_second_variant(checker, served):
    outcome = checker("explore", "replication/kip101", "--set", "replicas=2", "--against", "replication/kip279")
    assert (outcome.status, outcome.err) == (0, "")
    ((session, options),) = served
    assert [variant.constants for variant in session.variants] == [{"replicas": 2}, {"replicas": 2}]
    assert options["opens_browser"]


def test_from_a_trace(checker, run, served, tmp_path):
    run("log", "--out", tmp_path)
    trace = tmp_path / f"{STEM}.json"
    # A data file never chooses the code that runs.
    refused = checker("explore", "--from", trace)
    assert refused.status == 2 and "is not loaded because only the data names it" in refused.err and served == []
    assert checker("explore", "--from", trace, "--spec", TOY).status == 0
    ((session, _),) = served
    steps = json.loads(trace.read_text())["steps"]
    place = session.place(session.start)
    assert place.panes[0].state.to_dict() == steps[-1]["state"]
    assert [step.action for step in place.panes[0].steps] == [step["action"] for step in steps]
    assert [step.outcome for step in place.panes[0].steps] == ["taken"] * len(steps)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name a spec or a trace: python -m checker explore SPEC, or explore --from TRACE"),
        (["nothing/here"], "unknown spec family nothing"),
        (["replication"], "replication has several specs; name one of"),
        (["replication/kip101", "--set", "replicas=0"], "constant replicas must be at least"),
        (["replication/kip101", "--set", "x=0"], "kip101 has no constant x"),
        (["replication/kip101", "--against", "replication/nothing"], "replication has no spec nothing"),
        (["replication/kip101", "--from", "x.json"], "leave out SPEC and --set"),
        (["replication/kip101", "--spec", "x.py"], "--spec belongs to --from"),
        (["--from", "/nowhere/x.json"], "the trace /nowhere/x.json cannot be read"),
        (["replication/kip101", "--port", "70000"], "--port"),
    ],
)
def test_wrong_command_lines(checker, served, words, says):
    outcome = checker("explore", *words)
    assert outcome.status == 2 and says in outcome.err and outcome.out == "" and served == []


def test_a_port_that_is_in_use(checker):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        outcome = checker("explore", "examples/peterson", "--no-browser", "--port", port)
    assert (outcome.status, outcome.out) == (2, "")
    assert f"port {port} cannot be used: Address already in use; leave out --port for a free one" in outcome.err


def test_without_the_extra(checker, monkeypatch):
    real = builtins.__import__

    def without_uvicorn(name, *arguments, **named):
        if name == "uvicorn":
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without_uvicorn)
    outcome = checker("explore", "examples/peterson")
    assert (outcome.status, outcome.out) == (2, "")
    assert "the explorer needs Starlette and uvicorn: pip install 'tidemark[explore]'" in outcome.err


def test_the_browser_is_opened_and_its_failure_is_ignored(monkeypatch):
    from checker.explorer import serving

    opened = []

    def broken(address):
        opened.append(address)
        raise webbrowser.Error("no browser")

    monkeypatch.setattr(webbrowser, "open", broken)
    serving._open("http://127.0.0.1:1/token/")
    assert opened == ["http://127.0.0.1:1/token/"]
