"""Stored pages: in every state and after every step they show what the explorer's own page shows."""

import base64
import gzip
import json
import re

import pytest

from checker.explorer.address import Address
from checker.explorer.page import explorer_page
from checker.explorer.stored_graph import stored_page
from checker.language import Range, Spec, action, constraint, invariant
from tests.explorer.conftest import ExplorerClient, offers_in, session_of


def data_of(page):
    (packed,) = re.findall(r'id="graph">([^<]*)<', page.text)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def html_of(data, number):
    piece = data["pieces"][number]
    return piece if isinstance(piece, str) else "".join(html_of(data, each) for each in piece)


def plain(text):
    return re.sub(r"\s+", "", text)


def paths_of(data):
    """Yield for each step the shortest path to it: its codes, the state at its end, and its place."""
    paths = {0: ()}
    yield (), 0, data["initial"][0]
    for number, state in enumerate(data["states"]):
        for code, _, target, place in state["steps"]:
            codes = (*paths[number], data["pieces"][code])
            paths.setdefault(target, codes)
            yield codes, target, place


@pytest.fixture(scope="module")
def restart():
    """The session of a scenario with 63 states that violates a property."""
    return session_of("producer/idempotent_producer/i7_restart")


@pytest.fixture(scope="module")
def restart_data(restart):
    page = stored_page(restart)
    data = data_of(page)
    assert (page.states, page.steps) == (63, 80)
    assert (len(data["states"]), sum(len(state["steps"]) for state in data["states"])) == (63, 80)
    return data


def test_each_part_is_that_of_the_explorers_page(restart, restart_data):
    false = 0
    for codes, _, place in paths_of(restart_data):
        shown = plain(explorer_page(restart, restart.place(Address(codes=codes)), inlined=True))
        *parts, enabled = restart_data["parts"]
        assert enabled == "enabled"
        for name, number in zip(parts, restart_data["places"][place], strict=True):
            # The number of the step is that of the path.
            text = re.sub(r'(class="number">)\d+', rf"\g<1>{len(codes) + 1}", html_of(restart_data, number))
            assert plain(f'data-part="{name}">{text}</div>') in shown, (codes, name)
        false += "is false" in html_of(restart_data, restart_data["places"][place][0])
    assert false == 5


def test_the_enabled_steps_are_those_of_the_explorers_page(restart, restart_data):
    client = ExplorerClient(restart)
    for codes, state, _ in list(paths_of(restart_data))[::7]:
        live = client.page(f"?{'&'.join(f's={code}' for code in codes)}")
        assert list(offers_in(html_of(restart_data, restart_data["states"][state]["enabled"]))) == list(offers_in(live))
        calls = [restart_data["pieces"][step[0]] for step in restart_data["states"][state]["steps"]]
        assert calls == re.findall(r'data-code="([^"]*)"', live)
        says = re.findall(r'class="says">([^<]*)<', live)
        assert len(says) == len(calls) and all(sentence.endswith(".") for sentence in says)


def test_a_spec_with_constraints_has_no_page():
    class Counter(Spec):
        count = Range(0, 100)

        @action
        def add(self):
            self.count += 1

        @constraint
        def is_small(self):
            return self.count < 5

        @invariant
        def is_bounded(self):
            return self.count < 90

    assert stored_page(session_of(Counter)) is None
