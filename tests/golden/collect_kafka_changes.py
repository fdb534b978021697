"""Collects the releases of Apache Kafka that contain the changes of `kafka_changes.toml`.

    python tests/golden/collect_kafka_changes.py --git KAFKA.git --sources DIR

KAFKA.git is a clone of apache/kafka with tags. DIR/RELEASE/ARTIFACT holds the unpacked source jar of an artifact (Maven
classifier `sources`), or its class jar if the release has no source jars. The result, `kafka_changes.json`, lists for
each change the examined releases that have it; the table of rules is compared with it.
"""

import argparse
import json
import re
import subprocess
import tomllib
from pathlib import Path

from specs.kafka_releases import RELEASES

HERE = Path(__file__).parent


class History:
    """The releases that are tags of a clone of apache/kafka."""

    def __init__(self, repository):
        self.repository = repository
        tags = set(self._git("tag").split())
        self.releases = [release for release in RELEASES if release in tags]

    def _git(self, *arguments):
        return subprocess.run(
            ["git", "-C", self.repository, *arguments], check=True, capture_output=True, text=True
        ).stdout

    def containing(self, commits):
        """Return the releases that contain one of the commits."""
        tags = {tag for commit in commits for tag in self._git("tag", "--contains", commit).split()}
        return {release for release in self.releases if release in tags}

    def having(self, probe):
        """Return the releases that contain a commit of the change, and none that takes it back."""
        return self.containing(probe["commits"]) - self.containing(probe.get("reverts", []))


class Sources:
    """The unpacked jars of releases, by release and artifact."""

    def __init__(self, folder):
        self.folder = folder
        self.releases = [release for release in RELEASES if (folder / release).is_dir()]

    def has_change(self, release, probe):
        """Return whether a release has the change, or None if its jars cannot answer."""
        places = [(probe["artifact"], probe["file"]), *probe.get("or", [])]
        answers = {self._is_in(self.folder / release / artifact, file, probe) for artifact, file in places}
        if None in answers:
            return None
        return (True in answers) != probe.get("inverse", False)

    def _is_in(self, jar, file, probe):
        """Return whether a file of a jar has the pattern, or None if the jar cannot answer."""
        source = jar / file
        if not jar.is_dir():
            return None
        if not any(jar.rglob("*.java")) and not any(jar.rglob("*.scala")):
            compiled = source.with_suffix(".class")
            if "constant" not in probe:
                return None
            return compiled.exists() and probe["constant"].encode() in compiled.read_bytes()
        return source.exists() and re.search(probe["pattern"], source.read_text()) is not None


def collect(history, sources, probes):
    """Return the examined releases and those that have the change, for every change."""
    changes = {}
    for name, probe in probes.items():
        if "commits" in probe:
            examined, having = history.releases, history.having(probe)
        else:
            answers = {release: sources.has_change(release, probe) for release in sources.releases}
            examined = [release for release, answer in answers.items() if answer is not None]
            having = {release for release in examined if answers[release]}
        changes[name] = {
            "evidence": "commits" if "commits" in probe else "jars",
            "with": [release for release in examined if release in having],
            "without": [release for release in examined if release not in having],
        }
    return changes


def main():
    """Write `kafka_changes.json`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--git", required=True)
    parser.add_argument("--sources", type=Path, required=True)
    arguments = parser.parse_args()
    probes = tomllib.loads((HERE / "kafka_changes.toml").read_text())
    changes = collect(History(arguments.git), Sources(arguments.sources), probes)
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(change)}" for name, change in changes.items())
    (HERE / "kafka_changes.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
