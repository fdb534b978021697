"""The ledger: records of results, the file, and the report of differences."""

import pytest

from checker.engines.native.engine import explore
from checker.errors import UserError
from checker.run import ledger
from checker.run.ledger import LedgerRecord, differences, record_of
from checker.run.plan import Plan
from tests.toy import Counter, Log, Overflow

HOLDS = LedgerRecord("holds", 10, 30, 4)
VIOLATED = LedgerRecord("violated", violations={"strong_isr": 12})
NEVER = LedgerRecord("violated", 7, 9, 3, {"is_over": "never"})


def test_complete_exploration_is_recorded_with_its_counts():
    result = explore(Counter(), Plan(("never_falls", "is_over"), stop="all"))
    assert record_of(result) == LedgerRecord("violated", 4, 4, 4, {"is_over": "never"})


def test_run_that_ended_at_a_violation_is_recorded_without_counts():
    result = explore(Log(), Plan(("logs_agree",)))
    assert record_of(result, ["logs_agree"]) == LedgerRecord("violated", violations={"logs_agree": 5})
    assert record_of(explore(Overflow(), Plan(()))) == LedgerRecord("error", violations={"increment": 4})


def test_unexpected_violations_of_an_incomplete_run_are_not_recorded():
    result = explore(Counter(resets=True), Plan(("below_limit", "never_falls"), stop=frozenset({"never_falls"})))
    assert {violation.property for violation in result.violations} == {"below_limit", "never_falls"}
    assert record_of(result, ["never_falls"]).violations == {"never_falls": 5}


def test_written_file_is_readable_and_reads_back(tmp_path):
    path = tmp_path / "ledger.toml"
    records = {"b/x/two": VIOLATED, "a/x/one": HOLDS, "b/x/three": NEVER}
    ledger.write(path, records)
    assert ledger.read(path) == records
    text = path.read_text()
    assert text.index("a/x/one") < text.index("b/x/three") < text.index("b/x/two")
    assert '\n"b/x/two" = { verdict = "violated", violations = { strong_isr = 12 } }\n' in text
    assert ledger.read(tmp_path / "missing.toml") == {}


@pytest.mark.parametrize(
    "content",
    [
        "verdict",
        "a = 1",
        "[a]\nverdict = 3",
        "[a]\nverdict = 'holds'\nstates = 3",
        "[a]\nverdict = 'holds'\ndepth = 'deep'",
        "[a]\nverdict = 'holds'\nviolations = 3",
        "[a]\n",
        "\ud800",
    ],
)
def test_file_that_is_not_a_ledger_is_refused(tmp_path, content):
    path = tmp_path / "ledger.toml"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(UserError, match="is not a ledger"):
        ledger.read(path)


def test_equal_records_have_no_differences():
    same = {"a": HOLDS, "b": VIOLATED}
    assert differences(same, dict(same), is_everything=True) == []
    assert differences(same, {"a": HOLDS}, is_everything=False) == []


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (HOLDS, LedgerRecord("holds", 11, 30, 4), ["a: 10 distinct states are now 11"]),
        (HOLDS, LedgerRecord("holds", 10, 31, 5), ["a: 30 generated states are now 31", "a: 4 levels are now 5"]),
        (
            HOLDS,
            LedgerRecord("violated", violations={"p": 3}),
            [
                "a: verdict holds is now violated",
                "a: p is now violated (3 states)",
            ],
        ),
        (
            VIOLATED,
            LedgerRecord("violated", violations={"strong_isr": 11}),
            ["a: the counterexample to strong_isr has 11 states, not 12 states"],
        ),
        (
            NEVER,
            LedgerRecord("holds", 7, 9, 3),
            ["a: verdict violated is now holds", "a: is_over is no longer violated (never reached)"],
        ),
    ],
)
def test_difference_is_reported_as_text(before, after, says):
    assert differences({"a": before}, {"a": after}, is_everything=True) == says


def test_missing_and_unknown_scenarios_are_reported():
    assert differences({"a": HOLDS}, {"b": VIOLATED}, is_everything=True) == [
        "b is not in the ledger: violated, strong_isr 12",
        "a is in the ledger, but the scenario does not exist",
    ]
    assert differences({"a": HOLDS}, {}, is_everything=False) == []
