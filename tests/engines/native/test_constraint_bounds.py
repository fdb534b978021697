"""A constraint that leaves its bounds is an error, whether or not a property is checked."""

from checker.engines.native import engine
from checker.engines.python import explorer
from checker.language import Range, Spec, action, constraint, require
from checker.run.plan import Plan


class Divided(Spec):
    """Counts up; the constraint divides by zero at two."""

    value = Range(0, 4)

    @action
    def count(self):
        require(self.value < 4)
        self.value += 1

    @constraint
    def divides(self):
        return 6 // (self.value - 2) < 7


def test_without_properties() -> None:
    for explore in (engine.explore, explorer.explore):
        result = explore(Divided(), Plan(()))
        assert (result.verdict, result.levels) == ("error", (1, 1, 1))
        assert [(violation.property, violation.length) for violation in result.violations] == [("divides", 3)]
