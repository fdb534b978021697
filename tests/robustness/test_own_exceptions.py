"""An exception of a mapping's code is an error with its place: never a traceback, never a success.

test_spec_endings.py has those of a spec's code.
"""

from pathlib import Path

import pytest

from checker.cli.app import main

TOY = Path(__file__).parent.parent / "toy.py"

RAISED = ["sys.exit(0)", "sys.exit('bye')", "raise GeneratorExit", "1 / 0", "raise ValueError('x')", "self_call()"]

MAPPING = """
import sys

from traces.validate import Mapping, PossibleStep, event


def self_call():
    self_call()


class Mine(Mapping):
    def __init__(self):
        {init}

    def constants(self, events):
        {constants}

    @event("up")
    def up(self, found):
        {up}
"""


def run(capsys, *words):
    status = main([str(word) for word in words])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err + printed.out
    return status, printed.err


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("place", ["init", "constants", "up"])
def test_an_exception_of_a_mapping(tmp_path, capsys, place, raised):
    usual = {"init": "pass", "constants": "return {}", "up": 'return PossibleStep("increment")'}
    mapping, log = tmp_path / "mapping.py", tmp_path / "log.jsonl"
    mapping.write_text(MAPPING.format(**usual | {place: raised}))
    log.write_text('{"event": "up"}\n')
    status, err = run(capsys, "validate", f"{TOY}/counter", log, "--mapping", mapping)
    assert status == 2
    assert f"{mapping}:" in err or "RecursionError" in err
    mapping.write_text(f"import sys\nself_call = None\n{raised}\n" if raised != "self_call()" else "import nothing\n")
    status, err = run(capsys, "validate", f"{TOY}/counter", log, "--mapping", mapping)
    assert status == 2 and err.startswith("error: ")


@pytest.mark.parametrize("command", [["list"], ["mutate"], ["simulate", "--traces", "9"]], ids=" ".join)
def test_a_spec_that_exits_while_it_is_loaded(tmp_path, capsys, command):
    spec = tmp_path / "mine.py"
    spec.write_text("import sys\nsys.exit(0)\n")
    status, err = run(capsys, *command, spec)
    assert (status, err) == (2, f"error: {spec}:2:1: SystemExit: 0\n    sys.exit(0)\n    ^^^^^^^^^^^\n")
