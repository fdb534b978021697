"""Candidates and suspects: what is evaluated on several states at once excludes only what has no effect."""

import numpy as np
import pytest

from checker.engines.native.engine import compile_program, explore_compiled, initial_states
from checker.engines.native.explore.exploration import Exploration
from checker.engines.native.kernels.single_state import SingleStateEngine
from checker.engines.native.lowering import lanes
from checker.frontend import compile_spec
from checker.language import Constant, Domain, Map, Option, Range, Seq, Spec, action, invariant, reachable, require
from checker.run.plan import Plan
from specs.replication.kip101 import Kip101
from specs.replication.kip320 import Kip320


class Member(Domain):
    size, prefix = "members", "m"


class Queues(Spec):
    """Members push, pop and copy numbers; a guard reads past the end of a queue once `careless` is set."""

    members = Constant(3)
    careless = Constant(False)

    queues = Map(Member, Seq(Range(0, 3), 3))
    last = Option(Member)
    total = Range(0, 9)

    @action
    def push(self, member: Member, number: Range(0, 3)):
        require(len(self.queues[member]) < 3 and self.total < 9)
        require(self.last is None or self.last != member or number > 1)
        self.queues[member].append(number)
        self.last = member
        self.total += 1

    @action
    def pop(self, member: Member):
        end = len(self.queues[member])
        require((self.careless and self.total > 2) or end > 0)
        require(self.queues[member][end - 1] == 3 or (end > 1 and all(number > 0 for number in self.queues[member])))
        del self.queues[member][end - 1]

    @action
    def copy(self, source: Member, target: Member):
        leader = self.last
        require(leader is not None)
        require(source != target and leader == source)
        require(any(len(self.queues[member]) == 0 for member in Member if member != source))
        require(len(self.queues[source]) > len(self.queues[target]))
        self.queues[target] = self.queues[source]

    @invariant
    def few_threes(self):
        return not all(3 in self.queues[member] for member in Member)

    @reachable
    def equal_queues(self):
        return all(
            len(self.queues[one]) == 2 and self.queues[one] == self.queues[other] for one in Member for other in Member
        )


def explored(spec: Spec, *, quick: bool, max_states: int | None = None) -> Exploration:
    names = [name for name, role in spec.roles.items() if role.value in ("invariant", "reachable")]
    # Not `compile_native`, which may find code that was compiled before: also optimised code, for `quick`.
    compiled = compile_program(spec, compile_spec(spec, names), names, quick=quick)
    plan = Plan(tuple(names), "all", max_states=max_states, deadlock=True)
    return explore_compiled(compiled, plan, initial_states(spec), 0.0)[1]


@pytest.mark.parametrize(
    "spec",
    [
        Queues(members=2),
        Queues(members=2, careless=True),
        Kip320(max_leader_epoch=1),
        Kip101(max_leader_epoch=1),
    ],
    ids=["queues", "careless queues", "KIP-320", "KIP-101, violated"],
)
def test_an_exploration_with_lanes_finds_the_same(spec: Spec) -> None:
    with_lanes, without = (explored(spec, quick=quick, max_states=20_000) for quick in (False, True))
    assert with_lanes.distinct > 100
    assert (with_lanes.error is not None) == spec.constants.get("careless", False)
    for name in ("distinct", "generated", "levels", "outcome", "reached", "error", "property_error", "deadlock"):
        assert getattr(with_lanes, name) == getattr(without, name), name
    assert with_lanes.violations.keys() == without.violations.keys()
    for bit, found in with_lanes.violations.items():
        assert found.state == without.violations[bit].state
    assert with_lanes.generated_per_instance == without.generated_per_instance
    assert (with_lanes.all_states() == without.all_states()).all()


@pytest.mark.parametrize("most", [0, 40, 150])
def test_what_exceeds_the_limit_is_evaluated_state_by_state(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MOST_NODES", most)
    test_an_exploration_with_lanes_finds_the_same(Queues(members=2))


def candidates_of(probe: SingleStateEngine, words: list[int]) -> set[int]:
    """Return the numbers of the candidates among the action instances."""
    functions = probe._native.lanes
    assert functions is not None
    (masks,) = probe._candidates(probe._words(words))
    return {
        action.first_instance + number
        for action, place in functions.candidates.guarded.items()
        for number in range(action.instances)
        if masks[place.word] >> place.shift + number & 1
    }


def test_candidates_of_kip320_are_its_enabled_instances() -> None:
    # Every guard of the spec is evaluated in full, so the filter excludes all that it could.
    spec = Kip320(max_leader_epoch=1)
    probe = SingleStateEngine(spec, ["weak_isr", "strong_isr"], with_lanes=True)
    states = explored(spec, quick=True, max_states=3000).all_states()
    for words in np.random.default_rng(1).permutation(states)[:500]:
        state = [int(word) for word in words]
        assert candidates_of(probe, state) == set(probe.expand_words(state).words)
        assert probe._suspects(probe._words(state)) == 0
