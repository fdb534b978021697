"""The commands that know Kafka; the command line finds them by the entry point `tidemark.commands`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from checker.cli.declaration import CommandGroup, argument, option
from checker.cli.options import JsonFile, Master, MaxStates, OutFolder, Workers
from checker.printable import quantity
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


def pages(
    folder: Annotated[Path, argument("FOLDER", help="The folder of the pages (default: docs).")] = Path("docs"),
    check: Annotated[
        bool, option("--check", help="Write nothing; exit with status 1 if a page is out of date.")
    ] = False,
    site: Annotated[
        Path | None,
        option(metavar="DIR", help="Build the site of all pages in this folder, or build it again (extra `site`)."),
    ] = None,
    quick: Annotated[
        bool, option("--quick", help="With --site: leave out what takes minutes: settings and steps.")
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

    museum.md lists the catalogue of bugs. replication.md and proving.md have computed tables. The site has all pages
    of docs/, those that --print prints, for each entry of the catalogue a page with its counterexamples, and
    matrix.html: the answers of `advise` for every combination of a few settings, with pictures. Its explorations are
    kept in the user's cache folder. playground.html runs specs in the browser; npm downloads Pyodide for it.

    Exit status: 0 written or up to date, 1 out of date (with --check), 2 wrong input.
    """
    from checker.errors import InputError

    if printed is not None:
        if check or site is not None or quick:
            raise InputError("--print prints one page: leave out --check, --site and --quick")
        from kafka_tools.pages.write_pages import LONG_PAGES

        print(LONG_PAGES[printed](), end="")
        return 0
    if site is not None:
        if check:
            raise InputError("--check compares the pages of docs/, and --site builds the site: use one of them")
        from checker.errors import MissingExtraError
        from checker.playground.pyodide_package import pyodide_files
        from kafka_tools.advise.answer_cache import default_folder
        from kafka_tools.site.site_builder import build_site

        pyodide = None
        try:
            pyodide = pyodide_files(default_folder().with_name("pyodide"))
        except MissingExtraError as error:
            print(f"the site has no playground: {error.message}", file=sys.stderr)
        count = build_site(
            folder,
            site,
            on_stage=_show_stage,
            on_figures=print,
            with_matrix=not quick,
            with_steps=not quick,
            pyodide=pyodide,
        )
        print(f"{site / 'index.html'} written, with {quantity(count - 1, 'other page')}")
        return 0
    if quick:
        raise InputError("--quick is for --site: name its folder")
    from kafka_tools.pages.write_pages import write_pages

    changed = write_pages(folder, check)
    for name in changed:
        print(f"{folder / name} {'is out of date: run python -m checker pages' if check else 'written'}")
    return 1 if check and changed else 0


def _show_stage(stage: str) -> None:
    """Show what is being done, on a terminal."""
    if sys.stderr.isatty():
        print(f"{stage} ...", file=sys.stderr)


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


app = CommandGroup("Tools that know Kafka.", commands=[advise, audit, demo, pages])
