"""Trends over the runs of a history: its lines, its changes, and mistakes in its file."""

import json

import pytest

from checker.errors import InputError
from spark_analysis.report.run_history import append_line, read_history, trend
from tests.spark_analysis.walks.walked import spec_of_walks, walks_in

pytestmark = pytest.mark.usefixtures("one_process")


def line(run, walks, *, of=1000, spec="queue", **options):
    rate = {"setting": "", "property": "in_order", "is_error": False, "walks": walks, "of": of}
    same = {"scenario": None, "constants": [{}], "sweep": {}, "properties": ["in_order"], "depth": 9}
    same |= {"bias": "uniform", "weights": {}, "beyond": False}
    return {"format": "tidemark-history", "spec": spec, **same, **options, "run": run, "rates": [rate]}


@pytest.mark.parametrize(
    ("walks", "change"), [(300, "more often"), (110, "not shown"), (30, "less often"), (0, "less often")]
)
def test_a_change_is_shown_if_it_is_significant(walks, change):
    [row] = trend([line("a", 0), line("b", 100)], line("c", walks))["rows"]
    assert row["change"] == change and [rate["walks"] for rate in row["rates"]] == [0, 100, walks]


def test_other_runs_have_no_part_in_a_trend():
    history = [line("a", 5, depth=8), line("b", 5, spec="other"), line("c", 5, beyond=True), line("d", 7)]
    history += [line("e", 5, constants=[{"size": 2}]), line("f", 5, properties=["in_order", "is_short"])]
    found = trend(history, line("d", 7))
    assert found["runs"] == 1 and found["rows"][0]["change"] == "first run"


def test_a_run_is_appended_once(tmp_path):
    """Also if a line of another trend follows it."""
    file = tmp_path / "new/history.jsonl"
    lines = [line("a", 1), line("b", 2), line("c", 3, spec="other")]
    for new in (lines[0], lines[1], lines[1], lines[2], lines[1]):
        append_line(file, read_history(file), new)
    assert read_history(file) == lines


RATE = {"setting": "", "property": "a", "walks": 3, "of": 3}


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", '{"format": "other"}'),
        *(
            json.dumps({"format": "tidemark-history", "rates": rates})
            for rates in (
                *(RATE, [3], [RATE | {"setting": 1}], [RATE | {"property": None}], [RATE | {"walks": 4}]),
                *([RATE | {"walks": -1}], [RATE | {"walks": True}], [RATE | {"of": 3.0}], [RATE, {}]),
            )
        ),
    ],
)
def test_a_wrong_line_is_named(tmp_path, text):
    file = tmp_path / "history.jsonl"
    file.write_text(
        json.dumps({"format": "tidemark-history", "rates": [RATE, RATE | {"walks": 0}]}) + "\n" + text + "\n"
    )
    with pytest.raises(InputError, match=r"history.jsonl, line 2"):
        read_history(file)


def test_a_report_shows_the_trend(tmp_path, checker):
    run, folder = walks_in(tmp_path, walks=200)
    file = tmp_path / "history.jsonl"
    words = ["report", str(folder), "--spec", str(spec_of_walks(folder)), "--max-states", "0", "--history", str(file)]
    first = checker(*words)
    assert "Trend over 1 run," in first.out and "(first run)" in first.out
    [own] = read_history(file)
    assert own["run"] == run.to_json()["digest"]
    # An earlier run in which no walk violated the property.
    file.write_text(json.dumps({**own, "run": "0", "rates": [{**own["rates"][0], "walks": 0}]}) + "\n")
    again = checker(*words)
    assert again.status == first.status == 0
    assert "in_order  0 → " in again.out and "(more often)" in again.out and len(read_history(file)) == 2
    page = (folder / "report/report.html").read_text()
    assert "Trend over 2 runs" in page and "more often" in page
    file.write_text("no history\n")
    assert checker(*words).status == 2
