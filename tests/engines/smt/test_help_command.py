"""`prove --find-lemmas`, `--method pdr` and `--out`: output, pages, and messages for wrong input."""

import ctypes
import json
import re

import pytest

from checker.cli.app import main
from tests.engines.smt.conftest import BARE


def lemmas_in(text):
    """Return the printed imports and methods."""
    imports = re.findall(r"^from .*$", text, re.MULTILINE)
    methods = re.findall(r"^    @lemma\n(?:    .*\n)+?(?=\n)", text, re.MULTILINE)
    assert methods
    return imports, methods


@pytest.mark.parametrize("options", [["--find-lemmas"], ["--method", "pdr"]])
def test_printed_lemmas_can_be_added_to_the_spec_and_prove_it(prove, tmp_path, options):
    outcome = prove("bare.py", *options)
    assert outcome.status == 0
    imports, methods = lemmas_in(outcome.out)
    (tmp_path / "pasted.py").write_text("\n".join(imports) + BARE + "\n" + "\n".join(methods))
    again = prove("pasted.py")
    assert (again.status, "proved by induction: mutual_exclusion" in again.out) == (0, True)
    assert all(re.search(r"def (\w+)", method)[1] in again.out for method in methods)


def test_json_has_the_found_lemmas(prove):
    content = json.loads(prove("even.py/even_steps", "--find-lemmas", "--json", "-").out)
    assert (content["verdict"], content["found"]["is_enough"], content["found"]["states"]) == ("proved", True, 5)
    (lemma,) = content["found"]["lemmas"]
    assert lemma["source"].startswith(f"@lemma\ndef {lemma['name']}(self):\n    return self.number % 2 == 0")


def test_pdr_finds_a_violation_with_its_trace(prove):
    outcome = prove("even.py/even_steps", "--method", "pdr", "--set", "stride=5")
    assert outcome.status == 1
    assert "is_not_five is violated: counterexample of 2 states" in outcome.out


def test_a_false_lemma_has_a_counterexample(prove, tmp_path):
    outcome = prove("even.py/wrong_lemma", "--method", "k-induction", "--out", str(tmp_path / "out"))
    assert outcome.status == 1
    assert "is_small is violated: counterexample of 3 states" in outcome.out


def test_pages_say_whether_the_first_state_is_reachable(prove, tmp_path):
    folder = tmp_path / "out"
    assert prove("bare.py", "--out", str(folder)).status == 1
    page = (folder / "bare-bare-mutual_exclusion-enter.html").read_text()
    assert "First state: unreachable within this configuration, of 20 states" in page
    assert "A state that satisfies the hypothesis" in page and "is not preserved" in page
    assert 'data-opens="1"' in page
    assert prove("even.py/even_steps", "--set", "stride=5", "--out", str(folder)).status == 1
    page = (folder / "even-even_steps-is_not_five.html").read_text()
    assert "First state" not in page and "Initial state" in page


def test_pages_of_k_induction_have_the_whole_path(prove, tmp_path):
    folder = tmp_path / "out"
    outcome = prove("bare.py", "--method", "k-induction", "--depth", "2", "--out", str(folder))
    assert outcome.status == 1
    assert "unreachable within this configuration, of 20 states" in outcome.out
    page = (folder / "bare-bare-mutual_exclusion-2-steps.html").read_text()
    assert page.count('class="step"') == 3
    content = json.loads(prove("bare.py", "--method", "k-induction", "--depth", "2", "--json", "-").out)
    assert content["first_states"] == {"mutual_exclusion": "unreachable"}


@pytest.mark.parametrize(
    ("name", "arguments", "status", "words"),
    [
        ("bare.py", ["--find-lemmas", "--method", "bounded"], 2, "--find-lemmas needs --method induction"),
        ("even.py/large", ["--method", "pdr"], 2, "pdr supports states of up to"),
        ("even.py/even_steps", ["--find-lemmas", "--unbounded", "stride"], 2, "omit one of the two"),
        ("bare.py", ["--method", "pdr", "--depth", "3"], 2, "--depth needs --method k-induction or bounded"),
        ("bare.py", ["--depth", "3"], 2, "not induction"),
        ("even.py/shut_in", ["--method", "induction"], 2, "shut is false in every state"),
        ("even.py/shut_in", ["--method", "k-induction"], 2, "shut is false in every state"),
        ("even.py/shut_in", ["--method", "pdr"], 2, "shut is false in every state"),
        ("bare.py", ["--out", "/dev/null/here"], 2, "/dev/null/here cannot be written"),
    ],
)
def test_wrong_input_is_reported_in_one_sentence(prove, name, arguments, status, words):
    outcome = prove(name, *arguments)
    assert outcome.status == status
    assert words in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), ctypes.ArgumentError("argument 1: KeyboardInterrupt: ")])
def test_an_interrupt_is_reported(prove, monkeypatch, raised):
    def interrupted(*arguments, **options):
        raise raised

    monkeypatch.setattr("checker.execution.prove_induction.prove", interrupted)
    outcome = prove("bare.py")
    assert (outcome.status, "stopped: bare/bare is neither proved nor refuted" in outcome.err) == (3, True)


@pytest.mark.parametrize("method", ["induction", "k-induction", "bounded", "pdr"])
def test_a_timeout_is_unknown_with_status_3(capsys, method):
    depth = ["--depth", "14"] if method in ("k-induction", "bounded") else []
    words = ["replication/kip320/two_replicas_three_epochs", "--method", method, "--timeout", "0.001", *depth]
    status = main(["prove", *words])
    printed = capsys.readouterr()
    assert (status, "unknown" in printed.out, "0.001 s" in printed.out) == (3, True, True)
