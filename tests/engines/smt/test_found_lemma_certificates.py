"""Certificates of proofs with found lemmas: the lemmas' text is in the file, and none of it is executed."""

import tomllib

import pytest

from checker.cli.app import main
from checker.engines.smt.lemmas.lemma_text import with_lemma_text
from checker.errors import InputError
from checker.language.roles import Role
from checker.run.certificate import certificate_for, read_certificate
from specs.examples.peterson import Peterson

SPEC = """
from specs.examples import peterson

class Bare(peterson.Peterson):
    flags_are_up = None
    other_process_has_the_turn = None
"""


@pytest.fixture
def found(tmp_path, capsys, monkeypatch):
    """The certificate of Peterson's algorithm with found lemmas, and the arguments of its check."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare.py").write_text(SPEC)
    path = tmp_path / "found.toml"
    assert main(["prove", "bare.py", "--find-lemmas", "--certificate", str(path)]) == 0
    assert f"written: {path}" in capsys.readouterr().out.replace("\n", "")
    return path, ["prove", "--check", str(path), "--spec", "bare.py"]


def test_the_second_solver_proves_the_found_lemmas_from_their_text(found, capsys):
    path, check = found
    content = tomllib.loads(path.read_text())
    assert content["found"].count("@lemma") == len(content["lemmas"]) == 2
    assert all(f"def {name}(self):" in content["found"] for name in content["lemmas"])
    assert main(check) == 0
    printed = capsys.readouterr().out
    assert "confirmed by cvc5" in printed and "20 of 20 cells" in printed


LEMMA = "def at_and_wants_in_agree(self):\n    return "
CHANGES = {
    "a lemma is another one": ("self.at[process] == At.IDLE for", "self.at[process] == At.CRITICAL for", 3, "stale"),
    "a lemma is gone": ("def at_and_turn_agree", "def another", 3, "stale"),
    "the text runs a program": (
        LEMMA,
        "def at_and_wants_in_agree(self, x=open('made', 'w')):\n    return ",
        2,
        "no lemma",
    ),
    "a decorator runs a program": ("@lemma\n" + LEMMA, "@open('made', 'w')\n" + LEMMA, 2, "no lemma"),
    "a statement of its own": ("@lemma\n" + LEMMA, "open('made', 'w')\n\n@lemma\n" + LEMMA, 2, "no lemma"),
    "a body runs a program": (LEMMA, LEMMA + "open('made', 'w') and ", 2, "uses open"),
    "a hidden attribute": (LEMMA, LEMMA + "self.__class__ and ", 2, "uses __class__"),
    "a property is replaced": (
        LEMMA,
        "def mutual_exclusion(self):\n    return ",
        2,
        "a name that the spec already has",
    ),
    "no Python": (LEMMA, "def (self):\n    return ", 2, "not Python"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_text_is_not_confirmed_and_not_executed(found, capsys, tmp_path, change):
    path, check = found
    old, new, status, words = CHANGES[change]
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert main(check) == status
    printed = capsys.readouterr()
    assert "confirmed by cvc5" not in printed.out and words in printed.out + printed.err
    assert "Traceback" not in printed.err and not (tmp_path / "made").exists()


def test_a_false_lemma_with_its_own_digest_has_a_counterexample(found, capsys):
    """Whoever writes a wrong lemma with the digest of the program that it makes still has no proof."""
    path, check = found
    text = path.read_text().replace("self.at[process] == At.IDLE for", "self.at[process] == At.CRITICAL for")
    path.write_text(text)
    certificate = read_certificate(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checker.execution.check_certificates.digest_of", lambda program: certificate.program)
        assert main(check) == 1
    printed = capsys.readouterr().out
    assert "not confirmed by cvc5" in printed and "has a counterexample" in printed


def test_a_stale_certificate_names_the_search_in_its_command(found, capsys):
    path, check = found
    path.write_text(path.read_text().replace('program = "', 'program = "0'))
    assert main(check) == 3
    printed = capsys.readouterr().out.replace("\n", " ")
    assert "--find-lemmas" in printed and "--property mutual_exclusion" in printed


def test_another_proof_does_not_use_a_certificate_with_found_lemmas(found, monkeypatch):
    path, _ = found
    monkeypatch.setattr("checker.run.certificate.certificates_beside", lambda spec: [path])
    assert certificate_for(read_certificate(path).spec, Peterson(), ()) is None


@pytest.mark.parametrize(
    "text",
    [
        "@lemma\nasync def a(self):\n    return True",
        "@lemma\ndef a(self) -> open('made', 'w'):\n    return True",
        "@lemma\ndef a(self: open('made', 'w')):\n    return True",
        "@lemma\ndef a(self):\n    x: open('made', 'w') = 1\n    return True",
        "@lemma\ndef a(self):\n    return (lambda: True)()",
        "@lemma\ndef a(self):\n    return f'{self}' == ''",
        "@lemma\n@lemma\ndef a(self):\n    return True",
        "@lemma\ndef a(self, *others):\n    return True",
        "@lemma\ndef _a(self):\n    return True",
        "@lemma\ndef a(self):\n    return True\n\n@lemma\ndef a(self):\n    return True",
        "class A:\n    pass",
        "@lemma\ndef a(self):\n    return " + "(" * 300 + "True" + ")" * 300,
        "@lemma\ndef a(self):\n    return " + "not " * 100_000 + "True",
    ],
    ids=range(13),
)
def test_a_text_with_more_than_lemmas_is_refused(text):
    with pytest.raises(InputError, match="found lemma"):
        with_lemma_text(Peterson(), text)


def test_a_lemma_of_a_text_is_a_lemma_of_the_spec():
    spec = with_lemma_text(Peterson(), "@lemma\ndef turn_is_of_a_process(self):\n    return self.turn in Process\n")
    assert "turn_is_of_a_process" in spec.names_of(Role.LEMMA)
