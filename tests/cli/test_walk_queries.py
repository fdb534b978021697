"""SQL over the tables of walks: the results are those of the rows, and mistakes are one sentence."""

import json
from collections import Counter

import pytest

from spark_analysis.walks.records import STEPS, WALKS, part_path, part_paths, read_parts
from tests.spark_analysis.walks.walked import spec_of_walks, walks_in


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("queries")
    return walks_in(folder, scenario=None, sweep=("careful=true,false",), walks=600, steps=True)


@pytest.fixture
def query(walked, checker):
    folder = walked[1]
    return lambda sql, *options: checker(
        "report", str(folder), "--spec", str(spec_of_walks(folder)), "--sql", sql, *options
    )


def test_results_equal_the_rows(walked, query, tmp_path):
    run, folder = walked
    rows = [row for table in read_parts(part_paths(folder, run)) for row in table.to_pylist()]
    expected = Counter((row["configuration"], row["ending"]) for row in rows)
    sql = "SELECT configuration, ending, count(*) AS walks FROM walks GROUP BY ALL ORDER BY ALL"
    shown = query(sql, "--json", str(tmp_path / "rows.json"))
    assert shown.status == 0 and shown.out.splitlines()[0].split() == ["configuration", "ending", "walks"]
    found = [json.loads(line) for line in (tmp_path / "rows.json").read_text().splitlines()]
    assert {(row["configuration"], row["ending"]): row["walks"] for row in found} == expected
    assert len(shown.out.splitlines()) == 1 + len(expected)
    assert not (folder / "report").exists()


def test_numbers_that_json_lacks_are_texts(query):
    found = query("SELECT 'nan'::DOUBLE AS a, '-inf'::DOUBLE AS b, 0.5::DOUBLE AS c, NULL AS d", "--json", "-")
    assert json.loads(found.out, parse_constant=pytest.fail) == {"a": "nan", "b": "-inf", "c": 0.5, "d": None}


def test_tables_describe_numbers_of_the_rows(query):
    sql = """SELECT careful, action, count(*) AS steps FROM steps
             JOIN configurations ON walk // 600 = configurations.configuration
             JOIN instances USING (instance, action)
             WHERE instances.configuration = configurations.configuration GROUP BY ALL ORDER BY ALL"""
    found = [json.loads(line) for line in query(sql, "--json", "-").out.splitlines()]
    assert {row["action"] for row in found if not row["careful"]} == {"send", "take", "overtake"}
    assert {row["action"] for row in found if row["careful"]} == {"send", "take"}
    bits = query("SELECT * FROM properties ORDER BY bit").out.splitlines()
    assert [line.split() for line in bits] == [["bit", "property"], ["0", "in_order"], ["1", "is_full"]]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT nothing FROM walks", "nothing"),
        ("SELEKT 1", "syntax error"),
        ("CREATE TABLE x (a INT)", "has no result: write a SELECT"),
    ],
)
def test_wrong_queries_are_one_sentence(query, sql, message):
    found = query(sql)
    assert found.status == 2 and message in found.err and len(found.err.splitlines()) == 1


def test_damaged_parts_are_not_read(tmp_path, checker):
    run, folder = walks_in(tmp_path, walks=1200)
    part = part_path(folder, WALKS, 1)
    content = bytearray(part.read_bytes())
    content[50] ^= 1
    part.write_bytes(bytes(content))
    words = ["report", str(folder), "--spec", str(spec_of_walks(folder)), "--sql", "SELECT count(*) FROM walks"]
    found = checker(*words)
    assert found.status == 2 and found.out.split()[-1] == str(1200 - run.span(1)[2]) and str(part) in found.err


@pytest.mark.parametrize("option", ["--exact", "--splitting=50", "--out=new", "--master=local[1]"])
def test_options_of_a_report_are_refused(query, option):
    found = query("SELECT 1", option)
    assert found.status == 2 and "a query makes no report" in found.err


def test_unreadable_steps_are_not_read(tmp_path, checker):
    _, folder = walks_in(tmp_path, walks=1200, steps=True)
    part_path(folder, STEPS, 0).unlink()
    words = [
        "report",
        str(folder),
        "--spec",
        str(spec_of_walks(folder)),
        "--sql",
        "SELECT max(walk) - min(walk) FROM steps",
    ]
    found = checker(*words)
    assert found.status == 3 and "1 of its" in found.err
    part = part_path(folder, STEPS, 1)
    part.write_bytes(part.read_bytes()[:-8])
    found = checker(*words)
    assert found.status == 2 and f"{part} is truncated" in found.err


def test_a_result_does_not_replace_the_walks(walked, query):
    file = walked[1] / "run.json"
    before = file.read_text()
    found = query("SELECT 1", "--json", str(file))
    assert found.status == 2 and "is part of the walks" in found.err and file.read_text() == before
