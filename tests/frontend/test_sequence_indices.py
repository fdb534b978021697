"""Indices of sequences that may be negative: an error at run time in the state, refused in Python's own lists."""

import pytest

from checker.engines.native import engine
from checker.engines.python import explorer
from checker.errors import SpecError
from checker.frontend import compile_spec
from checker.language import Range, Seq, Spec, action
from checker.run.plan import Plan


class OfState(Spec):
    """Reads the item before an index, which is -1 at first."""

    line = Seq(Range(0, 3), 2)
    at = Range(0, 2)
    read = Range(0, 3)

    @action
    def look(self):
        self.read = self.line[self.at - 1]


class OfList(OfState):
    @action
    def look(self):
        copied = [item + 1 for item in self.line]
        self.read = copied[self.at - 1]


def test_a_negative_index_of_a_sequence_of_the_state_is_an_error_of_the_run():
    for explore in (engine.explore, explorer.explore):
        assert explore(OfState(), Plan(())).verdict == "error"


def test_an_index_of_a_list_that_may_be_negative_is_refused():
    with pytest.raises(SpecError, match=r"self\.at - 1 may be negative.*write max\(self\.at - 1, 0\)"):
        compile_spec(OfList())
