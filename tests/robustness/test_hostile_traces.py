"""Trace files that were edited: what they say is checked or computed again, and refused in one sentence."""

import json
from pathlib import Path

import pytest

from checker.cli.app import main

TESTS = Path(__file__).parent.parent
DEEP = 5000


def edit(**changes):
    return lambda content: content.update(changes)


def nested(depth):
    value = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The texts of a trace to an invariant, to a value that leaves its bounds, and of a lasso."""
    folder = tmp_path_factory.mktemp("traces")
    for name, file in (("log", "toy.py"), ("overflow", "toy.py"), ("sending/starved", "lasso_toy.py")):
        words = ["run", f"{TESTS / file}/{name}", "--engine", "python", "--keep-going", "--out", str(folder)]
        assert main(words) in (0, 1)
    return {
        "invariant": (folder / "toy-log-two_leaders-logs_agree.json").read_text(),
        "bounds": (folder / "toy-overflow-overflows-increment.json").read_text(),
        "lasso": (folder / "lasso_toy-sending-starved-is_done.json").read_text(),
    }


@pytest.fixture
def shown(written, tmp_path, capsys):
    """Show an edited trace, and return the exit status and what was printed."""

    def show(which, text, *options):
        path = tmp_path / "trace.json"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        spec = TESTS / ("lasso_toy.py" if which == "lasso" else "toy.py")
        capsys.readouterr()
        status = main(["show", str(path), "--spec", str(spec), *options])
        return status, capsys.readouterr()

    return show


@pytest.mark.parametrize(
    ("which", "change", "says"),
    [
        ("invariant", edit(kind="step_invariant"), "logs_agree is violated as invariant, not as step_invariant"),
        ("invariant", edit(kind="deadlock"), "logs_agree is violated as invariant, not as deadlock"),
        ("invariant", edit(kind="liveness"), "loop_start is missing"),
        ("invariant", edit(kind="walk"), "it does not say how its walk ended"),
        ("invariant", edit(kind="explanation"), "it does not say which part of a log it explains"),
        ("invariant", edit(kind="bounds_error"), "logs_agree is not violated at its end"),
        ("invariant", edit(kind="worse"), "kind must be one of"),
        ("invariant", edit(property="write"), "write is not a property of the spec"),
        ("invariant", edit(property="log"), "log is not a property of the spec"),
        ("invariant", edit(property="__init__"), "__init__ is not a property of the spec"),
        ("invariant", edit(spec="toy/counter"), "it is a trace of toy/counter, and its target is"),
        ("invariant", edit(spec=7), "spec must be a string"),
        ("invariant", edit(scenario="quiet"), "toy/log has no scenario quiet"),
        ("invariant", edit(scenario=["a"]), "scenario must be a string or null"),
        ("invariant", edit(length=99), "its length is 99, and the counterexample has 5 states"),
        ("invariant", edit(length=10**30), "length must be at most 9223372036854775807"),
        ("invariant", edit(command="rm -rf ~"), "command is not a command of this program"),
        ("invariant", edit(command="python -m checker run x; rm -rf ~"), "command is not a command of this program"),
        ("invariant", edit(command="python -m checker run $(touch x)"), "command is not a command of this program"),
        ("invariant", edit(command="python -m checker run 'x"), "command is not a command of this program"),
        ("invariant", edit(source_fingerprint="short"), "source_fingerprint must match"),
        ("invariant", edit(more=1), 'it has the unknown key "more"'),
        ("invariant", edit(constants=[]), "constants must be an object"),
        ("invariant", edit(constants={"replicas": None}), "constants.replicas must be a boolean or an integer or"),
        ("invariant", edit(constants={"replicas": 10**15}), "at most 65536 members"),
        ("invariant", edit(constants={"self": 1}), "log has no constant self"),
        ("invariant", edit(failed_action={"action": "write"}), "failed_action has no arguments"),
        ("invariant", edit(failed_action={"action": "write", "arguments": {}}), "is for a bounds_error only"),
        ("invariant", edit(steps={}), "steps must be an array"),
        ("invariant", edit(steps=[]), "it has no steps"),
        ("invariant", lambda content: content["steps"][1].update(arguments=7), "steps[1].arguments must be an object"),
        ("invariant", lambda content: content["steps"][1].update(state=7), "steps[1].state must be an object"),
        ("invariant", lambda content: content["steps"][1].update(action=None), "step 2 has no action"),
        ("invariant", lambda content: content["steps"][0].update(action="write"), "step 1 has an action"),
        ("invariant", lambda content: content["steps"][1]["state"].update(log=7), "log cannot be read"),
        ("invariant", lambda content: content["steps"][1]["state"].update(isr=[[]]), "isr cannot be read"),
        ("invariant", lambda content: content["steps"][1]["state"].update(isr={"b1": 1}), "isr cannot be read"),
        ("invariant", lambda content: content["steps"][1]["state"]["head"].update(epoch=10**400), "at most"),
        ("invariant", lambda content: content["steps"][1]["state"]["head"].update(epoch=1.0), "must be null or"),
        ("invariant", lambda content: content["steps"][1]["state"].update(log=nested(99)), "within each other"),
        ("invariant", lambda content: content["steps"][1]["state"].update(log="\ud800"), "is not Unicode text"),
        ("bounds", edit(kind="invariant", failed_action=None), "is not a property of the spec"),
        ("bounds", edit(property="is_two"), "the failed action is"),
        ("bounds", edit(failed_action=None), "is not a property or constraint of the spec"),
        ("lasso", edit(kind="bounds_error"), "loop_start is for lassos only"),
        ("lasso", edit(loop_start=10**30), "loop_start must be at most 9223372036854775807"),
        ("lasso", edit(fair={"deliver": {"strength": "weak", "for_each": [1]}}), "for_each[0] must be a string"),
        ("lasso", edit(length=4), "its length is 4, and the counterexample has 3 states"),
    ],
)
def test_an_edited_trace_is_refused(written, shown, which, change, says):
    content = json.loads(written[which])
    change(content)
    status, printed = shown(which, json.dumps(content))
    assert (status, printed.out) == (2, ""), printed
    assert says in printed.err
    assert printed.err.count("\n") == 1 and len(printed.err) < 600


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * DEEP + "]" * DEEP, "within each other|nested too deeply"),
        ("[" * 10**6, "nested too deeply|not a complete trace file"),
        ('{"format": "tidemark-trace", "version": 1e999}', "is too large"),
        ('{"format": "tidemark-trace", "version": NaN}', "NaN is not a JSON number"),
        ('{"format": "tidemark-trace", "version": ' + "1" * 5000 + "}", "integer string conversion"),
        ('{"format": x, "steps": [{}, ' + "1" * 5000 + "]}", "not valid JSON in the middle of step 2"),
        ('{"format": "tidemark-trace", "version": 1, "version": 2}', "has the key 'version' twice"),
        ('{"format": "tidemark-trace", "version": "\\ud800"}', "is not Unicode text"),
        ('{"format": "tidemark-trace", "version": "\ud800"}', "not text in UTF-8, see byte 41"),
        ('{"format": "tidemark-trace", "version": [1]}', "has version [1] of the trace format"),
        ("", "not a complete trace file"),
        ("null", "is not a trace"),
    ],
)
def test_a_text_that_is_no_trace_is_refused(shown, text, says):
    status, printed = shown("invariant", text)
    assert (status, printed.out) == (2, "")
    assert any(part in printed.err for part in says.split("|")), printed.err
    assert printed.err.count("\n") == 1 and len(printed.err) < 600


def test_a_file_without_end_is_refused(capsys):
    assert main(["show", "/dev/zero"]) == 2
    said = "the trace /dev/zero cannot be read: it is a device or a pipe, not a regular file"
    assert capsys.readouterr().err == f"error: {said}\n"


@pytest.mark.parametrize("which", ["invariant", "bounds", "lasso"])
def test_the_explanation_is_computed_again(written, shown, which):
    content = json.loads(written[which])
    edited = json.dumps(content | {"explanation": "all is well", "tidemark": "9.9"})
    status, printed = shown(which, edited)
    assert (status, printed.err) == (0, "")
    assert "all is well" not in printed.out
    assert content["explanation"].splitlines()[0] in printed.out
    again = json.loads(shown(which, edited, "--format", "json")[1].out)
    assert again | {"tidemark": ""} == content | {"tidemark": "", "target": again["target"]}
