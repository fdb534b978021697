"""The cells of a proof: what they need, the cache, processes, certificates, the second solver and explanations."""

import itertools
import tomllib
from pathlib import Path

import pytest
import z3

from checker.cli.app import main
from checker.engines.native.llvm import code_cache
from checker.engines.smt import induction, proof_cells
from checker.engines.smt.cell_cache import CellCache
from checker.engines.smt.cell_work import work_of
from checker.engines.smt.induction import FiniteCells
from checker.engines.smt.induction_cells import induction_cells
from checker.engines.smt.lemmas.lemma_source import with_methods
from checker.engines.smt.proof_cells import ProofAids, ProofCell, prove_cells
from checker.engines.smt.second_solver import SecondSolverCells
from checker.engines.smt.solving import QueryLimits, ask, new_solver, satisfiable, seeded
from checker.engines.smt.transition_system import TransitionSystem
from checker.engines.smt.unbounded import unbounded_induction
from checker.engines.smt.unbounded.unbounded_induction import UnboundedCells
from checker.engines.smt.unbounded.unbounded_system import UnboundedSystem
from checker.errors import InputError
from checker.execution.check_certificates import checked
from checker.execution.proof_progress import ProofProgress
from checker.language import Constant, Range, Spec, action, invariant, require
from checker.run.certificate import read_certificate
from specs.examples.peterson import Peterson
from specs.replication.async_isr_history import AsyncIsrHistory

LEMMAS = ["flags_are_up", "other_process_has_the_turn"]
GOALS = ["mutual_exclusion"]
ROOT = Path(__file__).parents[3]
CERTIFICATES = sorted(ROOT.glob("specs/**/proofs/*.toml"))
QUICK, SLOW = 0.5, 3.0
"""Processor seconds of the proofs that every run of the tests repeats with cvc5, and of those of the slow tests.

cvc5 takes about ten times as long as Z3.
"""
ALWAYS = ("kip320_any_replicas",)
"""Certificates that the slow tests repeat all the same: the proof on which most depends."""


class Bare(Peterson):
    flags_are_up = None
    other_process_has_the_turn = None


def prove(spec, lemmas=LEMMAS, **aids):
    system = TransitionSystem(spec, [*GOALS, *lemmas])
    return induction.prove(system, GOALS, lemmas, QueryLimits(30), aids=ProofAids(**aids))


def outcomes(proof):
    return {cell.place: cell.outcome for cell in proof.cells}


def test_the_needed_hypotheses_are_sufficient_and_some_are_needed():
    cells = FiniteCells(TransitionSystem(Peterson(), [*GOALS, *LEMMAS]), GOALS, LEMMAS, QueryLimits(30), {})
    some = 0
    for place in cells.places:
        needed = frozenset(cells.cell(place).needed)
        (conditions,) = cells.conditions(place, needed)
        assert satisfiable(conditions, QueryLimits(30), is_finite=True).answer == "no"
        for name in needed:
            (fewer,) = cells.conditions(place, needed - {name})
            some += satisfiable(fewer, QueryLimits(30), is_finite=True).answer == "yes"
    assert some > 3


def test_wrong_known_hypotheses_do_not_change_a_proof():
    places = outcomes(prove(Peterson()))
    assert outcomes(prove(Peterson(), known=dict.fromkeys(places, frozenset()))) == places
    bare = outcomes(prove(Bare(), []))
    assert "fails" in bare.values()
    assert outcomes(prove(Bare(), [], known=dict.fromkeys(bare, frozenset(["no such lemma"])))) == bare


def test_unneeded_lemmas_are_named():
    spec = with_methods(Peterson(), "@lemma\ndef turn_is_someones(self):\n    return self.turn in Process")
    assert prove(spec, [*LEMMAS, "turn_is_someones"]).unused_lemmas == ["turn_is_someones"]
    assert prove(Peterson()).unused_lemmas == []


@pytest.fixture
def cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv(code_cache.VARIABLE, str(tmp_path / "cache"))


def cache_of(spec, lemmas=LEMMAS):
    return CellCache(spec, TransitionSystem(spec, [*GOALS, *lemmas]).program)


def test_a_proof_that_was_killed_continues(cache_folder, monkeypatch):
    whole, asked = FiniteCells.cell, []

    def killed(self, place):
        if len(asked) == 7:
            raise KeyboardInterrupt
        asked.append(place)
        return whole(self, place)

    monkeypatch.setattr(FiniteCells, "cell", killed)
    with pytest.raises(KeyboardInterrupt):
        prove(Peterson(), cache=cache_of(Peterson()))
    monkeypatch.setattr(FiniteCells, "cell", whole)
    proof = prove(Peterson(), cache=cache_of(Peterson()))
    assert proof.verdict == "proved"
    assert [cell.place for cell in proof.cells if cell.is_cached] == [c.place for c in proof.cells if c.place in asked]
    assert len(asked) == 7


def test_a_changed_lemma_or_action_invalidates_the_cells_that_need_it(cache_folder):
    prove(Peterson(), cache=cache_of(Peterson()))

    def cached(spec):
        return {cell.place for cell in prove(spec, cache=cache_of(spec)).cells if cell.is_cached}

    everything = cached(Peterson())
    assert len(everything) == 20
    weaker = (
        "@lemma\ndef flags_are_up(self):\n    return all(self.wants_in[p] for p in Process if self.at[p] != At.IDLE)"
    )
    lost = everything - cached(with_methods(Peterson(), weaker))
    assert ("mutual_exclusion", "enter") in lost and ("flags_are_up", "init") in lost
    assert ("mutual_exclusion", "leave") not in lost
    prove(Peterson(), cache=cache_of(Peterson()))
    leave = "@action\ndef leave(self, process: Process):\n    require(self.at[process] == At.CRITICAL)\n"
    leave += "    self.at[process] = At.IDLE\n    self.wants_in[process] = False\n    self.turn = process"
    lost = everything - cached(with_methods(Peterson(), leave))
    assert {action for _, action in lost} == {"leave"}


@pytest.mark.parametrize(("least", "is_cached"), [(1, True), (0, False)])
def test_the_bounds_of_an_open_constant_are_part_of_a_cell(cache_folder, least, is_cached):
    def proved_for(at_least):
        class Counter(Spec):
            most = Constant(3, at_least=at_least)
            number = Range(0, "most")

            @action
            def increment(self):
                require(self.number + 1 < self.most)
                self.number += 1

            @invariant
            def is_less(self):
                return self.number < self.most

        system = UnboundedSystem(Counter(), ["most"], ["is_less"])
        cache = CellCache(system.spec, system.program)
        return unbounded_induction.prove(system, ["is_less"], [], QueryLimits(5), aids=ProofAids(cache=cache))

    assert proved_for(1).verdict == "proved"
    again = proved_for(least)
    assert {cell.is_cached for cell in again.cells} == {is_cached}
    assert again.verdict == ("proved" if is_cached else "unknown")


def test_a_damaged_entry_is_ignored(cache_folder, monkeypatch):
    prove(Peterson(), cache=cache_of(Peterson()))
    monkeypatch.setattr(code_cache, "load", lambda digest: b'{"needed": 5}')
    assert not any(cell.is_cached for cell in prove(Peterson(), cache=cache_of(Peterson())).cells)


@pytest.mark.parametrize(("spec", "lemmas"), [(Peterson(), LEMMAS), (Bare(), [])], ids=["proved", "fails"])
def test_processes_find_the_same(monkeypatch, spec, lemmas):
    alone = prove(spec, lemmas)
    monkeypatch.setattr(proof_cells, "SERIAL_SECONDS", 0.0)
    together = prove(spec, lemmas, processes=2)
    assert outcomes(together) == outcomes(alone)
    assert [cell.counterexample for cell in together.cells] == [cell.counterexample for cell in alone.cells]


class SeedsOfCells:
    """Cells that take Z3's random seed as their seconds."""

    places = [("safe", "enter"), ("safe", "leave")]

    def cell(self, place):
        return ProofCell(*place, "proved", float(z3.get_param("smt.random_seed")))


def test_each_cell_has_its_own_seed_in_any_number_of_processes(monkeypatch):
    def seeds(**aids):
        return [cell.seconds for cell in prove_cells(SeedsOfCells(), ProofAids(**aids), lambda *_: None)]

    assert seeds() == [0, 0]
    alone = seeds(seed=1)
    assert len({*alone, *seeds(seed=2)}) == 4
    monkeypatch.setattr(proof_cells, "SERIAL_SECONDS", 0.0)
    assert seeds(seed=1, processes=2) == alone
    assert z3.get_param("smt.random_seed") == "0"


def test_a_seed_changes_the_search_and_not_the_answer():
    def conflicts(seed):
        pigeons = [[z3.Bool(f"{pigeon} in {hole}") for hole in range(6)] for pigeon in range(7)]
        solver = new_solver(is_finite=True)
        solver.add(*map(z3.Or, pigeons))
        for one, other in itertools.combinations(pigeons, 2):
            solver.add(*(z3.Or(z3.Not(left), z3.Not(right)) for left, right in zip(one, other, strict=True)))
        with seeded(seed):
            assert ask(solver, QueryLimits(30)).answer == "no"
        return solver.statistics().get_key_value("sat conflicts")

    assert conflicts(1) == conflicts(1)
    assert len({conflicts(seed) for seed in range(4)}) > 1


def test_a_proof_with_a_seed_has_the_same_outcomes():
    assert outcomes(prove(Peterson(), seed=7)) == outcomes(prove(Peterson()))
    assert outcomes(prove(Bare(), [], seed=7)) == outcomes(prove(Bare(), []))


def test_the_second_solver_agrees_on_every_cell_of_a_proof_that_fails():
    cells = induction_cells(Bare(), (), GOALS, [], QueryLimits(30))
    known = dict.fromkeys(cells.places, frozenset(cells.hypothesis_names))
    second = SecondSolverCells(cells, known, 30, is_finite=True)
    found = {place: second.cell(place).outcome for place in cells.places}
    assert found == outcomes(prove(Bare(), []))
    assert "fails" in found.values()


@pytest.fixture
def certificate(tmp_path, capsys):
    path = tmp_path / "peterson.toml"
    assert main(["prove", "examples/peterson", "--certificate", str(path)]) == 0
    capsys.readouterr()
    return path


def test_a_certificate_is_confirmed_by_the_second_solver(certificate, capsys):
    content = tomllib.loads(certificate.read_text())
    assert content["cells"]["mutual_exclusion"]["enter"]["needs"] == LEMMAS
    assert main(["prove", "--check", str(certificate)]) == 0
    printed = capsys.readouterr().out
    assert "confirmed by cvc5" in printed and "20 of 20 cells" in printed


BROKEN = {
    "a needed lemma is missing": ('needs = ["flags_are_up", "other_process_has_the_turn"]', "needs = []", 1),
    "the spec has changed": ('program = "', 'program = "0', 3),
    "a lemma is gone": ('lemmas = ["', 'lemmas = ["gone", "', 3),
    "a cell is missing": ('"leave" = ', '"left" = ', 2),
    "a cell needs no hypothesis of the proof": ('needs = ["flags_are_up"]', 'needs = ["magic"]', 2),
    "an initial cell needs a hypothesis": ("needs = []", 'needs = ["flags_are_up"]', 2),
    "the spec is unknown": ('spec = "examples/peterson"', 'spec = "examples/petersen"', 2),
    "it is no TOML": ("[cells", "[[[cells", 2),
    "a list is none": ("unbounded = []", "unbounded = 3", 2),
}


@pytest.mark.parametrize("change", BROKEN)
def test_a_wrong_certificate_is_not_confirmed(certificate, capsys, change):
    old, new, status = BROKEN[change]
    assert old in certificate.read_text()
    certificate.write_text(certificate.read_text().replace(old, new))
    assert main(["prove", "--check", str(certificate)]) == status
    printed = capsys.readouterr()
    assert "confirmed by cvc5" not in printed.out.replace("not confirmed by cvc5", "")
    if status == 2:
        assert str(certificate) in printed.err and "Traceback" not in printed.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["examples/peterson", "--check", "x.toml"], "examples/peterson: --check takes the spec"),
        (["--check", "x.toml", "--out", "pages"], "--out: --check takes the spec"),
        (["--check", "x.toml", "--method", "pdr"], "--method: --check takes the spec"),
        (["examples/peterson", "--certificate", "x.toml", "--method", "pdr"], "needs a whole proof by induction"),
        (["examples/peterson", "--explain", "mutual_exclusion/entr"], "did you mean mutual_exclusion/enter"),
        (["examples/peterson", "--explain", "a/b", "--find-lemmas"], "omit --find-lemmas"),
        (["examples/peterson", "--explain", "a/b", "--method", "bounded"], "--explain needs --method induction"),
        (["replication/fenced_logs", "--certificate", "x.toml"], "name one scenario"),
        (["--check", "/no/such/file.toml"], "cannot be read"),
    ],
)
def test_wrong_options_are_refused(capsys, arguments, words):
    assert main(["prove", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_an_explanation_has_the_words_of_the_spec_and_the_needed_lemmas(capsys):
    assert main(["prove", "examples/peterson", "--explain", "mutual_exclusion/enter"]) == 0
    printed = capsys.readouterr().out
    assert "Is mutual_exclusion true after enter, from any state of the hypothesis?" in printed
    assert "def enter(self, process: Process):" in printed and "def mutual_exclusion(self):" in printed
    assert "needed: 2 of 4 hypotheses" in printed
    assert Peterson.flags_are_up.__doc__.split("\n")[0] in printed


@pytest.mark.parametrize("needs", [True, False], ids=["refuted", "too few hypotheses"])
def test_an_explanation_counts_the_instances_that_the_checker_chooses(needs):
    def weak_solver():
        solver = z3.SimpleSolver()
        for option in ("smt.mbqi", "smt.ematching", "smt.auto_config"):
            solver.set(option, False)
        return solver

    goals, open_constants = ["valid_high_watermark", "leader_stays_in_sync"], ("replicas", "max_offset", "max_version")
    cells = induction_cells(AsyncIsrHistory(), open_constants, goals, [], QueryLimits(30))
    needed = ["leader_stays_in_sync"] if needs else []
    work = work_of(cells, ("leader_stays_in_sync", "leader_write"), needed, weak_solver, QueryLimits(30))
    assert work.by_instances + work.unanswered == len(work.seconds) > 0
    assert bool(work.instances) is bool(work.by_instances) is needs


SECONDS = {path: read_certificate(path).seconds for path in CERTIFICATES}


@pytest.mark.parametrize(
    "path",
    [
        # Five seconds go to the terms of the circular log.
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem == "circular_log_unbounded" else ())
        for path in CERTIFICATES
        if SECONDS[path] >= QUICK
    ],
)
def test_the_certificates_are_those_of_the_specs(path, monkeypatch):
    """A certificate of a changed spec is stale; without a solver's work only that is checked.

    A proof that was not vacuous when it was made is not vacuous while the spec is the same.
    """
    certificate = read_certificate(path)
    monkeypatch.setattr("checker.execution.check_certificates.prove_cells", lambda prover, aids, on_query: [])
    for cells in (FiniteCells, UnboundedCells):
        monkeypatch.setattr(cells, "refuse_vacuous_proof", lambda self: None)
    assert checked(certificate, certificate.spec, 30, 1, ProofProgress("")).stale == ""


def confirm(path):
    certificate = read_certificate(path)
    found = checked(certificate, certificate.spec, 120, 1, ProofProgress(""))
    assert found.stale == ""
    assert [cell.place for cell in found.cells if cell.outcome != "proved"] == []


@pytest.mark.parametrize("path", [p for p in CERTIFICATES if SECONDS[p] < QUICK], ids=lambda path: path.stem)
def test_quick_certificates_are_confirmed(path):
    confirm(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [p for p in CERTIFICATES if QUICK <= SECONDS[p] < SLOW or p.stem in ALWAYS], ids=lambda path: path.stem
)
def test_slow_certificates_are_confirmed(path):
    confirm(path)


def test_a_file_that_is_no_certificate_is_refused(tmp_path):
    (tmp_path / "a.toml").write_text("spec = 3")
    with pytest.raises(InputError, match="is not a certificate"):
        read_certificate(tmp_path / "a.toml")
