"""The commands `advise` and `record`, which the command line finds through the entry point `tidemark.commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from kafka_tools.advise.versions import LATEST, VERSIONS

app = typer.Typer(rich_markup_mode=None)


@app.command()
def advise(
    files: Annotated[
        list[str],
        typer.Argument(metavar="[ROLE=]FILE", help="Configuration files; ROLE: producer, consumer, topic, broker."),
    ],
    kafka: Annotated[
        str, typer.Option("--kafka", metavar="VERSION", help=f"{', '.join(VERSIONS[:-1])} or {LATEST}.")
    ] = LATEST,
    client: Annotated[
        Literal["java", "librdkafka"] | None, typer.Option(help="Whose clients; guessed from the names of settings.")
    ] = None,
    replication_factor: Annotated[
        int | None, typer.Option(min=1, max=7, metavar="N", help="Where no file says it; 3 unless there is a broker's.")
    ] = None,
    commits: Annotated[
        Literal["first", "last"] | None,
        typer.Option(help="When the application commits, before or after processing, where it does so itself."),
    ] = None,
    ignored: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="NAME", help="Accept this unknown setting, or pattern such as 'my.*'."),
    ] = None,
    failures: Annotated[
        list[str] | None, typer.Option("--failure", metavar="NAME,...", help="Ask about these failures only.")
    ] = None,
    require: Annotated[
        str, typer.Option(metavar="no-loss,...", help="Exit with 1 where one of these does not hold.")
    ] = "",
    changes: Annotated[
        int, typer.Option(min=0, max=3, metavar="N", help="Search for changes of up to N settings; 0: do not.")
    ] = 3,
    max_states: Annotated[
        int, typer.Option(min=1, help="Stop each exploration at this many states: the answer is then open.")
    ] = 20_000_000,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one a core unless said.")] = None,
    json: Annotated[str, typer.Option(metavar="FILE|-", help="Write JSON to a file, or to standard output.")] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the answers and each counterexample as pages.")
    ] = None,
) -> None:
    """Say which guarantees real configuration files give, under which failures, and what would change that.

    Properties files, what `kafka-configs.sh --describe` and `kafka-topics.sh --describe` print, JSON, TOML, Spring's
    names and librdkafka's. Exit status: 0 answered, 1 a requirement does not hold, 2 wrong input or settings that
    Kafka refuses, 3 not everything was explored.
    """
    from checker.run.request import default_workers
    from kafka_tools.advise.advise_command import AdviseOptions, execute

    options = AdviseOptions(
        kafka,
        client=client,
        replication_factor=replication_factor,
        commits=commits,
        ignored=tuple(ignored or ()),
        failures=tuple(failures or ()),
        require=require,
        largest_change=changes,
        max_states=max_states,
        processes=workers or default_workers(),
        json=json,
        out=out,
    )
    raise typer.Exit(execute(files, options))


@app.command()
def record(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="The file to write: JSON events, one a line.")],
    producer: Annotated[
        Literal["plain", "idempotent", "transactional"],
        typer.Option(help="Which producer; transactional: an idempotent one, all in one transaction."),
    ] = "plain",
    records: Annotated[int, typer.Option(min=1, metavar="N", help="How many records it sends.")] = 4,
    in_flight: Annotated[int, typer.Option(min=1, metavar="N", help="Its max.in.flight.")] = 2,
    retries: Annotated[int, typer.Option(min=0, metavar="N", help="Its retries.")] = 3,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Its batch.num.messages.")] = 1,
    acks: Annotated[Literal["1", "all"], typer.Option(help="Its acks.")] = "all",
    linger: Annotated[int, typer.Option(min=0, metavar="MS", help="Its linger.ms.")] = 0,
    pause: Annotated[int, typer.Option(min=0, metavar="MS", help="The time between two sends.")] = 0,
    delay: Annotated[int, typer.Option(min=0, metavar="MS", help="How long a response is held.")] = 30,
    faults: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="FAULT@N",
            help="What happens to the Nth Produce request: lose-request, lose-response, refuse, not-leader, time-out, "
            "after-append, reject or too-large (repeatable).",
        ),
    ] = None,
) -> None:
    """Record a real producer: librdkafka against its own mock cluster, with faults (the extra `record`)."""
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
