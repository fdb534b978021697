"""The texts about a spec in reports: promises of properties, descriptions, links to tickets."""

import html
import json
import re

import pytest

from checker.output.page.tickets import with_links
from spark_analysis.commands.report_walks import report_walks
from spark_analysis.report.spec_words import description_of, promise_of, texts_of, ticket_addresses, tickets_of
from spark_analysis.walks.walk_request import WalkRequest, run_of_request
from specs.replication.kip101 import Kip101
from specs.replication.partition import Partition
from specs.tickets import ALL_PROPOSALS, PROPOSALS
from tests.spark_analysis.walks.walked import simulated

pytestmark = pytest.mark.usefixtures("one_process")


def test_a_promise_is_the_first_sentence_of_the_docstring():
    for name in ("weak_isr", "strong_isr", "log_matching"):
        promise = promise_of(Kip101, name)
        assert " ".join(getattr(Kip101, name).__doc__.split()).startswith(promise) and promise.endswith(".")
    assert promise_of(Kip101, "deadlock") == "Every reachable state has an enabled action."
    assert promise_of(Kip101, "no_such_property") == ""


def test_a_description_has_the_spec_and_its_scenario():
    first = "KIP-101: a new follower asks its leader where the follower's last leader epoch ends, and truncates there."
    assert description_of(Kip101, "A case.") == [first, "A case."] and description_of(Kip101, "") == [first]


def test_tickets_of_methods_have_addresses():
    found = tickets_of(Partition, ["become_leader", "leader_answer_epoch_end", "become_leader", "is_nowhere"])
    assert found == ["KAFKA-7415", "KIP-320"]
    texts = ["KIP-320 and KAFKA-7128.", "KIP-1 and KIP-101, KIP-320"]
    addresses = ticket_addresses(Kip101, texts)
    assert addresses.keys() == {"KIP-320", "KAFKA-7128", "KIP-1", "KIP-101"}
    assert addresses["KAFKA-7128"] == "https://issues.apache.org/jira/browse/KAFKA-7128"
    assert addresses["KIP-320"].endswith(PROPOSALS["KIP-320"]) and addresses["KIP-1"] == ALL_PROPOSALS


def test_each_known_title_begins_with_its_number():
    for name, title in PROPOSALS.items():
        assert re.match(rf"{name}(%3A)?\+", title), title


def test_links_replace_tickets_and_nothing_else():
    addresses = {"KIP-1": "https://a/?x=1&y", "KIP-101": "https://b"}
    text = 'KIP-101, <KIP-1> & KIP-1011, xKIP-1 "KIP-2"'
    assert with_links(text, addresses) == (
        '<a href="https://b">KIP-101</a>, &lt;<a href="https://a/?x=1&amp;y">KIP-1</a>&gt; &amp; KIP-1011, xKIP-1 '
        "&#34;KIP-2&#34;"
    )
    assert with_links("<i>", {}) == "&lt;i&gt;"


def test_all_strings_of_nested_data_are_found():
    assert texts_of({"a": ["b", {"c": "d"}, 1, None], "e": "f"}) == ["b", "d", "f"]


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The folder of a report on walks of a spec of the library that violate a property."""
    folder = tmp_path_factory.mktemp("words") / "walks"
    target = "replication/kip101/fast_elections"
    run = run_of_request(WalkRequest(target, walks=6000, seed=5, depth=40))
    assert report_walks(simulated(folder, run), None) == 0
    return folder / "report"


def test_report_has_promises_and_links(reported, capsys):
    data = json.loads((reported / "report.json").read_text())
    page = (reported / "report.html").read_text()
    for found in (*data["failures"], *data["clusters"]):
        assert found["promise"] == promise_of(Kip101, found["property"])
        assert html.escape(found["promise"], quote=False).replace("'", "&#39;") in page
    assert data["clusters"], "no cause: choose another seed"
    description = " ".join(data["description"])
    assert set(re.findall(r"K\w+-\d+", description)) == {"KIP-101", "KIP-279"} <= data["tickets"].keys()
    for ticket, address in data["tickets"].items():
        assert f'<a href="{address}">{ticket}</a>' in page


def test_summary_has_the_promise_of_each_cause(reported, capsys):
    report_walks(reported.parent, None)
    shown = " ".join(capsys.readouterr().out.split())
    for cluster in json.loads((reported / "report.json").read_text())["clusters"]:
        assert f"Promised: {cluster['promise']}" in shown
