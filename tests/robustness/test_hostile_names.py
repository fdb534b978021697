"""Names and texts with control characters, line breaks and markup: every output stays what it is."""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from checker.cli.app import main
from checker.errors import InputError
from checker.printable import printable, printable_lines

NASTY = "\x1b[31m\n::error::owned\r\x9b##[error]\u202e<b>&#27;\"'</b>\\"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")

SPEC = f"""
from checker.language import Enum, Map, Range, Scenario, Spec, action, invariant, require

__doc__ = NASTY = {NASTY!r}


class Mood(Enum):
    CALM = "calm"
    WILD = NASTY


class Nasty(Spec):
    __doc__ = NASTY
    mood = Mood
    moods = Map(Mood, Range(0, 2))

    def init(self):
        self.mood = Mood.CALM

    @action
    def change(self, to: Mood):
        self.mood = to
        self.moods[to] += 1

    @invariant(says={NASTY[:-1]!r})
    def calm(self):
        return self.mood == Mood.CALM


scenarios = [Scenario(Nasty, {'##[error] <b>&"quoted"'!r}, expect=dict(calm=2), description=NASTY)]
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The folder with all outputs of a run of the spec, in a folder and a file of nasty names."""
    folder = tmp_path_factory.mktemp("nasty") / "a\n::error::b \x1b[1m"
    folder.mkdir()
    spec = folder / "::warning::n\n.py"
    spec.write_text(SPEC)
    out = folder / "out"
    names = {name: out / f"report.{name}" for name in ("json", "junit", "sarif")}
    options = [str(word) for name, path in names.items() for word in (f"--{name}", path)]
    status = main(
        ["run", str(spec), "--engine", "python", *options, "--out", str(out), "--html", str(out / "index.html")]
    )
    assert status == 0
    return folder


def is_clean(text):
    lines = text.split("\n")
    return not CONTROL.search(text) and not any(line.lstrip().startswith("::") or "##[" in line for line in lines)


@pytest.mark.parametrize(
    "words",
    [
        ["list", "SPEC"],
        ["run", "SPEC"],
        ["run", "SPEC", "--coverage"],
        ["run", "SPEC/nasty", "--engine", "python", "--set", "nothing=\n::error::x"],
        ["run", "SPEC", "--property", "\x1b[2J"],
        ["simulate", "SPEC", "--traces", "5"],
        ["run", "::error::x"],
        ["run", "x\n::error::y.py"],
        ["run", "--\x1b[2J"],
        ["show", "TRACE", "--spec", "SPEC"],
        ["show", "TRACE"],
        ["show", "TRACE", "--spec", "SPEC", "--against", "SPEC"],
        ["show", "TRACE", "--spec", "SPEC", "--out", "/dev/null/a\n::error::c/x"],
        ["run", "SPEC", "--json", "\udcff/\x1b[2J/x"],
    ],
    ids=lambda words: ascii(" ".join(words))[1:40],
)
def test_what_is_printed_is_text(outputs, words, capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (trace,) = (path for path in (outputs / "out").glob("*-calm.json"))
    spec = next(outputs.glob("*.py"))
    main([word.replace("SPEC", str(spec)).replace("TRACE", str(trace)) for word in words])
    printed = capfd.readouterr()
    assert printed.out or printed.err
    assert is_clean(printed.out) and is_clean(printed.err), printed


def test_every_file_is_well_formed(outputs):
    files = {path.name: path.read_text() for path in (outputs / "out").iterdir()}
    for name, text in files.items():
        if name.endswith((".svg", ".junit")):
            ElementTree.fromstring(text)
        if name.endswith((".json", ".sarif")):
            for part in text.splitlines() if name == "report.json" else [text]:
                json.loads(part)
        if name.endswith((".txt", ".dot", ".svg", ".junit")):
            assert not CONTROL.search(text), (name, text)
        if name.endswith(".txt"):
            assert is_clean(text), text
    assert any(name.endswith(".svg") for name in files) or shutil.which("dot") is None
    assert len(files) >= 9


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\x1b[1m", "a\0b", 7, None])
def test_the_name_of_a_scenario_is_one_line(tmp_path, capsys, name):
    text = Path(__file__).parent.parent.joinpath("toy.py").read_text().split("scenarios = [")[0]
    (tmp_path / "mine.py").write_text(f"{text}\nscenarios = [Scenario(Log, {name!r})]\n")
    assert main(["list", str(tmp_path / "mine.py")]) == 2
    assert "the name of a scenario is one line of text" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a\tb é 日本 ✗", "a\tb é 日本 ✗"),
        ("\x1b[1m\n\r\0\x85", r"\x1b[1m\n\r\x00\x85"),
        ("\u202e\u2028\ud800", r"\u202e\u2028\ud800"),
    ],
)
def test_unsafe_characters_are_escaped(text, safe):
    assert printable(text) == safe
    assert str(InputError(text, file=text, line=3)) == f"{safe}:3: {safe}"


def test_a_line_is_no_command_of_a_runner():
    assert printable_lines("a ::b\n  ::error::x\n##[set-env]y") == "a ::b\n  : :error::x\n## [set-env]y"
