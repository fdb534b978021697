"""Counterexamples to liveness properties in graphs, ITF, and the reports of continuous integration."""

import functools
import html
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from checker.cli.app import main
from checker.engines.python.explorer import explore
from checker.language import Spec
from checker.output.lasso_text import loop_text, obligation_text
from checker.output.page.chart import chart
from checker.output.page.render import PageContext, counterexample_page
from checker.output.page.story import story_of
from checker.output.sequence_graph import sequence_graph
from checker.output.writers.itf import to_itf
from checker.run.plan import Plan
from checker.run.result import Violation
from tests.lasso_toy import WEAK, Sending
from traces.trace_file import origin_of

TOY = Path(__file__).parent.parent / "lasso_toy.py"
SCHEMA = json.loads((Path(__file__).parent / "itf.schema.json").read_text())


@functools.cache
def lasso(name: str, *, stutters: bool = False) -> tuple[Spec, Violation]:
    """Return the spec and the lasso of a property: a loop of several states, or one state for ever."""
    spec = Sending(batches=1).with_fairness({"retry": None} if stutters else WEAK)
    (violation,) = explore(spec, Plan((name,))).violations
    return spec, violation


def test_the_lassos_of_these_tests():
    _, looping = lasso("is_done")
    assert [str(step) for step in looping.trace] == ["initial state", "send(p1)", "lose(p1)", "retry(p1)"]
    assert (looping.loop_start, looping.owed_since) == (1, 1)
    _, staying = lasso("is_done", stutters=True)
    assert [str(step) for step in staying.trace] == ["initial state", "send(p1)", "lose(p1)"]
    assert (staying.loop_start, staying.closing_step) == (2, None)


def test_the_loop_as_text():
    assert loop_text(lasso("is_done")[1]) == "then for ever: 2 -> 3 -> 2"
    assert loop_text(lasso("is_done", stutters=True)[1]) == "then for ever: the system stays in state 3"


@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        ("is_done", ["", "owed since state 2: is_done(p1)", "owed since state 2: is_done(p1)"]),
        ("all_done", ["owed since state 1: all_done"] * 3),
        (
            "stays_sent",
            [
                "",
                "owed: stays_sent(p1) is true here, and does not stay true",
                "owed: stays_sent(p1) is false here, again and again",
            ],
        ),
    ],
)
def test_the_obligation_is_named_from_its_first_state_on(name, sentences):
    spec, violation = lasso(name)
    assert [obligation_text(spec, violation, index) for index in range(3)] == sentences


def test_graph_has_an_edge_back_to_the_first_state_of_the_loop():
    source = sequence_graph(*lasso("is_done")).source
    assert 'step4 -> step2 [label="state 4 is state 2 again"' in source
    assert source.count("owed since state 2: is_done(p1)") == 3
    assert "is violated" not in source


def test_graph_of_a_system_that_stays_has_an_edge_from_its_last_state_to_itself():
    source = sequence_graph(*lasso("is_done", stutters=True)).source
    assert 'step3 -> step3 [label="stays for ever"' in source
    assert source.count("owed since") == 1


@pytest.mark.parametrize("stutters", [False, True])
def test_itf_has_the_index_of_the_first_state_of_the_loop(stutters):
    spec, violation = lasso("is_done", stutters=stutters)
    content = to_itf(spec, violation, origin_of(spec, "mine/spec", None, "mine.py/spec", "python -m checker run mine"))
    jsonschema.validate(content, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert content["loop"] == (2 if stutters else 1)
    assert len(content["states"]) == 3
    closing = content["#meta"]["closing_step"]
    assert closing == (None if stutters else {"action": "retry", "arguments": {"batch": "p1"}})
    assert content["#meta"]["fairness"] == list(violation.fairness)
    # From the last state, the closing step leads to the state at `loop`.
    last = violation.trace[len(content["states"]) - 1].state
    after = last if closing is None else spec.step(last, "retry", dict(violation.bindings)["batch"])
    assert after == violation.trace[content["loop"]].state


@pytest.fixture
def run_strictly(tmp_path, capsys):
    """Run the toy, whose lassos are not expected with `--set`, and return standard error."""

    def run(*arguments: str) -> str:
        words = [f"{TOY}/patient", "--property", "is_done", "--engine", "python", "--set", "batches=1", *arguments]
        assert main(["run", *words]) == 1
        return capsys.readouterr().err

    return run


def test_reports_of_continuous_integration_have_the_loop(run_strictly, tmp_path):
    sentence = "is_done is violated: p1 is sent for ever; then for ever: 2 -> 3 -> 2"
    run_strictly("--junit", str(tmp_path / "junit.xml"), "--sarif", str(tmp_path / "run.sarif"))
    (failure,) = ElementTree.parse(tmp_path / "junit.xml").iter("failure")
    assert failure.get("message") == sentence
    assert "this is state 2 again" in failure.text
    assert "deliver(p1) is disabled in state 3" in failure.text
    (result,) = json.loads((tmp_path / "run.sarif").read_text())["runs"][0]["results"]
    assert result["message"]["text"].endswith(sentence)
    (related,) = result["relatedLocations"]
    assert related["message"]["text"] == "the action that closes the loop: retry(p1)"
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert flow[-1]["location"]["message"]["text"].startswith("then for ever: 2 -> 3 -> 2\n")


def test_the_index_has_the_loop(run_strictly, tmp_path):
    run_strictly("--html", str(tmp_path / "index.html"))
    page = text_of((tmp_path / "index.html").read_text())
    assert "2 states, then a loop" in page
    assert "then for ever: 2 -> 3 -> 2" in page


def test_annotations_have_the_loop(run_strictly, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "is_done is violated: p1 is sent for ever; then for ever: 2 -> 3 -> 2" in run_strictly()


def page_of(name: str, *, stutters: bool = False) -> str:
    return counterexample_page(*lasso(name, stutters=stutters), PageContext("mine/spec", "python -m checker run"))


def text_of(part: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", "", html.unescape(part)).split())


def sections_of(page: str) -> list[str]:
    return [text_of(part.split("</section>")[0]) for part in page.split('<section class="step" ')[1:]]


def test_page_names_the_loop_and_why_the_fair_actions_do_not_help():
    page = page_of("is_done")
    head = text_of(page.split("<header>")[1].split("</header>")[0])
    assert "is_done is violated by a loop of 2 states" in head
    assert "then for ever: 2 -> 3 -> 2" in head
    for sentence in lasso("is_done")[1].fairness:
        assert sentence in head
    assert 'deliver(p1) is disabled in <a href="#step=3">state 3</a>' in page
    assert "at step" not in head


def test_page_names_what_stays_owed_in_every_state_of_the_loop():
    steps = sections_of(page_of("is_done"))
    assert ["owed since state 2: is_done(p1)" in step for step in steps] == [False, True, True, True]
    assert "The loop begins in this state, and step 4 returns to it." in steps[1]
    assert "This state is in the loop of states 2 to 3." in steps[2]
    assert "This is state 2 again: the loop repeats for ever." in steps[3]
    assert not any("↻" in step for step in steps[:1])


def test_page_of_a_system_that_stays():
    page = page_of("is_done", stutters=True)
    steps = sections_of(page)
    assert "is_done is violated: the system stays in state 3 for ever" in text_of(page)
    assert "The system stays in this state for ever." in steps[-1]
    assert not any("↻" in step for step in steps[:-1])
    assert "retry is enabled in state 3, but it is not fair" in text_of(page)
    assert "data-loop=" not in page


def test_the_chart_marks_the_rows_of_the_loop():
    spec, violation = lasso("is_done")
    drawn = chart(spec, violation.trace, violation)
    assert [row.is_in_loop for row in drawn.rows] == [False, True, True, True]
    assert (drawn.loop.top, drawn.loop.bottom) == (drawn.rows[1].top, drawn.height)
    assert drawn.loop.text == "State 4 is state 2 again: this repeats for ever."
    spec, violation = lasso("is_done", stutters=True)
    assert chart(spec, violation.trace, violation).loop.text == "The system stays in state 3 for ever."


def test_the_lane_that_the_property_is_about_is_marked_in_the_loop_only():
    steps = story_of(*lasso("is_done")).steps
    assert [step.view.lanes[0].is_violation for step in steps] == [False, True, True, True]
