"""Experiments: a cluster, a producer, a schedule of faults, and what is expected in the log.

An experiment is a TOML file:

    entry = "I7"                           # of the catalogue
    title = "..."
    replicas = [1, 2]                      # default: all brokers
    kafka = "4.3.1"
    releases = "from 4.0"                  # or "before 4.0": the releases that [expect] describes; default: all
    client = "java"                        # or "librdkafka"
    brokers = 3
    steps = ["send 1", "await acknowledged 1", "lose Produce responses", "send 3", ...]

    [broker]                               # settings of the brokers

    partitions = 1                         # default: 1

    [topic]                                # settings of the topic; the first replica leads its partitions at first
    "min.insync.replicas" = "2"

    [producer]                             # settings of the producer
    acks = "all"

    [expect]
    duplicated = 3

`kafka_tools.experiments.steps` has the steps. Every batch has one record, unless the producer's settings say otherwise.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checker.data_files import read_data_text, reason_of
from checker.errors import InputError
from kafka_tools.experiments.releases import build_text, release
from kafka_tools.experiments.steps import check_step

FOLDER = Path(__file__).parent

TRANSACTION_STEPS = ("begin", "commit", "abort")
"""The steps that need a producer with a transactional.id."""

TRANSACTION_COUNTS = (
    "committed",
    "aborted",
    "refused_calls",
    "aborted_read",
    "committed_unread",
    "torn",
    "open_transactions",
)
"""The counts of an experiment with transactions.

`committed` and `aborted` count the calls that returned, `refused_calls` those that failed. `aborted_read` counts
records that read_committed shows although their abort was called, `committed_unread` those that it does not show
although their commit returned. `torn` counts transactions of which read_committed shows a part. `open_transactions`
counts those without a marker at the end of the log.
"""

EXPECTATIONS = (
    *("acknowledged", "failed", "duplicated", "lost", "failed_in_log", "reordered"),
    *TRANSACTION_COUNTS,
)
"""The counts that an experiment may expect."""

HARM = (
    *("duplicated", "lost", "reordered"),
    *("aborted_read", "committed_unread", "torn", "open_transactions"),
)
"""The counts of records and transactions that show a bug or a hazard.

A failed record that is in the log shows none: a failure does not promise that the record is not there.
"""

_RELEASES = re.compile(r"(from|before) (\d{1,3})\.(\d{1,3})")
_OR_MORE = re.compile(r"\d{1,9} or more")
CLIENT_SETTINGS = {
    "java": {"acks": "all", "batch.size": "1", "linger.ms": "0"},
    "librdkafka": {"acks": "all", "batch.num.messages": "1", "linger.ms": "0"},
}
"""The settings of a client unless an experiment has others: each record is a batch of its own."""


@dataclass(frozen=True)
class Experiment:
    """An experiment, as its file describes it."""

    name: str
    title: str
    entry: str
    kafka: str
    releases: str
    client: str
    brokers: int
    partitions: int
    replicas: tuple[int, ...]
    steps: tuple[str, ...]
    broker: dict[str, str]
    topic: dict[str, str]
    producer: dict[str, str]
    expect: dict[str, int | str]
    lib: str = ""
    """The folder of a local build that runs in place of the release; no file names it."""

    @property
    def build(self) -> str:
        """What runs, for messages: a release, or a local build."""
        return build_text(self.kafka, self.lib)

    @property
    def has_transactions(self) -> bool:
        """Whether the producer is transactional."""
        return "transactional.id" in self.producer

    def describes(self, version: str) -> bool:
        """Return whether the expectation is about a release. Raises InputError if the version is not supported."""
        match = _RELEASES.fullmatch(self.releases)
        if match is None:
            return True
        return (release(version) >= (int(match[2]), int(match[3]))) is (match[1] == "from")

    @property
    def expects_harm(self) -> bool:
        """Whether a record is expected to be lost, duplicated, reordered or decided wrongly, so that a bug is shown."""
        return any(least_count(self.expect.get(name, 0)) > 0 for name in HARM)


def least_count(wanted: int | str) -> int:
    """Return the smallest count that meets an expectation: a number, or a text such as `1 or more`."""
    return wanted if isinstance(wanted, int) else int(wanted.split()[0])


def experiment_files() -> list[Path]:
    """Return the files of the experiments that belong to the project."""
    return sorted(FOLDER.glob("*.toml"))


def read_experiment(name: str, version: str | None = None) -> Experiment:
    """Return an experiment by the name of a known one or by its file; raise InputError if it is wrong."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(each.stem for each in experiment_files())
        raise InputError(f"there is no experiment {name}: name a TOML file or one of {known}")
    try:
        content = tomllib.loads(read_data_text(path))
    # A ValueError: not TOML, not UTF-8, or a number of too many digits.
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: {reason_of(error)}") from None
    except RecursionError:
        raise InputError(f"{path}: too many arrays and tables are within each other") from None
    try:
        experiment = _experiment(path.stem, content)
        release(experiment.kafka)
    except InputError as error:
        raise InputError(f"{path}: {error.message}") from None
    if version is None:
        return experiment
    release(version)
    return replace(experiment, kafka=version)


def _experiment(name: str, content: dict[str, Any]) -> Experiment:
    allowed = {field.name for field in dataclasses.fields(Experiment)} - {"name", "lib"}
    if unknown := sorted(content.keys() - allowed):
        raise InputError(f"unknown key {unknown[0]}: an experiment has {', '.join(sorted(allowed))}")
    steps = content.get("steps")
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) for step in steps):
        raise InputError('steps is a list of texts, such as steps = ["send 1", "finish"]')
    brokers, partitions = _number(content, "brokers", 7), _number(content, "partitions", 1000)
    numbers = list(range(1, brokers + 1))
    replicas = content.get("replicas", numbers)
    are_brokers = isinstance(replicas, list) and all(type(each) is int and each in numbers for each in replicas)
    if not are_brokers or not replicas:
        raise InputError(f"replicas is a list of brokers from 1 to {brokers}")
    producer = _texts(content, "producer")
    for step in steps:
        check_step(step, brokers)
        words = step.split()
        if words[0] in TRANSACTION_STEPS and "transactional.id" not in producer:
            raise InputError(f"{step}: the producer has no transactional.id")
        if words[2:3] == ["to"] and int(words[3]) >= partitions:
            raise InputError(f"{step}: the partitions are 0 to {partitions - 1}")
    expect = content.get("expect", {})
    if not isinstance(expect, dict):
        raise InputError("[expect] is a table of numbers")
    for key, wanted in expect.items():
        if key not in EXPECTATIONS or not (type(wanted) is int or _OR_MORE.fullmatch(str(wanted))):
            raise InputError(f'[expect] {key}: it has numbers, or "1 or more", for {", ".join(EXPECTATIONS)}')
        if key in TRANSACTION_COUNTS and "transactional.id" not in producer:
            raise InputError(f"[expect] {key}: the producer has no transactional.id")
    client = content.get("client", "java")
    if client not in list(CLIENT_SETTINGS):
        raise InputError(f"client is one of {', '.join(CLIENT_SETTINGS)}, not {client}")
    version = str(content.get("kafka", "4.3.1"))
    release(version)
    releases = str(content.get("releases", ""))
    if "releases" in content and not _RELEASES.fullmatch(releases):
        raise InputError(f'releases is a text such as "from 4.0" or "before 4.0", not {releases}')
    experiment = Experiment(
        name=name,
        title=str(content.get("title", name)),
        entry=str(content.get("entry", "")),
        kafka=version,
        releases=releases,
        client=client,
        brokers=brokers,
        partitions=partitions,
        replicas=tuple(replicas),
        steps=tuple(steps),
        broker=_texts(content, "broker"),
        topic=_texts(content, "topic"),
        producer=producer,
        expect=dict(expect),
    )
    if not experiment.describes(version):
        raise InputError(f"kafka is {version}, and releases is {releases}: the experiment runs on a release of these")
    return experiment


def _number(content: dict[str, Any], key: str, most: int) -> int:
    number = content.get(key, 1)
    if type(number) is not int or not 1 <= number <= most:
        raise InputError(f"{key} is a number from 1 to {most}")
    return number


def _texts(content: dict[str, Any], key: str) -> dict[str, str]:
    table = content.get(key, {})
    if not isinstance(table, dict):
        raise InputError(f"[{key}] is a table of settings")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in table.items()}
