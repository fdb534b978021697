"""Explanations of disabled instances: the false require, its location and its values."""

import pytest

from checker.explain.guards import why_disabled
from checker.language import Disabled, Range, Spec, action, require
from checker.testing import play
from specs.replication.kip320 import Kip320


def nothing_more(value):
    require(value > 5)


class Guarded(Spec):
    """Actions that are disabled in different ways."""

    value = Range(0, 3)

    def is_large(self, limit: int):
        return self.value > limit

    @action
    def plain(self):
        require(self.value == 0)
        require(self.value + 1 == 3)

    @action
    def by_helper(self):
        require(
            self.is_large(2),
        )

    @action
    def by_quantifier(self):
        require(all(self.value >= least for least in range(3)))

    @action
    def in_a_function(self):
        nothing_more(self.value)


def why(spec, action, *arguments):
    with pytest.raises(Disabled) as caught:
        spec.step(play(spec), action, *arguments)
    return why_disabled(spec, caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plain", "require(self.value + 1 == 3) is false (test_guards.py:26): 1 is not 3"),
        ("by_helper", "require(self.is_large(2)) is false (test_guards.py:30): self.value > 2 is false: 0 is not > 2"),
        ("by_quantifier", "least = 1: self.value >= least is false: 0 is not >= 1"),
    ],
)
def test_false_require_with_its_values(name, words):
    assert words in why(Guarded(), name)


def test_require_in_a_module_function_has_its_location():
    assert why(Guarded(), "in_a_function").startswith("a require is false (test_guards.py:")


def test_require_in_a_base_method_is_explained():
    assert "self.requests" in why(Kip320(), "become_leader", 0)
