"""Indices of sequences that may be negative: an error at run time in the state."""

from checker.engines.native import engine
from checker.engines.python import explorer
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


def test_a_negative_index_of_a_sequence_of_the_state_is_an_error_of_the_run():
    for explore in (engine.explore, explorer.explore):
        assert explore(OfState(), Plan(())).verdict == "error"
