"""Every wrong command line ends with exit status 2 and one clean sentence, and changes no file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import TOY
from tests.robustness.command_lines import CommandLine, place_names, wrong_command_lines
from tests.robustness.outcomes import assert_one_sentence

CASES = list(wrong_command_lines())
BY_COMMAND: dict[str, list[CommandLine]] = {}
for wrong in CASES:
    BY_COMMAND.setdefault(str(wrong.words[0]) if wrong.words else "", []).append(wrong)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Return files and a folder, each right for the command that reads it."""
    folder = tmp_path_factory.mktemp("robust")
    found = {name: folder / name for name in ("trace", "log", "mapping", "properties")}
    found["trace"].write_text(json.dumps({"format": "tidemark-trace"}))
    found["log"].write_text("{}\n")
    found["mapping"].write_text("")
    found["properties"].write_text("acks=all\n")
    found["folder"] = folder / "folder"
    found["folder"].mkdir()
    found["partition"] = folder / "orders-0"
    found["partition"].mkdir()
    (found["partition"] / f"{0:020}.log").write_bytes(b"")
    return found


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    } | {TOY: Path(TOY).read_bytes()}


@pytest.mark.parametrize("command", BY_COMMAND, ids=lambda command: ascii(command)[:20])
def test_wrong_command_lines(checker, places, command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    before = contents(places["folder"].parent)
    for case in BY_COMMAND[command]:
        outcome = checker(*place_names(case.words, places))
        assert outcome.status == case.status, (case, outcome)
        assert_one_sentence(outcome)
        assert case.says in outcome.err, case
        assert contents(places["folder"].parent) == before, case
        assert not list(tmp_path.iterdir()), case


def test_the_table_is_large_enough():
    assert len(CASES) >= 800, len(CASES)
