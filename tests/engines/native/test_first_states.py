"""The state of a finding is the first one, also where the search goes on and later states have the same finding."""

from checker.engines.native import engine
from checker.language import Range, Spec, action, invariant
from checker.run.plan import Plan

MOST = 4000


class ManyFailures(Spec):
    """Reaches every number in one step. One property has no value at every even number, another is true only at 1."""

    x = Range(1, MOST)
    is_moved = Range(0, 1)

    @action
    def jump(self, to: Range(1, MOST)):
        self.x = to
        self.is_moved = 1

    @invariant
    def has_a_share(self):
        return 60 // (self.x % 2) > 0

    @invariant
    def is_one(self):
        return self.x == 1


def test_the_first_state_of_each_finding_is_shown():
    result = engine.explore(ManyFailures(), Plan(("has_a_share", "is_one"), stop="all"))
    shown = {violation.property: violation.trace[-1].state.values["x"] for violation in result.violations}
    # A shard numbers its states in the order of the arguments. The first of the lowest shard is among the small ones.
    assert shown.keys() == {"has_a_share", "is_one"} and max(shown.values()) < MOST // 2
