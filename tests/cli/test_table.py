"""`table`: text, files, exit status and wrong input."""

import json
import re
from pathlib import Path

import pytest

from checker.errors import SpecError
from checker.language.tables import GuaranteeCell
from tests.cli.conftest import TOY

TABLE = str(Path(__file__).parent / "table_toy.py")


@pytest.fixture
def table(checker):
    return lambda *arguments: checker("table", TABLE, "--engine", "python", "--workers", "1", *arguments)


def cells(outcome):
    """Return the cells of every row of the printed tables."""
    rows = [line for line in outcome.out.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_printed_table(table):
    """In short: a paragraph for each merged row, whose settings and answers stand in lines of 80 columns."""
    outcome = table()
    assert outcome.status == 0
    assert outcome.out.startswith(
        "resets no\n  no: falls\n\nresets yes\n  yes: falls\n\nresets twice\n  refused\n\nYes: the checker finds"
    )
    assert "Counters count up.\n\nRefused: a counter is reset once.\n" in outcome.out
    assert "Documented answers: 3; confirmed: 3" in outcome.out
    assert f"`python -m checker table {TABLE} --verbose`" in " ".join(outcome.out.split())
    assert "[c1]" not in outcome.out


def test_no_line_of_the_printed_table_is_too_long(checker, tmp_path, monkeypatch):
    """Also in a pipe; a narrower screen has shorter lines."""
    wide = tmp_path / "wide_toy.py"
    question = "falls from its limit to a number that is less and that no increment gives"
    text = (
        Path(TABLE).read_text().replace('{"falls": "falls"}', f'{{"falls": "{question}", "again": "{question} again"}}')
    )
    wide.write_text(re.sub(r'{"falls": (cell\(.*?\))}', r'{"falls": \1, "again": \1}', text))
    for columns in (80, 50):
        if columns != 80:
            monkeypatch.setenv("COLUMNS", str(columns))
        outcome = checker("table", wide, "--engine", "python", "--workers", "1")
        assert outcome.status == 0
        words = [line for line in outcome.out.splitlines() if " " in line.strip()]
        assert columns - 20 < max(map(len, words)) <= columns
        assert f"  no: {question}; {question} again" in re.sub(r"\n {6}", " ", outcome.out)


@pytest.fixture
def many_questions(tmp_path):
    """Return a table of nine questions: eight begin alike."""
    path = tmp_path / "many_toy.py"
    names = [*(f"falls: after {count} calls" for count in range(1, 9)), "rises"]
    columns = "{" + ", ".join(f'"q{number}": "{name}"' for number, name in enumerate(names)) + "}"
    text = Path(TABLE).read_text().replace('{"falls": "falls"}', columns)
    cells = r"dict.fromkeys([f'q{number}' for number in range(9)], \1)"
    path.write_text(re.sub(r'{"falls": (cell\(.*?\))}', cells, text))
    return path


def test_many_questions_have_a_row_each_below_the_letters_of_the_settings(checker, many_questions, monkeypatch):
    command = ["table", many_questions, "--engine", "python", "--workers", "1"]
    out = checker(*command).out
    assert "A  resets no; limit any\n" in out and "C  resets twice; limit any\n" in out
    assert re.search(r"^ {40,} A       B       C$", out, re.MULTILINE)
    assert re.search(r"^Falls\n  after 1 calls +no      yes     refused\n  after 2 calls +no ", out, re.MULTILINE)
    assert re.search(r"^rises +no      yes     refused\n\nYes: the checker", out, re.MULTILINE)
    monkeypatch.setenv("COLUMNS", "43")
    assert "resets no\n  no: falls: after 1 calls; falls:" in checker(*command).out
    monkeypatch.setenv("COLUMNS", "44")
    narrow = checker(*command).out
    assert re.search(r"^  after 1 calls +no      yes     refused$", narrow, re.MULTILINE)
    assert max(map(len, narrow.split("Yes: the")[0].splitlines())) <= 44
    fewer = many_questions.read_text().replace(', "q8": "rises"', "").replace("range(9)", "range(8)")
    many_questions.write_text(fewer)
    assert "resets no\n  no: falls: after 1 calls; falls:" in checker(*command).out


def test_a_page_with_many_questions_has_a_narrow_table(checker, many_questions, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- python -m checker table many_toy -->\nold\n<!-- end of table -->\n")
    text = many_questions.read_text().replace(
        '("deeper",)\n', '("deeper",), exceptions=() if resets else ("deeper",)\n'
    )
    many_questions.write_text(text)
    checker("table", many_questions, "--engine", "python", "--workers", "1", "--update-docs", page)
    settings, answers, legend = page.read_text().split("\n\n")[1:4]
    assert settings.splitlines()[0] == "|     | resets | limit |" and "| B   | yes    | any   |" in settings
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in answers.splitlines()]
    assert rows[0] == ["", "A", "B", "C"] and rows[2] == ["**Falls**", "", "", ""]
    assert rows[3] == ["after 1 calls", "deeper", "**yes**", "refused"] and rows[-1][0] == "rises" and len(rows) == 12
    assert "An entry, or the number of a list of entries: no, but another model" in legend.replace("\n", " ")


def test_a_long_list_of_exceptions_has_a_number(checker, many_questions):
    text = many_questions.read_text().replace(
        '("deeper",)\n', '("deeper",), exceptions=() if resets else ("deeper",)\n'
    )
    many_questions.write_text(text.replace('"deadlock")),)', '"deadlock")),), takes="3 restarts"'))
    out = checker("table", many_questions, "--engine", "python", "--workers", "1").out
    assert re.search(r"^  after 1 calls +\(1\) ", out, re.MULTILINE) and "\n- (1) deeper after 3 restarts\n" in out


def test_exceptions_and_differences_have_their_notes_in_short(checker, tmp_path):
    excepted = tmp_path / "excepted_toy.py"
    text = Path(TABLE).read_text().replace('("deeper",)\n', '("other",) if resets else (), exceptions=("deeper",)\n')
    excepted.write_text(text.replace("        {\n", '        {\n            "other": GuaranteeNote("Aside."),\n', 1))
    command = ["table", excepted, "--engine", "python", "--workers", "1"]
    out = checker(*command).out
    assert "resets no\n  no, but deeper: falls\n\nresets yes\n  yes: falls\n" in out
    assert "No, but an entry: another model" in out
    assert "- It reaches two.\n" in out and "Aside." not in out
    assert "Aside." in checker(*command, "--verbose").out
    more = excepted.read_text().replace('"deadlock")),)', '"deadlock")),), takes="3 restarts"')
    excepted.write_text(more)
    assert "resets no\n  no, but deeper after 3 restarts: falls\n" in checker(*command).out
    out = checker("table", differing(tmp_path, True, False), "--engine", "python", "--workers", "1").out
    assert "No, but an entry" not in out and "- It reaches two.\n" in out


def test_the_table_in_full(table):
    outcome = table("--verbose")
    assert outcome.status == 0
    heading = ["resets", "limit", "falls"]
    in_full = [
        ["no", "1", "no, 2 [a]"],
        ["no", "2", "no, 3 [a]"],
        ["yes", "1", "yes, 3 [c1] [a]"],
        ["yes", "2", "yes, 4 [c2] [a]"],
        ["twice", "any", "refused"],
    ]
    assert cells(outcome) == [heading, *in_full]
    assert "Refused: a counter is reset once." in outcome.out
    assert "Documented answers: 3; confirmed: 3" in outcome.out


def test_each_yes_has_a_command_that_shows_it(table, checker):
    lines = table("--verbose").out.splitlines()
    (number,) = [number for number, line in enumerate(lines) if line.startswith("- [c1]")]
    assert "`never_falls`, 3 states: increment, reset." in lines[number]
    command = lines[number + 1].strip().removeprefix("`python -m checker ").rstrip("`")
    assert checker(*command.split(), "--engine", "python").status == 1


def test_json_has_one_row_per_line(table):
    rows = [json.loads(line) for line in table("--json", "-").out.splitlines()]
    assert [row["settings"]["resets"] for row in rows] == ["no", "no", "yes", "yes", "twice", "twice"]
    assert rows[4]["refused"] == "a counter is reset once"
    found = rows[3]["cells"]["falls"]
    assert (found["answer"], found["documented"], found["length"]) == ("yes", None, 4)
    assert rows[1]["cells"]["falls"]["explored"][0]["distinct_states"] == 3


def test_out_writes_each_counterexample_once(table, tmp_path):
    outcome = table("--out", tmp_path, "--verbose")
    names = sorted(path.name for path in tmp_path.glob("*.json") if not path.name.endswith(".itf.json"))
    assert [name.split("-")[0] for name in names] == ["c1", "c2", "c3"]
    assert all(name in outcome.out for name in names)


def test_an_answer_that_differs_from_the_documentation_fails(checker, tmp_path):
    wrong = tmp_path / "wrong_table.py"
    wrong.write_text(Path(TABLE).read_text().replace("cell(True, 1, True)", "cell(True, 1, False)"))
    outcome = checker("table", wrong, "--engine", "python", "--workers", "1")
    assert outcome.status == 1
    assert "not as documented: resets yes, limit 1: falls, documented: no" in outcome.err


def differing(tmp_path, answer, documented):
    """Write a table with a cell that is expected to differ from the documentation, and return its path."""
    page = tmp_path / "differing_table.py"
    text = Path(TABLE).read_text().replace("cell(True, 1, True)", f"cell({answer}, 1, {documented}, 'deeper')")
    text = text.replace("documented=None):", "documented=None, differs=''):")
    page.write_text(text.replace('documented, ("deeper",)', 'documented, ("deeper",), differs'))
    return page


def test_a_difference_that_a_note_explains_is_bold(checker, tmp_path):
    outcome = checker("table", differing(tmp_path, True, False), "--engine", "python", "--workers", "1", "--json", "-")
    assert outcome.status == 0
    found = json.loads(outcome.out.splitlines()[2])["cells"]["falls"]
    assert (found["answer"], found["documented"], found["differs"]) == ("yes", "no", "deeper")
    outcome = checker("table", differing(tmp_path, True, False), "--engine", "python", "--workers", "1", "--verbose")
    assert ["yes", "1", "**yes, 3** [c1] [a]"] in cells(outcome)
    assert "Bold: the documentation gives the other answer." in outcome.out
    assert "Documented answers: 3; confirmed: 2; refuted: 1." in outcome.out


def test_a_difference_that_is_expected_and_not_found_fails(checker, tmp_path):
    outcome = checker("table", differing(tmp_path, True, True), "--engine", "python", "--workers", "1")
    assert outcome.status == 1
    assert "as documented, although note deeper differs: resets yes, limit 1: falls, documented: yes" in outcome.err


def test_a_note_that_shows_nothing_fails(checker, tmp_path):
    wrong = tmp_path / "silent_table.py"
    wrong.write_text(Path(TABLE).read_text().replace('("below_limit", "deadlock")', '("is_two",)'))
    outcome = checker("table", wrong, "--engine", "python", "--workers", "1")
    assert outcome.status == 1
    assert "the note deeper has a check that shows nothing" in outcome.err


def test_update_docs_replaces_only_the_section(table, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- python -m checker table table_toy -->\nold\n<!-- end of table -->\n\nAfter.\n")
    assert table("--update-docs", page).status == 0
    text = page.read_text()
    assert text.startswith("Before.\n\n<!-- ")
    assert text.endswith("<!-- end of table -->\n\nAfter.\n")
    assert "old" not in text
    assert "| no     | any   | no      |\n| yes    | any   | yes     |\n| twice  | any   | refused |\n" in text
    assert "states" not in text, "a number of states changes with every model"
    table("--update-docs", page)
    assert page.read_text() == text


def test_the_tables_of_a_family_have_their_own_marks_and_sections(checker, tmp_path):
    """A page has a section for each table, in their order, and a mark has one meaning on it."""
    family = tmp_path / "two_tables_toy.py"
    family.write_text(Path(TABLE).read_text() + "\n\ntables = [*tables, replace(tables[0], name='again')]\n")
    family.write_text("from dataclasses import replace\n\n" + family.read_text())
    begin = "<!-- python -m checker table two_tables_toy -->\n"
    page = tmp_path / "page.md"
    page.write_text(f"First.\n\n{begin}old\n<!-- end of table -->\n\nSecond.\n\n{begin}old\n<!-- end of table -->\n")
    command = ["table", family, "--engine", "python", "--workers", "1"]
    outcome = checker(*command, "--verbose", "--update-docs", page)
    assert outcome.status == 0
    assert re.findall(r"^- \[(\w+)\]", outcome.out, re.MULTILINE) == ["a", "c1", "c2", "c3", "b", "c4", "c5", "c6"]
    assert [line for line in outcome.out.splitlines() if line.startswith("Table ")] == [
        "Table two_tables_toy/counters",
        "Table two_tables_toy/again",
    ]
    text = page.read_text()
    first, second = text.split(begin)[1:]
    assert "old" not in text and first.endswith("Second.\n\n")
    assert first.count("| yes    | any") == second.count("| yes    | any") == 1
    page.write_text(text.replace(begin, "", 1))
    outcome = checker(*command, "--update-docs", page)
    assert outcome.status == 2
    assert "the page has no section for the table 2: write a line" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["table", TABLE, "--set", "limit=1"], "No such option '--set'"),
        (["run", TABLE, "--update-docs", "page.md"], "No such option '--update-docs'"),
        (["table", TOY], "toy declares no table; these do: consumer, pipeline, producer"),
        (["table", "producer/acks"], "a table is of a family"),
        (["table", TABLE, "--update-docs", "no_such_page.md"], "cannot be read"),
        (["table", TABLE, "--update-docs", TOY], "has no section for the table"),
    ],
)
def test_wrong_input_is_reported_in_one_sentence(checker, arguments, sentence):
    outcome = checker(*arguments, "--engine", "python", "--workers", "1")
    assert outcome.status == 2
    (line,) = outcome.err.splitlines()
    assert sentence in line


def test_a_liveness_property_answers_yes_no_or_undecided(checker):
    """An undecided property is never answered with no: the cell says so, and the status is 3."""
    page = str(Path(__file__).parent / "liveness_table_toy.py")
    for engine in ("python", "native"):
        outcome = checker("table", page, "--engine", engine, "--workers", "1", "--verbose")
        assert outcome.status == 3
        assert ["turns back", "yes, 1 [c1]"] in cells(outcome)
        assert ["fair", "no, 4"] in cells(outcome)
        assert cells(outcome)[-1] == ["cut off", "undecided"]
        assert "`ends`, 1 state: then for ever: increment, increment, turn_back." in outcome.out
        assert "undecided: counter cut off: stuck: " in outcome.err
        assert "constraint" in outcome.err
    rows = checker("table", page, "--engine", "python", "--workers", "1", "--json", "-").out.splitlines()
    (reason,) = json.loads(rows[2])["cells"]["stuck"]["undecided"]
    assert "constraint" in reason
    assert json.loads(rows[0])["cells"]["stuck"]["undecided"] is None


def test_a_cell_without_checks_is_refused():
    with pytest.raises(SpecError, match="has no checks"):
        GuaranteeCell(())


def test_the_old_spelling_is_a_hint(checker, table, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- python -m checker run table_toy --table -->\n<!-- end of table -->\n")
    words = ["--engine", "python", "--workers", "1", "--update-docs", str(page)]
    outcome = checker("run", TABLE, "--table", *words)
    assert (outcome.status, outcome.out) == (table().status, table().out)
    assert outcome.err.startswith(f"hint: this is now: python -m checker table {TABLE} {' '.join(words)}\n")
    assert page.read_text().startswith("<!-- python -m checker table table_toy -->\n\n|")
