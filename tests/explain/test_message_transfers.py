"""Messages of a drawing: when a message is received or lost, and when it is still in transit."""

import pytest

from checker.explain.message_transfers import transfers
from checker.run.result import TraceStep
from checker.testing import play
from specs.pipeline.pipeline import Pipeline


def trace_of(spec, *calls):
    """Return the trace of some calls from the initial state."""
    (state,) = spec.initial_states()
    trace = [TraceStep(None, (), state)]
    for call in calls:
        state = play(spec, call, state=state)
        trace.append(TraceStep(call.split()[0], (), state))
    return tuple(trace)


@pytest.mark.parametrize(
    ("settings", "after", "arrived", "is_lost"),
    [
        (dict(late_requests=True), ["connection_close", "leader_append_late"], 4, False),
        (dict(late_requests=True), ["connection_close"], None, False),
        (dict(late_requests=True), ["connection_close", "broker_crash n1"], 4, True),
        (dict(late_requests=False), ["connection_close"], 3, True),
        (dict(late_requests=True), ["broker_crash n1"], 3, True),
        (dict(late_requests=True), ["leader_append"], 3, False),
    ],
)
def test_a_request_is_lost_if_no_leader_handles_it(settings, after, arrived, is_lost):
    spec = Pipeline(lost_responses=1, broker_crashes=1, **settings)
    (request, *_) = [each for each in transfers(spec, trace_of(spec, "producer_write", *after)) if each.sent == 2]
    assert (request.arrived, request.is_lost) == (arrived, is_lost)
