"""The counterexamples below the tables of guarantees: some of their commands are run, and their schedules compared.

Other tests compute the tables and compare the pages as a whole; here the commands run as a reader enters them.
"""

import re
import shlex

import pytest

from checker.cli.app import main
from tests.docs.pages import PAGES, PROGRAM, without_blocks

_ENTRY = re.compile(
    r"^- <a id=\"(?P<name>c\d+)\"></a>\[\w+\] `(?P<violated>\w+)`, (?P<states>\d+) states: (?P<steps>[^`]*)\.\s+"
    rf"`{PROGRAM} (?P<command>[^`]+)`$",
    re.MULTILINE,
)
_STEP = re.compile(r"^ +\d+  (\w+\(.*\))$", re.MULTILINE)
EVERY = 16

ENTRIES = [
    pytest.param(found.groupdict(), id=f"{page}-{found['name']}")
    for page, path in PAGES.items()
    for found in _ENTRY.finditer(without_blocks(path.read_text(encoding="utf-8")))
]


def as_in_a_trace(steps):
    """Return the steps of an entry, those of a loop too, as the output shows them, without the names of arguments."""
    # The page may break the line within a call.
    one_line = " ".join(steps.split()).replace("then for ever: ", "")
    calls = re.findall(r"\w+(?:\((?:[^()]|\([^()]*\))*\))?", one_line)
    return [call if call.endswith(")") else f"{call}()" for call in calls]


def test_every_entry_is_found():
    anchors = [
        anchor for path in PAGES.values() for anchor in re.findall(r'^- <a id="c\d+"', path.read_text(), re.MULTILINE)
    ]
    assert len(ENTRIES) == len(anchors) > 100


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES[::EVERY])
def test_the_command_of_an_entry_prints_its_schedule(entry, capsys):
    status = main(shlex.split(entry["command"]))
    printed = capsys.readouterr().out
    assert status == 1
    assert re.search(rf"^{entry['violated']} is violated: (counterexample of )?{entry['states']} states", printed, re.M)
    steps = [re.sub(r"\b[a-z_]+=", "", step) for step in _STEP.findall(printed)]
    expected = as_in_a_trace(entry["steps"])
    assert steps[: len(expected)] == expected
