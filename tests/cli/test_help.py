"""Help texts: summaries fit on a line of 80 columns, and the choices come from the registries."""

import inspect

import pytest
import typer
from typer.core import TyperGroup

from checker.cli import run
from checker.cli.app import app
from checker.output.formats import FORMATS
from checker.output.reports import REPORTS


def commands_of(group, *names):
    """Yield the words of every command below a group, in the order of its help text."""
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield [*names, name]
        if isinstance(command, TyperGroup):
            yield from commands_of(command, *names, name)


COMMANDS = list(commands_of(typer.main.get_command(app)))


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
