"""Execution of `prove --check`: repeat certified proofs with another solver."""

from __future__ import annotations

import dataclasses
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from checker.engines.smt.induction_cells import induction_cells
from checker.engines.smt.lemmas.lemma_text import with_lemma_text
from checker.engines.smt.proof_cells import INIT, CellPlace, ProofAids, ProofCell, prove_cells
from checker.engines.smt.second_solver import SecondSolverCells, version
from checker.engines.smt.solving import QueryLimits
from checker.errors import InputError, UserError
from checker.execution.proof_progress import ProofProgress
from checker.ir.digest import digest_of
from checker.language.constant_values import setting_text
from checker.language.roles import Role
from checker.output import styled_lines
from checker.output.certificate_text import lines_of_check, stale_lines
from checker.output.styled_lines import BLANK
from checker.printable import printable_lines
from checker.run import registry
from checker.run.certificate import FOLDER, Certificate, read_certificate
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, EXIT_WRONG_INPUT, Request, Run, runs_for


@dataclasses.dataclass(frozen=True)
class CheckedCertificate:
    """A certificate and its cells, proved again; `stale` is why they were not, as a sentence."""

    certificate: Certificate
    cells: Sequence[ProofCell] = ()
    stale: str = ""
    seconds: float = 0.0

    @property
    def status(self) -> int:
        """The exit status: 1 refuted, 3 stale or not answered, 0 confirmed."""
        outcomes = {cell.outcome for cell in self.cells}
        if "fails" in outcomes:
            return EXIT_VIOLATED
        return EXIT_STOPPED if self.stale or "unknown" in outcomes else EXIT_OK


def execute_check(files: Sequence[Path], spec: Path | None, timeout: float, workers: int) -> int:
    """Check certificates and return the exit status.

    `spec` is the file or package of specs that are not of the library; a certificate does not choose it.
    """
    statuses = []
    for file in _certificates(files):
        progress = ProofProgress(str(file))
        try:
            certificate = read_certificate(file)
            target = _target(certificate, spec, file)
            check = checked(certificate, target, timeout, workers, progress)
        except UserError as error:
            progress.clear()
            is_named = error.file or str(file) in error.message
            shown = str(error) if is_named else f"{file}: {error.message}"
            print(printable_lines(f"error: {shown}"), file=sys.stderr)
            statuses.append(EXIT_WRONG_INPUT)
            continue
        progress.clear()
        statuses.append(check.status)
        lines = (
            stale_lines(check.certificate, check.stale, _command(check.certificate, target, file))
            if check.stale
            else lines_of_check(check.certificate, list(check.cells), version(), check.seconds)
        )
        styled_lines.write([*lines, BLANK], sys.stdout)
    return next((status for status in (EXIT_WRONG_INPUT, EXIT_VIOLATED, EXIT_STOPPED) if status in statuses), EXIT_OK)


def _certificates(places: Sequence[Path]) -> list[Path]:
    """Return files, and the certificates in folders; raise InputError if a folder has none."""
    files: list[Path] = []
    for place in places:
        pattern = "*.toml" if place.name == FOLDER else f"{FOLDER}/*.toml"
        inside = sorted(place.rglob(pattern)) if place.is_dir() else [place]
        if not inside:
            raise InputError(f"{place} has no certificates: they are files of folders {FOLDER} below it")
        files += inside
    return files


def checked(
    certificate: Certificate, target: str, timeout: float, workers: int, progress: ProofProgress
) -> CheckedCertificate:
    """Prove the cells of a certificate again with cvc5, each with the hypotheses that it names.

    `target` is the spec, as a name of the command line. Raises UserError if the certificate names an unknown spec or
    constant, if its found lemmas are not lemmas alone, or if the proof would be vacuous.
    """
    run = _run_of(certificate, target)
    if certificate.found:
        spec = with_lemma_text(run.spec, certificate.found).with_symbolic_parameters()
        run = dataclasses.replace(run, spec=spec)
    properties, lemmas = list(certificate.properties), list(certificate.lemmas)
    if stale := _stale(certificate, run):
        return CheckedCertificate(certificate, stale=stale)
    limits = QueryLimits(timeout)
    cells = induction_cells(run.spec.without_view(), certificate.unbounded, properties, lemmas, limits)
    if digest_of(cells.program) != certificate.program:
        return CheckedCertificate(certificate, stale="the spec has changed since")
    cells.refuse_vacuous_proof()
    _require_whole(certificate, cells.places, set(cells.hypothesis_names))
    started = time.perf_counter()
    asked = SecondSolverCells(cells, certificate.known, timeout, is_finite=not certificate.unbounded)
    proved = prove_cells(
        asked, ProofAids(processes=workers), lambda conjunct, action: progress.show(f"{conjunct}, {action}")
    )
    return CheckedCertificate(certificate, proved, seconds=time.perf_counter() - started)


def _run_of(certificate: Certificate, target: str) -> Run:
    name = _with_scenario(certificate, target)
    runs = runs_for(Request(targets=(name,), settings=_settings(certificate)))
    if len(runs) != 1:
        raise InputError(f"the certificate names {name}, which has {len(runs)} scenarios, and none of them")
    return runs[0]


def _target(certificate: Certificate, spec: Path | None, file: Path) -> str:
    """Return the spec of a certificate, as a name of the command line; raise InputError if it needs `--spec`."""
    target = registry.target_to_load(certificate.spec, spec, file)
    if spec is None and target.split("/")[0] not in registry.family_names():
        raise InputError(f"{file} is about {target}, which is not of the library: add --spec FILE with its Python file")
    return target


def _with_scenario(certificate: Certificate, target: str) -> str:
    return f"{target}/{certificate.scenario}" if certificate.scenario else target


def _settings(certificate: Certificate) -> tuple[str, ...]:
    return tuple(setting_text(name, value) for name, value in certificate.settings.items())


def _command(certificate: Certificate, target: str, file: Path) -> str:
    """Return the command that writes a certificate again."""
    options = {
        "--property": certificate.properties,
        "--set": _settings(certificate),
        "--unbounded": certificate.unbounded,
        "--certificate": (str(file),),
    }
    words = [word for option, values in options.items() for value in values for word in (option, value)]
    words += ["--find-lemmas"] if certificate.found else []
    return shlex.join(["python", "-m", "checker", "prove", _with_scenario(certificate, target), *words])


def _stale(certificate: Certificate, run: Run) -> str:
    """Return how the constants or lemmas of a spec differ from those of a certificate; "" if they do not."""
    closed = {name: "any" if name in certificate.unbounded else value for name, value in run.spec.constants.items()}
    if closed != dict(certificate.constants):
        return "the constants of the spec have changed since"
    known = {name for name, role in run.spec.roles.items() if role in (Role.INVARIANT, Role.STEP_INVARIANT, Role.LEMMA)}
    missing = [name for name in (*certificate.properties, *certificate.lemmas) if name not in known]
    return f"the spec has no {', '.join(missing)} any more" if missing else ""


def _require_whole(certificate: Certificate, places: Sequence[CellPlace], hypotheses: set[str]) -> None:
    """Raise InputError if a cell is missing, or needs something that is no hypothesis of the proof."""
    if unknown_cells := sorted(certificate.cells.keys() - set(places)):
        conjunct, action = unknown_cells[0]
        raise InputError(f"the certificate has a cell {conjunct}/{action}, which is not of this proof")
    missing = [place for place in places if place not in certificate.cells]
    if missing:
        conjunct, action = missing[0]
        raise InputError(f"the certificate has no cell {conjunct}/{action}, and {len(missing) - 1} others are missing")
    for (conjunct, action), cell in certificate.cells.items():
        unknown = [name for name in cell.needs if name not in hypotheses]
        if unknown:
            raise InputError(f"the cell {conjunct}/{action} needs {unknown[0]}, which is no hypothesis of the proof")
        if action == INIT and cell.needs:
            raise InputError(f"the cell {conjunct}/{action} needs {cell.needs[0]}, but nothing is before it")
