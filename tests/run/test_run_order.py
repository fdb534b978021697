"""The groups of runs that start first."""

from checker.execution.run_order import long_groups_first
from checker.language import Range, Spec, action
from specs.examples.die_hard import DieHard
from specs.examples.peterson import Peterson
from specs.replication.partition import Partition


class Huge(Range):
    low, high = 0, 2**62


class HugeState(Spec):
    """A spec of which the states cannot be packed."""

    number: Huge

    def init(self):
        self.number = 0

    @action
    def grow(self):
        self.number += 1


SHORT, LONG, LONGER = [Peterson(), DieHard()] * 20, [Partition(), Partition()], [Partition()] * 3


def test_long_groups_start_first_and_the_others_in_their_order():
    specs = [*SHORT, *LONG, *SHORT, *LONGER, *SHORT]
    longer, long = [82, 83, 84], [40, 41]
    short = [[number] for number in range(len(specs)) if number not in (*longer, *long)]
    given = [*short[:40], long, *short[40:80], longer, *short[80:]]
    assert long_groups_first(given, specs, 2) == [longer, long, *short]


def test_groups_of_one_length_keep_their_order():
    groups = [[0], [1], [2, 3], [4]]
    assert long_groups_first(groups, [Partition()] * 5, 16) == [[2, 3], [0], [1], [4]]
    assert long_groups_first(groups[:2], [Partition()] * 2, 2) == [[0], [1]]


def test_on_few_processors_no_run_of_many_is_long():
    specs = [*SHORT, *[Partition()] * 30]
    groups = [[number] for number in range(len(specs))]
    assert long_groups_first(groups, specs, 2) == groups
    assert long_groups_first(groups, specs, 32) == [*groups[40:], *groups[:40]]


def test_a_wrong_spec_is_not_long():
    assert long_groups_first([[0], [1]], [HugeState(), Partition()], 2) == [[1], [0]]
