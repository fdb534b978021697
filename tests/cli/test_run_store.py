"""`run --store`: the compact store through the command line."""

import json

import pytest

from checker.evidence import native_evidence
from tests.cli.conftest import TOY


def without_times(line):
    found = json.loads(line)
    for name in ("seconds", "compile_seconds", "memory_bytes"):
        del found[name]
    return found


@pytest.mark.parametrize("name", ["log", "overflow"])
def test_the_stores_give_the_same_output(checker, name):
    usual, compact = (
        checker("run", f"{TOY}/{name}", "--json", "-", "--keep-going", "--coverage", "--store", store)
        for store in ("usual", "compact")
    )
    assert usual.status == compact.status
    assert [*map(without_times, compact.out.splitlines())] == [*map(without_times, usual.out.splitlines())]


def test_orbits_have_the_same_traces_in_both_stores(checker):
    target = ["run", "replication/kip101", "--set", "max_leader_epoch=2", "--json", "-", "--symmetry", "--store"]
    usual, compact = checker(*target, "usual"), checker(*target, "compact")
    assert usual.status == compact.status == 1
    assert without_times(compact.out) == without_times(usual.out)


def test_a_checkpoint_is_resumed_with_its_store(checker, tmp_path):
    target = ["run", "replication/kip320/two_replicas", "--store", "compact", "--json", "-"]
    cut = checker(*target, "--checkpoint", tmp_path / "states", "--max-states", "300")
    assert cut.status == 3
    refused = checker(*target[:2], "--resume", tmp_path / "states")
    assert refused.status == 2
    assert "a run with --store compact" in refused.err
    resumed = checker(*target, "--resume", tmp_path / "states")
    assert resumed.status == 0
    assert without_times(resumed.out) == without_times(checker(*target).out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["examples/die_hard", "--store", "compact", "--engine", "python"],
            "--store is an option of the native engine",
        ),
        (["examples/die_hard", "--store", "small"], "'small'"),
    ],
)
def test_what_the_compact_store_cannot_do_is_refused(checker, options, message):
    outcome = checker("run", *options)
    assert outcome.status == 2
    assert message in outcome.err


def test_coverage_shows_the_bits_of_a_state(checker):
    outcome = checker("run", "replication/kip320/two_replicas", "--coverage")
    assert "a state is distinguished by 35 bits and takes 1 word of 64 bits" in outcome.out


def test_findings_that_do_not_fit_are_no_success(checker, monkeypatch):
    monkeypatch.setattr(native_evidence, "available_memory", lambda: 1000)
    outcome = checker("run", "replication/kip320/two_replicas", "--strict", "--coverage")
    assert "unused parts of the spec are not shown" in outcome.out
    assert outcome.status == 3
