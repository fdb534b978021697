"""The engine on the card of this machine: skipped where there is none."""

import pytest

from checker.engines.gpu import engine
from checker.engines.gpu.driver import Card
from checker.engines.native import engine as native
from checker.errors import InputError
from checker.run.request import Request, runs_for
from tests.engines.gpu.compare_on_card import content_of, plan_of

NAMES = (
    "broker/leader_state",
    "broker/follower_state",
    "examples/peterson",
    "replication/kip320",
    "replication/kip320_first_try",
    "producer/plain_producer",
)


@pytest.fixture(scope="module")
def card():
    try:
        Card().close()
    except InputError as error:
        pytest.skip(str(error))


@pytest.mark.gpu
@pytest.mark.parametrize("run", runs_for(Request(NAMES)), ids=lambda run: run.name)
def test_a_card_has_the_result_of_the_native_engine(run, card):
    plan = plan_of(run, max_memory=10**9)
    try:
        found = engine.explore(run.spec, plan)
    except InputError as refused:
        pytest.skip(str(refused))
    assert content_of(found) == content_of(native.explore(run.spec, plan))
