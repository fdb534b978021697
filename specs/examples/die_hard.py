"""The water jugs of the film Die Hard 3: measure four gallons with a five-gallon and a three-gallon jug."""

from checker.language import Range, Scenario, Spec, action, invariant


class DieHard(Spec):
    """A big jug of five gallons, a small jug of three, and a fountain.

    The property states that four gallons cannot be measured. Its shortest counterexample is the shortest solution.

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
        """Empty the big jug."""
        self.big = 0

    @action
    def empty_small(self):
        """Empty the small jug."""
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
        """The big jug never holds four gallons."""
        return self.big != 4


scenarios = [
    Scenario(DieHard, "solution", expect={"big_jug_never_holds_four": 7},
        description="The counterexample measures four gallons in six steps."),
]  # fmt: skip
