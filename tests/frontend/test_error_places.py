"""Every error of a spec has its file, line and column, and shows the line with carets. Several come together."""

from pathlib import Path

import pytest

from checker.errors import UserError
from checker.frontend.liveness_typing import check_language
from checker.run import registry
from checker.run.request import Request, runs_for
from tests.frontend.test_wrong_specs import TOY, _with_names
from tests.frontend.wrong_specs import DECLARED, FIELDS, INSERTED, WrongSpec, wrong_specs

TEXT = _with_names(TOY.read_text().split("class Overflow(")[0])

NOT_OF_ONE_LINE = {"no actions", "no actions left"}
"""A spec without actions is an error of the command that runs it."""


def errors_of(text: str, folder: Path) -> list[UserError]:
    """Return the errors of a module: of its import, of its declarations, and of the methods of its specs."""
    path = folder / f"wrong_{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    found: list[UserError] = []
    try:
        for entry in registry.load_file(path).entries:
            try:
                spec = entry.spec()
                check_language(spec, list(spec.properties))
            except UserError as error:
                found += error.parts
    except UserError as error:
        found += error.parts
    return found


def one_of_each_kind() -> dict[str, WrongSpec]:
    """Return a wrong version of the toy for each kind of mistake in the tables of the generator."""
    made: dict[str, WrongSpec] = {}
    for wrong in wrong_specs(TEXT):
        kind = wrong.mistake.split(": ")[1]
        if kind in {*INSERTED, *DECLARED, *FIELDS} - NOT_OF_ONE_LINE:
            made.setdefault(kind, wrong)
    return made


def test_every_kind_of_error_shows_its_place(tmp_path: Path) -> None:
    kinds = one_of_each_kind()
    assert len(kinds) > 130
    for kind, wrong in kinds.items():
        found = errors_of(wrong.text, tmp_path)
        assert found, kind
        for error in found:
            text = str(error)
            assert error.file and error.line and error.columns, f"{kind}: {text}"
            assert text.startswith(f"{error.file}:{error.line}:{error.columns[0]}: "), f"{kind}: {text}"
            line, carets = text.split("\n")[-2:]
            assert line.strip() and set(carets.strip()) == {"^"}, f"{kind}: {text}"
            assert len(carets) <= len(line), f"{kind}: {text}"


TWICE = """from checker.language import Range, Seq, Spec, action, invariant

class First(Spec):
    number = Range(0, 3)

    @action
    def go(self):
        {first}
        {second}

    @invariant
    def fine(self):
        return self.helper()

    def helper(self):
        return self.number in self.absent

class Second(Spec):
    wrong = Range(3, 1)
    other = Seq(bool, -1)

    @action
    def go(self):
        self.wrong = 1
"""


@pytest.mark.parametrize("second", ["while True: pass", "self.number = True", "self.number = self.missing", "print(1)"])
@pytest.mark.parametrize("first", ["self.number = 'text'", "with open('x'): pass", "self.unknown = 1"])
def test_all_errors_of_a_file_are_reported_together(first: str, second: str, tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    path.write_text(TWICE.format(first=first, second=second))
    with pytest.raises(UserError) as caught:
        runs_for(Request((str(path),)))
    assert [error.line for error in caught.value.parts] == [8, 9, 16, 19, 20]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("found = self.missing\n        self.number = found", [8]),
        ("require(self.missing > self.number)\n        self.number = self.missing", [8]),
        ("if self.missing:\n            found = 1\n        self.number = found", [8]),
        ("return self.missing\n        self.number = True", [8]),
        ("found = self.missing\n        self.number = True", [8, 9]),
    ],
)
def test_error_that_follows_from_another_one_is_not_reported(body: str, lines: list[int], tmp_path: Path) -> None:
    text = TWICE.format(first=body, second="self.number = 1").split("    @invariant")[0]
    found = errors_of(text.replace("import Range", "import require, Range"), tmp_path)
    assert [error.line for error in found] == lines
