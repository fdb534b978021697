"""Small specs for exploration on Spark; each ends in a different way within a few levels."""

from checker.language import (
    Constant,
    Range,
    Spec,
    action,
    constraint,
    invariant,
    reachable,
    require,
    step_invariant,
)


class Walkers(Spec, abstract=True):
    """Two walkers on a grid. Many paths lead to each state, so that a different choice of origin is visible."""

    size = Constant(3, at_least=1)
    x = Range(0, "size")
    y = Range(0, "size")

    def init(self, start: Range(0, 1)):
        self.x = start

    @action
    def right(self):
        require(self.x < self.size)
        self.x += 1

    @action
    def up(self, by: Range(1, 2)):
        require(self.y + by <= self.size)
        self.y += by

    @reachable
    def corner(self):
        return self.x == self.size and self.y == self.size


class Deadlocked(Walkers):
    """Nothing is enabled in the corner."""

    @reachable
    def outside(self):
        return self.x > self.size


class Leaping(Walkers):
    """A state and a step violate properties in the same level; another state does later."""

    @invariant
    def below_diagonal(self):
        return self.y < self.x + 2

    @step_invariant
    def no_leap(self, old):
        return self.y < old.y + 2

    @invariant
    def not_corner(self):
        return self.x + self.y < 2 * self.size


class Overflowing(Walkers):
    """An action leaves its bounds."""

    @action
    def up(self, by: Range(1, 2)):
        self.y += by


class Dividing(Walkers):
    """An invariant leaves its bounds in some states."""

    @invariant
    def divides(self):
        return 6 // (self.x + self.y - 4) < 7


class Stepping(Walkers):
    """A step invariant leaves its bounds in some steps."""

    @step_invariant
    def divides(self, old):
        return 6 // (old.x + self.y - 4) < 7


class Fenced(Walkers):
    """A constraint ends exploration at a line; states on the line are checked."""

    @constraint
    def within(self):
        return self.x + self.y < 4

    @invariant
    def not_five(self):
        return self.x + self.y != 5


class Unconstrained(Walkers):
    """A constraint leaves its bounds, and no property is checked."""

    corner = None

    @constraint
    def divides(self):
        return 6 // (self.x - 2) < 7


class Stillborn(Walkers):
    """`init` leaves its bounds."""

    def init(self, start: Range(0, 1)):
        self.x = self.size + start


class Wide(Spec):
    """A state of several words, with many action instances; some steps lead to no new state."""

    a = Range(0, 2**40)
    b = Range(0, 2**40)
    c = Range(0, 2**40)

    @action
    def add(self, to_a: Range(0, 3), to_b: Range(0, 3), to_c: Range(0, 2)):
        require(self.a + self.b + self.c < 12)
        self.a += to_a
        self.b += to_b * 1048576
        self.c += to_c * 1073741824

    @reachable
    def far(self):
        return self.a > 5 and self.b > 0
