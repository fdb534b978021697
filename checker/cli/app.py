"""The commands and their options. What a command does is imported when it runs: starting up costs every use."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from checker.cli.plugins import CommandGroup

_PROGRAM = "python -m checker"

app = typer.Typer(
    cls=CommandGroup,
    help="Check specs that are ordinary Python: every reachable state, the shortest counterexample.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

traces = typer.Typer(help="Simulated walks: one again as a trace.", rich_markup_mode=None)
app.add_typer(traces, name="traces")


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises for an unknown option, a missing argument, a wrong value: it exports only this subclass."""


_INTERRUPTED = 130
"""What Typer makes of a KeyboardInterrupt."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status; what a user did wrong ends in one sentence."""
    from checker.errors import UserError
    from checker.run.request import EXIT_STOPPED, EXIT_WRONG_INPUT

    given = sys.argv[1:] if arguments is None else arguments
    try:
        status = app(given or ["--help"], prog_name=_PROGRAM, standalone_mode=False)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    except _UsageError as error:
        print(f"error: {_usage_text(error)}", file=sys.stderr)
        return EXIT_WRONG_INPUT
    except (KeyboardInterrupt, typer.Abort):
        status = _INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has gone (`list | head`): nothing is left to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if status == _INTERRUPTED:
        print("interrupted", file=sys.stderr)
        return EXIT_STOPPED
    return status if isinstance(status, int) else 0


def _usage_text(error: Any) -> str:
    command = error.ctx.command_path if error.ctx is not None else _PROGRAM
    return f"{error.format_message().rstrip('.')}; {command} --help lists the options"


@app.command("list")
def list_specs(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="FAMILY|FILE", help="List these only; nothing: all.")
    ] = None,
    json: Annotated[str, typer.Option(metavar="FILE|-", help="Write JSON to a file, or to standard output.")] = "",
) -> None:
    """List families, specs, constants, scenarios and properties."""
    from checker.cli.list import listing_lines, listing_to_json
    from checker.output.files import STANDARD_OUTPUT, JsonLines
    from checker.output.styled_lines import write
    from checker.run import registry

    families = [registry.family_of(target) for target in targets] if targets else registry.families()
    with JsonLines(json) as output:
        output.write(listing_to_json(families))
    if json != STANDARD_OUTPUT:
        write(listing_lines(families), sys.stdout)


@app.command()
def run(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="SPEC[/SCENARIO]", help="Specs, scenarios, families or files; nothing: all."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a constant; ignores expectations.")
    ] = None,
    properties: Annotated[
        list[str] | None, typer.Option("--property", metavar="NAME", help="Check only this property (repeatable).")
    ] = None,
    engine: Annotated[
        Literal["native", "python", "both", "spark"],
        typer.Option(help="The engine that explores; both: the native one, held against Z3; spark: states on disk."),
    ] = "native",
    workers: Annotated[int | None, typer.Option(min=1, help="Threads; one a core unless said.")] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="With --engine spark: its master, else local[WORKERS].")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --engine spark: keep every level here, and go on from the last one."),
    ] = None,
    partitions: Annotated[
        int | None, typer.Option(min=1, help="With --engine spark: parts of the states; two a core unless said.")
    ] = None,
    max_states: Annotated[int | None, typer.Option(min=1, help="Stop at this many distinct states.")] = None,
    max_depth: Annotated[int | None, typer.Option(min=1, help="Stop after this many levels.")] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Explore everything, report every violated property.")
    ] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Show how often each action was taken, and what is idle.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where something is idle: an action, a variable, a premise.")
    ] = False,
    deadlock: Annotated[bool, typer.Option("--deadlock", help="A state without successors is a violation.")] = False,
    json: Annotated[
        str, typer.Option(metavar="FILE|-", help="Write a JSON object a run, one a line, to a file or standard output.")
    ] = "",
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write JUnit XML, a test case for each property of a run.")
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0, a result for each violation.")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="DIR|FILE", help="Write an HTML index over all results.")] = None,
    graph: Annotated[
        Path | None, typer.Option(metavar="FILE.dot|svg", help="Draw the state space of one spec, if it is small.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write each counterexample to a folder: text, JSON, ITF, DOT, SVG, HTML."),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Hold the counts against this ledger, not specs/ledger.toml.")
    ] = None,
    update_ledger: Annotated[
        bool, typer.Option("--update-ledger", help="Record what was found in the ledger, and show the difference.")
    ] = False,
    table: Annotated[
        bool, typer.Option("--table", help="Compute the tables of guarantees that families declare.")
    ] = False,
    update_docs: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --table: write the table to its section of this page.")
    ] = None,
) -> None:
    """Explore every reachable state of specs and check their properties.

    Without an argument every scenario there is, each held against the verdict that it must have and all of them against
    the ledger of what they were last found to be. Exit status: 0 as expected, 1 violated or not as expected, 2 wrong
    input, 3 stopped before the answer.
    """
    from checker.cli.run import RunSettings, execute
    from checker.cli.run_on_spark import SparkOptions
    from checker.run.request import Request, default_workers

    request = Request(tuple(targets or ()), tuple(settings or ()), tuple(properties or ()), deadlock, keep_going)
    how = RunSettings(
        engine,
        workers or default_workers(),
        max_states,
        max_depth,
        coverage,
        json,
        junit,
        out,
        sarif,
        html,
        graph,
        strict=strict,
        ledger=ledger,
        update_ledger=update_ledger,
        spark=SparkOptions(master, checkpoint, partitions),
    )
    if table or update_docs is not None:
        from checker.cli.run_tables import tabulate

        raise typer.Exit(tabulate(request, how, update_docs, asked=table))
    raise typer.Exit(execute(request, how))


@app.command()
def show(
    trace: Annotated[Path, typer.Argument(help="A trace file that `run --out` wrote.")],
    format: Annotated[
        Literal["text", "json", "itf", "dot", "svg", "html"], typer.Option(help="How to show it.")
    ] = "text",
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC[/SCENARIO]", help="Replay the same steps on this spec too: text or html."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this file instead of standard output.")
    ] = None,
) -> None:
    """Replay a trace and show it, alone or beside what the same steps do in other specs."""
    from checker.cli.show import show_trace

    show_trace(trace, format, tuple(against or ()), out)


def _require_the_extra_spark() -> None:
    """Say in a sentence that it is missing before modules are imported that need it."""
    from spark_analysis.session import require_pyspark

    require_pyspark()


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of walks that `simulate --out` wrote.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the report goes; DIR/report unless said.")
    ] = None,
    json: Annotated[
        str, typer.Option(metavar="FILE|-", help="Write the figures to a file, or to standard output.")
    ] = "",
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="A Spark master; this machine's cores unless said.")
    ] = None,
    max_states: Annotated[
        int, typer.Option(min=0, help="How many states each search for a shortest trace visits; 0: do not search.")
    ] = 2_000_000,
) -> None:
    """Report on simulated walks: how likely, how soon, under which settings and why properties are violated.

    Writes a page with its counterexamples, report.json and causes.dot. Exit status: 0 nothing is violated but what the
    scenario expects, 1 something else is, 2 wrong input.
    """
    _require_the_extra_spark()
    from checker.cli.report import make_report

    raise typer.Exit(make_report(folder, out, json, master, max_states))


@traces.command()
def replay(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of walks that `simulate --out` wrote.")],
    walk: Annotated[int, typer.Option(metavar="N", help="The number of the walk.")],
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Shorten it: leave steps out, then search for the shortest trace.")
    ] = False,
    max_states: Annotated[
        int, typer.Option(min=0, help="With --shrink: how many states the search visits; 0: do not search.")
    ] = 5_000_000,
    format: Annotated[
        Literal["text", "json", "itf", "dot", "svg", "html"], typer.Option(help="How to show it.")
    ] = "text",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to this file instead of standard output.")
    ] = None,
) -> None:
    """Walk one simulated walk again, and show it as a trace."""
    _require_the_extra_spark()
    from checker.cli.traces_replay import replay_walk

    replay_walk(folder, walk, format, out, max_states if shrink else None)


@app.command()
def mutate(
    target: Annotated[str, typer.Argument(metavar="SPEC[/SCENARIO]", help="A spec; without a scenario its first one.")],
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a constant.")] = None,
    most: Annotated[
        int | None, typer.Option("--max", min=1, metavar="N", help="Try N mutants only, spread over the spec.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one a core unless said.")] = None,
    json: Annotated[str, typer.Option(metavar="FILE|-", help="Write JSON to a file, or to standard output.")] = "",
) -> None:
    """Change a spec in small ways, one at a time, and report which properties notice.

    A mutant drops a requirement or an assignment, negates a condition, shifts a bound. One that no property kills is
    something that the properties do not check, or that makes no difference; a property that kills none checks nothing
    that the others do not.
    """
    from checker.cli.mutate import mutate as run_mutants

    raise typer.Exit(run_mutants(target, tuple(settings or ()), most, workers, json))


@app.command()
def prove(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="SPEC[/SCENARIO]", help="Specs, scenarios, families or files; nothing: all."),
    ] = None,
    method: Annotated[
        Literal["induction", "k-induction", "bounded", "pdr"],
        typer.Option(help="Induction over one step or k, a search for the shortest violation, or Z3's Spacer."),
    ] = "induction",
    depth: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The largest k, or the most states of a trace.")
    ] = None,
    properties: Annotated[
        list[str] | None, typer.Option("--property", metavar="NAME", help="Prove only this property (repeatable).")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.001, metavar="SECONDS", help="The time of one query.")] = 60.0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a constant; ignores expectations.")
    ] = None,
    unbounded: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Prove for every value of this constant (repeatable); by induction."),
    ] = None,
    find_lemmas: Annotated[
        bool, typer.Option("--find-lemmas", help="Look for the lemmas that an induction lacks, and print them.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads that look a counterexample up; one a core unless said.")
    ] = None,
    json: Annotated[
        str, typer.Option(metavar="FILE|-", help="Write a JSON object a run, one a line, to a file or standard output.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write each counterexample, to induction too, as a page.")
    ] = None,
) -> None:
    """Prove invariants of specs with Z3, or search for their shortest violations.

    Exit status: 0 proved (or no violation but the expected ones), 1 violated or not inductive, 2 wrong input, 3
    unknown: Z3 gave no answer in time.
    """
    from checker.cli.prove import ProofSettings, depth_of, execute
    from checker.run.request import Request, default_workers

    request = Request(tuple(targets or ()), tuple(settings or ()), tuple(properties or ()))
    open_ones = tuple(unbounded or ())
    how = ProofSettings(
        method, depth_of(method, depth), timeout, workers or default_workers(), json, open_ones, find_lemmas, out
    )
    raise typer.Exit(execute(request, how))


@app.command()
def simulate(
    target: Annotated[str, typer.Argument(metavar="SPEC[/SCENARIO]", help="A spec; without a scenario its first one.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for the walks; one that was begun is gone on.")],
    walks: Annotated[
        int, typer.Option("--traces", min=1, max=10**10, metavar="N", help="Walks of each configuration.")
    ] = 100_000,
    depth: Annotated[int, typer.Option(min=1, max=65_535, metavar="N", help="The most steps of a walk.")] = 40,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same walks anywhere.")] = 1,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a constant.")] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=V,V,...", help="Walk each value of a constant; several make a grid (repeatable)."),
    ] = None,
    properties: Annotated[
        list[str] | None, typer.Option("--property", metavar="NAME", help="Check only this property (repeatable).")
    ] = None,
    deadlock: Annotated[bool, typer.Option("--deadlock", help="A state without successors is a violation.")] = False,
    weights: Annotated[
        list[str] | None,
        typer.Option("--weight", metavar="ACTION=N", help="How much likelier an action is than one of weight 1."),
    ] = None,
    bias: Annotated[
        Literal["uniform", "rare"],
        typer.Option(help="All enabled action instances alike, or rare actions more often: a pilot weighs them."),
    ] = "uniform",
    sampling: Annotated[
        int | None,
        typer.Option(min=0, max=63, metavar="K", help="Keep the visited states in 1/2^K of hash space; 0: all."),
    ] = None,
    steps: Annotated[bool, typer.Option("--steps", help="Write a row for each step, too.")] = False,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="A Spark master; unless said, all cores of this machine.")
    ] = None,
    partitions: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Spark tasks; the walks are the same for any number.")
    ] = None,
    json: Annotated[
        str, typer.Option(metavar="FILE|-", help="Write a JSON object a configuration to a file or standard output.")
    ] = "",
) -> None:
    """Walk a spec at random, millions of times, on Spark, and check its properties at every step.

    Exit status: 0 no violation but those that the scenario expects, 1 another violation, 2 wrong input, 3 interrupted:
    the same command goes on.
    """
    _require_the_extra_spark()
    from checker.cli.simulate import WalkDestination, execute
    from traces.walks.walk_request import WalkRequest

    request = WalkRequest(
        target,
        walks,
        depth,
        seed,
        settings=tuple(settings or ()),
        sweep=tuple(sweep or ()),
        properties=tuple(properties or ()),
        weights=tuple(weights or ()),
        bias=bias,
        sampling=sampling,
        steps=steps,
        deadlock=deadlock,
    )
    raise typer.Exit(execute(request, WalkDestination(out, master, partitions, json)))


@app.command()
def validate(
    target: Annotated[str, typer.Argument(metavar="SPEC[/SCENARIO]", help="A spec; a scenario sets its constants.")],
    logs: Annotated[
        list[Path],
        typer.Argument(metavar="LOG...", help="Files of JSON events, one a line; or Parquet with many traces."),
    ],
    mapping: Annotated[
        str, typer.Option(metavar="FILE.py[:NAME]", help="What events mean: a file or a module, and a class in it.")
    ],
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a constant.")] = None,
    by: Annotated[
        str, typer.Option(metavar="FIELD", help="Logs hold many traces: the field of the events that names theirs.")
    ] = "",
    silent: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Most silent steps in a row; unless said, the mapping's.")
    ] = None,
    candidates: Annotated[int, typer.Option(min=1, metavar="N", help="Most candidate states at a time.")] = 10_000,
    controls: Annotated[
        int, typer.Option(min=0, metavar="N", help="Try N changed copies of each conforming log, too.")
    ] = 0,
    seed: Annotated[int, typer.Option(metavar="N", help="What the controls are drawn from.")] = 1,
    engine: Annotated[
        Literal["native", "python", "spark"] | None,
        typer.Option(help="Compiled successors, the interpreter, or the compiled ones on Spark; unless said, by size."),
    ] = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help="A Spark master; validates on Spark.")] = None,
    json: Annotated[
        str,
        typer.Option(metavar="FILE|-", help="Write a JSON object a trace, one a line, to a file or standard output."),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a report to a folder and, of few logs, what explains each."),
    ] = None,
) -> None:
    """Hold recorded logs against a spec: can it do what was recorded?

    Exit status: 0 all conform, 1 one is rejected or shows a violation that the scenario does not expect, 2 wrong input,
    3 undecided within the bounds.
    """
    from checker.cli.validate import ValidationSettings
    from checker.cli.validate import validate as run_validation
    from traces.validate.task import ValidationTask

    task = ValidationTask(target, mapping, candidates=candidates, silent=silent, controls=controls, seed=seed)
    how = ValidationSettings(tuple(logs), by, engine, master, json, out)
    raise typer.Exit(run_validation(task, tuple(settings or ()), how))
