"""State machines: a correct implementation passes, and a seeded bug is found and shrunk."""

import subprocess
import sys

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from checker.language import SpecError
from checker.testing import Adapter, state_machine
from examples.replicated_log.implementation import HastyCluster
from examples.replicated_log.specification import ReplicatedLog
from examples.replicated_log.test_replicated_log import ClusterAdapter
from tests.toy import Bounded, Counter

QUICK = settings(max_examples=60, stateful_step_count=20, deadline=None, database=None, derandomize=True)


class HastyAdapter(ClusterAdapter):
    cluster_class = HastyCluster


class CountingAdapter(Adapter):
    closed = 0

    def start(self, state):
        self.count = state.value

    def increment(self):
        self.count += 1

    def stay(self):
        pass

    def reset(self):
        self.count = 0

    def observe(self):
        return self.count

    def project(self, state):
        return state.value

    def close(self):
        type(self).closed += 1


def test_correct_implementation_passes():
    run_state_machine_as_test(state_machine(ReplicatedLog, ClusterAdapter), settings=QUICK)


def test_seeded_bug_is_found_and_shrunk():
    machine = state_machine(ReplicatedLog, HastyAdapter)
    with pytest.raises(AssertionError) as found:
        run_state_machine_as_test(
            machine, settings=settings(QUICK, max_examples=300, phases=(Phase.generate, Phase.shrink))
        )
    message = str(found.value)
    assert "the implementation differs from replicated_log" in message
    run = [line.split(maxsplit=1)[1] for line in message.splitlines() if line.strip()[:1].isdigit()]
    # A record of the old leader, an election, a record of the new leader and a fetch: no shorter run shows the bug.
    # Hypothesis shrinks to a local minimum, which may be one election longer.
    assert run[0] == "initial state"
    assert len(run) in (5, 6)
    assert run[-1].startswith("fetch(")
    assert run.count("write()") == 2
    assert ", but in the spec []" in message
    notes = "\n".join(found.value.__notes__)
    assert "state.elect(call=elect(" in notes


def test_spec_keeps_its_constants():
    class Logged(ClusterAdapter):
        names = set()

        def start(self, state):
            super().start(state)
            self.names.update(self.cluster.names)

    run_state_machine_as_test(
        state_machine(ReplicatedLog(replicas=2), Logged), settings=settings(QUICK, max_examples=3)
    )
    assert Logged.names == {"b1", "b2"}


def test_run_ends_in_a_deadlock_or_outside_the_constraints():
    for spec in (Counter(limit=1), Bounded):
        run_state_machine_as_test(state_machine(spec, CountingAdapter), settings=QUICK)


def test_the_implementation_is_closed_after_each_run():
    before = CountingAdapter.closed
    run_state_machine_as_test(state_machine(Counter, CountingAdapter), settings=settings(QUICK, max_examples=5))
    assert CountingAdapter.closed > before


def test_difference_of_other_values_than_mappings_is_shown_whole():
    class Stuck(CountingAdapter):
        def increment(self):
            pass

    with pytest.raises(AssertionError, match=r"after increment\(\) the implementation differs from counter:\n  0, but"):
        run_state_machine_as_test(state_machine(Counter, Stuck), settings=QUICK)


def test_error_on_a_missing_method_has_its_parameters():
    class Incomplete(Adapter):
        leaves_out = ("write",)

    with pytest.raises(SpecError, match=r"Incomplete has no method for fetch: add def fetch\(self, follower\)"):
        state_machine(ReplicatedLog, Incomplete)


def test_unknown_action_in_leaves_out():
    class Wrong(Adapter):
        leaves_out = ("writes",)

    with pytest.raises(SpecError, match=r"Wrong\.leaves_out names writes: replicated_log has no such action"):
        state_machine(ReplicatedLog, Wrong)


def test_hypothesis_is_imported_only_by_state_machine():
    script = "import sys, checker.testing; print('hypothesis' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
