"""A reader that gets a file which it does not expect says so in a sentence, runs nothing and changes nothing."""

from __future__ import annotations

import dataclasses

import pytest

from tests.cli.conftest import TOY
from tests.robustness.outcomes import assert_one_sentence
from tests.robustness.wrong_files import CONTENTS, READERS

NAMED_BY_THE_USER = {"spec", "spec to prove", "spec to list", "mapping"}

MAPPING = """
from traces.validate.mapping import Mapping

class Events(Mapping):
    def steps(self, event, state):
        return []
"""


@pytest.mark.parametrize("reader", READERS)
def test_unexpected_files(checker, tmp_path, monkeypatch, reader):
    for number, contents in enumerate(CONTENTS):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert_refused_or_read(checker, folder, reader, contents)


def assert_refused_or_read(checker, directory, reader, contents):
    places = {"file": directory / "given", "folder": directory / "folder", "toy": TOY}
    places |= {name: directory / f"right.{end}" for name, end in {"log": "jsonl", "mapping": "py"}.items()}
    places["folder"].mkdir()
    places["log"].write_text('{"event": "x"}\n')
    places["mapping"].write_text(MAPPING)
    words = [word.format(**places) for word in READERS[reader]]
    for word in words:
        if word.removeprefix("producer=").startswith(str(places["file"])):
            (directory / word.removeprefix("producer=")).write_bytes(CONTENTS[contents])
    for name in ("run.json", "manifest.json"):
        (places["folder"] / name).write_bytes(CONTENTS[contents])
    before = sorted(path.name for path in directory.rglob("*"))
    outcome = checker(*words)
    assert outcome.status in (0, 2, 3), (contents, outcome)
    # A spec or a mapping is Python, which describes its own text.
    assert reader in NAMED_BY_THE_USER or "codec can't" not in outcome.err, (contents, outcome)
    if outcome.status == 2:
        # `validate` also prints its table, in which the log is unreadable.
        assert_one_sentence(outcome if reader != "log" else dataclasses.replace(outcome, out=""))
    made = {path.name for path in directory.rglob("*") if "__pycache__" not in path.parts} - set(before)
    # Python executes a file that the user names, and nobody else, and may cache its byte code. A checkpoint is locked
    # while it is read.
    assert made <= ({"pwned"} if reader in NAMED_BY_THE_USER else {"checkpoint.lock"}), (contents, made)
