"""Random walks through the specs of the library, page by page."""

import random

import pytest

from checker.explorer.address import Address
from checker.explorer.page import explorer_page
from checker.explorer.random_walk import random_walk
from checker.run import registry
from tests.explorer.conftest import session_of

TARGETS = [
    f"{entry.target}/{entry.scenarios[0].name}" if entry.scenarios else entry.target
    for family in registry.families()
    for entry in family.entries
]


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_a_random_walk_through_every_spec(target):
    session = session_of(target)
    place = session.place(Address())
    for seed in range(2):
        walk = random_walk(session, place, 9, random.Random(f"{target}{seed}"))
        end = session.place(walk.address)
        assert end.refused is None and len(end.panes[0].steps) == len(walk.address.codes) + 1
        assert "</html>" in explorer_page(session, end)
