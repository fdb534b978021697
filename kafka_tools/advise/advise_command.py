"""The command `advise`: reads configuration files, prints answers with counterexamples."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.errors import InputError
from checker.language.source_digest import digests_kept
from checker.output import styled_lines
from checker.output.files import make_folder
from checker.output.output_files import STANDARD_OUTPUT, check_outputs, open_for_writing, require_own_page
from checker.printable import printable
from checker.run.interrupts import interruptible
from kafka_tools.advise import answer_sentences, transaction_answers, versions
from kafka_tools.advise.advice_text import advice_lines
from kafka_tools.advise.answer_cache import AnswerCache, default_folder
from kafka_tools.advise.cluster import ClusterConfig, gather
from kafka_tools.advise.configuration_files import read
from kafka_tools.advise.configuration_keys import Client
from kafka_tools.advise.controller_mode import Controller
from kafka_tools.advise.effective_config import resolve
from kafka_tools.advise.explorer import ParallelExplorer
from kafka_tools.advise.questions import (
    FAILURES,
    QUESTIONS,
    FailureMode,
    GuaranteeQuestion,
    is_relevant,
)
from kafka_tools.advise.remedy_search import advise
from kafka_tools.advise.requirements import ACCEPTABLE, Demand, exit_status


@dataclass(frozen=True)
class AdviseOptions:
    """The options of the command line."""

    kafka: str
    client: Client | None = None
    controller: Controller | None = None
    replication_factor: int | None = None
    commits: str | None = None
    ignored: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    require: str = ""
    accepted: tuple[str, ...] = ()
    largest_change: int = 3
    max_states: int | None = None
    processes: int = 1
    use_cache: bool = True
    json: str = ""
    out: Path | None = None


def execute(files: Sequence[str], options: AdviseOptions) -> int:
    """Print the answers for a configuration; return the exit status, 1 if a required guarantee does not hold.

    Raises InputError for files that cannot be read, for wrong values, and for settings that Kafka refuses.
    """
    named = _failures(options.failures)
    demand = Demand(_requirements(options.require, named), _acceptances(options.accepted), named)
    cluster = _cluster(files, options)
    refusal = resolve(cluster).refusal
    if refusal is not None:
        raise InputError(f"Kafka {cluster.version} does not start with these settings: {refusal}")
    read = [Path(file.partition("=")[2]) for file in files if "=" in file] + [Path(file) for file in files]
    index = options.out / "index.html" if options.out is not None else None
    check_outputs({"--json": options.json, "--out": options.out, "--out index.html": index}, read)
    if index is not None:
        require_own_page(index)
        make_folder(index.parent)
    if options.json not in ("", STANDARD_OUTPUT):
        # An output that cannot be written is an error before anything is explored.
        open_for_writing(Path(options.json))
    with digests_kept(), interruptible() as cancelled:
        cache = AnswerCache(default_folder()) if options.use_cache else None
        explorer = ParallelExplorer(options.processes, options.max_states, cache, cancelled)
        explorer.many = options.largest_change > 0 and not named
        advice = advise(cluster, explorer.explore, failures=named or FAILURES, largest_change=options.largest_change)
        explore = transaction_answers.explorer(options.max_states, cancelled, cache)
        advice.transactions.extend(transaction_answers.transaction_answers(cluster, advice.config, explore, cancelled))
        if cache is not None:
            cache.prune()
        advice.is_whole &= not cancelled.is_set()
    pages: dict[tuple[str, str], str] = {}
    if options.out is not None:
        # Imported here: the renderer of pages takes a tenth of the time of the imports.
        from kafka_tools.advise.advice_pages import write_pages

        pages = write_pages(advice, options.out, files)
    if options.json:
        _write_json(options.json, answer_sentences.to_json(advice, pages, demand))
    if options.json != STANDARD_OUTPUT:
        styled_lines.write(advice_lines(advice, demand), sys.stdout)
        if options.out is not None:
            print(printable(f"pages: {options.out / 'index.html'}"))
    return exit_status(advice, demand)


def _requirements(text: str, named: Sequence[FailureMode]) -> tuple[GuaranteeQuestion, ...]:
    """Return the questions that must be answered no; raise InputError for one that no named failure can affect."""
    names = {f"no-{question.name}": question for question in QUESTIONS}
    asked = [name.strip() for name in text.split(",")] if text else []
    for name in asked:
        if name not in names:
            raise InputError(f"--require does not know {name!r}: choose from {', '.join(names)}")
        if named and not any(is_relevant(names[name], failure) for failure in named):
            concerned = [failure.slug for failure in FAILURES if is_relevant(names[name], failure)]
            raise InputError(
                f"--failure {','.join(failure.slug for failure in named)} cannot affect {name}, so that nothing would "
                f"be checked: name one of {', '.join(concerned)}"
            )
    return tuple(names[name] for name in dict.fromkeys(asked))


def _acceptances(names: Sequence[str]) -> frozenset[str]:
    """Return the entries and the questions about transactions that are accepted; raise InputError for an unknown one.

    A line that the terminal has wrapped may be copied: white space counts as one space.
    """
    asked = [" ".join(name.split()) for given in names for name in given.split(",")]
    for name in asked:
        if name not in ACCEPTABLE:
            raise InputError(f"--accept does not know {name!r}: choose from {', '.join(ACCEPTABLE)}")
    return frozenset(asked)


def _failures(names: Sequence[str]) -> tuple[FailureMode, ...]:
    """Return the failures that are named; raise InputError for an unknown one."""
    known = {failure.slug: failure for failure in FAILURES}
    asked = [name.strip() for given in names for name in given.split(",")]
    for name in asked:
        if name not in known:
            raise InputError(f"--failure does not know {name!r}: choose from {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(asked))


def _cluster(files: Sequence[str], options: AdviseOptions) -> ClusterConfig:
    reads = [read(file) for file in files]
    if reads and not options.assigned and all(each.is_empty for each in reads):
        raise InputError(f"{files[0]} has no settings: the answers would be about Kafka's defaults")
    cluster = gather(
        reads,
        versions.supported(options.kafka),
        options.client,
        options.ignored,
        options.assigned,
        options.controller,
    )
    if options.replication_factor is not None:
        cluster = cluster.changed("topic", "replication.factor", str(options.replication_factor))
    return cluster.committing(options.commits)


def _write_json(name: str, content: dict[str, object]) -> None:
    text = json_module.dumps(content, indent=1) + "\n"
    if name == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        with open_for_writing(Path(name)) as stream:
            stream.write(text)
