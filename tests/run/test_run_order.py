"""The groups of runs that start first."""

from checker.engines.native.lowering.state_layout import state_layout
from checker.errors import SpecError
from checker.execution import run_order
from checker.execution.run_order import long_groups_first
from checker.language import Range, Spec, action
from specs.examples.die_hard import DieHard
from specs.examples.peterson import Peterson
from specs.replication.partition import Partition

Large = Range(0, 4095)
PARAMETERS = ", ".join(f"given_{number}: Large" for number in range(90))
"""More instances of an action than a floating-point number can count."""

MANY_INSTANCES = f"""
class ManyInstances(Spec):
    number = Range(0, 1)

    @action
    def grow(self, {PARAMETERS}):
        self.number = 1
"""


SHORT, LONG, LONGER = [Peterson(), DieHard()] * 20, [Partition(), Partition()], [Partition()] * 3


def test_long_groups_start_first_and_the_others_in_their_order():
    specs = [*SHORT, *LONG, *SHORT, *LONGER, *SHORT]
    groups = [[number] for number in range(len(specs))]
    # Positions 40 and 81: the specs before, each group counts once.
    groups[82:85] = [[82, 83, 84]]
    groups[40:42] = [[40, 41]]
    short = [position for position in range(len(groups)) if position not in (40, 81)]
    assert long_groups_first(groups, specs, 2) == [81, 40, *short]


def test_groups_of_one_length_keep_their_order():
    groups = [[0], [1], [2, 3], [4]]
    assert long_groups_first(groups, [Partition()] * 5, 16) == [2, 0, 1, 3]
    assert long_groups_first(groups[:2], [Partition()] * 2, 2) == [0, 1]


def test_on_few_processors_no_run_of_many_is_long():
    specs = [*SHORT, *[Partition()] * 30]
    groups = [[number] for number in range(len(specs))]
    assert long_groups_first(groups, specs, 2) == list(range(70))
    assert long_groups_first(groups, specs, 32) == [*range(40, 70), *range(40)]


def test_a_spec_with_too_many_instances_is_not_long():
    namespace = {"Spec": Spec, "Range": Range, "action": action, "Large": Large, "__name__": __name__}
    exec(MANY_INSTANCES, namespace)
    assert long_groups_first([[0], [1], [2]], [namespace["ManyInstances"](), Peterson(), Partition()], 2) == [2, 0, 1]


def test_a_spec_with_a_state_that_cannot_be_packed_is_not_long(monkeypatch):
    def layout(variables):
        if "log" in variables:
            raise SpecError("an item takes more than 64 bits")
        return state_layout(variables)

    assert "log" in Partition().variables
    monkeypatch.setattr(run_order, "state_layout", layout)
    assert long_groups_first([[0], [1], [2]], [Partition(), Peterson(), DieHard()], 2) == [1, 2, 0]
