"""The HTTP interface of the explorer: pages, steps, refusals, searches, exports and who may ask."""

import json
import re
import threading
import time

import pytest

from checker.explorer.address import Address
from checker.explorer.random_walk import random_walk
from checker.explorer.session import ExplorerSession
from checker.explorer.variant import Variant
from checker.language.choices import Choosing, choose
from specs.replication.kip101 import Kip101
from tests.explorer.conftest import HOST, TOKEN, ExplorerClient, offers_in, session_of, visible
from tests.explorer.explorer_specs import NASTY, Grid, Nasty, Network, Several, Tolerant

LOSS = (
    "controller_elect_leader:b1",
    "controller_elect_leader:b2",
    "become_leader:0",
    "become_leader:1",
    "leader_write:b1",
    "controller_elect_leader:b1",
    "leader_write:b2",
    "become_leader:2",
    "leader_write:b1",
    "become_follower:b2:2",
    "leader_increment_high_watermark:b1",
)
"""Steps of `replication/kip101/fast_elections` that end in a violation of `weak_isr`."""


@pytest.fixture(scope="module")
def kip101(fast_elections):
    return ExplorerClient(fast_elections)


@pytest.fixture(scope="module")
def network():
    return ExplorerClient(session_of(Network))


def test_each_enabled_step_is_a_link_to_the_state_after_it(kip101):
    spec = Kip101(replicas=2, max_records=3)
    (state,) = spec.initial_states()
    path = "."
    for _ in range(5):
        page = kip101.page(path)
        steps = spec.successors(state)
        found = offers_in(page)
        assert [re.sub(r"\w+=", "", call) for call in found] == [str(step).removesuffix("()") for step in steps]
        assert kip101.session.place(Address.of(_pairs(path))).panes[0].state == state
        state, path = steps[0].state, next(iter(found.values()))


def _pairs(path):
    from urllib.parse import parse_qsl

    return parse_qsl(path.removeprefix(".").removeprefix("?"))


def test_the_address_alone_rebuilds_the_state(fast_elections, kip101):
    page = kip101.page(Address(codes=LOSS).query())
    other = ExplorerClient(session_of("replication/kip101/fast_elections"))
    again = other.page(Address(codes=LOSS).query())
    lanes = re.compile(r"<main.*?</main>", re.DOTALL)
    assert lanes.search(page)[0] == lanes.search(again)[0]
    assert "weak_isr is false: replica b2, offset 0: record r0@0 is below b1's high watermark" in visible(page)
    assert (
        'data-announce="Step 12, leader_increment_high_watermark(b1). weak_isr is false. strong_isr is false.' in page
    )


def test_a_step_that_leads_to_a_violation_is_marked(kip101):
    page = kip101.page(Address(codes=LOSS[:-1]).query())
    marked = re.findall(r'<a class="offer bad".*?</a>', page, re.DOTALL)
    assert [visible(found) for found in marked] == [
        "leader_increment_high_watermark(leader=b1) ✗ weak_isr, strong_isr "
        "b1 raises its high watermark by one record, which its whole ISR has fetched: b1's HW 0 → 1."
    ]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("follower_fetch:b1", "it is not enabled here: require(leader is not None) is false (base.py:"),
        ("no_such_action:b1", "kip101 has no action no_such_action: choose from controller_elect_leader"),
        ("become_leader", "become_leader takes epoch, and 0 were given"),
        ("become_leader:0:1:2", "become_leader takes epoch, and 3 were given"),
        ("leader_write:b9", "kip101 has no leader_write with these arguments in this state"),
        ("", "kip101 has no action : choose from"),
        ("<script>alert(1)</script>", "has no action <script>alert(1)</script>"),
        ("leader_write:\\", "kip101 has no leader_write with these arguments"),
    ],
)
def test_a_step_that_does_not_apply_is_refused_with_a_sentence(kip101, code, reason):
    page = kip101.page(Address(codes=("controller_elect_leader:b1", code, "leader_write:b1")).query(), 400)
    assert "Step 3, " in visible(page) and reason in visible(page)
    assert "<script>alert" not in page
    # The page shows the state before the step.
    assert 'data-address="?s=controller_elect_leader:b1"' in page


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("?c.replicas=0", "constant replicas must be at least 2, not 0"),
        ("?c.replicas=x", "constant replicas must be an integer, not 'x'"),
        ("?c.nothing=1", "kip101 has no constant nothing"),
        ("?i=2", "kip101 has 1 initial state: i must be at most 1"),
        ("?i=x", "i must be a number from 1 to 1,000,000, not 'x'"),
        ("?" + "&".join(["s=a"] * 1001), "the address has 1,001 steps, over 1,000"),
    ],
)
def test_wrong_constants_are_refused_with_a_sentence(kip101, query, reason):
    assert reason in visible(kip101.page(query, 400))


def test_constants_of_an_address_change_the_spec_and_keep_the_steps_that_apply(kip101):
    page = kip101.page("?c.replicas=3&c.max_records=3&s=controller_elect_leader:b3")
    assert (
        'name="c.replicas" type="number" value="3"' in page
        and 'data-address="?c.replicas=3&amp;s=controller_elect_leader:b3"' in page
    )
    page = kip101.page("?s=controller_elect_leader:b3", 400)
    assert "has no controller_elect_leader with these arguments" in visible(page)


def test_steps_that_were_undone_stay_as_branches():
    client = ExplorerClient(session_of("replication/kip101/fast_elections"))
    client.page(Address(codes=LOSS[:4]).query())
    page = client.page(Address(codes=LOSS[:2]).query())
    redo = re.search(r'data-key="redo" href="([^"]*)"', page)[1]
    assert redo.endswith("s=become_leader:0")
    undone = [visible(row) for row in re.findall(r'<li class=" undone">.*?</li>', page, re.DOTALL)]
    assert undone == ["4 become_leader(0)", "5 become_leader(1)"]
    page = client.page(Address(codes=(*LOSS[:2], "become_leader:1")).query())
    assert "1 other branch from here become_leader(0) and 1 more" in visible(page)
    # The last branch is the one that redo takes.
    page = client.page(Address(codes=LOSS[:2]).query())
    assert re.search(r'data-key="redo" href="([^"]*)"', page)[1].endswith("s=become_leader:1")


def test_disabled_steps_have_the_false_require_with_its_values(kip101):
    text = visible(kip101.page("disabled?s=controller_elect_leader:b1&action=follower_fetch"))
    assert "follower_fetch(b1) require(leader is not None) is false (base.py:" in text and "none is none" in text
    assert "has no action" in visible(kip101.page("disabled?action=x", 400))


def test_a_state_with_ten_thousand_steps_is_folded_and_loaded_page_by_page():
    client = ExplorerClient(session_of(Grid))
    started = time.process_time()
    page = client.page()
    assert time.process_time() - started < 3
    assert "Enabled steps 10,000" in visible(page) and offers_in(page) == {} and len(page) < 60_000
    address = re.search(r'data-load="(enabled[^"]*)"', page)[1].replace("&amp;", "&")
    first = client.page(address)
    assert len(offers_in(first)) == 50 and "9,950 more" in first
    address = re.search(r'data-more="([^"]*)"', first)[1].replace("&amp;", "&")
    assert next(iter(offers_in(client.page(address)))) == "move(row=0, column=50)"
    assert list(offers_in(client.page("enabled?action=move&with=(77,%2077)"))) == ["move(row=77, column=77)"]
    assert "no such step" in client.page("enabled?action=move&with=x")
    after = client.page(offers_in(first)["move(row=0, column=9)"])
    assert "column 0 → 9" in visible(after)


def test_instances_that_look_alike_have_codes_of_their_own(network):
    page = network.page("?s=send:n1&s=send:n1")
    assert page.count('s=receive:packet%20to%20n1"') and page.count('s=receive:packet%20to%20n1:2"')
    one = network.session.place(Address(codes=("send:n1", "send:n1", "receive:packet to n1"))).panes[0].state
    two = network.session.place(Address(codes=("send:n1", "send:n1", "receive:packet to n1:2"))).panes[0].state
    assert next(iter(one.received.items_in_order())) != next(iter(two.received.items_in_order()))
    network.page("?s=send:n1&s=send:n1&s=receive:packet%20to%20n1:3", 400)


def test_a_state_outside_the_constraints_is_marked(network):
    steps = "&".join(["s=send:n1", "s=receive:packet to n1"] * 2 + ["s=send:n1"])
    page = visible(network.page(f"?{steps}"))
    assert "The constraint is_small is false here: the checker explores no step from this state." in page


def test_an_action_that_leaves_its_bounds_is_shown_and_not_offered(network):
    steps = "&".join(["s=send:n1", "s=receive:packet to n1", "s=send:n2", "s=receive:packet to n2", "s=send:n1"])
    page = network.page(f"?c.loud=true&{steps}")
    assert "send(to=n1) ✗ leaves the bounds of a type: " in visible(page)
    assert not any(call.startswith("send") for call in offers_in(page))
    assert "it cannot be executed" in visible(network.page(f"?c.loud=true&{steps}&s=send:n1", 400))


def test_several_initial_states():
    client = ExplorerClient(session_of(Several))
    assert list(offers_in(client.page("?i=2"))) == ["grow"]
    page = client.page("?i=3")
    assert "No action is enabled in this state." in page and "of 3" in page


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("at_most_one", "A shortest continuation that violates it has 4 steps:"),
        ("both_received", "A shortest continuation that reaches it has 4 steps:"),
        (
            "total_never_falls",
            "No continuation of this state violates it. All states that are reachable from here within",
        ),
        ("deadlock", "No continuation of this state reaches it."),
    ],
)
def test_the_search_for_a_violation(network, name, text):
    answer = network.page(f"search?property={name}")
    assert text in visible(answer)
    end = re.search(r'data-end href="([^"]*)"', answer)
    if end is not None:
        page = visible(network.page(end[1].replace("&amp;", "&")))
        assert "at_most_one is false: " in page if name == "at_most_one" else "● both_received" in page


def test_a_search_that_was_cut_decides_nothing(kip101):
    text = visible(kip101.page("search?property=log_matching&states=50"))
    assert "Undecided: the search found nothing, and it stopped because it reached the limit of states." in text
    assert "search longer" in text
    text = visible(kip101.page("search?property=everything_is_committed&states=5"))
    assert text.startswith("Undecided") and "interpreter" in text


def test_a_search_that_meets_a_value_out_of_bounds_decides_nothing(network):
    text = visible(network.page("search?property=total_never_falls&c.loud=true"))
    assert "send leaves the bounds of a type after these steps. The search ends there and does not decide" in text


@pytest.mark.parametrize(
    "query", ["property=x", "property=weak_isr&states=0", "property=weak_isr&seconds=x&", "pane=2"]
)
def test_wrong_searches_are_refused(kip101, query):
    assert "This address does not apply" in kip101.page(f"search?{query}", 400)


def test_random_steps(kip101, network):
    answer = kip101.get("random?n=1&seed=5", 303, follow_redirects=False)
    assert len(_pairs(answer.headers["location"].removeprefix("./"))) == 1
    again = kip101.get("random?n=1&seed=5", 303, follow_redirects=False)
    assert again.headers["location"] == answer.headers["location"]
    answer = kip101.get("random?depth=500&seed=1", 303, follow_redirects=False)
    *_steps, (key, end) = _pairs(answer.headers["location"].removeprefix("./"))
    assert key == "walk" and end in ("violation", "deadlock", "depth")
    assert kip101.page(answer.headers["location"])
    ends = {random_walk(network.session, network.session.place(Address()), 30, _seeded(seed)).end for seed in range(30)}
    assert ends == {"violation", "constraint"}


def _seeded(seed):
    import random

    return random.Random(seed)


def test_exports(kip101, tmp_path, capsys):
    from checker.cli.app import main

    query = Address(codes=LOSS).query()
    texts = {format: kip101.get(f"export{query}&format={format}") for format in ("json", "itf", "html", "text", "test")}
    assert all(text.headers["content-disposition"].startswith("attachment; ") for text in texts.values())
    trace = tmp_path / "trace.json"
    trace.write_text(texts["json"].text)
    assert main(["show", str(trace)]) == 0
    shown = capsys.readouterr().out
    assert "weak_isr is violated: counterexample of 12 states" in shown
    assert shown.rstrip() == texts["text"].text.rstrip()
    itf = json.loads(texts["itf"].text)
    assert len(itf["states"]) == 12 and itf["#meta"]["property"] == "weak_isr"
    assert "<title>weak_isr: replication/kip101/fast_elections</title>" in texts["html"].text
    names = {}
    exec(texts["test"].text, names)
    names["test_steps_of_kip101"]()
    broken = texts["test"].text.replace("'become_follower', 'b2', 2", "'become_follower', 'b1', 2")
    exec(broken, names)
    with pytest.raises(Exception, match="is not enabled"):
        names["test_steps_of_kip101"]()


def test_an_exported_path_without_a_violation_is_a_trace_that_replays(network, kip101, tmp_path, capsys):
    from checker.cli.app import main

    (tmp_path / "walk.json").write_text(kip101.page("export?s=controller_elect_leader:b1&format=json"))
    assert main(["show", str(tmp_path / "walk.json")]) == 0
    names = {}
    exec(network.page("export?s=send:n1&s=receive:packet%20to%20n1&format=test"), names)
    names["test_steps_of_network"]()
    assert "unknown format" in network.page("export?format=exe", 400)


def test_two_panes_follow_the_same_choices_and_part():
    client = ExplorerClient(session_of("replication/kip101/fast_elections", "replication/kip279"))
    page = client.page(Address(codes=LOSS[:9]).query())
    assert "Differs from the other pane" not in page
    page = client.page(Address(codes=LOSS[:10]).query())
    assert page.count("Differs from the other pane") == 2
    assert "become_follower(b2, 2) parts" in visible(page)
    page = client.page(Address(codes=LOSS).query())
    assert "weak_isr is false" in visible(page)
    main = re.findall(r'<section class="pane".*?</section>\s*(?=<section class="pane"|</main>)', page, re.DOTALL)
    assert len(main) == 2
    assert [("<code>weak_isr</code> is false" in pane) for pane in main] == [True, False]


def test_a_step_of_one_pane_only_is_offered_and_leaves_the_other_where_it_is():
    client = ExplorerClient(session_of("examples/two_phase", "examples/two_phase_hasty"))
    page = client.page("?s=prepare:m1&s=prepare:m2&s=count_vote:m1&s=count_vote:m2")
    assert "decide_to_commit only in examples/two_phase_hasty" in visible(page)
    assert "decide_to_abort only in" not in visible(page)
    page = visible(client.page(offers_in(page)["decide_to_commit"]))
    assert "decide_to_commit() is not taken: it is not enabled here: require(" in page
    assert "decide_to_commit() parts not in examples/two_phase What" in page


def test_a_step_that_violates_a_property_in_one_pane_names_the_pane():
    variants = [Variant(spec.name, spec.name, spec) for spec in (Network, Tolerant)]
    client = ExplorerClient(ExplorerSession(tuple(variants)))
    steps = "&".join(["s=send:n1", "s=receive:packet to n1", "s=send:n1"])
    assert "receive(packet=packet to n1) ✗ at_most_one in network " in visible(client.page(f"?{steps}"))
    variants = [Variant(Network.name, Network.name, Network)] * 2
    client = ExplorerClient(ExplorerSession(tuple(variants)))
    page = visible(client.page(f"?{steps}"))
    assert "receive(packet=packet to n1) ✗ at_most_one " in page and "✗ at_most_one in" not in page


def test_requests_in_two_threads_have_choices_of_their_own():
    def other():
        with Choosing(("other",)):
            is_open.set()
            is_chosen.wait(5)

    is_open, is_chosen = threading.Event(), threading.Event()
    thread = threading.Thread(target=other)
    with Choosing(("mine",)):
        thread.start()
        is_open.wait(5)
        assert choose(["mine", "other"]) == "mine"
        is_chosen.set()
        thread.join()


def test_names_of_a_hostile_spec_are_text():
    client = ExplorerClient(session_of(Nasty))
    page = client.page()
    wild = next(href for call, href in offers_in(page).items() if "alert" in call)
    for text in (
        page,
        client.page(wild),
        client.page(f"disabled{wild}&action=change"),
        client.page(f"search{wild}&property=calm"),
    ):
        assert "<script>alert" not in text and "<img src=x" not in text and "49" not in visible(text)
    assert client.session.place(Address.of(_pairs(wild))).panes[0].state.mood.value == NASTY
    test = client.page(f"export{wild}&format=test")
    names = {}
    exec(test, names)
    names["test_steps_of_nasty"]()


@pytest.mark.parametrize("path", ["/", "/wrong/", "/secret-tokem/", "//secret-token/", "/é/"])
def test_without_the_token_nothing_is_answered(kip101, path):
    answer = kip101.client.get(path)
    assert answer.status_code == 404 and answer.text == "The address lacks the token that the explorer printed.\n"


@pytest.mark.parametrize(
    "host", ["evil.example:8000", "127.0.0.1", "127.0.0.1:8001", "localhost.evil.example:8000", ""]
)
def test_other_hosts_are_refused(kip101, host):
    answer = kip101.client.get(f"/{TOKEN}/", headers={"host": host})
    assert answer.status_code == 403 and TOKEN not in answer.text


def test_headers(kip101):
    for path in (f"/{TOKEN}/", f"/{TOKEN}/explorer.js", "/wrong/", f"/{TOKEN}/nothing"):
        headers = kip101.client.get(path, headers={"host": HOST}).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src-elem 'self'")
        assert "frame-ancestors 'none'" in policy and headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store" and "access-control-allow-origin" not in headers
    assert kip101.client.post(f"/{TOKEN}/").status_code == 405
    answer = kip101.client.get(f"/{TOKEN}", follow_redirects=False)
    assert answer.headers["location"] == f"{TOKEN}/"


def test_a_mistake_of_the_project_is_answered_with_a_sentence(fast_elections, monkeypatch):
    from checker.explorer import page

    def broken(*arguments, **named):
        raise RuntimeError("the page is broken")

    client = ExplorerClient(fast_elections)
    client.client._transport.raise_server_exceptions = False
    monkeypatch.setattr(page, "explorer_page", broken)
    text = visible(client.page(".", 500))
    assert "internal error: RuntimeError: the page is broken" in text and "Traceback" not in text
