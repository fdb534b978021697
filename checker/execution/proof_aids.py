"""What a proof by induction has from earlier ones, and the certificate that it leaves."""

from __future__ import annotations

from checker.engines.smt.cell_cache import CellCache
from checker.engines.smt.proof_cells import InductionProof, ProofAids
from checker.engines.smt.solving import solver_version
from checker.execution.proof_outcome import ProofTask
from checker.ir import nodes
from checker.ir.digest import digest_of
from checker.language.spec import Spec
from checker.output.output_files import write_whole
from checker.run import command_process
from checker.run.certificate import Certificate, CertifiedCell, certificate_for
from checker.run.version import tidemark_version


def proof_aids(task: ProofTask, spec: Spec, program: nodes.Program) -> ProofAids:
    """Return the known cells of a proof: of the certificate beside the spec, and of the cache in a command's process.

    A proof that writes a certificate asks every cell itself, and looks for few hypotheses.
    """
    settings = task.settings
    certificate = certificate_for(task.run.entry.name, task.run.spec, settings.unbounded)
    is_used = command_process.is_command() and settings.certificate is None
    return ProofAids(
        known=certificate.known if certificate is not None else {},
        cache=CellCache(spec, program) if is_used else None,
        processes=settings.workers,
        minimal=settings.certificate is not None,
        seed=settings.seed,
    )


def write_certificate(task: ProofTask, program: nodes.Program, proof: InductionProof) -> None:
    """Write the certificate of a proof if the settings ask for one; raise OutputError if it cannot be written."""
    if task.settings.certificate is None or proof.verdict != "proved":
        return
    write_whole(task.settings.certificate, certificate_of(task, program, proof).text())


def certificate_of(task: ProofTask, program: nodes.Program, proof: InductionProof) -> Certificate:
    """Return the certificate of a proof."""
    run, unbounded = task.run, task.settings.unbounded
    return Certificate(
        spec=run.entry.name,
        scenario=run.scenario or "",
        settings=dict(run.settings),
        constants={name: "any" if name in unbounded else value for name, value in run.spec.constants.items()},
        unbounded=tuple(unbounded),
        properties=tuple(proof.targets),
        lemmas=tuple(proof.lemmas),
        program=digest_of(program),
        solver=solver_version(),
        tidemark=tidemark_version(),
        seconds=round(sum(cell.processor_seconds for cell in proof.cells), 3),
        cells={cell.place: CertifiedCell(cell.needed, cell.processor_seconds) for cell in proof.cells},
        found=task.found,
    )
