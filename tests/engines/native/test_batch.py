"""Kernels on batches of states, compared with single states."""

import pickle

import numpy as np
import pytest

from checker.engines.native.explore.results import property_mask
from checker.engines.native.kernels import batch as batches
from checker.engines.native.kernels.batch import BatchEngine, compile_batch
from checker.engines.native.kernels.single_state import CheckedState, SingleStateEngine
from checker.frontend import compile_spec
from checker.language import Range, Spec, State, action, constraint, invariant, reachable, require, step_invariant
from checker.language.roles import Role
from checker.run import registry


class Meter(Spec):
    """A constraint, a deadlock, violations in states and steps, and values that leave their bounds."""

    value = Range(0, 20)
    other = Range(0, 6)

    @action
    def add(self, amount: Range(0, 3)):
        require(self.value != 13)
        self.value += amount

    @action
    def turn(self):
        require(self.value != 13)
        self.other = (self.other + self.value) % 7 + self.value // 20

    @constraint
    def not_five(self):
        return self.value != 5

    @invariant
    def below_fifteen(self):
        return self.value < 15 or self.other > 2

    @invariant
    def can_divide(self):
        return 100 // (self.other - 4) != 3

    @step_invariant
    def no_leap(self, old):
        return self.value < old.value + 3

    @reachable
    def both(self):
        return self.value == self.other


STATE_ROLES = (Role.INVARIANT, Role.REACHABLE)


def batch_of(spec: Spec, names: list[str]) -> tuple[BatchEngine, SingleStateEngine]:
    code, layout = compile_batch(compile_spec(spec, names))
    probe = SingleStateEngine(spec, names)
    assert layout.words == code.words
    return BatchEngine(pickle.loads(pickle.dumps(code))), probe


def some_states(spec: Spec, limit: int) -> list[State]:
    """Return the first states in breadth-first order."""
    found = dict.fromkeys(spec.initial_states())
    for state in (order := list(found)):
        if len(order) >= limit:
            break
        for step in spec.expand(state)[0]:
            if step.state not in found:
                found[step.state] = None
                order.append(step.state)
    return order


def compare(spec: Spec, states: list[State]) -> None:
    names = [name for name, role in spec.roles.items() if role in (*STATE_ROLES, Role.STEP_INVARIANT)]
    batch, probe = batch_of(spec, names)
    words = np.array([probe.words_of(state) for state in states], np.uint64)
    of_states = [name for name in names if spec.roles[name] in STATE_ROLES]
    of_steps = [name for name in names if spec.roles[name] is Role.STEP_INVARIANT]
    bits = batch.check(words, property_mask(spec, names, *STATE_ROLES))
    at = 0
    while at < len(states):
        found = batch.expand(words[at:], property_mask(spec, names, Role.STEP_INVARIANT))
        assert found.taken > 0
        np.testing.assert_array_equal(found.hashes, batch.hashes(found.states))
        for position in range(found.taken):
            state = states[at + position]
            finding = probe.check(state, of_states)
            assert bits[at + position] == bits_of(names, finding)
            expected = probe.expand(state)
            within = probe.within_constraints(state)
            assert found.within[position] == within
            mine = found.parents == position
            if not within:
                assert not mine.any() and not found.failures[position]
                continue
            assert found.counts[position] == mine.sum() == len(expected.words)
            assert dict(zip(found.instances[mine].tolist(), found.states[mine].tolist(), strict=True)) == expected.words
            assert found.failures[position] == len(expected.failures)
            if expected.failures:
                assert found.failed[position] == min(expected.failures)
            for successor, steps in zip(found.states[mine].tolist(), found.steps[mine].tolist(), strict=True):
                if not of_steps:
                    assert not steps
                    continue
                assert steps == bits_of(names, probe.check_step(state, probe.state_of(successor), of_steps))
            is_stuck = not expected.words and not expected.failures
            assert (position in found.deadlocked) == is_stuck
        at += found.taken


def bits_of(names: list[str], finding: CheckedState) -> int:
    return sum(1 << names.index(name) for name in finding.names) | finding.failed << 63


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a call end after a few states: its memory for successors is small."""
    monkeypatch.setattr(batches, "MOST_SUCCESSORS", 7)


def test_all_states_of_a_spec_with_everything(little_room: None) -> None:
    spec = Meter()
    compare(spec, [State({"value": value, "other": other}) for value in range(21) for other in range(7)])


@pytest.mark.parametrize("scenario", ["replication/kip101/two_replicas", "broker/broker_network/n1_no_mute"])
def test_states_of_real_specs(scenario: str) -> None:
    [selection] = registry.select(scenario)
    assert selection.scenario is not None
    spec = selection.entry.spec(**selection.scenario.constants)
    compare(spec, some_states(spec, 300))


def test_states_of_another_width_are_refused() -> None:
    batch, _ = batch_of(Meter(), ["below_fifteen"])
    with pytest.raises(ValueError, match=r"shape \(n, 1\)"):
        batch.check(np.zeros((3, 2), np.uint64), 1)
