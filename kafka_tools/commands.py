"""The commands that know Kafka; the command line finds them by the entry point `tidemark.commands`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from checker.cli.declaration import CommandGroup, argument, option, refuse_options
from checker.cli.options import JsonFile, Master, MaxStates, OutFolder, Workers
from kafka_tools.advise.configuration_keys import MOST_REPLICAS
from kafka_tools.advise.versions import LATEST, OLDEST


def advise(
    files: Annotated[
        list[str],
        argument("[ROLE=]FILE", help="Configuration files; ROLE: producer, consumer, topic or broker."),
    ],
    kafka: Annotated[
        str,
        option(metavar="VERSION", help=f"The release of Kafka, from {OLDEST} to {LATEST}; 2.8 means 2.8.0."),
    ] = LATEST,
    client: Annotated[
        Literal["java", "librdkafka"] | None,
        option(help="The client library (default: recognised by the names of the settings)."),
    ] = None,
    controller: Annotated[
        Literal["zookeeper", "kraft"] | None,
        option(help="What controls the cluster (default: from the files or the release, else both count)."),
    ] = None,
    replication_factor: Annotated[
        int | None,
        option(min=1, max=MOST_REPLICAS, metavar="N", help="The replication factor (default: from the files, else 3)."),
    ] = None,
    commits: Annotated[
        Literal["first", "last"] | None,
        option(help="Manual commits happen before (first) or after processing (last, the default)."),
    ] = None,
    ignored: Annotated[
        list[str] | None,
        option(
            "--ignore",
            metavar="NAME",
            help="Accept an unknown setting of this name or pattern, such as my.* (repeatable).",
        ),
    ] = None,
    assigned: Annotated[
        list[str] | None,
        option(
            "--set",
            metavar="NAME=VALUE",
            help="Replace a setting of the files, also as ROLE.NAME=VALUE (repeatable).",
        ),
    ] = None,
    failures: Annotated[
        list[str] | None,
        option("--failure", metavar="NAME,...", help="Check only these failures, such as crash (repeatable)."),
    ] = None,
    require: Annotated[
        str, option(metavar="no-loss,...", help="Exit with status 1 unless these guarantees hold.")
    ] = "",
    accept: Annotated[
        list[str] | None,
        option("--accept", metavar="R18,...", help="With --require: accept these known exceptions (repeatable)."),
    ] = None,
    changes: Annotated[
        int, option(min=0, max=3, metavar="N", help="Search for changes of up to N settings; 0: no search.")
    ] = 3,
    max_states: MaxStates = 20_000_000,
    workers: Workers = None,
    no_cache: Annotated[
        bool, option("--no-cache", help="Compile and explore again what the user's cache folders have.")
    ] = False,
    json: JsonFile = "",
    out: OutFolder = None,
) -> int:
    """Report which guarantees Kafka configuration files give.

    The report names the failures under which records are lost, duplicated or reordered, and changes of settings that
    prevent it. The command reads properties files, YAML, JSON, TOML, environment variables, and the output of
    `kafka-configs.sh --describe` and `kafka-topics.sh --describe`. It knows the names of Kafka, librdkafka, Kafka
    Connect, Kafka Streams, Spring, MicroProfile and Strimzi.

    Exit status: 0 answered, 1 a required guarantee does not hold, 2 wrong input or settings that Kafka refuses, 3 not
    fully explored, or a required guarantee is not decided, also for an exception that --accept does not name.
    """
    from checker.engines.native.llvm import code_cache
    from checker.run.workers import default_workers
    from kafka_tools.advise.advise_command import AdviseOptions, execute

    if no_cache:
        code_cache.turn_off()

    options = AdviseOptions(
        kafka=kafka,
        client=client,
        controller=controller,
        replication_factor=replication_factor,
        commits=commits,
        ignored=tuple(ignored or ()),
        assigned=tuple(assigned or ()),
        failures=tuple(failures or ()),
        require=require,
        accepted=tuple(accept or ()),
        largest_change=changes,
        max_states=max_states,
        processes=workers or default_workers(),
        use_cache=not no_cache,
        json=json,
        out=out,
    )
    return execute(files, options)


def audit(
    folders: Annotated[list[Path], argument("DIR", help="Partition folders or folders of log.dirs, of any brokers.")],
    no_crc: Annotated[
        bool, option("--no-crc", help="Do not compute the checksums of batches: read headers only.")
    ] = False,
    compacted: Annotated[
        bool, option("--compacted", help="The topics are compacted, where no cleaner-offset-checkpoint says so.")
    ] = False,
    workers: Workers = None,
    engine: Annotated[
        Literal["native", "spark"] | None,
        option(help="Read in worker processes, or in a Spark task for each part (default: native)."),
    ] = None,
    master: Master = None,
    json: JsonFile = "",
    html: Annotated[Path | None, option(metavar="FILE", help="Write the result as a page to this file.")] = None,
) -> int:
    """Check the log segments of partitions on a broker's disk.

    The command finds damaged batches, missing offsets, broken rules of leader epochs, sequences and transactions,
    records that are in the log twice, wrong snapshots and indexes, and copies that differ. It never writes to the
    folders. The brokers may run. It needs the extra `audit`.

    Exit status: 0 nothing found, 1 damage or a broken rule of the log, 2 wrong input, 3 not everything could be read.
    """
    from kafka_tools.audit.audit_command import AuditSettings, audit_logs

    settings = AuditSettings(
        folders=tuple(folders),
        checks_crc=not no_crc,
        is_compacted=compacted,
        workers=workers,
        engine=engine,
        master=master,
        json=json,
        html=html,
    )
    return audit_logs(settings)


def cluster(
    verb: Annotated[
        Literal["up", "status", "start", "stop", "kill", "pause", "resume", "cut", "heal", "down"],
        argument("up|status|start|stop|kill|pause|resume|cut|heal|down", help="What to do with the brokers."),
    ],
    folder: Annotated[Path, argument("DIR", help="The folder of the cluster.")],
    numbers: Annotated[list[int] | None, argument("BROKER", help="Numbers of brokers (default: all).")] = None,
    kafka: Annotated[str, option("--kafka", metavar="VERSION", help="up: the release of Kafka, from 3.9.0.")] = "4.3.1",
    brokers: Annotated[int, option("--brokers", min=1, max=7, metavar="N", help="up: the number of brokers.")] = 3,
    settings: Annotated[
        list[str] | None, option("--set", metavar="NAME=VALUE", help="up: a setting of every broker (repeatable).")
    ] = None,
    trace: Annotated[
        bool, option("--trace", help="up: let the brokers log the events of replication, for `record --cluster`.")
    ] = False,
    proxies: Annotated[
        bool, option("--proxies", help="up: put a proxy in front of every listener, so that `cut` works.")
    ] = False,
) -> int:
    """Run a cluster of real brokers on this machine.

    `up` fetches the jars by Maven once, makes the cluster and starts it. The brokers listen on the loopback address
    only, and go on after the command until `down`. Each has 512 MB of heap. The command needs Java 17 and Maven.
    `cut DIR 1 2` separates two brokers until `heal DIR`.

    Exit status: 0 done, 2 wrong input, or a broker does not start, 3 a broker does not listen within 3 minutes.
    """
    from checker.errors import InputError
    from kafka_tools.cluster.cluster_command import cluster_change, cluster_up

    if verb == "up":
        if numbers:
            raise InputError("up starts all brokers: use start for some of them")
        return cluster_up(folder, kafka, brokers, settings or [], is_traced=trace, has_proxies=proxies)
    refuse_options("only up takes it, and a cluster keeps it")
    return cluster_change(verb, folder, numbers or [])


def experiment(
    name: Annotated[
        str,
        argument("NAME|FILE.toml", help="A known experiment or a file; `list` shows them, `all` runs them; or `soak`."),
    ],
    kafka: Annotated[
        str | None, option(metavar="VERSION", help="The release of Kafka (default: as the experiment says).")
    ] = None,
    out: Annotated[
        Path | None, option(metavar="DIR", help="Keep the logs and data of brokers and producer in this folder.")
    ] = None,
    record: Annotated[
        bool, option("--record", help="Write what the brokers and the producer did as events to the folder of --out.")
    ] = False,
    trace: Annotated[
        Path | None,
        option("--from", metavar="TRACE.json", help="Run nothing; write an experiment for a trace to FILE.toml."),
    ] = None,
    minutes: Annotated[
        int | None, option(min=1, metavar="N", help="soak: how long random faults are injected (default: 3).")
    ] = None,
    seed: Annotated[int | None, option(metavar="N", help="soak: the seed of the faults (default: 1).")] = None,
    again: Annotated[
        Path | None, option(metavar="DIR", help="soak: run nothing; record the soak in this folder again.")
    ] = None,
    master: Annotated[
        str | None, option(metavar="URL", help="soak: the Spark master that validates (default: local[*]).")
    ] = None,
) -> int:
    """Run an experiment with faults on a cluster of real brokers.

    `soak` runs rounds of random faults on three brokers, records every partition, validates the recordings on Spark,
    and reports which actions of the spec real brokers took (extra `spark`).

    The command starts a cluster and a producer, runs the steps, and ends everything that it started, also after
    Ctrl-C. It needs the extra `cluster`, Java 17 and Maven. With --from, it proposes an experiment for a counterexample
    that `run --out` wrote, and names the steps that it cannot force.

    Exit status: 0 as the experiment expects, 1 not as expected or a recording is rejected, 2 wrong input, 3 a step did
    not end, or a recording is undecided or incomplete.
    """
    from checker.errors import InputError
    from kafka_tools.cluster.cluster_command import list_experiments, propose_experiment, run_experiment

    if trace is not None:
        if kafka is not None or out is not None or record:
            raise InputError("--from runs nothing: it takes neither --kafka nor --out nor --record")
        return propose_experiment(name, trace)
    if name == "soak":
        from kafka_tools.cluster.distribution import release
        from kafka_tools.recording.soak import SoakPlan
        from kafka_tools.recording.soak_command import record_soak_again, run_soak

        if out is None or record:
            raise InputError("soak writes recordings and its report to a folder: name it with --out, without --record")
        if again is not None:
            if (kafka, minutes, seed) != (None, None, None):
                raise InputError("--again reads the logs of a soak: it takes neither --kafka nor --minutes nor --seed")
            return record_soak_again(again, out, master)
        release(kafka or "4.3.1")
        return run_soak(SoakPlan(kafka or "4.3.1", minutes or 3, 1 if seed is None else seed), out, master)
    if (minutes, seed, again, master) != (None, None, None, None):
        raise InputError("--minutes, --seed, --again and --master belong to the experiment soak")
    if record:
        from kafka_tools.recording.recorded_experiment import record_experiment

        if out is None or name in ("list", "all"):
            raise InputError("--record writes events to the folder of --out: name an experiment and the folder")
        return record_experiment(name, kafka, out)
    if name == "all":
        from kafka_tools.cluster.all_experiments import run_every_experiment

        return run_every_experiment(kafka, out)
    return list_experiments(kafka, out) if name == "list" else run_experiment(name, kafka, out)


def pages(
    folder: Annotated[Path, argument("FOLDER", help="The folder of the pages (default: docs).")] = Path("docs"),
    check: Annotated[
        bool, option("--check", help="Write nothing; exit with status 1 if a page is out of date.")
    ] = False,
    site: Annotated[
        Path | None,
        option(metavar="DIR", help="Build the site of all pages in this folder, or build it again (extra `site`)."),
    ] = None,
    no_matrix: Annotated[
        bool, option("--no-matrix", help="With --site: leave out the page of settings, which takes minutes at first.")
    ] = False,
    printed: Annotated[
        Literal["versions", "myths"] | None,
        option(
            "--print",
            help="Print a page in Markdown: the rules and bugs of Kafka by release, or common claims and the scenarios "
            "that decide them.",
        ),
    ] = None,
) -> int:
    """Write computed pages, build the site, or print a long page.

    museum.md lists the catalogue of bugs. high-watermark.md shows a trace of the specification. The site has all pages
    of docs/, those that --print prints, for each entry of the catalogue a page with its counterexamples, and
    matrix.html: the answers of `advise` for every combination of a few settings, with pictures. Its explorations are
    kept in the user's cache folder.

    Exit status: 0 written or up to date, 1 out of date (with --check), 2 wrong input.
    """
    from checker.errors import InputError

    if printed is not None:
        if check or site is not None or no_matrix:
            raise InputError("--print prints one page: leave out --check, --site and --no-matrix")
        from kafka_tools.pages.write_pages import LONG_PAGES

        print(LONG_PAGES[printed](), end="")
        return 0
    if site is not None:
        if check:
            raise InputError("--check compares the pages of docs/, and --site builds the site: use one of them")
        from kafka_tools.site.site_builder import build_site

        count = build_site(folder, site, on_stage=_show_stage, with_matrix=not no_matrix)
        print(f"{site / 'index.html'} written, with {count - 1} other pages")
        return 0
    if no_matrix:
        raise InputError("--no-matrix is for --site: name its folder")
    from kafka_tools.pages.write_pages import write_pages

    changed = write_pages(folder, check)
    for name in changed:
        print(f"{folder / name} {'is out of date: run python -m checker pages' if check else 'written'}")
    return 1 if check and changed else 0


def _show_stage(stage: str) -> None:
    """Show what is being done, on a terminal."""
    if sys.stderr.isatty():
        print(f"{stage} ...", file=sys.stderr)


def record(
    log: Annotated[Path, argument("LOG", help="The file to write, with one JSON event per line.")],
    producer: Annotated[
        Literal["plain", "idempotent", "transactional"],
        option(help="The kind of producer. transactional: idempotent, all records in one transaction."),
    ] = "plain",
    records: Annotated[int, option(min=1, metavar="N", help="The number of records.")] = 4,
    in_flight: Annotated[int, option(min=1, metavar="N", help="The setting max.in.flight.")] = 2,
    retries: Annotated[int, option(min=0, metavar="N", help="The setting retries.")] = 3,
    batch: Annotated[int, option(min=1, metavar="N", help="The setting batch.num.messages.")] = 1,
    acks: Annotated[Literal["1", "all"], option(help="The setting acks.")] = "all",
    linger: Annotated[int, option(min=0, metavar="MS", help="The setting linger.ms.")] = 0,
    pause: Annotated[int, option(min=0, metavar="MS", help="The pause between two sends.")] = 0,
    delay: Annotated[int, option(min=0, metavar="MS", help="The delay of each response.")] = 30,
    faults: Annotated[
        list[str] | None,
        option(
            "--fault",
            metavar="FAULT@N",
            help="A fault of the Nth Produce request: lose-request, lose-response, refuse, not-leader, time-out, "
            "after-append, reject or too-large (repeatable).",
        ),
    ] = None,
    cluster: Annotated[
        Path | None, option(metavar="DIR", help="Record a partition of the cluster in this folder instead.")
    ] = None,
    partition: Annotated[
        str | None,
        option(
            metavar="TOPIC-N",
            help="With --cluster: the partition (default: the only one). With --bootstrap: this partition alone.",
        ),
    ] = None,
    bootstrap: Annotated[
        str | None,
        option(
            metavar="HOST:PORT", help="Record the producers of any cluster instead, from proxies before its brokers."
        ),
    ] = None,
    listen: Annotated[
        str,
        option(metavar="HOST:PORT", help="With --bootstrap: where clients connect; port 0 is chosen by the system."),
    ] = "127.0.0.1:0",
    seconds: Annotated[
        int,
        option(
            min=0,
            metavar="N",
            help="With --cluster: wait so long before the logs are read. With --bootstrap: record so long (default: "
            "until Ctrl-C).",
        ),
    ] = 0,
) -> None:
    """Record a producer, or a partition of real brokers.

    The mock cluster belongs to librdkafka and injects the faults. That needs the extra `record`. With --cluster, the
    command turns on the loggers of the brokers that `cluster up` started, and turns their lines into events. With
    --bootstrap, it runs a proxy before each broker of a cluster, and clients connect to the address that it prints.
    """
    from checker.errors import InputError

    if bootstrap is not None:
        from kafka_tools.recording.bootstrap_command import record_through_proxies

        refuse_options(
            "--bootstrap records what passes, and runs no producer of its own",
            but=("--bootstrap", "--listen", "--partition", "--seconds"),
        )
        record_through_proxies(log, bootstrap, listen, partition, seconds)
        return
    if listen != "127.0.0.1:0":
        raise InputError("--listen belongs to --bootstrap")
    if cluster is not None:
        from kafka_tools.recording.record_command import record_cluster

        refuse_options(
            "it is for the mock cluster of librdkafka; `experiment` runs producers and faults on real brokers",
            but=("--cluster", "--partition", "--seconds"),
        )
        record_cluster(log, cluster, partition, seconds)
        return
    if partition is not None or seconds:
        raise InputError("--partition and --seconds belong to --cluster and --bootstrap")
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


def demo(
    name: Annotated[str, argument("NAME", help="An entry of the catalogue (default: R18).")] = "R18",
    out: Annotated[Path, option(metavar="DIR", help="Write the two pages into this folder.")] = Path("tidemark-demo"),
    no_browser: Annotated[bool, option("--no-browser", help="Do not open the page.")] = False,
) -> None:
    """Show a bug of Kafka from the suspicion to the repair.

    Without NAME it is R18: released brokers lose an acknowledged record with default settings, and no broker fails.
    The picture opens in the browser. A second page shows the same steps with the repair.
    """
    from kafka_tools.pages.demo import show_demo

    show_demo(name, out, opens_browser=not no_browser)


app = CommandGroup("Tools that know Kafka.", commands=[advise, audit, cluster, demo, experiment, pages, record])
