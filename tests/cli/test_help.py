"""Help texts: summaries fit on a line of 80 columns, and the choices come from the registries."""

import inspect
import subprocess
import sys
from pathlib import Path

import click
import pytest

from checker.cli import run
from checker.cli.app import app
from checker.cli.declaration import CommandGroup
from checker.output.formats import FORMATS
from checker.output.reports import REPORTS


def commands_of(group, *names):
    """Yield the words of every command below a group, in the order of its help text."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield [*names, name]
        if isinstance(command, click.Group):
            yield from commands_of(command, *names, name)


ROOT = Path(__file__).parent.parent.parent
COMMANDS = list(commands_of(app))


@pytest.fixture(autouse=True)
def narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def test_the_summary_of_every_command_is_complete(checker):
    outcome = checker("--help")
    assert outcome.status == 0
    summaries = [line for line in outcome.out.partition("Commands:\n")[2].splitlines() if line.strip()]
    assert [summary.split()[0] for summary in summaries] == [words[0] for words in COMMANDS if len(words) == 1]
    assert {"run", "prove", "advise", "record"} <= {words[0] for words in COMMANDS}
    assert all(summary.endswith(".") and not summary.endswith("...") for summary in summaries)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help(checker, command):
    outcome = checker(*command, "--help")
    assert (outcome.status, outcome.err) == (0, "")
    assert max(map(len, outcome.out.splitlines())) <= 80


@pytest.mark.parametrize("command", [["show"], ["traces", "replay"]], ids=" ".join)
def test_the_formats_are_those_of_the_registry(checker, command):
    assert f"<{'|'.join(FORMATS)}>" in checker(*command, "--help").out


def test_every_report_is_an_option_of_run():
    assert REPORTS.keys() <= inspect.signature(run.run).parameters.keys()


@pytest.mark.parametrize("group", [app, *(found for found in app.commands.values() if isinstance(found, CommandGroup))])
def test_a_summary_is_the_first_line_of_the_docstring(group):
    context = click.Context(group)
    found = {name: group.get_command(context, name).help.partition("\n")[0] for name in group.list_commands(context)}
    assert group.summaries() == found


def test_the_list_of_commands_imports_no_engine_and_no_spec():
    script = (
        "import sys; from checker.cli.app import main; main(['--help']);"
        "print(*(name for name in sys.modules if name.startswith(('checker.', 'specs.', 'llvmlite', 'numpy', 'rich'))),"
        "file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = (
        "checker.engines",
        "checker.execution",
        "checker.language",
        "llvmlite",
        "numpy",
        "rich",
        "specs.replication",
    )
    assert "checker.cli.app" in done.stderr.split()
    assert [name for name in done.stderr.split() if name.startswith(heavy)] == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rnu"], "No such command 'rnu'. Did you mean 'run'?; python -m checker --help lists the options"),
        (["traces"], "Missing command; python -m checker traces --help lists the options"),
        (["run", "--sett", "a=1"], "No such option"),
        (["run", "--engine", "natve"], "'natve' is not one of 'native', 'python', 'both', 'spark'"),
        (["run", "--max-depth", "0"], "0 is not in the range x>=1"),
        (["prove", "--timeout", "soon"], "'soon' is not a valid float"),
        (["traces", "replay", "x"], "Missing option '--walk'; python -m checker traces replay --help"),
        (["show"], "Missing argument 'TRACE'"),
        (["cache", "clear", "all"], "unexpected extra argument (all)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_use_is_one_sentence(checker, arguments, says, monkeypatch):
    monkeypatch.delenv("COLUMNS")
    outcome = checker(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ") and says in outcome.err and outcome.err.count("\n") == 1


def test_an_uninstalled_package_is_named_as_the_reason(checker, monkeypatch):
    monkeypatch.setattr("checker.cli.plugins.registered_groups", list)
    outcome = checker("advise", "x.properties")
    assert outcome.status == 2
    assert f"{sys.executable} lacks the commands of Kafka: run pip install -e . there" in " ".join(outcome.err.split())
