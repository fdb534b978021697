"""The walker: its reports on walks, the distribution of its choices, and that a walk depends on its seed only."""

import itertools

import numpy as np
import pytest

from checker.engines.native.lowering import outlining as outline
from checker.engines.native.walk.kernel import CONSTRAINT, ENDINGS
from checker.engines.native.walk.walker import Walker, Walks, walk_seeds
from checker.language import Spec, SpecError
from checker.run.plan import DEADLOCK
from tests.engines.native.walk_toys import Broken, Choice, Forks, Ladder, Nowhere

CHI_SQUARE_999 = {1: 10.83, 3: 16.27, 7: 24.32}
"""The 99.9 % quantile of chi-square, by degrees of freedom."""


def walker_of(spec: Spec) -> Walker:
    return Walker(spec, spec.properties)


def chi_square(observed: np.ndarray, expected: np.ndarray) -> float:
    return float(((observed - expected) ** 2 / expected).sum())


def ended(walks: Walks, ending: str) -> np.ndarray:
    return np.flatnonzero(walks.endings == ENDINGS.index(ending))


def test_enabled_instances_are_equally_likely() -> None:
    walks = walker_of(Choice()).walk(walk_seeds(11, 0, 80_000), 1)
    taken = np.bincount(walks.actions, minlength=8)
    assert chi_square(taken, np.full(8, 10_000)) < CHI_SQUARE_999[7]


def test_initial_states_are_equally_likely() -> None:
    walks = walker_of(Choice(starts=4)).walk(walk_seeds(12, 0, 40_000), 1)
    assert chi_square(np.bincount(walks.initial, minlength=4), np.full(4, 10_000)) < CHI_SQUARE_999[3]


def test_weights_are_those_of_action_instances() -> None:
    walker = walker_of(Choice())
    walks = walker.walk(walk_seeds(13, 0, 80_000), 1, weights=walker.weights_of({"low": 5}))
    taken = np.bincount(walks.actions, minlength=8)
    expected = 80_000 * np.array([5, 5, 5, 1, 1, 1, 1, 1]) / 20
    assert chi_square(taken, expected) < CHI_SQUARE_999[7]
    # The test can tell: uniform walks fail it by far.
    uniform = walker.walk(walk_seeds(13, 0, 80_000), 1)
    assert chi_square(np.bincount(uniform.actions, minlength=8), expected) > 10 * CHI_SQUARE_999[7]


def test_successive_choices_are_independent() -> None:
    # No walk ends within four steps: a choice among walks would be no fair sample of their steps.
    whole = walker_of(Ladder(top=20)).walk(walk_seeds(14, 0, 40_000), 4).actions.reshape(-1, 4)
    # After climbing twice from the ground, both actions are enabled, and after climbing once more, again.
    twice = whole[(whole[:, 1] == 0)]
    again = twice[twice[:, 2] == 0]
    for chosen in (twice[:, 2], again[:, 3]):
        counts = np.bincount(chosen, minlength=2)
        assert chi_square(counts, np.full(2, len(chosen) / 2)) < CHI_SQUARE_999[1]


def test_rare_actions_weigh_more() -> None:
    walker = walker_of(Ladder(top=4))
    weights = walker.rare_weights(20)
    assert weights == walker.rare_weights(20)
    assert weights["climb"] == 1
    assert weights["jump"] > weights["fall"] >= 1
    biased = walker.walk(walk_seeds(1, 0, 2000), 20, weights=walker.weights_of(weights))
    uniform = walker.walk(walk_seeds(1, 0, 2000), 20)
    assert len(biased.actions) != len(uniform.actions)


def test_a_walk_does_not_depend_on_its_batch() -> None:
    walker = walker_of(Ladder())
    many = walker.walk(walk_seeds(5, 0, 500), 30, sampling=0, steps=True)
    starts = many.ends - many.lengths
    for number in (0, 1, 17, 499):
        alone = walker_of(Ladder()).walk(walk_seeds(5, number, 1), 30, sampling=0, steps=True)
        span = slice(starts[number], many.ends[number])
        assert alone.actions.tolist() == many.actions[span].tolist()
        assert alone.endings[0] == many.endings[number] and alone.conjunct[0] == many.conjunct[number]
        assert alone.hashes is not None and many.hashes is not None
        assert alone.hashes.tolist() == many.hashes[span].tolist()
        sampled = slice(many.sampled_ends[number - 1] if number else 0, many.sampled_ends[number])
        assert alone.sampled.tolist() == many.sampled[sampled].tolist()
    assert len({tuple(many.actions[a:b].tolist()) for a, b in zip(starts, many.ends, strict=True)}) > 50


def test_the_first_false_conjunct() -> None:
    walks = walker_of(Ladder(top=3)).walk(walk_seeds(2, 0, 400), 60)
    violating = ended(walks, "violation")
    assert len(violating) > 50
    assert set(walks.first_violated[violating]) == {0}
    # `jumped` at a height of 3: (low or height < 9) is true, `not jumped` is the third of four operands.
    assert set(walks.conjunct[violating]) == {2}
    high = walker_of(Ladder(top=6)).walk(walk_seeds(2, 0, 400), 60)
    of_step = high.first_violated == 1
    assert of_step.any() and set(high.conjunct[of_step]) == {1}
    others = walks.conjunct[walks.endings != ENDINGS.index("violation")]
    assert set(others.tolist()) <= {-1}


@pytest.mark.parametrize("where", ["action", "invariant", "step", "both", "constraint"])
def test_the_evaluation_that_leaves_its_bounds_is_named(where: str) -> None:
    walker = walker_of(Broken(where=where))
    walks = walker.walk(walk_seeds(3, 0, 300), 30)
    failing = ended(walks, "bounds")
    assert len(failing) > 20
    assert len(failing) + len(ended(walks, "constraint")) == 300
    properties = {"action": -1, "invariant": 1, "step": 2, "both": 1, "constraint": CONSTRAINT}
    assert set(walks.failed_property[failing].tolist()) == {properties[where]}
    assert set(walks.failed_instance[failing].tolist()) == {0 if where == "action" else -1}
    if where == "constraint":
        assert walker.constraint_out_of_bounds(walks.last_states[failing[0], 0]) == "other"


def test_a_deadlock_is_a_violation_if_it_is_checked() -> None:
    spec = Choice()
    plain = Walker(spec, spec.properties).walk(walk_seeds(1, 0, 50), 5)
    asked = Walker(spec, [*spec.properties, DEADLOCK]).walk(walk_seeds(1, 0, 50), 5)
    assert set(plain.endings.tolist()) == set(asked.endings.tolist()) == {ENDINGS.index("deadlock")}
    assert not plain.violated.any() and set(asked.violated.tolist()) == {2}
    assert plain.lengths.tolist() == [1] * 50
    eight = {number for number, action in enumerate(plain.actions.tolist()) if action == 7}
    assert set(np.flatnonzero(plain.reached).tolist()) == eight and eight


def test_coverage_of_many_instances() -> None:
    walker = walker_of(Choice())
    walks = walker.walk(walk_seeds(9, 0, 100), 1)
    assert walks.coverage[:, 0].tolist() == [1 << action for action in walks.actions.tolist()]


def forks_taken(instances: list[int]) -> set[tuple[str, bool]]:
    """Return the sides of conditions that the steps of Forks take."""
    taken, count = set(), 0
    for by in instances:
        if by == 3:
            taken.add(("self.count > 0", False))
            continue
        taken.add(("by == 0", by == 0))
        if by != 0:
            taken |= {("self.is_odd()", count % 2 == 1), ("self.count % 2 == 1", count % 2 == 1)}
        taken.add(("by < 2", by < 2))
        count += 1 if by < 2 else 2
    return taken


@pytest.mark.parametrize("is_outlined", [False, True])
def test_branches_are_those_of_the_steps_taken(is_outlined: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_outlined:
        monkeypatch.setattr(outline, "SMALLEST_BODY", 0)
        monkeypatch.setattr(outline, "SMALLEST_TOTAL", 0)
    walker = walker_of(Forks())
    texts = [site.text for site in walker.branches]
    assert texts == ["by == 0", "self.is_odd()", "self.count % 2 == 1", "by < 2", "self.count > 0"]
    walks = walker.walk(walk_seeds(4, 0, 300), 4)
    for number, (start, end) in enumerate(zip(walks.ends - walks.lengths, walks.ends, strict=True)):
        bits = int(walks.branches[number, 0])
        taken = {(text, side == 0) for at, text in enumerate(texts) for side in (0, 1) if bits >> (2 * at + side) & 1}
        assert taken == forks_taken(walks.actions[start:end].tolist())


def test_no_walks_and_no_steps() -> None:
    walker = walker_of(Ladder())
    assert len(walker.walk(walk_seeds(1, 0, 0), 10).actions) == 0
    still = walker.walk(walk_seeds(1, 0, 3), 0, sampling=0)
    assert still.lengths.tolist() == [0, 0, 0] and set(still.endings.tolist()) == {ENDINGS.index("depth")}
    assert len(still.sampled) == 3


def test_masks_follow_the_order_of_properties() -> None:
    spec = Ladder(top=3)
    orders = list(itertools.permutations(spec.properties))
    found = [Walker(spec, list(order)).walk(walk_seeds(2, 0, 60), 60) for order in orders]
    for order, walks in zip(orders, found, strict=True):
        names = {order[bit] for bit in walks.first_violated.tolist() if bit >= 0}
        assert names == {"stays_low"}
        assert walks.lengths.tolist() == found[0].lengths.tolist()


def test_a_spec_without_initial_state_is_refused() -> None:
    with pytest.raises(SpecError, match="has no initial state"):
        walker_of(Nowhere())
