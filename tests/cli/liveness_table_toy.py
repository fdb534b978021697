"""A family with a table of a liveness property: a counter that reaches its limit, turns back, or is cut off."""

from checker.language import Constant, Range, Spec, action, constraint, eventually, require
from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeRow, Table


class FairCounter(Spec):
    """Counts up, and may turn back one step before the limit. `explored` cuts the exploration off."""

    limit = Constant(3, at_least=2)
    explored = Constant(9)
    turns_back = Constant(False)
    value = Range(0, "limit")

    @action(fair="weak")
    def increment(self):
        require(self.value < self.limit)
        self.value += 1

    @action
    def turn_back(self):
        require(self.turns_back and self.value == self.limit - 1)
        self.value = 0

    @constraint
    def is_explored(self):
        return self.value < self.explored

    @eventually
    def ends(self):
        return self.value == self.limit


def row(name, **constants):
    cell = GuaranteeCell((GuaranteeCheck(FairCounter, constants, ("ends",)),))
    return GuaranteeRow({"counter": name}, {"stuck": cell})


tables = [
    Table(
        "endings",
        {"stuck": "never ends"},
        (row("fair"), row("turns back", turns_back=True), row("cut off", explored=2)),
    )
]
