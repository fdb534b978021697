"""`x in NAMES`, where NAMES is a tuple of values outside the spec."""

import pytest

from checker.errors import SpecError
from checker.language import Constant, Range, Spec, action, invariant, require
from checker.testing import SpecChecks

SMALL_PRIMES = (2, 3, 5)
STRICT_MODES = ("strict", "paranoid")
NO_VALUES = (object(),)


class Counting(Spec):
    mode = Constant("loose", one_of=("loose", "strict", "paranoid"))
    count = Range(0, 7)

    @action
    def add(self):
        require(self.count < 7)
        require(self.mode not in STRICT_MODES or self.count not in SMALL_PRIMES)
        self.count += 1

    @invariant
    def is_bounded(self):
        return self.count <= 7


class Unknown(Counting):
    @invariant
    def is_known(self):
        return self.count in NO_VALUES


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize(("mode", "states"), [("loose", 8), ("strict", 3)])
def test_membership_in_a_named_tuple(engine, mode, states):
    assert SpecChecks(engine=engine).check(Counting, mode=mode).distinct_states == states


def test_a_tuple_of_other_objects_is_refused():
    with pytest.raises(SpecError, match="NO_VALUES"):
        SpecChecks().check(Unknown)
