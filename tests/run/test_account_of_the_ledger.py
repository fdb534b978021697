"""Every row of the ledger: what it selects and what it says to be violated is a declaration of its spec."""

import pytest

from checker.engines.native import engine
from checker.language import Refinement
from checker.language.roles import DEADLOCK, PROPERTY_ROLES, Role, role_of
from checker.run import ledger
from checker.run.expectation import property_names
from checker.run.plan import Plan
from checker.run.request import Request, runs_for


@pytest.fixture(scope="module")
def rows():
    recorded = ledger.read(ledger.default_path())
    runs = {run.name: run for run in runs_for(Request(()))}
    assert recorded.keys() <= runs.keys()
    return [(runs[name], record) for name, record in recorded.items()]


def declared(run):
    """Return the names by the marks of the decorators, which neither a plan nor an engine has read."""
    names = set()
    for base in reversed(type(run.spec).__mro__):
        for name, value in vars(base).items():
            if isinstance(value, Refinement) or role_of(value) in PROPERTY_ROLES:
                names.add(name)
            elif value is None or role_of(value) is not None:
                names.discard(name)
    return names


def test_what_a_row_has_was_declared_and_selected(rows):
    for run, record in rows:
        assert set(run.properties) <= {*declared(run), DEADLOCK}, run.name
        assert set(record.violations) <= set(run.properties), run.name


ELSEWHERE = {
    ("record_deletion", "deleted_records_were_read"): "`advise` asks it; tests/specs/test_consumer.py checks it",
    ("worker_pool", "no_late_copy"): "a copy after a crash violates it; tests/specs/test_consumer.py checks it",
}
"""Properties that no row selects, of the class or of a class with the same method, and where they are checked."""


def test_each_declared_property_is_selected_in_a_row(rows):
    """A row of the class selects it, or one of another class that has it from the same method."""
    selected = {(defining(type(run.spec), name), name) for run, _ in rows for name in run.properties}
    specs = {type(run.spec) for run, _ in rows}
    names = {(spec, name) for spec in specs for name in property_names(spec)}
    lost = {(spec.name, name) for spec, name in names if (defining(spec, name), name) not in selected}
    assert lost == ELSEWHERE.keys()


ALSO_VIOLATED = {
    # A consumer that commits after its work may work twice, and a producer without idempotence may send twice.
    "background_commits fenced_sink offset_expiry offset_reset worker_pool": "no_duplicate no_late_copy",
    "record_deletion": "no_duplicate no_late_copy deleted_records_were_read",
    "fair_producer fair_sessions": "no_duplicate",
    "plain_liveness": "no_duplicate no_gap no_late_copy no_reorder",
    # Variants for liveness, with what C3, C5 and C10 violate in the specs from which they derive.
    "cooperative_liveness group_liveness": "no_duplicate no_zombie_effect",
    "protocol_liveness": "one_owner owned_partitions_are_held",
    "refused_claims": "commits_move_forward no_duplicate no_zombie_effect one_owner",
    # The row is fair to the actions that its own properties need.
    "blocked_thread_wakes_sender_liveness flush_in_callback": "batch_is_completed",
    "expiring_append": "send_returns",
    "kip320_keeps_last_replica": "follower_rejoins_isr high_watermark_reaches_log_end",
    "short_memory_is_not_pressing_liveness": "batch_is_completed",
    "split_append_liveness": "batch_is_completed send_returns",
    # A follower takes what its leader sends, with any sequence; formats without epochs truncate as in R1.
    "follower_state": "epochs_never_go_back retries_recognised sequences_contiguous",
    "old_formats": "cache_matches_the_log no_acked_loss strong_isr weak_isr",
    # A fault violates more than what its rows expect.
    "any_sequence_taken no_sequence_check old_taken_for_last state_lost": "retries_recognised",
    "bumps_every_partition": "bump_epoch bumps_have_causes",
    "every_waiter_is_signalled every_waiter_is_signalled_liveness": "only_the_first_waiter_gathers",
    "one_is_notified version_read_too_late_liveness wait_without_test": "update_is_requested_while_waiting",
    "one_is_notified_liveness wait_without_test_liveness": (
        "no_thread_misses_an_update update_is_requested_while_waiting"
    ),
    "stays_in_line_liveness timed_out_waiter_stays_in_line": "queue_holds_the_waiting_threads",
    "swallows_signal_liveness timed_out_waiter_swallows_signal": "no_signal_is_lost",
    "wakeup_is_forgotten_liveness": "no_wake_up_is_lost",
}
"""Properties that no row of the class selects, and that its smallest row violates: each was looked at."""


@pytest.mark.slow
def test_the_properties_that_no_row_of_a_class_selects_hold_in_its_smallest_row(rows):
    """A variant inherits properties that its rows leave out. Whether each holds there was looked at.

    The row is one that holds, if there is one. Reachable states are left out: they may need a larger row.
    """
    violated = {}
    for spec in {type(run.spec) for run, _ in rows}:
        mine = [
            (bool(record.violations), record.distinct_states or 0, run)
            for run, record in rows
            if type(run.spec) is spec
        ]
        names = set(property_names(spec)) - {name for *_, run in mine for name in run.properties}
        names = tuple(sorted(name for name in names if spec.roles[name] is not Role.REACHABLE))
        if names:
            *_, run = min(mine, key=lambda row: row[:2])
            result = engine.explore(run.spec, Plan(names, "all", workers=1, quick=True))
            lost = {violation.property for violation in result.violations}
            violated |= {spec.name: lost} if lost or result.verdict not in ("holds", "violated") else {}
    assert violated == {name: set(also.split()) for names, also in ALSO_VIOLATED.items() for name in names.split()}


def defining(spec, name):
    """Return the class that defines a method of a spec."""
    return next((base for base in spec.__mro__ if name in vars(base)), None)
