"""Schedules as text: steps by name, disabled steps, and states with chosen values."""

import pytest

from checker.errors import Disabled, SpecError
from checker.testing import is_enabled, play, state_with
from specs.examples.die_hard import DieHard
from specs.examples.peterson import Peterson


def test_steps_are_taken_in_order():
    state = play(DieHard(), "fill_big", "pour_big_into_small")
    assert (state.big, state.small) == (2, 3)
    assert play(DieHard(), "empty_small", state=state).small == 0


def test_arguments_are_the_names_of_domain_members():
    spec = Peterson()
    state = play(spec, "raise_flag p1")
    assert is_enabled(spec, state, "yield_turn p1")
    assert not is_enabled(spec, state, "yield_turn p2")
    with pytest.raises(Disabled):
        play(spec, "enter p1", state=state)


def test_unknown_actions_are_refused():
    with pytest.raises(SpecError, match="no action drink"):
        play(DieHard(), "drink")


def test_dict_replaces_some_values_of_a_map():
    spec = Peterson()
    process = play(spec, "raise_flag p1").turn
    state = state_with(spec, wants_in={process: True}, turn=process)
    assert str(state.wants_in) == "{p1: yes, p2: no}"
    assert str(state.turn) == "p1"
