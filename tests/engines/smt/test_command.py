"""The command `prove`: output, JSON, exit statuses, and messages for wrong input."""

import itertools
import json
import re
import subprocess
import sys

import pytest

from checker.engines.smt.lowering.statements import SymbolicStatements
from checker.errors import EXIT_INTERNAL


def test_a_proof_prints_a_line_for_each_action_and_the_verdict_last(prove):
    outcome = prove("even.py/proved")
    assert outcome.status == 0
    assert "proved by induction: is_not_five" in outcome.out
    assert "with the lemmas is_even" in outcome.out
    assert "begin_again  3 of 3 ok" in outcome.out
    assert outcome.out.endswith("\neven/proved: proved\n")


def test_a_counterexample_to_induction_is_shown_and_labelled(prove):
    outcome = prove("even.py/even_steps")
    assert outcome.status == 1
    assert "is_not_five is not preserved by add()" in outcome.out
    assert "unreachable within this configuration, of 5 states: a lemma that excludes it is missing" in outcome.out
    assert "in every reachable state, and not in this one: self.number" in outcome.out
    assert "number  3  ->  5" in outcome.out


def test_the_page_of_a_failed_cell_describes_its_first_state(prove, tmp_path):
    assert prove("even.py/even_steps", "--out", str(tmp_path / "pages")).status == 1
    (path,) = (tmp_path / "pages").glob("*.html")
    page = path.read_text()
    assert "In every reachable state, and not in the first one here: self.number" in page
    assert "A state that satisfies the hypothesis." in page and "The initial state." not in page


@pytest.mark.parametrize("options", [[], ["--find-lemmas"]])
def test_a_real_violation_ends_with_its_shortest_trace(prove, options):
    outcome = prove("even.py/even_steps", "--set", "stride=5", *options)
    assert outcome.status == 1
    assert "violated: is_not_five 2, bounds of add 2  (in the first 2 states" in outcome.out
    assert "a missing lemma is not the reason" in outcome.out
    assert "is_not_five is violated: counterexample of 2 states" in outcome.out


def test_a_false_lemma_ends_with_its_shortest_trace(prove):
    outcome = prove("even.py/contradictory")
    assert outcome.status == 1
    assert "violated: is_odd (lemma) 1" in outcome.out
    assert "correct or remove the lemma" in outcome.out


def test_every_failing_action_is_shown(prove):
    outcome = prove("even.py/two_steps")
    assert outcome.status == 1
    assert "is_not_five is not preserved by add()" in outcome.out
    assert "is_not_five is not preserved by add_again()" in outcome.out


def test_k_induction(prove):
    outcome = prove("even.py/even_steps", "--method", "k-induction")
    assert (outcome.status, "proved by k-induction with k = 3: is_not_five" in outcome.out) == (0, True)


def test_bounded_search(prove):
    assert (
        "no violation by traces of up to 6 states"
        in prove("even.py/even_steps", "--method", "bounded", "--depth", "6").out
    )
    outcome = prove("even.py/even_steps", "--method", "bounded", "--set", "stride=5")
    assert outcome.status == 1
    assert "is_not_five is violated: counterexample of 2 states" in outcome.out


LASSOS = """
from checker.language import Constant, Range, Scenario, Spec, action, eventually, invariant, require


class Count(Spec):
    most = Constant(3)
    number = Range(0, 3)

    @action(fair="weak")
    def increment(self):
        require(self.number < self.most)
        self.number += 1

    @action
    def reset(self):
        self.number = 0

    @invariant
    def is_small(self):
        return self.number < 4

    @eventually
    def is_full(self):
        return self.number == 3

    @eventually
    def is_counted(self):
        return self.number == 1


scenarios = [
    Scenario(Count, "starved", expect={"is_full": 1}),
    Scenario(Count, "wrong_length", expect={"is_full": 2}),
    Scenario(Count, "liveness_only", properties=("is_counted",)),
]
"""


@pytest.fixture
def prove_count(prove, tmp_path):
    (tmp_path / "count.py").write_text(LASSOS)
    return lambda name, *arguments: prove(f"count.py/count{name}", *arguments)


def test_bounded_search_finds_a_lasso(prove_count):
    outcome = prove_count("/starved", "--method", "bounded", "--depth", "5")
    assert outcome.status == 0
    assert "violated: is_full 1" in outcome.out
    assert "then for ever: 1 -> 2 -> 1" in outcome.out
    assert "increment() is taken in the loop, from state 1 to state 2" in outcome.out
    assert prove_count("/starved", "--method", "bounded", "--set", "most=3").status == 1


def test_without_a_lasso_nothing_is_proved(prove_count):
    outcome = prove_count("/liveness_only", "--method", "bounded", "--depth", "5")
    assert outcome.status == 0
    assert "no violation by traces of up to 5 states" in outcome.out
    assert "no lasso of up to 5 states violates is_counted: longer ones may" in outcome.out
    # The lasso of `is_full` needs three states, so two are no answer.
    outcome = prove_count("/starved", "--method", "bounded", "--depth", "2")
    assert (outcome.status, "no lasso of up to 2 states violates is_full, is_counted" in outcome.out) == (0, True)


def test_a_stem_that_is_shorter_than_expected_is_a_difference(prove_count):
    outcome = prove_count("/wrong_length", "--method", "bounded")
    assert outcome.status == 1
    assert "expected a counterexample to is_full of 2 states, but it has 1" in outcome.out


@pytest.mark.parametrize(("method", "others"), [("induction", ["is_full", "is_counted"]), ("bounded", [])])
def test_a_proof_names_the_reachable_properties(prove, tmp_path, method, others):
    goal = "    @reachable\n    def is_begun(self):\n        return self.number == 1\n\n\nscenarios = ["
    text = LASSOS.replace("\nscenarios = [", goal, 1)
    (tmp_path / "count.py").write_text(f"from checker.language import reachable\n{text}")
    outcome = prove("count.py/count/starved", "--method", method)
    assert "not treated: is_begun: the command prove decides no reachable property; use the command run" in outcome.out
    content = json.loads(prove("count.py/count/starved", "--method", method, "--json", "-").out)
    assert content["untreated"] == [*others, "is_begun"]


EVERY_KIND = '''"""A property of each kind, and a view."""

from checker.language import (
    Range, Refinement, Scenario, Spec, action, always_eventually, invariant, reachable, require, step_invariant, view
)


class Abstract(Spec):
    z = Range(0, 3)

    @action
    def next(self):
        require(self.z < 3)
        self.z += 1


class Kinds(Spec):
    x = Range(0, 3)

    @action
    def up(self):
        require(self.x < 3)
        self.x += 1

    @invariant
    def is_small(self):
        return self.x < 4

    @invariant
    def is_violated(self):
        return self.x < 3

    @step_invariant
    def grows(self, old):
        return self.x > old.x

    @reachable
    def is_full(self):
        return self.x == 3

    @always_eventually
    def is_empty(self):
        return self.x == 0

    @view
    def seen(self):
        return self.x

    refines = Refinement(Abstract, z=lambda self: self.x)


scenarios = [Scenario(Kinds, "all", deadlock=True, expect={"is_violated": 4}),
             Scenario(Kinds, "some", properties=["is_small", "is_full"])]
'''


@pytest.mark.parametrize("method", ["induction", "k-induction", "bounded", "pdr"])
@pytest.mark.parametrize("scenario", ["all", "some"])
def test_each_declared_property_is_treated_or_named(prove, tmp_path, method, scenario):
    (tmp_path / "kinds.py").write_text(EVERY_KIND)
    arguments = [f"kinds.py/kinds/{scenario}", "--method", method, "--depth", "4"]
    arguments = arguments if method in ("k-induction", "bounded") else arguments[:3]
    content = json.loads(prove(*arguments, "--json", "-").out)
    parts = [content[part] for part in ("properties", "untreated", "not_selected", "expected_violations")]
    declared = ["is_small", "is_violated", "grows", "is_full", "is_empty", "refines", "deadlock"]
    assert sorted(itertools.chain(*parts)) == sorted(declared)
    out = prove(*arguments).out
    assert "  not used: the view seen: a proof is about whole states\n" in out
    if scenario == "some":
        assert parts[1:] == [["is_full"], ["is_violated", "grows", "is_empty", "refines", "deadlock"], []]
        assert "  not selected: is_violated, grows, is_empty, refines\n" in out
        return
    liveness = ["is_empty"] if method != "bounded" else []
    assert sorted(parts[1]) == sorted(["is_full", "refines", "deadlock", *liveness])
    assert "no reachable property, no refinement, no deadlock; use the command run\n" in out
    is_left_out = method in ("induction", "k-induction")
    assert parts[2:] == [[], ["is_violated"] if is_left_out else []]
    assert ("  not proved: is_violated: the scenario expects a violation" in out) == is_left_out


@pytest.mark.parametrize("method", ["induction", "k-induction", "pdr"])
def test_the_other_methods_do_not_treat_liveness(prove_count, method):
    outcome = prove_count("/starved", "--method", method)
    assert outcome.status == 0
    assert f"not treated: is_full, is_counted: the method {method} decides no liveness property" in outcome.out
    assert re.search(r"proved by .*: is_small( |$)", outcome.out, re.MULTILINE)
    content = json.loads(prove_count("/starved", "--method", method, "--json", "-").out)
    assert (content["properties"], content["untreated"]) == (["is_small"], ["is_full", "is_counted"])
    for arguments in (["/liveness_only"], ["/starved", "--property", "is_counted"]):
        outcome = prove_count(*arguments, "--method", method)
        assert outcome.status == 2
        assert f"is_counted: the method {method} does not treat liveness properties; use --method" in outcome.err


def test_json(prove):
    outcome = prove("even.py/even_steps", "--json", "-")
    content = json.loads(outcome.out)
    assert (content["method"], content["verdict"]) == ("induction", "not inductive")
    broken = [query for query in content["queries"] if query["outcome"] == "fails"]
    assert [(query["conjunct"], query["action"], query["first_state"]) for query in broken] == [
        ("is_not_five", "add", "unreachable")
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("no_start", [], "has no initial state"),
        ("no_start", ["--method", "bounded"], "has no initial state"),
        ("nothing", [], "no invariant or step invariant is expected to hold"),
        ("even_steps", ["--property", "is_blue"], "unknown property is_blue"),
        ("even_steps", ["--method", "magic"], "--method"),
    ],
)
def test_wrong_input_is_reported_in_one_sentence(prove, name, arguments, words):
    outcome = prove(f"even.py/{name}", *arguments)
    assert outcome.status == 2
    assert words in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("words", [["examples/peterson"], ["--check", "x"]])
def test_the_message_without_z3_names_the_extra(words):
    """In a process that has imported nothing that needs Z3."""
    program = "import sys; sys.modules['z3'] = None; from checker.cli.app import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "prove", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "pip install 'tidemark[prove]'" in done.stderr, done.stderr
    assert "internal error" not in done.stderr


def test_both_engines_agree(prove):
    outcome = prove("even.py/even_steps", "--engine", "both", command="run")
    assert (outcome.status, "native + z3 to depth 5" in outcome.out) == (0, True)


def test_a_disagreement_is_an_internal_error(prove, monkeypatch):
    monkeypatch.setattr(SymbolicStatements, "require", lambda self, node: None)
    outcome = prove("even.py/even_steps", "--engine", "both", command="run")
    assert outcome.status == EXIT_INTERNAL
    assert "internal error: EngineDisagreementError: on even_steps the engines disagree" in outcome.err
