"""Counterexample pages: their text, that they need no other file, and that values are never markup."""

import html
import re
from html.parser import HTMLParser

import pytest

from checker.cli.app import main
from checker.engines.python.explorer import explore
from checker.language import Constant, Domain, Drawing, Lane, Log, Map, Range, Seq, Spec, Struct, action, invariant
from checker.language.default_drawing import drawing_of
from checker.output.page.render import PageContext, counterexample_page
from checker.run.plan import Plan
from specs.examples.two_phase import Manager, TwoPhase
from tests.toy import Counter, Overflow

EVIL = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\"'"


class Evil(Domain):
    size, prefix = 1, EVIL


class EvilItem(Struct):
    number: Range(0, 1)
    shows = EVIL + "{number}"


class EvilSpec(Spec):
    __doc__ = f"A spec of {EVIL}."

    capacity = Constant(1)
    log = Map(Evil, Seq(EvilItem, "capacity"))
    draws = Drawing(Lane(EVIL, each=Evil, logs=(Log("log", EVIL, end=EVIL, colour="number"),)), Lane(EVIL))

    @action
    def append(self, who: Evil):
        self.log[who].append(EvilItem(number=1))  # </pre></script> <!--

    append.__doc__ = EVIL

    @invariant(says=EVIL + "{who}")
    def is_empty(self):
        return all(len(self.log[who]) == 0 for who in Evil)


class Elements(HTMLParser):
    """The elements of a page, and its text outside of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text, self._inside = [], "", ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else ""

    def handle_data(self, data):
        if not self._inside:
            self.text += data

    def handle_endtag(self, tag):
        self._inside = ""


def page_of(spec, violation, **context):
    return counterexample_page(spec, violation, PageContext("mine/spec", "python -m checker run", **context))


class Quoting(Counter):
    """A counter with a property whose docstring has code."""

    @invariant
    def stays(self):
        """The `value` <b> stays `0`."""
        return self.value == 0


def test_code_in_what_is_expected_is_code():
    (violation,) = explore(Quoting(), Plan(("stays",))).violations
    page = page_of(Quoting(), violation)
    assert "expected</span> The <code>value</code> &lt;b&gt; stays <code>0</code>.</p>" in page


def evil_page():
    spec = EvilSpec()
    (violation,) = explore(spec, Plan(("is_empty",))).violations
    return page_of(spec, violation, description=EVIL, notes=(EVIL,))


def test_headline_has_the_violation_and_the_command(kip101_page):
    text = " ".join(Elements(kip101_page).text.split())
    assert "strong_isr is false at step 12" in text
    assert "replica b3, offset 0: record r0@0 is below b1's high watermark and missing" in text
    assert "Every electable replica has all records below the high watermark" in text
    assert "Command that finds this trace: python -m checker run replication/kip101" in text
    assert "KAFKA-7128." in text


def test_every_step_shows_source_enabled_steps_and_properties(kip101_page):
    steps = kip101_page.split('<section class="step"')[1:]
    assert len(steps) == 12
    last = steps[-1]
    assert "self.update_isr(leader, self.isr[leader] | {follower})" in html.unescape(last)
    assert 'class="taken"' in last
    assert "follower_fetch(b3)" in last
    assert "false for the first time" in last
    assert not any("false for the first time" in step for step in steps[:-1])


def test_lanes_show_leaders_in_sync_sets_and_violating_cells(kip101_page):
    last = kip101_page.split('<section class="step"')[-1].split("<footer")[0]
    assert last.count("♛ believes that it leads") == 2
    assert last.count("♛ leader in the quorum") == 1
    assert len(re.findall(r'class="cell[^"]* violation', last)) == 2
    assert "members according to" in last and last.count("<b>ISR</b>") == 4


@pytest.mark.parametrize("name", ["kip101", "producer", "toy_log"])
def test_page_is_small_and_needs_no_other_file(name, request):
    spec, violation = request.getfixturevalue(name)
    page = page_of(spec, violation)
    assert len(page.encode()) < 300_000
    for tag, attributes in Elements(page).elements:
        for key in ("src", "href", "xlink:href", "action"):
            assert str(attributes.get(key, "#")).startswith(("#", "data:")), (tag, attributes)
    assert "@import" not in page
    assert "url(http" not in page


def test_spec_without_a_drawing_has_a_lane_for_each_member_of_its_domains(toy_log):
    page = page_of(*toy_log)
    last = page.split('<section class="step"')[-1].split("<footer")[0]
    assert '<table class="values">' not in last
    assert re.findall('<span class="lane-name">(.*?)</span>', last) == ["b1", "b2", "shared"]
    assert re.search(r'<tr class="lane changed.*?<span class="box added">', last, re.DOTALL)


def test_default_drawing_shows_every_variable_once():
    drawing = drawing_of(TwoPhase())
    members, shared = drawing.lanes
    assert (members.each, list(members.facts), list(members.boxes)) == (Manager, ["at"], [])
    assert (shared.each, list(shared.facts), list(shared.boxes)) == (
        None,
        ["decision"],
        ["votes_sent", "votes_counted"],
    )
    assert drawing_of(EvilSpec()) is EvilSpec.draws


def test_spec_without_maps_is_shown_as_tables():
    spec = Counter(limit=1, resets=True)
    assert drawing_of(spec) is None
    (violation,) = explore(spec, Plan(("below_limit",))).violations
    page = page_of(spec, violation)
    assert '<table class="values">' in page
    assert '<table class="lanes' not in page
    assert re.search(r'<tr class="changed"><th scope="row">value</th><td', page.split('<section class="step"')[-1])


def test_action_that_leaves_its_bounds_has_its_own_step():
    spec = Overflow()
    (violation,) = explore(spec, Plan(("never_falls",))).violations
    text = " ".join(Elements(page_of(spec, violation)).text.split())
    assert "increment leaves the bounds of a type at step 5" in text
    assert text.count("increment() cannot be executed: ") == 3
    assert "expected" not in text


def test_markup_in_names_is_text():
    page = evil_page()
    parsed = Elements(page)
    assert [tag for tag, _ in parsed.elements if tag in ("img", "iframe", "object")] == []
    assert sum(tag == "script" for tag, _ in parsed.elements) == 1
    assert not any(name.startswith("on") for _, attributes in parsed.elements for name in attributes)
    assert EVIL + "1" in parsed.text


def test_policy_allows_only_the_script_of_the_page(kip101_page):
    (policy,) = [
        attributes["content"]
        for tag, attributes in Elements(kip101_page).elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='", policy)


def test_large_page_shows_less_source(kip101, monkeypatch):
    from checker.output.page import render

    whole = page_of(*kip101)
    monkeypatch.setattr(render, "MOST_BYTES", len(whole.encode()) - 1)
    shorter = page_of(*kip101)
    assert len(shorter) < len(whole)
    assert shorter.count('<figure class="source">') == sum(
        min(found, 3)
        for found in (part.count('<figure class="source">') for part in whole.split('<section class="step"'))
    )


def test_the_page_links_to_the_page_of_all_results(tmp_path):
    pages = tmp_path / "the pages"
    command = ["run", "broker/leader_state/i7_restart", "--out", str(pages)]
    assert main([*command, "--html", str(tmp_path / "all results.html")]) == 0
    (page,) = pages.glob("*.html")
    assert 'href="../all%20results.html">all results</a>' in page.read_text()
    assert main(command) == 0
    assert "all results</a>" not in page.read_text()
