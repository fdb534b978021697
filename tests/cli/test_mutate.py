"""`mutate`: table, JSON and wrong input."""

import json
from pathlib import Path

import pytest

TOY = str(Path(__file__).parent.parent / "evidence" / "mutation" / "toy.py")


def test_the_table(checker):
    outcome = checker("mutate", f"{TOY}/even", "--workers", "2")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(f"mutating {TOY}/even/small\n")
    assert "survived: no property detects these mutants" in outcome.out
    (row,) = [line for line in outcome.out.splitlines() if line.startswith("  never_negative")]
    assert row.split() == ["never_negative", "0", "0", "kills", "nothing"]
    assert "swap < and <=: self.count[node] < self.limit  ->  self.count[node] <= self.limit" in outcome.out
    assert "toy.py:2" in outcome.out


def test_json(checker, tmp_path):
    path = tmp_path / "mutants.json"
    checker("mutate", f"{TOY}/even/two", "--max", "4", "--workers", "1", "--json", path)
    found = json.loads(path.read_text())
    assert (found["scenario"], found["constants"]) == ("two", {"nodes": 2})
    assert found["original"]["distinct_states"] == 9
    assert found["all_mutants"] > len(found["mutants"]) == 4
    for mutant in found["mutants"]:
        assert mutant["status"] in ("killed", "survived", "equivalent")
        assert bool(mutant["killed_by"]) == (mutant["status"] == "killed") != bool(mutant["why"])


def test_set(checker):
    words = ("--set", "limit=2", "--max", "1", "--workers", "1", "--json", "-")
    found = json.loads(checker("mutate", f"{TOY}/even", *words).out)
    assert (found["scenario"], found["constants"]) == (None, {"limit": 2})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([f"{TOY}/evn"], "did you mean even?"),
        ([f"{TOY}/even/smal"], "did you mean small?"),
        ([f"{TOY}/even", "--set", "limits=1"], "did you mean limit?"),
        ([f"{TOY}/even", "--max", "0"], "--max"),
        ([f"{TOY}/even", "--max", "1", "--json", "/dev/null/x"], "the file /dev/null/x cannot be written"),
        (["replication"], "replication has several specs; name one of"),
    ],
)
def test_wrong_input_is_reported_in_one_sentence(checker, arguments, says):
    outcome = checker("mutate", *arguments)
    assert outcome.status == 2
    assert says in outcome.err
    assert "Traceback" not in outcome.err
