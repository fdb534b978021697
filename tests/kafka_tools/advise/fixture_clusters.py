"""The configurations in `fixtures`: each folder has its files, and `expected.toml` with the reason.

`settings`: settings in effect. `refused`: the error instead. `answers`: by question, the failures after which the
answer is yes; every other answer is no. `failures`: the failures to explore (default: all).
"""

import tomllib
from pathlib import Path

from kafka_tools.advise.cluster import gather
from kafka_tools.advise.configuration_files import read

FOLDERS = sorted(path.parent for path in (Path(__file__).parent / "fixtures").glob("*/expected.toml"))
KEYS = {
    "reason",
    "kafka",
    "failures",
    "client",
    "set",
    "ignore",
    "replication_factor",
    "commits",
    "refused",
    "settings",
    "answers",
    "undecided",
}


def expected(folder):
    found = tomllib.loads((folder / "expected.toml").read_text())
    assert set(found) <= KEYS and found["reason"].strip()
    return found


def cluster_of(folder):
    """Return the cluster of a fixture, as the command makes it."""
    given = expected(folder)
    files = sorted(str(path) for path in folder.iterdir() if path.name != "expected.toml")
    cluster = gather(
        [read(file) for file in files],
        given["kafka"],
        given.get("client"),
        given.get("ignore", ()),
        given.get("set", ()),
    )
    if "replication_factor" in given:
        cluster = cluster.changed("topic", "replication.factor", str(given["replication_factor"]))
    return cluster.committing(given.get("commits"))
