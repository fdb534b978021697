"""The command `prove`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from checker.cli.declaration import option, refuse_options
from checker.cli.options import JsonFile, OutFolder, Properties, SetConstants, SpecFile, Targets, Workers


def prove(
    targets: Targets = None,
    method: Annotated[
        Literal["induction", "k-induction", "bounded", "pdr"],
        option(help="bounded: search for shortest violations, also of liveness. pdr: use Z3's Spacer."),
    ] = "induction",
    depth: Annotated[
        int | None,
        option(
            min=1, metavar="N", help="Maximum k (default: 4); for bounded, maximum states of a trace (default: 10)."
        ),
    ] = None,
    properties: Properties = None,
    # The solvers count milliseconds with 32 bits.
    timeout: Annotated[
        float, option(min=0.001, max=1_000_000, metavar="SECONDS", help="Time limit for one query.")
    ] = 60.0,
    seed: Annotated[
        int,
        option(min=0, max=2**31 - 1, metavar="N", help="Random seed of Z3: another one may answer an unknown query."),
    ] = 0,
    settings: SetConstants = None,
    unbounded: Annotated[
        list[str] | None,
        option(metavar="NAME", help="With induction: prove for every value of this constant (repeatable)."),
    ] = None,
    find_lemmas: Annotated[
        bool, option("--find-lemmas", help="With induction: find the missing lemmas and print them.")
    ] = False,
    workers: Workers = None,
    json: JsonFile = "",
    out: OutFolder = None,
    certificate: Annotated[
        Path | None, option(metavar="FILE", help="With induction: write what was proved from what to this file.")
    ] = None,
    explain: Annotated[
        str, option(metavar="CELL", help="With induction: prove one cell, CONJUNCT/ACTION, and explain its query.")
    ] = "",
    all_cells: Annotated[
        bool,
        option(
            "--all-cells",
            help="With induction: also of a property or lemma that is false in a reachable state, show the cells that "
            "fail.",
        ),
    ] = False,
    check: Annotated[
        list[Path] | None,
        option(metavar="PATH", help="Repeat the proof of a certificate, or all of a folder, with cvc5 (repeatable)."),
    ] = None,
    spec: SpecFile = None,
) -> int:
    """Prove invariants with Z3, or search for short violations.

    Only the method bounded treats liveness properties: it searches for lassos of up to N states. Without a lasso they
    are not proved.

    Exit status: 0 proved (or only the expected violations), 1 violated or not inductive, 2 wrong input, 3 unknown: Z3
    gave no answer in time.
    """
    from checker.execution.required_solvers import require_solvers

    # Before the imports of what needs them.
    require_solvers(second=bool(check))
    from checker.errors import InputError
    from checker.execution.proof_outcome import ProofSettings
    from checker.execution.prove_specs import depth_of, execute_proofs
    from checker.run.request import Request
    from checker.run.workers import default_workers

    if check:
        reason = "--check takes the spec, its constants and the properties from the certificate, and writes no files"
        if targets:
            raise InputError(f"{targets[0]}: {reason}")
        refuse_options(reason, but=("--check", "--spec", "--timeout", "--workers"))
        from checker.execution.check_certificates import execute_check

        return execute_check(check, spec, timeout, workers or default_workers())
    if spec is not None:
        raise InputError("--spec belongs to --check: name the file itself, as in prove path/to/my_spec.py")
    request = Request(targets=tuple(targets or ()), settings=tuple(settings or ()), properties=tuple(properties or ()))
    how = ProofSettings(
        method=method,
        depth=depth_of(method, depth),
        timeout=timeout,
        workers=workers or default_workers(),
        unbounded=tuple(dict.fromkeys(unbounded or ())),
        find_lemmas=find_lemmas,
        json=json,
        out=out,
        certificate=certificate,
        explain=explain,
        all_cells=all_cells,
        seed=seed,
    )
    return execute_proofs(request, how)
