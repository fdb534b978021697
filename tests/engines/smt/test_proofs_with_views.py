"""Proofs of specs with a view: they consider every state, and lemmas may read what the view leaves out."""

import pytest

from checker.cli.app import main

SPEC = """
from checker.language import Enum, Seq, Spec, action, invariant, lemma, require, view
from checker.language import Range


class Way(Enum):
    LEFT = "left"
    RIGHT = "right"


class Ways(Spec):
    level = Range(0, 3)
    history = Seq(Way, 3)

    @view
    def without_history(self):
        return self.level

    @action
    def climb(self, way: Way):
        require(self.level < 3)
        self.level += 1
        self.history.append(way)

    @invariant
    def level_is_small(self):
        return self.level < 4

    @lemma
    def fact(self):
        return FACT
"""


@pytest.fixture
def prove(tmp_path, capsys):
    """Return a function that proves the spec with a lemma: the exit status and what was printed."""

    def proved(fact, *options):
        file = tmp_path / "ways.py"
        file.write_text(SPEC.replace("FACT", fact))
        status = main(["prove", str(file), *options])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return proved


def test_a_lemma_reads_what_the_view_leaves_out(prove):
    status, text = prove("len(self.history) == self.level")
    assert (status, "proved by induction: level_is_small" in text) == (0, True), text


def test_a_lemma_is_evaluated_in_states_that_the_view_hides(prove):
    """The view keeps the first state of each level; the lemma is false in another one."""
    status, text = prove("all(way == Way.LEFT for way in self.history)")
    assert status == 1 and "violated: fact (lemma) 2" in text, text


def test_a_state_is_looked_up_with_what_the_view_hides(prove, tmp_path):
    """The step that breaks the induction begins at level 0 with a history; the view keeps the level alone."""
    status, text = prove("len(self.history) < 3 or self.history[1] == Way.LEFT", "--all-cells")
    assert status == 1 and "unreachable within this configuration, of 15 states" in text, text
    assert "a real violation" not in text, text


def test_lemmas_are_found_and_certificates_checked(prove, tmp_path):
    found, text = prove("len(self.history) == self.level", "--find-lemmas")
    assert found == 0, text
    certificate = tmp_path / "ways.toml"
    written, text = prove("len(self.history) == self.level", "--certificate", str(certificate))
    assert written == 0, text
    assert main(["prove", "--check", str(certificate), "--spec", str(tmp_path / "ways.py")]) == 0
