"""Executed source of a step: only functions of the spec."""

import sys

from checker.explain.executed_lines import executed
from checker.testing import play
from specs.replication.kip101 import Kip101
from tests.support.source_modules import load
from tests.toy import Counter

FINALIZER = """
class Noisy:
    def __del__(self):
        self.gone = True
"""


def test_functions_of_a_step_are_in_call_order():
    spec = Kip101()
    listings = executed(spec, play(spec), "controller_shrink_isr", ("b1",))
    assert listings[0].title.endswith("controller_shrink_isr")
    assert all(listing.file.endswith(".py") for listing in listings)


def test_finalizers_called_by_the_garbage_collector_are_left_out(tmp_path, monkeypatch):
    elsewhere = load(FINALIZER, tmp_path)

    spec = Counter()
    state = play(spec)
    step = spec.step

    def step_with_finalizer(*arguments):
        elsewhere.Noisy()
        return step(*arguments)

    monkeypatch.setattr(spec, "step", step_with_finalizer)
    titles = {listing.title for listing in executed(spec, state, "increment", ())}
    assert not any("Noisy" in title for title in titles)
    assert any(title.endswith("increment") for title in titles)
    assert sys.gettrace() is None
