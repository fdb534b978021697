"""`show` and `graph`: formats, comparisons and bad traces."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from checker.cli.app import main
from tests.cli.conftest import TOY

STEM = "toy-log-two_leaders-logs_agree"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    assert main(["run", f"{TOY}/log", "--engine", "python", "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def trace(written, tmp_path):
    return shutil.copytree(written, tmp_path, dirs_exist_ok=True) / f"{STEM}.json"


def test_show_prints_what_run_wrote(checker, trace):
    for format, ending in {"text": ".txt", "itf": ".itf.json", "dot": ".dot", "html": ".html"}.items():
        shown = checker("show", trace, "--spec", TOY, "--format", format)
        assert (shown.status, shown.err) == (0, "")
        assert shown.out == trace.with_name(STEM + ending).read_text()
    assert json.loads(checker("show", trace, "--spec", TOY, "--format", "json").out) == json.loads(trace.read_text())


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's dot is not installed")
def test_show_svg(checker, trace):
    assert ElementTree.fromstring(checker("show", trace, "--spec", TOY, "--format", "svg").out).tag.endswith("svg")


def test_without_graphviz_only_svg_is_missing(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    outcome = run("", "--out", tmp_path)
    assert outcome.status == 0
    assert outcome.err.count("install Graphviz") == 1
    assert (tmp_path / f"{STEM}.dot").exists()
    assert not (tmp_path / f"{STEM}.svg").exists()


def test_show_writes_to_a_file(checker, trace, tmp_path):
    outcome = checker("show", trace, "--spec", TOY, "--format", "html", "--out", tmp_path / "page.html")
    assert (outcome.status, outcome.out) == (0, f"written: {tmp_path / 'page.html'}\n")
    assert "<!DOCTYPE html>" in (tmp_path / "page.html").read_text()
    outcome = checker("show", trace, "--spec", TOY, "--out", trace / "page.html")
    assert (outcome.status, outcome.out) == (2, "")
    assert "cannot be written" in outcome.err


def test_show_reports_that_the_spec_has_changed(checker, tmp_path):
    path = tmp_path / "mine.py"
    text = Path(TOY).read_text()
    path.write_text(text)
    checker("run", f"{path}/log", "--engine", "python", "--out", tmp_path)
    path.write_text(text + "\n# A remark.\n")
    for format in ("text", "html"):
        outcome = checker("show", tmp_path / "mine-log-two_leaders-logs_agree.json", "--spec", path, "--format", format)
        assert outcome.status == 0
        assert "the spec has changed since; it still takes every step of this trace" in outcome.out


def test_against_other_specs(checker, tmp_path):
    checker("run", "replication/kip101/three_replicas", "--out", tmp_path)
    trace = tmp_path / "replication-kip101-three_replicas-strong_isr.json"
    siblings = ["--against", "replication/kip279", "--against", "replication/kip320"]
    text = checker("show", trace, *siblings).out
    assert "replication/kip279 takes every step" in text
    assert "strong_isr is false here too, at step 12" in text
    assert "diverges permanently at step 12, leader_expand_isr(b3): not enabled here: require(" in text
    page = checker("show", trace, *siblings, "--format", "html").out
    assert page.count('class="side') == 36
    assert page.count("diverges here") == 2
    assert len(page.encode()) < 300_000


def test_against_a_scenario(checker, tmp_path):
    checker("run", "replication/partition/acks_1_lost_at_failover", "--out", tmp_path)
    trace = tmp_path / "replication-partition-acks_1_lost_at_failover-no_acked_loss.json"
    text = checker("show", trace, "--against", "replication/partition/acks_all_not_lost_at_failover").out
    assert "runs with acks=all" in text
    assert "no_acked_loss is true here at every step" in text
    assert "diverges at step 2, leader_append(b1): acked is {} instead of {0}" in text


def test_against_rejects_other_formats(checker, trace):
    outcome = checker("show", trace, "--spec", TOY, "--against", f"{TOY}/log", "--format", "dot")
    assert outcome.status == 2
    assert outcome.err == "error: --against compares as text or html, not as dot\n"


def test_against_an_unknown_spec(checker, trace):
    outcome = checker("show", trace, "--spec", TOY, "--against", "replication/kip999")
    assert outcome.status == 2
    assert "replication has no spec kip999" in outcome.err


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: content.update(version=7), "has version 7 of the trace format; this program reads 1"),
        (lambda content: content.update(format="other"), "is not a trace"),
        (
            lambda content: content.update(target=f"{TOY}/counter", constants={}),
            "it is a trace of toy/log, and its target is",
        ),
        (lambda content: content.update(target="nothing/here"), "toy has no spec here"),
        (lambda content: content.update(steps=[]), "it has no steps"),
        (lambda content: content["steps"][2].pop("state"), "steps[2] has no state"),
        (lambda content: content["steps"][3].update(action="jump"), "step 4: toy/log has no action jump"),
        (lambda content: content["steps"].pop(1), "step 2, write(b1), cannot be replayed: it is not enabled"),
        (lambda content: content["steps"].pop(), "the trace can be replayed, but logs_agree is not violated"),
        (lambda content: content["constants"].update(replicas=0), "must be at least 1"),
        (lambda content: content["constants"].update(other=1), "has no constant other"),
    ],
)
def test_a_bad_trace_is_reported_in_one_sentence(refuse_damaged, change, sentence):
    refuse_damaged(change, TOY, sentence)


@pytest.mark.parametrize(("share", "place"), [(0.1, "not a complete trace file"), (0.6, "in the middle of step")])
def test_a_truncated_trace(checker, trace, share, place):
    text = trace.read_text()
    trace.write_text(text[: int(len(text) * share)])
    outcome = checker("show", trace, "--spec", TOY)
    assert outcome.status == 2
    assert place in outcome.err
    assert outcome.err.count("\n") == 1


def test_the_incomplete_step_of_a_truncated_trace_is_named(checker, trace):
    text = trace.read_text()
    trace.write_text(text[: text.index('"write"') + 3])
    assert "it ends in the middle of step 3" in checker("show", trace, "--spec", TOY).err


def test_a_missing_file(checker, tmp_path):
    outcome = checker("show", tmp_path / "nothing.json")
    assert outcome.status == 2
    assert "cannot be read: No such file" in outcome.err


def test_a_name_that_no_entry_has(checker, tmp_path):
    outcome = checker("show", "C-99")
    assert outcome.status == 2
    assert outcome.err.startswith("error: the catalogue has no entry C-99: did you mean ")


def test_a_name_unlike_those_of_entries(checker):
    outcome = checker("show", "nosuch")
    assert outcome.status == 2
    assert outcome.err == "error: the catalogue has no entry nosuch, and there is no trace file of this name\n"


def test_a_small_state_space_is_drawn(checker, run, tmp_path):
    name, file = f"{TOY}/counter/reaches_limit", tmp_path / "graph.dot"
    outcome = checker("graph", name, file, "--engine", "python")
    assert outcome.status == 0
    old = run("counter/reaches_limit", "--graph", file)
    assert old.status == 0 and old.err == f"hint: this is now: python -m checker graph {name} --engine python {file}\n"
    source = (tmp_path / "graph.dot").read_text()
    assert source.count(" -> ") == 3
    assert "✗ below_limit" in source


@pytest.mark.parametrize(
    ("name", "file", "sentence"),
    [
        ("counter/reaches_limit", "graph.png", "name a file that ends with .dot or .svg"),
        ("", "graph.dot", "graph draws one run, not 4"),
    ],
)
def test_a_graph_that_cannot_be_drawn(checker, tmp_path, name, file, sentence):
    outcome = checker("graph", f"{TOY}/{name}".rstrip("/"), tmp_path / file)
    assert outcome.status == 2
    assert sentence in outcome.err


def test_a_state_space_that_is_too_large_to_draw(checker, tmp_path):
    outcome = checker("graph", "replication/kip101/two_replicas", tmp_path / "graph.dot")
    assert outcome.status == 2
    assert "kip101 has more than 300 states, too many for a graph: make it smaller with --set NAME=VALUE" in outcome.err
