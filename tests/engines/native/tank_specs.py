"""Specs of a tank, in a module of which the digest is known: it holds nothing but specs."""

from checker.language import Constant, Range, Spec, action, invariant, reachable, require


class Tank(Spec):
    """A tank that is filled by some litres at once, up to a limit."""

    size = Constant(6)
    limit = Constant(4)
    litres = Constant(1)
    leaks = Constant(False)

    level = Range(0, "size")

    @action
    def fill(self):
        require(self.level < self.limit)
        self.level += self.litres

    @action
    def leak(self):
        require(self.leaks and self.level > 0)
        self.level -= 1

    @reachable
    def full(self):
        return self.level == self.limit

    @invariant
    def below_limit(self):
        return self.level <= self.limit

    @invariant
    def even(self):
        return self.level % 2 == 0


class OtherTank(Tank):
    """The same, as another class."""


class WrongBranchTank(Tank):
    """A branch that only some constants have is outside the language."""

    @action
    def other(self):
        if self.leaks:
            self.level = hash(self.level)


class OneOfTwoTanks(Tank):
    """The language needs the value of `first`."""

    first = Constant(0)

    @action
    def refill(self):
        require(self.level == (1, 2)[self.first])
        self.level = 0
