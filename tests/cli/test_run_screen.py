"""The screen of `run`: what is printed, what comes last, and that 80 columns suffice."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from checker.cli.app import main
from checker.output.family_screen import ScenarioCount
from checker.run.registry import load_file
from tests.cli.conftest import TOY

ROOT = Path(__file__).parent.parent.parent

SEVERAL_PROPERTIES = '''
from checker.language import Range, Scenario, Spec, action, invariant

class Number(Spec):
    """A number that grows."""

    value = Range(0, 9)

    @action
    def add(self, amount: Range(1, 2)):
        self.value = min(self.value + amount, 9)

    @invariant(says="the value is {self.value}")
    def below_four(self):
        return self.value < 4

    @invariant(says="the value is {self.value}, not below four")
    def less_than_four(self):
        return self.value < 4

    @invariant
    def below_seven(self):
        return self.value < 7

scenarios = [
    Scenario(Number, "of_two", expect={"below_four": 3, "less_than_four": 3}),
    Scenario(Number, "of_three", expect={"below_four": 3, "less_than_four": 3, "below_seven": 5}),
]
'''


@pytest.fixture
def number(tmp_path):
    path = tmp_path / "number.py"
    path.write_text(SEVERAL_PROPERTIES)
    return path


def last_line(outcome):
    """Return the last line, without its time."""
    return re.sub(r"\d+\.\d s", "T", outcome.out.splitlines()[-1])


@pytest.mark.parametrize(
    ("name", "options", "verdict"),
    [
        ("", [], "4 runs in T: 1 holds, 2 violated, 1 out of bounds; all as expected"),
        ("log", [], "toy/log/two_leaders: logs_agree is violated, as expected (T)"),
        ("log", ["--set", "replicas=1"], "toy/log: every property holds (T)"),
        ("overflow", [], "toy/overflow/overflows: a value leaves the bounds of its type, as expected (T)"),
        ("counter/reaches_limit", ["--max-states", "2"], "toy/counter/reaches_limit: stopped before the answer (T)"),
        ("counter/reaches_limit", ["--set", "limit=3"], "toy/counter/reaches_limit: below_limit is violated (T)"),
    ],
)
def test_the_verdict_is_the_last_line(run, name, options, verdict):
    assert last_line(run(name, *options)) == verdict


def test_an_unexpected_result_is_the_verdict(checker, number):
    number.write_text(SEVERAL_PROPERTIES.replace('"below_four": 3', '"below_four": 4'))
    outcome = checker("run", f"{number}/number/of_two", "--engine", "python")
    names = "below_four, less_than_four are violated"
    assert last_line(outcome) == f"number/number/of_two: {names}, not as expected (T)"
    assert last_line(checker("run", number, "--engine", "python")).endswith("2 violated; 2 not as expected")


def test_one_run_shows_the_steps_of_its_first_counterexample_once(checker, number):
    outcome = checker("run", f"{number}/number/of_three", "--engine", "python")
    lines = outcome.out.splitlines()
    assert lines.count("  1  initial state") == 1
    assert "  2  add(amount=2)" in lines
    start = lines.index("number/number/of_three")
    assert lines[start + 1] == "below_four is violated, as expected: counterexample of 3 states"
    assert "less_than_four is violated, as expected: counterexample of 3 states" in lines[start:]
    assert "below_seven is violated, as expected" in lines
    assert "  of_three, 5 states: self.value < 7 is false: 7 is not < 7" in lines


def test_a_property_without_steps_does_not_hide_those_of_another(checker, number):
    text = SEVERAL_PROPERTIES.partition("scenarios")[0]
    text += "    @reachable\n    def is_twenty(self):\n        return self.value == 20\n"
    number.write_text(text.replace("action, invariant", "action, invariant, reachable"))
    out = checker("run", number, "--engine", "python", "--keep-going").out
    assert "is_twenty is never reached\n  number/number: it is false in all 10 reachable states\n" in out
    assert out.count("  1  initial state") == 1 and "  2  add(amount=2)\n" in out


def test_a_violation_without_an_expectation_is_not_as_expected(checker, number, tmp_path):
    other = tmp_path / "other.py"
    other.write_text(SEVERAL_PROPERTIES.partition("scenarios")[0])
    outcome = checker("run", number, other, "--engine", "python")
    assert last_line(outcome) == "3 runs in T: 3 violated; 1 violated without an expectation"
    assert outcome.status == 1


def test_several_runs_show_a_finding_for_each_property(checker, number):
    out = checker("run", number, "--engine", "python").out
    assert "initial state" not in out
    assert "below_four is violated in 2 runs, as expected\n  of_two, 3 states: the value is 4\n" in out
    assert "below_seven is violated, as expected\n  of_three, 5 states: " in out
    assert "--trace shows the steps; --out DIR writes a page for each counterexample\n" in out


def test_trace_shows_the_steps_of_every_counterexample(checker, number):
    out = checker("run", number, "--engine", "python", "--trace").out
    # Two properties of each run are violated by the same steps.
    assert out.count("  1  initial state") == 3
    assert "--trace" not in out


DRAWN = """
from checker.language import Drawing, Event, Lane, Range, Spec, action, invariant


class Lamp(Spec):
    lit = Range(0, 2)
    draws = Drawing(Lane("lamp", facts={"lit": "lit"}), events=(Event("light", "Lamp {lit + 1} is lit"),))

    @action
    def light(self):
        self.lit += 1

    @action
    def smash(self):
        self.lit = 0

    @invariant(says="all lamps are lit")
    def is_dark(self):
        return self.lit < 2
"""


@pytest.fixture
def lamp(tmp_path):
    path = tmp_path / "lamp.py"
    path.write_text(DRAWN)
    return path


def test_the_steps_are_sentences_if_the_spec_declares_them(checker, lamp):
    out = checker("run", lamp, "--engine", "python").out
    assert (
        "is_dark is violated: counterexample of 3 states\n  all lamps are lit\n\n"
        "  1  The initial state.\n  2  Lamp 1 is lit.\n  3  Lamp 2 is lit.\n"
    ) in out
    assert "--trace=full shows the variables of each step\n" in out


@pytest.mark.parametrize("before", [True, False])
def test_an_option_without_its_value_takes_no_argument(checker, lamp, before):
    arguments = ("--trace", lamp) if before else (lamp, "--trace")
    assert "  2  Lamp 1 is lit." in checker("run", *arguments, "--engine", "python").out


def test_a_full_trace_shows_calls_and_variables(checker, lamp):
    out = checker("run", lamp, "--engine", "python", "--trace=full").out
    assert "  self.lit < 2 is false: 2 is not < 2\n" in out
    assert "  2  light()\n     lit  0  ->  1\n" in out
    assert "--trace=full" not in out
    outcome = checker("run", lamp, "--trace=long")
    assert outcome.status == 2
    assert "'long' is not one of 'sentences', 'full'" in outcome.err


def test_a_value_after_a_space_is_no_spec(checker, lamp):
    outcome = checker("run", lamp, "--trace", "full")
    assert outcome.status == 2
    assert "--trace full: the value of --trace follows a =: --trace=full" in outcome.err


def test_a_step_without_a_declared_sentence_shows_the_variables_of_all(checker, lamp):
    lamp.write_text(DRAWN.replace('Event("light"', 'Event("smash"'))
    out = checker("run", lamp, "--engine", "python").out
    assert "  2  light()\n     lit  0  ->  1\n" in out
    assert "--trace=full" not in out


def test_violations_of_several_specs_are_shown_if_they_are_unexpected(checker, number):
    out = checker("run", number, TOY, "--engine", "python").out
    assert "is violated" not in out
    number.write_text(SEVERAL_PROPERTIES.replace('"below_four": 3', '"below_four": 4', 1))
    out = checker("run", number, TOY, "--engine", "python").out
    assert "below_four is violated: counterexample of 3 states" in out
    assert "logs_agree is violated" not in out
    assert "logs_agree is violated" in checker("run", number, TOY, "--engine", "python", "--trace").out


def test_written_files_are_named(checker, number, tmp_path):
    out, junit, site = tmp_path / "out", tmp_path / "junit.xml", tmp_path / "site"
    outcome = checker("run", number, "--engine", "python", "--out", out, "--junit", junit, "--html", site)
    assert f"written: {out} (5 counterexamples), {junit}, {site / 'index.html'}\n" in outcome.out
    assert f"  page: {out / 'number-number-of_two-below_four.html'}\n" in outcome.out
    assert junit.exists() and (site / "index.html").exists()


def test_the_time_is_that_of_the_command(run, monkeypatch):
    clock = iter([100.0, 107.5])
    monkeypatch.setattr("checker.execution.run_specs.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    assert "4 runs in 7.5 s: " in run("").out


def test_an_expected_violation_has_no_alarm_colour(terminal, number):
    number.write_text(SEVERAL_PROPERTIES.replace(', "less_than_four": 3', "", 1))
    out = terminal("run", f"{number}/number/of_two", "--engine", "python")
    assert "\x1b[1mbelow_four is violated, as expected: " in out
    assert "\x1b[1;31mless_than_four is violated: " in out


@pytest.fixture
def terminal():
    """Run a command in a pseudo-terminal of 80 columns and return what it shows."""

    def run(*words, **variables):
        master, slave = os.openpty()
        subprocess.run(["stty", "cols", "80", "rows", "24"], stdin=slave, check=True)
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
        environment |= {"PYTHONPATH": str(ROOT), "TERM": "xterm", **variables}
        command = [sys.executable, "-m", "checker", *map(str, words)]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        read = b""
        # A pseudo-terminal ends with an error when its last writer has closed it.
        while True:
            try:
                part = os.read(master, 65_536)
            except OSError:
                break
            if not part:
                break
            read += part
        os.close(master)
        process.wait(timeout=60)
        return read.decode().replace("\r\n", "\n")

    return run


def test_a_spec_with_several_scenarios_fits_on_one_screen(terminal):
    out = terminal("run", "replication/kip101", NO_COLOR="1")
    # Progress that was redrawn is erased.
    lines = re.sub(r"[^\n]*\x1b\[2K|\x1b\[[0-9;?]*[A-Za-z]|\r", "", out).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("replication/kip101 ")
    assert lines[-1].endswith(": 1 holds, 4 violated; all as expected")
    assert sum("is violated in" in line for line in lines) == 3


class Terminal(io.StringIO):
    """Standard output, as a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def run_library(monkeypatch, tmp_path):
    """Return a function that runs a library of one family on a kind of standard output; it returns status and text."""
    monkeypatch.setattr("checker.run.registry.family_names", lambda: ["examples"])
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("CI", raising=False)

    def call(*options, stream=Terminal):
        monkeypatch.setattr(sys, "stdout", stream())
        # A run with a limit has no ledger.
        ledger = [] if "--max-states" in options else ["--ledger", str(tmp_path / "ledger.toml"), "--update-ledger"]
        status = main(["run", "--workers", "2", *ledger, *options])
        # Between the escapes, lines of progress are drawn and removed.
        return status, re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "\n", sys.stdout.getvalue())

    return call


def test_a_person_sees_a_line_for_each_family_of_the_library(run_library):
    status, printed = run_library()
    (row,) = re.findall(r"^examples +(\d+) scenarios +(\d+) hold +(\d+) show a violation", printed, re.MULTILINE)
    assert status == 0 and int(row[0]) == int(row[1]) + int(row[2]) >= 10
    assert "  ok" not in printed and "run NAME shows one\n" in printed
    assert printed.splitlines()[-1].endswith("all as expected")
    assert re.search(rf"^0 of {row[0]} scenarios\r$", printed, re.MULTILINE)


@pytest.mark.parametrize(
    ("seconds", "left"), [(None, ""), (0.0, ""), (40.2, ", about 40 s left"), (119.4, ", about 119 s left"),
        (120.0, ", about 2 min left"), (156.0, ", about 3 min left")],
)  # fmt: skip
def test_the_progress_of_the_library_says_what_its_time_is(seconds, left):
    task = SimpleNamespace(completed=412.0, total=867.0, time_remaining=seconds)
    assert ScenarioCount().render(task).plain == f"412 of 867 scenarios{left}"


@pytest.mark.parametrize("reason", ["--verbose", "CI", "no terminal"])
def test_others_see_a_row_for_each_scenario(reason, run_library, number, monkeypatch):
    monkeypatch.setattr("checker.run.registry.families", lambda: [load_file(number)])
    if reason == "CI":
        monkeypatch.setenv("CI", "true")
    options = [reason] if reason.startswith("--") else []
    _, printed = run_library(*options, stream=io.StringIO if reason == "no terminal" else Terminal)
    assert printed.count("  ok\n") == 2 and "scenarios" not in printed


def test_a_run_that_was_stopped_does_not_differ(run_library, number, monkeypatch):
    monkeypatch.setattr("checker.run.registry.families", lambda: [load_file(number)])
    status, printed = run_library("--max-states", "2")
    assert status == 3
    assert re.search(r"^number .* stopped", printed, re.MULTILINE)
    assert not re.search(r"^number .* differ", printed, re.MULTILINE)


def test_the_row_of_a_difference_is_shown(run_library, number, monkeypatch):
    number.write_text(number.read_text().replace('"below_seven": 5', '"below_seven": 6'))
    monkeypatch.setattr("checker.run.registry.families", lambda: [load_file(number)])
    status, printed = run_library()
    assert status == 1
    assert re.search(r"of_three +violated .* differs", printed) and not re.search(r"of_two +violated", printed)
    assert re.search(r"number +2 scenarios +1 show a violation +1 differ", printed)
