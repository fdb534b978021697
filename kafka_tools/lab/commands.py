"""The commands that run or record real brokers; the command line finds them by the entry point `tidemark.commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from checker.cli.declaration import CommandGroup, argument, option, refuse_options
from checker.errors import InputError


def cluster(
    verb: Annotated[
        Literal["up", "status", "start", "stop", "kill", "pause", "resume", "cut", "heal", "down"],
        argument("up|status|start|stop|kill|pause|resume|cut|heal|down", help="What to do with the brokers."),
    ],
    folder: Annotated[Path, argument("DIR", help="The folder of the cluster.")],
    numbers: Annotated[list[int] | None, argument("BROKER", help="Numbers of brokers (default: all).")] = None,
    kafka: Annotated[str, option("--kafka", metavar="VERSION", help="up: the release of Kafka, from 3.9.0.")] = "4.3.1",
    lib: Annotated[
        Path | None,
        option("--lib", metavar="DIR", help="up: run the jars of a local build; --kafka is what it is like."),
    ] = None,
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
    from kafka_tools.lab.cluster.cluster_command import cluster_change, cluster_up

    if verb == "up":
        if numbers:
            raise InputError("up starts all brokers: use start for some of them")
        return cluster_up(
            folder, kafka, brokers, settings or [], is_traced=trace, has_proxies=proxies, lib=str(lib or "")
        )
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
    lib: Annotated[
        Path | None,
        option(metavar="DIR", help="Run the jars of a local build; --kafka is the release that it is like."),
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
    from kafka_tools.lab.cluster.cluster_command import list_experiments, propose_experiment, run_experiment

    if lib is not None and (trace is not None or name in ("soak", "all", "list")):
        raise InputError("--lib belongs to one experiment: name it")
    build = str(lib or "")
    if trace is not None:
        if kafka is not None or out is not None or record:
            raise InputError("--from runs nothing: it takes neither --kafka nor --out nor --record")
        return propose_experiment(name, trace)
    if name == "soak":
        from kafka_tools.experiments.releases import release
        from kafka_tools.lab.recording.soak import SoakPlan
        from kafka_tools.lab.recording.soak_command import record_soak_again, run_soak

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
        from kafka_tools.lab.recording.recorded_experiment import record_experiment

        if out is None or name in ("list", "all"):
            raise InputError("--record writes events to the folder of --out: name an experiment and the folder")
        return record_experiment(name, kafka, out, build)
    if name == "all":
        from kafka_tools.lab.cluster.all_experiments import run_every_experiment

        return run_every_experiment(kafka, out)
    return list_experiments(kafka, out) if name == "list" else run_experiment(name, kafka, out, lib=build)


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
    if bootstrap is not None:
        from kafka_tools.lab.recording.bootstrap_command import record_through_proxies

        refuse_options(
            "--bootstrap records what passes, and runs no producer of its own",
            but=("--bootstrap", "--listen", "--partition", "--seconds"),
        )
        record_through_proxies(log, bootstrap, listen, partition, seconds)
        return
    if listen != "127.0.0.1:0":
        raise InputError("--listen belongs to --bootstrap")
    if cluster is not None:
        from kafka_tools.lab.recording.record_command import record_cluster

        refuse_options(
            "it is for the mock cluster of librdkafka; `experiment` runs producers and faults on real brokers",
            but=("--cluster", "--partition", "--seconds"),
        )
        record_cluster(log, cluster, partition, seconds)
        return
    if partition is not None or seconds:
        raise InputError("--partition and --seconds belong to --cluster and --bootstrap")
    from kafka_tools.lab.librdkafka.record_command import record_run
    from kafka_tools.lab.librdkafka.recorder import InjectedFault, RecordingSetup

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


def conform(
    spec: Annotated[
        str | None,
        argument(
            "SPEC|FILE.py",
            help="replication/partition (the default), or a spec of a file that is based on it; a file with adapters; "
            "with --explore the name of a search (--list; default: reassignment).",
        ),
    ] = None,
    kafka: Annotated[
        str, option(metavar="VERSION,...", help="The releases of Kafka, from 3.9.0, with the rules of each.")
    ] = "4.3.1",
    lib: Annotated[
        Path | None, option(metavar="DIR", help="Take Kafka's jars from this folder, such as `libs` of a build.")
    ] = None,
    listed: Annotated[
        bool,
        option("--list", help="Print the classes with their rules, scenarios and searches as JSON; compare nothing."),
    ] = False,
    explores: Annotated[
        bool, option("--explore", help="Compare nothing; search Kafka's controller for events that break a property.")
    ] = False,
    junit: Annotated[Path | None, option(metavar="FILE", help="Write a JUnit report to this file.")] = None,
    settings: Annotated[
        list[str] | None, option("--set", metavar="NAME=VALUE", help="Adapters: set a constant (repeatable).")
    ] = None,
    most_pairs: Annotated[
        int | None, option("--max-pairs", min=1, metavar="N", help="Adapters: compare in at most N pairs.")
    ] = None,
) -> int:
    """Compare an implementation or Kafka's class with a spec.

    FILE.py has a subclass of checker.testing.Adapter with the attribute `spec`. The command compares the implementation
    with the spec in every pair of their states, breadth-first, and prints a shortest run to a difference.

    Otherwise the command finds every step in which the controller of the spec changes a partition, calls Kafka's
    PartitionChangeBuilder with the same input, and shows each difference with the line of the rule. No broker runs. It
    fetches the jars by Maven once, and needs Java 17. With --explore it searches Kafka's classes breadth-first, with
    stops, starts, reassignments and changes of settings, and prints the shortest sequences that break a property.

    Exit status: 0 equal, 1 different or a property is violated, 2 wrong input, no Java or no jars, 3 nothing was
    compared, or not every pair.
    """
    from checker.testing.conform_files import adapters_of, conform_adapters
    from checker.testing.conformance import MOST_PAIRS
    from kafka_tools.lab.conformance import conform_command, explore_command

    if spec and not (explores or listed) and (adapters := adapters_of(spec)):
        refuse_options(f"{spec} has adapters, and no class of Kafka is called", but=("--set", "--max-pairs"))
        return conform_adapters(adapters, settings or [], most_pairs or MOST_PAIRS)
    if settings or most_pairs is not None:
        raise InputError("--set and --max-pairs belong to a file with adapters: name it")
    if explores:
        refuse_options("--explore calls the classes alone", but=("--explore", "--kafka", "--lib"))
    name = spec or (explore_command.BUILDER_SEARCH if explores else "replication/partition")
    options = conform_command.ConformOptions(name, tuple(kafka.split(",")), lib, junit)
    if listed:
        refuse_options("--list compares nothing", but=("--list", "--kafka"))
        return conform_command.list_classes(options)
    return conform_command.explore(options) if explores else conform_command.conform(options)


app = CommandGroup("Tools for real brokers.", commands=[cluster, conform, experiment, record])
