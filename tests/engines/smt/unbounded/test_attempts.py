"""What a query of an unbounded proof tries in turn."""

import pytest

from checker.engines.smt.instantiation.prepared import Preparation
from checker.engines.smt.solving import AnsweredQuery, QueryLimits
from checker.engines.smt.unbounded.attempts import STRATEGIES, Attempts

TIMEOUT = AnsweredQuery("unknown", 0.0, reason="timeout")


@pytest.mark.parametrize("position", range(2 * len(STRATEGIES)))
def test_a_hard_query_is_refuted_by_the_first_way_that_succeeds(position, monkeypatch):
    attempts, asked = Attempts([], [], "goal", [], QueryLimits(60), Preparation()), []

    def ask(hypotheses, assumed, seconds, way=STRATEGIES[0]):
        asked.append((seconds, way))
        return AnsweredQuery("no", 0.0) if len(asked) == position + 2 else TIMEOUT

    monkeypatch.setattr(attempts, "_ask", ask)
    monkeypatch.setattr(attempts, "_by_instances", lambda violated: TIMEOUT)
    assert attempts.refute(True).answer == "no"
    rounds = [(seconds, way) for seconds in (4.0, 16.0) for way in STRATEGIES]
    assert asked[1:] == rounds[: position + 1]
