"""The command `run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from checker.cli.declaration import option
from checker.cli.options import (
    Deadlock,
    Fair,
    JsonFile,
    Master,
    MaxStates,
    NoCache,
    OutFolder,
    Partitions,
    Properties,
    SetConstants,
    Targets,
    Workers,
)
from traces.storage import Location


def run(
    targets: Targets = None,
    settings: SetConstants = None,
    fair: Fair = None,
    properties: Properties = None,
    engine: Annotated[
        Literal["native", "python", "both", "spark", "gpu"],
        option(
            help="The engine that explores. both: native, cross-checked with Z3. spark: states on disk. "
            "gpu: on a card of NVIDIA."
        ),
    ] = "native",
    workers: Workers = None,
    master: Master = None,
    checkpoint: Annotated[
        Location | None,
        option(
            metavar="DIR",
            help="Keep checkpoints of one run in this folder, with Spark also a URL; resume it if it was interrupted.",
        ),
    ] = None,
    resume: Annotated[
        Location | None, option(metavar="DIR", help="Like --checkpoint, but the folder must hold a checkpoint.")
    ] = None,
    every: Annotated[
        str | None, option(metavar="TIME", help="With --engine native: write a checkpoint every 30s, 10m, 2h (10m).")
    ] = None,
    partitions: Partitions = None,
    max_states: MaxStates = None,
    max_depth: Annotated[
        int | None, option(min=1, metavar="N", help="Stop an exploration after this many levels.")
    ] = None,
    max_memory: Annotated[
        str | None,
        option(metavar="SIZE", help="Stop before the states take more, such as 4GB (default: what is available)."),
    ] = None,
    store: Annotated[
        Literal["auto", "usual", "compact"],
        option(help="The native store. compact: a fraction of the memory, the states on disk."),
    ] = "auto",
    keep_going: Annotated[
        bool, option("--keep-going", help="Explore everything; report every violated property.")
    ] = False,
    trace: Annotated[
        Literal["sentences", "full"] | None,
        option(alone="sentences", help="Show the steps of every counterexample; full: with the variables."),
    ] = None,
    verbose: Annotated[bool, option("--verbose", help="Without SPEC, show a row for each scenario.")] = False,
    no_cache: NoCache = False,
    coverage: Annotated[
        bool,
        option("--coverage", help="Show how often each action was taken and which parts of the spec are unused."),
    ] = False,
    strict: Annotated[bool, option("--strict", help="Exit with status 1 if a part of the spec is unused.")] = False,
    deadlock: Deadlock = False,
    symmetry: Annotated[
        bool,
        option("--symmetry", help="Store one state for all that differ only in the names of a Domain's members."),
    ] = False,
    no_symmetry: Annotated[
        bool, option("--no-symmetry", help="Store every state, also of a scenario with symmetry.")
    ] = False,
    json: JsonFile = "",
    junit: Annotated[
        Path | None, option(metavar="FILE", help="Write JUnit XML: a test case for each property of a run.")
    ] = None,
    sarif: Annotated[
        Path | None, option(metavar="FILE", help="Write SARIF 2.1.0: a result for each violation.")
    ] = None,
    html: Annotated[Path | None, option(metavar="DIR|FILE", help="Write an HTML index of all results.")] = None,
    out: OutFolder = None,
    witness: Annotated[
        Path | None,
        option(metavar="DIR", help="Explore everything; write the states, for witness_check.py to verify the result."),
    ] = None,
    ledger: Annotated[
        Path | None,
        option(metavar="FILE", help="Compare with this ledger of results (default: specs/ledger.toml)."),
    ] = None,
    update_ledger: Annotated[
        bool, option("--update-ledger", help="Record the results in the ledger and show the differences.")
    ] = False,
) -> int:
    """Explore every reachable state and check the properties.

    Each result is compared with the verdict that its scenario expects. A run of all scenarios is also compared with
    the ledger of recorded results. With --set or --fair, a spec runs once, and no verdict is expected. The options
    --master and --partitions need --engine spark.

    With --checkpoint DIR, an interrupted or killed run can be continued: the same command, or --resume DIR, gives the
    result of an uninterrupted run. The native engine writes a checkpoint at intervals and when the run is stopped,
    Spark after every level.

    Exit status: 0 as expected, 1 violated or not as expected, 2 wrong input, 3 stopped before the answer.
    """
    from checker.engines.native.llvm import code_cache
    from checker.errors import InputError
    from checker.execution.checkpoint_options import checkpoint_options
    from checker.execution.run_specs import RunSettings, execute_runs
    from checker.execution.spark_options import SparkOptions
    from checker.run.memory import bytes_from_text
    from checker.run.request import Request
    from checker.run.workers import default_workers

    if engine == "spark" and max_memory is not None:
        raise InputError("--max-memory is for states in memory: omit it with --engine spark, which keeps them on disk")
    if engine == "gpu" and (coverage or strict):
        raise InputError("--coverage and --strict need what a card does not keep: use --engine native")
    if engine not in ("native", "both") and store != "auto":
        raise InputError(f"--store is an option of the native engine: omit it with --engine {engine}")
    if symmetry and no_symmetry:
        raise InputError("--symmetry and --no-symmetry contradict each other: omit one")
    if no_cache:
        code_cache.turn_off()
    request = Request(
        targets=tuple(targets or ()),
        settings=tuple(settings or ()),
        fair=tuple(fair or ()),
        properties=tuple(properties or ()),
        deadlock=deadlock,
        keep_going=keep_going or witness is not None,
        symmetry=symmetry if symmetry or no_symmetry else None,
    )
    how = RunSettings(
        engine=engine,
        workers=workers or default_workers(),
        max_states=max_states,
        max_depth=max_depth,
        max_memory=bytes_from_text(max_memory, "--max-memory") if max_memory is not None else None,
        store=store,
        coverage=coverage,
        strict=strict,
        trace=trace,
        verbose=verbose,
        json=json,
        reports={"junit": junit, "sarif": sarif, "html": html},
        out=out,
        witness=witness,
        ledger=ledger,
        update_ledger=update_ledger,
        spark=SparkOptions(master=master, partitions=partitions),
        checkpoint=checkpoint_options(checkpoint, resume, every),
    )
    return execute_runs(request, how)
