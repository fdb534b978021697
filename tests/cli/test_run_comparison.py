"""Comparison of two reports: causes that vanished and causes that are new, with intervals."""

import copy
import json

import pytest

from checker.cli.app import main
from spark_analysis.report.make_report import report_on
from spark_analysis.report.run_comparison import compare_reports
from spark_analysis.walks.statistics import share_difference, wilson
from spark_analysis.walks.walk_request import run_of_request
from tests.spark_analysis.test_report import TWO_CAUSES
from tests.spark_analysis.walks.walked import request, simulated, spec_file

pytestmark = pytest.mark.usefixtures("one_process")

WITHOUT_SWAP = TWO_CAUSES.replace("require(not self.careful and len(self.queue) == 3)", "require(False)")
WITHOUT_OVERTAKE = TWO_CAUSES.replace("require(not self.careful and self.sent < 4)", "require(False)", 1)


def test_difference_of_shares():
    """The example of Newcombe's article: 56 of 70 and 48 of 80, method 10."""
    low, high = share_difference(wilson(48, 80), wilson(56, 70))
    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """Folders of walks, and the files of their specs: with both causes, and with one each."""
    found = {}
    for name, source in (("both", TWO_CAUSES), ("without_swap", WITHOUT_SWAP), ("without_overtake", WITHOUT_OVERTAKE)):
        folder = tmp_path_factory.mktemp(name)
        file = spec_file(folder, source)
        found[name] = simulated(folder / "walks", run_of_request(request(file, walks=400))), file
    return found


@pytest.fixture(scope="module")
def data(reported):
    """The data of a report on walks with both causes."""
    walks, file = reported["both"]
    return json.loads(json.dumps(report_on(walks, spec=file).data))


def test_causes_that_vanish_and_appear_are_named(reported, checker):
    old, old_file = reported["without_swap"]
    assert checker("report", str(old), "--spec", str(old_file)).status == 1
    new, new_file = reported["without_overtake"]
    shown = checker("report", str(new), "--spec", str(new_file), "--compare", str(old))
    assert shown.status == 0
    data = json.loads((new / "report/report.json").read_text())["comparison"]
    changes = {(row["property"], tuple(row["actions"])): row for row in data["causes"]}
    gone, fresh = changes["in_order", ("send", "overtake")], changes["in_order", ("send", "swap")]
    assert (gone["change"], fresh["change"]) == ("gone", "new")
    assert gone["after"]["walks"] == 0 < gone["before"]["walks"] and gone["difference"]["high"] < 0
    assert fresh["before"]["walks"] == 0 < fresh["after"]["walks"] and fresh["difference"]["low"] > 0
    assert "gone: in_order by send, overtake" in shown.out and "new: in_order by send, swap" in shown.out
    page = (new / "report/report.html").read_text()
    assert "Compared with queueing/queue/hasty" in page and ">gone</td>" in page


@pytest.fixture(scope="module")
def first_report(reported, tmp_path_factory):
    """The folder of a report on the walks without a swap."""
    walks, file = reported["without_swap"]
    folder = tmp_path_factory.mktemp("first")
    main(["report", str(walks), "--spec", str(file), "--out", str(folder)])
    return folder


def test_a_run_does_not_differ_from_itself(reported, first_report, checker, tmp_path):
    walks, file = reported["without_swap"]
    words = ["report", str(walks), "--spec", str(file)]
    checker(*words, "--out", str(tmp_path / "second"), "--compare", str(first_report / "report.json"))
    data = json.loads((tmp_path / "second/report.json").read_text())["comparison"]
    assert {row["change"] for row in data["failures"] + data["causes"]} == {"not shown"}
    assert all(row["difference"]["low"] <= 0 <= row["difference"]["high"] for row in data["causes"])


def test_a_report_that_is_read_is_not_replaced(reported, first_report, checker):
    walks, file = reported["without_swap"]
    words = ["report", str(walks), "--spec", str(file)]
    read = first_report / "report.json"
    before = read.read_text()
    for option, output in (("--compare", "--out"), ("--compare", "--json"), ("--against", "--history")):
        place = first_report if output == "--out" else read
        shown = checker(*words, option, str(first_report), output, str(place))
        assert shown.status == 2 and "report.json" in shown.err
        assert read.read_text() == before


def test_what_only_one_run_checks_is_not_compared(data):
    fewer = copy.deepcopy(data)
    for found in (fewer, *fewer["configurations"]):
        found["failures"] = [entry for entry in found["failures"] if entry["property"] != "in_order"]
    fewer["clusters"] = [entry for entry in fewer["clusters"] if entry["property"] != "in_order"]
    for pair in ((data, fewer), (fewer, data)):
        compared = compare_reports(*pair)
        assert compared["notes"] == [
            "Not compared, because only one run checks them: in_order.",
            "A violation of one of these ends a walk, so the shares of the others differ for that reason too.",
        ]
        assert {row["change"] for row in compared["failures"] + compared["causes"]} == {"not shown"}
    # Such a violation ends no walk.
    beyond = compare_reports({**data, "beyond": True}, {**fewer, "beyond": True})
    assert beyond["notes"] == ["Not compared, because only one run checks them: in_order."]


def test_runs_of_other_settings_are_compared_with_a_note(data):
    earlier = {name: value for name, value in data.items() if name != "beyond"}
    assert compare_reports(earlier, data)["notes"] == compare_reports(data, earlier)["notes"] == []
    assert compare_reports({**data, "depth": 3}, {**data, "depth": 4})["notes"] == [
        "The runs differ in depth (3, 4), so their shares differ for that reason too."
    ]


def test_violations_without_causes_are_not_compared_by_cause(data):
    compared = compare_reports(data, {**data, "clusters": []})
    assert compared["causes"] == [] and compared["notes"][0].startswith("Causes are not compared")


def test_an_error_that_vanished_is_compared(data):
    failing = copy.deepcopy(data)
    error = {**failing["configurations"][0]["failures"][0], "property": "queue", "is_error": True, "walks": 200}
    failing["configurations"][0]["failures"].append(error)
    row = next(row for row in compare_reports(failing, data)["failures"] if row["is_error"])
    assert (row["property"], row["change"]) == ("queue", "gone")


def test_wrong_reports_are_refused(reported, checker, tmp_path):
    walks, file = reported["both"]
    words = ["report", str(walks), "--spec", str(file), "--compare"]
    (tmp_path / "report.json").write_text('{"format": "tidemark-report", "version": 1}')
    (tmp_path / "other.json").write_text("[]")
    for place, message in (
        (tmp_path, "has version 1 of reports"),
        (tmp_path / "other.json", "is no report of walks"),
        (tmp_path / "nowhere", "has no report.json"),
    ):
        found = checker(*words, str(place))
        assert found.status == 2 and message in found.err
    assert not (walks / "report").exists()
