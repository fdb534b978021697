"""A report that shows related specs beside its walks: `simulate --against` and `report --against`."""

import json

import pytest

from spark_analysis.report.run_comparison import compare_reports
from tests.spark_analysis.test_report import TWO_CAUSES
from tests.spark_analysis.walks.walked import spec_file

pytestmark = pytest.mark.usefixtures("one_process")

OPTIONS = ("--traces", "120", "--depth", "12", "--seed", "7")


def data_of(walks):
    return json.loads((walks / "report/report.json").read_text())


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return spec_file(tmp_path_factory.mktemp("siblings"), TWO_CAUSES)


def test_a_scenario_is_shown_beside_its_repair(checker, spec, tmp_path):
    walks, alone = tmp_path / "walks", tmp_path / "alone"
    words = [f"{spec}/queue/hasty", *OPTIONS, "--out", str(walks), "--report", "--against", f"{spec}/queue/careful"]
    shown = checker("simulate", *words)
    # The scenario `hasty` expects one of the two violations.
    assert shown.status == 1
    data = data_of(walks)
    (sibling,) = data["siblings"]
    assert sibling["constants"] == {"careful": True} and sibling["after"]["scenario"] == "careful"
    rows = {row["property"]: row for row in sibling["failures"]}
    for name in ("in_order", "not_two_behind"):
        assert rows[name]["change"] == "gone" and rows[name]["after"]["walks"] == 0 < rows[name]["before"]["walks"]
    assert {row["change"] for row in sibling["causes"]} <= {"gone", "not shown"} and sibling["causes"]
    assert "Beside queueing/queue/careful (careful=true), 120 walks:" in shown.out
    assert shown.out.count("Promised") <= len(data["clusters"]), "the report on the sibling has no summary"
    page = (walks / "report/report.html").read_text()
    assert "Beside related specs" in page and "queueing/queue/careful (careful=true)" in page
    # The walks and the report of the sibling are those that separate commands make.
    assert checker("simulate", f"{spec}/queue/careful", *OPTIONS, "--out", str(alone), "--report").status == 0
    beside = walks / "siblings/queueing-queue-careful"
    for file in ("run.json", "report/report.json"):
        assert (beside / file).read_bytes() == (alone / file).read_bytes()
    assert {key: sibling[key] for key in ("failures", "causes")} == {
        key: compare_reports(data, data_of(alone))[key] for key in ("failures", "causes")
    }


def test_a_spec_takes_the_constants_of_the_walks(checker, spec, tmp_path):
    walks = tmp_path / "walks"
    words = [f"{spec}/queue", "--set", "size=2", *OPTIONS, "--out", str(walks), "--report"]
    checker("simulate", *words, "--against", f"{spec}/queue")
    (sibling,) = data_of(walks)["siblings"]
    # The same spec with the same constants makes the same walks.
    assert sibling["constants"] == {} and sibling["notes"] == []
    assert all(row["before"] == row["after"] for row in sibling["failures"] + sibling["causes"])


def test_a_sibling_checks_the_properties_of_the_walks(checker, tmp_path):
    """A violation of another property would end its walks, and lower its shares."""
    narrow = 'Scenario(Queue, "narrow", properties=["not_two_behind"], deadlock=True),'
    source = TWO_CAUSES.replace("scenarios = [", f"scenarios = [{narrow}")
    file, walks = spec_file(tmp_path, source), tmp_path / "walks"
    words = [f"{file}/queue/narrow", *OPTIONS, "--out", str(walks), "--report"]
    checker("simulate", *words, "--against", f"{file}/queue", "--against", f"{file}/queue/hasty")
    siblings = data_of(walks)["siblings"]
    assert len(siblings) == 2
    for sibling in siblings:
        rows = {row["property"]: row for row in sibling["failures"]}
        assert rows.keys() == {"not_two_behind", "deadlock"} and sibling["notes"] == []
        assert all(row["before"] == row["after"] for row in rows.values())
        assert rows["not_two_behind"]["before"]["walks"] > 0


def test_the_table_has_a_row_for_each_run_and_setting(checker, spec, tmp_path):
    for name, scenario in (("this", "hasty"), ("first", "careful")):
        words = ["--traces", "120", "--sweep", "size=2,3", "--out", str(tmp_path / name), "--report"]
        checker("simulate", f"{spec}/queue/{scenario}", *words)
    others = ["--against", str(tmp_path / "first"), "--against", str(tmp_path / "this/report/report.json")]
    out = tmp_path / "out"
    shown = checker("report", str(tmp_path / "this"), "--spec", str(spec), *others, "--out", str(out))
    assert shown.out.count("Beside queueing/queue") == 2
    data = json.loads((out / "report.json").read_text())
    first, second = data["siblings"]
    assert (first["constants"], second["constants"]) == ({"careful": True}, {})
    page = (out / "report.html").read_text()
    table = page[page.index('<table class="data siblings">') :].partition("</table>")[0]
    assert table.count('<th scope="row">') == 6 == 3 * len(data["configurations"])
    assert table.count(">gone<") >= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--against", "{spec}/queue"], "add --report"),
        (["--report", "--against", "{spec}/queue", "--against", "{spec}/queue"], "name it once"),
        (["--report", "--against", "{spec}/stack"], "stack"),
        (["--report", "--against", "examples"], "has several specs"),
        (["--report", "--against", "examples/peterson", "--property", "in_order"], "--against examples/peterson: "),
    ],
)
def test_wrong_siblings_are_refused_before_any_walk(checker, spec, tmp_path, options, message):
    walks = tmp_path / "walks"
    words = [word.format(spec=spec) for word in options]
    found = checker("simulate", f"{spec}/queue/hasty", *OPTIONS, "--out", str(walks), *words)
    assert found.status == 2 and message in found.err and not walks.exists()


def test_a_constant_that_does_not_fit_a_sibling_is_refused(checker, spec, tmp_path):
    other = spec_file(tmp_path, TWO_CAUSES.replace("at_most=9", "at_most=2").replace("Constant(3,", "Constant(2,"))
    words = [f"{spec}/queue/hasty", *OPTIONS, "--out", str(tmp_path / "walks"), "--report"]
    found = checker("simulate", *words, "--against", f"{other}/queue")
    assert found.status == 2 and f"--against {other}/queue: constant size" in found.err
