"""Violating walks of faulty scenarios shrink to the length of the explorer's shortest counterexample."""

import numpy as np
import pytest

from checker.engines.native.walk.walker import Walker, walk_seeds
from checker.explain import violations
from checker.run import registry
from spark_analysis.walks.row_violations import trace_of_instances
from traces.schedule import calls_of
from traces.shrink import reduce, search_shorter

CASES = [
    ("producer/plain_producer/p1_reorder_by_retry", "no_reorder"),
    ("producer/plain_producer/p2_reorder_by_reenqueue", "no_reorder"),
    ("producer/plain_producer/p3_duplicate_on_lost_ack", "no_duplicate"),
    ("producer/idempotent_producer/i1_cache_of_one", "no_duplicate"),
    ("replication/truncate_to_high_watermark/two_replicas", "strong_isr"),
    ("replication/truncate_to_high_watermark/three_replicas", "weak_isr"),
    ("replication/truncate_to_high_watermark/two_replicas_three_epochs", "log_matching"),
    ("replication/kip101/two_replicas_three_epochs", "weak_isr"),
    ("replication/kip101/two_replicas_three_epochs", "strong_isr"),
    ("replication/kip101/fast_elections", "log_matching"),
]

WALKS, MOST_WALKS, DEPTH = 2_000, 400_000, 40


def first_violation(spec, name):
    walker = Walker(spec, [name])
    for first in range(0, MOST_WALKS, WALKS):
        found = walker.walk(walk_seeds(7, first, WALKS), DEPTH)
        violating = np.flatnonzero(found.violated)
        if len(violating):
            number = violating[0]
            actions = found.actions[found.ends[number] - found.lengths[number] : found.ends[number]]
            return violations.false_property(
                spec, name, trace_of_instances(spec, int(found.initial[number]), actions.tolist())
            )
    raise AssertionError("no walk violates it")


@pytest.mark.parametrize(("target", "name"), CASES)
def test_walk_shrinks_to_the_explorers_length_by_its_own_actions(target, name):
    (selection,) = registry.select(target)
    spec = selection.entry.spec(**selection.scenario.constants)
    reduced = reduce(spec, first_violation(spec, name))
    search = search_shorter(spec, reduced, 2_000_000, {call.action for call in calls_of(reduced)})
    assert not search.limit
    assert (search.found or reduced).length == selection.scenario.expect[name]
