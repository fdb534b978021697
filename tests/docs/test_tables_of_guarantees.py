"""The tables of guarantees: their pages are up to date, and some commands of their counterexamples print the same."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from checker.cli.app import main
from checker.run.registry import families
from tests.docs.pages import PROGRAM

_ENTRY = re.compile(
    r"^- \[(?P<name>c\d+)\] `(?P<violated>\w+)`, (?P<states>\d+) states: (?P<steps>[^`]*)\.\s+"
    rf"`{PROGRAM} (?P<command>[^`]+)`$",
    re.MULTILINE,
)
_STEP = re.compile(r"^ +\d+  (\w+\(.*\))$", re.MULTILINE)
EVERY = 16

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {family.name: DOCS / f"{family.name}.md" for family in families() if family.tables}
PAGES["pipeline"] = DOCS / "guarantees.md"


def as_in_a_trace(steps):
    """Return the steps of an entry, those of a loop too, as the output shows them, without the names of arguments."""
    # The output may break the line within a call.
    one_line = " ".join(steps.split()).replace("then for ever: ", "")
    calls = re.findall(r"\w+(?:\((?:[^()]|\([^()]*\))*\))?", one_line)
    return [call if call.endswith(")") else f"{call}()" for call in calls]


@pytest.mark.slow
@pytest.mark.parametrize("family", PAGES)
def test_the_page_has_the_table_and_the_command_of_an_entry_prints_its_schedule(family, capsys, tmp_path):
    page = shutil.copy(PAGES[family], tmp_path)
    assert main(["table", family, "--verbose", "--update-docs", page]) == 0
    in_full = capsys.readouterr().out
    update = f"python -m checker table {family} --update-docs {PAGES[family]}"
    assert Path(page).read_text() == PAGES[family].read_text(), f"update the page: {update}"
    entries = [match.groupdict() for match in _ENTRY.finditer(in_full)]
    assert len(entries) == len(re.findall(r"^- \[c\d+\]", in_full, re.MULTILINE)) > EVERY
    for entry in entries[::EVERY]:
        assert main([*shlex.split(entry["command"]), "--trace=full"]) == 1
        printed = capsys.readouterr().out
        assert re.search(
            rf"^{entry['violated']} is violated( by the last step)?: (counterexample of )?{entry['states']} states",
            printed,
            re.M,
        )
        steps = [re.sub(r"\b[a-z_]+=", "", step) for step in _STEP.findall(printed)]
        expected = as_in_a_trace(entry["steps"])
        assert steps[: len(expected)] == expected
