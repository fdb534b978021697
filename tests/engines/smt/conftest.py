"""The command `prove`, called in this process on small specs."""

from dataclasses import dataclass

import pytest

from checker.cli.app import main

BARE = """
from specs.examples import peterson

class Bare(peterson.Peterson):
    flags_are_up = None
    other_process_has_the_turn = None
"""

EVEN = """
from checker.language import Constant, Range, Seq, Spec, action, constraint, invariant, lemma, require

class EvenSteps(Spec):
    stride = Constant(2, at_least=1)
    number = Range(0, 9)

    @action
    def add(self):
        require(self.number < 8)
        self.number += self.stride

    @action
    def begin_again(self):
        self.number = 0

    @invariant
    def is_not_five(self):
        return self.number != 5

class Proved(EvenSteps):
    @lemma
    def is_even(self):
        return self.number % 2 == 0

class Contradictory(Proved):
    @lemma
    def is_odd(self):
        return self.number % 2 == 1

class TwoSteps(EvenSteps):
    @action
    def add_again(self):
        require(self.number < 8)
        self.number += self.stride

class NoStart(EvenSteps):
    def init(self):
        require(self.number > 0)

class Nothing(EvenSteps):
    is_not_five = None

class Overflow(EvenSteps):
    @action
    def add(self):
        self.number += self.stride

class WrongLemma(EvenSteps):
    @lemma
    def is_small(self):
        return self.number < 4

class ShutIn(EvenSteps):
    @constraint
    def shut(self):
        return self.number > 9

class Large(EvenSteps):
    kept = Seq(Range(0, 1000000), 40)
"""


@dataclass
class Outcome:
    status: int
    out: str
    err: str


@pytest.fixture
def prove(capsys, tmp_path):
    """Return a function that calls a command on a spec of a file of the test's folder, as a rule `prove`."""
    (tmp_path / "bare.py").write_text(BARE)
    (tmp_path / "even.py").write_text(EVEN)

    def call(name, *arguments, command="prove"):
        status = main([command, f"{tmp_path}/{name}", *arguments])
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return Outcome(status, printed.out, printed.err)

    return call
