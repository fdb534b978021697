"""The jugs of the film Die Hard 3: measure four gallons with a jug of five and a jug of three."""

from checker.language import Range, Scenario, Spec, action, invariant


class DieHard(Spec):
    """How do four gallons get into the big jug, with a small jug, a fountain, and no other way to measure?

    The property says that it cannot be done. The shortest counterexample is the shortest solution.

    Source: the film Die Hard with a Vengeance (1995), by way of Leslie Lamport's TLA+ lectures.
    """

    big = Range(0, 5)
    small = Range(0, 3)

    @action
    def fill_big(self):
        """Fill the big jug at the fountain."""
        self.big = 5

    @action
    def fill_small(self):
        """Fill the small jug at the fountain."""
        self.small = 3

    @action
    def empty_big(self):
        """Pour the big jug away."""
        self.big = 0

    @action
    def empty_small(self):
        """Pour the small jug away."""
        self.small = 0

    @action
    def pour_big_into_small(self):
        """Pour until the big jug is empty or the small one is full."""
        poured = min(self.big, 3 - self.small)
        self.big -= poured
        self.small += poured

    @action
    def pour_small_into_big(self):
        """Pour until the small jug is empty or the big one is full."""
        poured = min(self.small, 5 - self.big)
        self.small -= poured
        self.big += poured

    @invariant(says="the big jug holds {self.big} gallons")
    def big_jug_never_holds_four(self):
        """Nobody can measure four gallons, or so it is claimed."""
        return self.big != 4


scenarios = [
    Scenario(
        DieHard,
        "solution",
        expect={"big_jug_never_holds_four": 7},
        description="The counterexample measures four gallons in six steps.",
    ),
]
