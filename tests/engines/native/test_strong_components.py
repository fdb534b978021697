"""The decomposition into strongly connected components, compared with their definition."""

import random

import numpy as np

from checker.engines.native.liveness.strong_components import strong_components


def decomposed(successors: list[list[int]]) -> tuple[int, list[int]]:
    starts = np.cumsum([0, *map(len, successors)])
    targets = np.array([target for targets in successors for target in targets], np.int32)
    count, component = strong_components(starts, targets)
    return count, component.tolist()


def reached_from(state: int, successors: list[list[int]]) -> set[int]:
    found, left = {state}, [state]
    while left:
        new = {target for target in successors[left.pop()] if target >= 0} - found
        found |= new
        left += new
    return found


def test_two_states_share_a_component_if_each_reaches_the_other():
    chooser = random.Random(3)
    seen = set()
    for _ in range(300):
        states = 1 + chooser.randrange(12)
        # Targets below 0 are outside. Steps may be repeated, and may be self-loops.
        successors = [[chooser.randrange(-2, states) for _ in range(chooser.randrange(4))] for _ in range(states)]
        count, component = decomposed(successors)
        reached = [reached_from(state, successors) for state in range(states)]
        for one in range(states):
            for other in range(states):
                assert (component[one] == component[other]) == (other in reached[one] and one in reached[other])
        assert sorted(set(component)) == list(range(count))
        seen.add(count)
    assert len(seen) > 5


def test_a_component_is_numbered_after_those_that_it_reaches():
    assert decomposed([[1], [2], [1, 3], []]) == (3, [2, 1, 1, 0])


def test_long_paths_need_no_stack():
    states = 50_000
    path = [[state + 1] for state in range(states - 1)]
    assert decomposed([*path, []])[0] == states
    assert decomposed([*path, [0]])[0] == 1


def test_a_graph_without_states_has_no_component():
    assert decomposed([]) == (0, [])
