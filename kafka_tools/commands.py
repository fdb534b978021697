"""The commands `advise`, `pages` and `record`; the command line finds them by the entry point `tidemark.commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from checker.cli.options import JsonFile, MaxStates, OutFolder, Workers
from kafka_tools.advise.versions import LATEST, OLDEST

app = typer.Typer(rich_markup_mode=None)


@app.command()
def advise(
    files: Annotated[
        list[str],
        typer.Argument(metavar="[ROLE=]FILE", help="Configuration files; ROLE: producer, consumer, topic or broker."),
    ],
    kafka: Annotated[
        str,
        typer.Option(metavar="VERSION", help=f"The release of Kafka, from {OLDEST} to {LATEST}; 2.8 means 2.8.0."),
    ] = LATEST,
    client: Annotated[
        Literal["java", "librdkafka"] | None,
        typer.Option(help="The client library (default: recognised by the names of the settings)."),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(min=1, max=7, metavar="N", help="The replication factor (default: from the files, else 3)."),
    ] = None,
    commits: Annotated[
        Literal["first", "last"] | None,
        typer.Option(help="Manual commits happen before (first) or after processing (last, the default)."),
    ] = None,
    ignored: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="NAME",
            help="Accept an unknown setting of this name or pattern, such as my.* (repeatable).",
        ),
    ] = None,
    assigned: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Replace a setting of the files, also as ROLE.NAME=VALUE (repeatable).",
        ),
    ] = None,
    failures: Annotated[
        list[str] | None,
        typer.Option("--failure", metavar="NAME,...", help="Check only these failures, such as crash (repeatable)."),
    ] = None,
    require: Annotated[
        str, typer.Option(metavar="no-loss,...", help="Exit with status 1 unless these guarantees hold.")
    ] = "",
    changes: Annotated[
        int, typer.Option(min=0, max=3, metavar="N", help="Search for changes of up to N settings; 0: no search.")
    ] = 3,
    max_states: MaxStates = 20_000_000,
    workers: Workers = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Compile and explore again what the user's cache folders have.")
    ] = False,
    json: JsonFile = "",
    out: OutFolder = None,
) -> None:
    """Report which guarantees Kafka configuration files give.

    The report names the failures under which records are lost, duplicated or reordered, and changes of settings that
    prevent it. The command reads properties files, YAML, JSON, TOML, environment variables, and the output of
    `kafka-configs.sh --describe` and `kafka-topics.sh --describe`. It knows the names of Kafka, librdkafka, Kafka
    Connect, Kafka Streams, Spring, MicroProfile and Strimzi.

    Exit status: 0 answered, 1 a required guarantee does not hold, 2 wrong input or settings that Kafka refuses, 3 not
    fully explored.
    """
    from checker.engines.native.llvm import code_cache
    from checker.run.request import default_workers
    from kafka_tools.advise.advise_command import AdviseOptions, execute

    if no_cache:
        code_cache.turn_off()

    options = AdviseOptions(
        kafka=kafka,
        client=client,
        replication_factor=replication_factor,
        commits=commits,
        ignored=tuple(ignored or ()),
        assigned=tuple(assigned or ()),
        failures=tuple(failures or ()),
        require=require,
        largest_change=changes,
        max_states=max_states,
        processes=workers or default_workers(),
        use_cache=not no_cache,
        json=json,
        out=out,
    )
    raise typer.Exit(execute(files, options))


@app.command()
def pages(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the pages (default: docs).")] = Path(
        "docs"
    ),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with status 1 if a page is out of date.")
    ] = False,
) -> None:
    """Write the pages of docs/ that are computed.

    versions.md lists the rules and bugs of Kafka by release. myths.md decides common claims by running scenarios.
    high-watermark.md shows a trace of the specification.

    Exit status: 0 written or up to date, 1 out of date (with --check), 2 wrong input.
    """
    from kafka_tools.pages.write_pages import write_pages

    changed = write_pages(folder, check)
    for name in changed:
        typer.echo(f"{folder / name} {'is out of date: run python -m checker pages' if check else 'written'}")
    raise typer.Exit(1 if check and changed else 0)


@app.command()
def record(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The file to write, with one JSON event per line.")],
    producer: Annotated[
        Literal["plain", "idempotent", "transactional"],
        typer.Option(help="The kind of producer. transactional: idempotent, all records in one transaction."),
    ] = "plain",
    records: Annotated[int, typer.Option(min=1, metavar="N", help="The number of records.")] = 4,
    in_flight: Annotated[int, typer.Option(min=1, metavar="N", help="The setting max.in.flight.")] = 2,
    retries: Annotated[int, typer.Option(min=0, metavar="N", help="The setting retries.")] = 3,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="The setting batch.num.messages.")] = 1,
    acks: Annotated[Literal["1", "all"], typer.Option(help="The setting acks.")] = "all",
    linger: Annotated[int, typer.Option(min=0, metavar="MS", help="The setting linger.ms.")] = 0,
    pause: Annotated[int, typer.Option(min=0, metavar="MS", help="The pause between two sends.")] = 0,
    delay: Annotated[int, typer.Option(min=0, metavar="MS", help="The delay of each response.")] = 30,
    faults: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="FAULT@N",
            help="A fault of the Nth Produce request: lose-request, lose-response, refuse, not-leader, time-out, "
            "after-append, reject or too-large (repeatable).",
        ),
    ] = None,
) -> None:
    """Record a librdkafka producer against a mock cluster.

    The mock cluster belongs to librdkafka and injects the faults. The command needs the extra `record`.
    """
    from kafka_tools.librdkafka.record_command import record_run
    from kafka_tools.librdkafka.recorder import InjectedFault, RecordingSetup

    setup = RecordingSetup(
        producer=producer,
        records=records,
        max_in_flight=in_flight,
        retries=retries,
        batch_size=batch,
        acks=acks,
        linger_ms=linger,
        delay_ms=delay,
        pause_ms=pause,
        faults=tuple(map(InjectedFault.parse, faults or ())),
    )
    record_run(log, setup)
