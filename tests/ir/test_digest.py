"""The digest of a program depends on its meaning only."""

import pytest

from checker.frontend import compile_spec
from checker.ir.digest import digest_of
from tests.support.source_modules import load

SPEC = """from checker.language import OneOf, Range, Seq, Spec, Struct, action, invariant, require


class One(Struct):
    number: Range(0, 1)


class Two(Struct):
    flag: bool


class Moves(Spec):
    line = Seq(tuple[Range(0, 1), bool], 2)
    last = OneOf(One, Two)
    kept = tuple[Range(0, 1), bool]
    top = Range(0, 3)

    @action
    def put(self):
        require(len(self.line) == 0)
        self.line = [(0, True), (1, False)]

    @action
    def take(self):
        require(len(self.line) > 0)
        self.kept = self.line.pop()
        self.last = One(number=self.kept[0])

    @action
    def turn(self):
        for number, flag in self.line:
            self.top = 1 if flag else number
        match self.last:
            case One():
                self.last = Two(flag=True)
            case Two(flag=flag):
                require(flag)

    @invariant
    def is_small(self):
        return all(number < 2 or flag for number, flag in self.line)
"""


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        (lambda text: "# A comment.\n\n" + text, True),
        (lambda text: text.replace("        for number", "        # A comment.\n        for number"), True),
        (lambda text: text.replace("for number, flag in", "for number,  flag in"), True),
        (lambda text: text.replace("self.top = 1 if", "self.top = 2 if"), False),
        (lambda text: text.replace("number < 2 or flag", "number < 1 or flag"), False),
    ],
)
def test_only_a_change_of_meaning_changes_the_digest(tmp_path, change, is_same):
    one, other = (digest_of(compile_spec(load(text, tmp_path).Moves())) for text in (SPEC, change(SPEC)))
    assert change(SPEC) != SPEC
    assert (one == other) is is_same
