"""Wrong input is reported in one sentence with exit status 2, by every engine."""

import os
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace

import pytest

from checker.errors import InternalError, SpecError, SpecErrors
from checker.execution import run_specs
from tests.cli.conftest import TOY

ROOT = Path(__file__).parent.parent.parent
ENGINES = pytest.mark.parametrize("engine", ["native", "python"])

HEAD = "from checker.language import Constant, Domain, Range, Scenario, Seq, SetOf, Spec, action, invariant, require\n"

GO = "    @action\n    def go(self): self.x += 0\n"


def spec_text(action="self.x += 0", more="", invariant="self.x >= 0"):
    """Return a spec whose action begins in line 11 and whose invariant is in line 15."""
    return (
        f'{HEAD}\n\nclass Mine(Spec):\n    """One number."""\n\n    x = Range(0, 3)\n{more}\n'
        f"    @action\n    def go(self):\n        {action}\n\n"
        f"    @invariant\n    def positive(self):\n        return {invariant}\n"
    )


@pytest.fixture
def run_text(checker, tmp_path):
    """Write a spec and run it, and return the outcome."""

    def call(text, *arguments):
        (tmp_path / "mine.py").write_text(text)
        return checker("run", tmp_path / "mine.py", *arguments)

    return call


def is_reported_in_one_sentence(outcome, says):
    assert outcome.status == 2, outcome
    assert outcome.err.startswith("error: ")
    assert says in outcome.err
    assert "Traceback" not in outcome.err
    # The line of the spec that the sentence is about may follow it, with carets below the wrong part.
    assert len(outcome.err.splitlines()) <= 3
    assert outcome.out == ""


@ENGINES
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "unknown spec family nowhere: choose from "),
        (["replicatoin/kip320"], "unknown spec family replicatoin: did you mean replication?"),
        (["replication/kip230"], "replication has no spec kip230: did you mean kip320?"),
        (["replication/kip101", "--set", "replicas=99"], "--set replicas=99 is too large: "),
        (["nowhere.py"], "the file nowhere.py"),
        ([f"{TOY}/conter"], "toy has no spec conter: did you mean counter?"),
        ([f"{TOY}/log/two_leader"], "toy/log has no scenario two_leader: did you mean two_leaders?"),
        ([f"{TOY}/log", "--property", "log_agree"], "unknown property log_agree: did you mean logs_agree?"),
        ([f"{TOY}/log", "--set", "replica=2"], "log has no constant replica: did you mean replicas?"),
        ([f"{TOY}/log", "--set", "replicas"], "write NAME=VALUE"),
        ([f"{TOY}/log", "--set", "replicas=two"], "constant replicas must be an integer"),
        ([f"{TOY}/log", "--set", "replicas=0"], "constant replicas must be at least 1, not 0"),
        ([f"{TOY}/counter", "--set", "limit=10"], "constant limit must be at most 9, not 10"),
        ([f"{TOY}/counter", "--set", "resets=maybe"], "constant resets must be"),
        (["--set", "replicas=2"], "--set needs a spec"),
        ([TOY, "--json", "/dev/null/x.json"], "the file /dev/null/x.json cannot be written"),
        ([TOY, "--junit", "/dev/null/x.xml"], "the file /dev/null/x.xml cannot be written"),
        ([TOY, "--sarif", "/dev/null/x.sarif"], "the file /dev/null/x.sarif cannot be written"),
        ([TOY, "--html", "/dev/null/x"], "the folder /dev/null/x cannot be written"),
        ([TOY, "--out", "/dev/null/x"], "the folder /dev/null/x cannot be written"),
        ([TOY, "--workers", "0"], "--workers"),
        ([TOY, "--workers", "1025"], "is not in the range 1<=x<=1024"),
        ([TOY, "--max-states", "few"], "--max-states"),
        ([TOY, "--nonsense"], "--nonsense"),
    ],
)
def test_the_command_line(checker, engine, arguments, says):
    is_reported_in_one_sentence(checker("run", *arguments, "--engine", engine), says)


def test_an_unknown_engine(checker):
    is_reported_in_one_sentence(checker("run", TOY, "--engine", "steam"), "--engine")


@ENGINES
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("class A(Spec:\n", "mine.py:1:"),
        ("x = 1 / 0\n", "mine.py:1:5: ZeroDivisionError"),
        ("import nothing_of_this_name\n", "mine.py:1:1: ModuleNotFoundError"),
        ("x = 1\n", "mine.py defines no spec"),
        (HEAD + "class A(Spec):\n    x = Range(0, 'k')\n" + GO, "k"),
        (HEAD + "class A(Spec):\n    x = Range(3, 0)\n" + GO, "A.x"),
        (
            HEAD + "class A(Spec):\n    x = Range(0, 3)\n" + GO + "\nscenarios = [1]\n",
            "scenarios must be a list of Scenario",
        ),
        (
            HEAD + "class A(Spec):\n    x = Range(0, 3)\n" + GO + "\nscenarios = [Scenario(A, 's', expect={'p': 1})]\n",
            "names p, which is not a property",
        ),
        *[
            (
                f"{HEAD}class A(Spec):\n    x = Range(0, 3)\n{GO}\nscenarios = [Scenario(A, 's', {names})]\n",
                "names go, which is not a property",
            )
            for names in ("properties=['go']", "expect={'go': 1}")
        ],
        (
            HEAD + "class A(Spec):\n    x = Range(0, 3)\n" + GO + "\nscenarios = [Scenario(A, 's', {'k': 1})]\n",
            "a has no constant k",
        ),
    ],
)
def test_a_wrong_spec_file(run_text, engine, text, says):
    is_reported_in_one_sentence(run_text(text, "--engine", engine), says)


@ENGINES
def test_an_action_that_writes_outside_the_state(run_text, engine):
    is_reported_in_one_sentence(run_text(spec_text("self.y = 1"), "--engine", engine), "mine.py:11:")


@ENGINES
def test_an_action_whose_parameter_has_no_type(run_text, engine):
    text = spec_text(more="\n    @action\n    def come(self, who):\n        self.x = 1\n")
    is_reported_in_one_sentence(run_text(text, "--engine", engine), "mine.py:10:20: parameter who needs a type")


UNSUPPORTED = [
    ("while self.x < 3: self.x += 1", "mine.py:11:"),
    ("self.x = [1, 2, 3][-1]", "mine.py:11:"),
    ("print(self.x)", "mine.py:11:"),
    ("self.x = open('x')", "mine.py:11:"),
    ("self.x = (lambda: 1)()", "mine.py:11:"),
    ("self.x = self.x / 2", "mine.py:11:"),
    ("a, b = self.x", "mine.py:11:"),
    ("import os", "mine.py:11:"),
    ("try: self.x = 1\n        finally: pass", "mine.py:11:"),
    ("global y", "mine.py:11:"),
    ("self.x = 1.5", "mine.py:11:"),
]


@pytest.mark.parametrize(("action", "says"), UNSUPPORTED)
def test_a_construct_outside_the_language(run_text, action, says):
    is_reported_in_one_sentence(run_text(spec_text(action)), says)


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ("self.x = 'one'", "mine.py:11:"),
        ("self.x = True", "mine.py:11:"),
        ("self.x.append(1)", "mine.py:11:"),
        ("self.x = len(self.x)", "mine.py:11:"),
        ("self.x = self.x + None", "mine.py:11:"),
        ("require(self.x)", "mine.py:11:"),
        ("self.x = nothing", "mine.py:11:"),
        ("self.positive(1)", "mine.py:11:"),
    ],
)
def test_a_type_error_in_an_action(run_text, action, says):
    is_reported_in_one_sentence(run_text(spec_text(action)), says)


def test_a_type_error_in_a_property(run_text):
    is_reported_in_one_sentence(run_text(spec_text(invariant="self.x + {1}")), "mine.py:15:")


@ENGINES
def test_a_range_that_overflows_is_an_error_with_its_trace(run_text, engine):
    outcome = run_text(spec_text("self.x += 1"), "--engine", engine)
    assert (outcome.status, outcome.err) == (1, "")
    assert "mine/mine  error" in outcome.out
    assert "go leaves the bounds of a type: trace of 4 states" in outcome.out
    assert "go() cannot be executed: x: 4 is outside Range 0..3, at mine.py:11: self.x += 1" in outcome.out
    assert "x  2  ->  3" in outcome.out


@ENGINES
def test_an_initial_state_that_overflows_is_an_error(run_text, engine):
    text = spec_text(more="\n    def init(self):\n        self.x = 4\n")
    outcome = run_text(text, "--engine", engine)
    assert (outcome.status, outcome.err) == (1, "")
    assert "init cannot be executed: x: 4 is outside Range 0..3, at mine.py:10: self.x = 4" in outcome.out


@ENGINES
def test_an_index_past_the_end_in_a_property_is_an_error_with_its_trace(run_text, engine):
    text = spec_text("self.x = 1", "    log = Seq(Range(0, 3), 2)\n", "self.x == 0 or self.log[self.x] == 0")
    outcome = run_text(text, "--engine", engine)
    assert (outcome.status, outcome.err) == (1, "")
    assert "positive cannot be evaluated: index 1 is outside a sequence of 0 items, at mine.py:16" in outcome.out


@ENGINES
def test_a_users_spec_runs_in_any_folder(tmp_path, engine):
    (tmp_path / "mine.py").write_text(spec_text())
    command = [sys.executable, "-m", "checker", "run", "mine.py", "--engine", engine]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mine/mine  holds" in done.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_to_write(checker, tmp_path):
    tmp_path.chmod(0o500)
    is_reported_in_one_sentence(checker("run", TOY, "--out", tmp_path / "new"), "cannot be written")


@pytest.mark.parametrize("missing", ["pyarrow", "pyspark"])
@pytest.mark.parametrize(
    "command",
    [
        ["simulate", f"{TOY}/counter", "--out", "walks", "--partitions", "2"],
        ["report", "walks", "--master", "local[1]"],
        ["traces", "replay", "walks", "--walk", "0"],
        ["run", f"{TOY}/counter", "--engine", "spark"],
    ],
    ids=lambda command: command[0],
)
def test_without_the_extra_spark(checker, monkeypatch, tmp_path, command, missing):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, missing, None)
    is_reported_in_one_sentence(checker(*command), f"{missing}, which is not installed: pip install 'tidemark[spark]'")
    assert not list(tmp_path.iterdir())


def test_too_many_walks(checker):
    is_reported_in_one_sentence(checker("simulate", TOY, "--out", "walks", "--traces", f"{10**22}"), "--traces")


def test_an_interrupt_has_a_separate_exit_status(checker, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("spark_analysis.commands.simulate_walks.execute_simulation", interrupted)
    outcome = checker("simulate", TOY, "--out", "walks")
    assert (outcome.status, outcome.out, outcome.err.strip()) == (3, "", "interrupted")


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (ZeroDivisionError("none"), 70, "internal error: ZeroDivisionError: none. This is a mistake of Tidemark"),
        (InternalError("the engines disagree"), 70, "internal error: InternalError: the engines disagree"),
        (AssertionError(), 70, "internal error: AssertionError"),
        (MemoryError(), 3, "error: out of memory: use smaller constants"),
        (BrokenProcessPool(), 3, "error: the command: a worker process ended"),
        (RecursionError(), 2, "error: an expression or a value is nested too deeply"),
        (SystemExit(1), 2, "error: a spec or mapping ended the program with SystemExit"),
        (SystemExit(0), 2, "error: a spec or mapping ended the program with SystemExit"),
        (KeyboardInterrupt(), 3, "interrupted"),
        (OSError(28, "No space left on device", "out.json"), 2, "error: out.json: No space left on device"),
    ],
)
def test_a_crash_never_looks_like_a_verdict(checker, monkeypatch, tmp_path, error, status, says):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("checker.execution.run_specs.runs_for", fail)
    outcome = checker("run", "examples")
    assert outcome.status == status
    assert says in outcome.err
    assert "Traceback" not in outcome.err
    reports = list(tmp_path.iterdir())
    assert len(reports) == (status == 70)
    for report in reports:
        assert str(report) in outcome.err
        assert "Traceback" in report.read_text() and type(error).__name__ in report.read_text()


def test_several_errors_without_a_place_name_the_run():
    def explore(spec, plan):
        raise SpecErrors([SpecError("one"), SpecError("two", file="spec.py", line=3)])

    error = run_specs._explore(SimpleNamespace(name="family/spec", spec=None, properties=()), None, explore)
    assert str(error) == "family/spec: one\nspec.py:3: two"
