"""The jars of a Kafka release, fetched by Maven once and checked by digest at every use."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from checker.data_files import lock_opener, read_data_text
from checker.errors import InputError
from checker.printable import shortened
from kafka_tools.experiments.releases import release
from spark_analysis.session import java_command, java_version

LEAST_JAVA = 17
"""The release of Java that brokers of 4.x and the source of the producer need."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_MANIFEST = "manifest.json"
_SECONDS = 900
"""The time limit of Maven."""

_CONNECT_SECONDS, _SILENT_SECONDS = 10, 20
"""The time limits of Maven for a connection to a repository, and for the next bytes of an answer (default: 30 min)."""

_SILENCE = ("aether.connector.requestTimeout", "maven.wagon.rto")
"""The properties of the second limit: Maven up to 3.8 reads the last one only."""

_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
"""The goal by its whole name. For a short one Maven asks for every default plugin, and waits for each answer."""

_MESSAGE = 400
"""How many characters of a message of Maven are shown."""

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidemark</groupId><artifactId>broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{version}</version>
      <exclusions>
        <exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion>
      </exclusions>
    </dependency>
{binding}
  </dependencies>
</project>
"""

_PARTS = {
    re.compile(r"kafka_2\.1\d-(\d+\.\d+\.\d+[\w.-]*?)\.jar"): "the broker (kafka_2.13-*.jar)",
    re.compile(r"kafka-clients-(\d+\.\d+\.\d+[\w.-]*?)\.jar"): "the client (kafka-clients-*.jar)",
}
"""The names of the jars that a build of Kafka has, with the version as their group."""

_BINDINGS = {
    3: [("org.slf4j", "slf4j-reload4j", "1.7.36")],
    4: [("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.1"), ("org.yaml", "snakeyaml", "2.4")],
}
"""The log binding by major release: the broker's own dependencies have none, and it would log nothing."""


def libraries(version: str) -> Path:
    """Return the folder with the jars of a release and their dependencies; fetch them first if they are not there.

    Raises InputError if the version is not supported, Java or Maven is missing, Maven fails, or a jar was changed.
    """
    release(version)
    require_java()
    folder = cache_folder() / version
    with _lock(folder):
        if not (folder / _MANIFEST).exists():
            _fetch(version, folder)
        _check(folder)
    return folder


@functools.cache
def require_java() -> str:
    """Return the Java that starts brokers and producers; raise InputError if there is none, or if it is too old."""
    java = java_command()
    if java is None:
        raise InputError(f"a broker needs Java {LEAST_JAVA}, and no java is on the PATH or in JAVA_HOME")
    version = java_version(java)
    if version is None:
        raise InputError(f"a broker needs Java {LEAST_JAVA}, and {java} does not report its version")
    if version < LEAST_JAVA:
        raise InputError(
            f"a broker needs Java {LEAST_JAVA} or newer, and {java} is Java {version}: set JAVA_HOME to a newer one"
        )
    return java


def cache_folder() -> Path:
    """Return the folder of the jars: `kafka` in the user's cache folder, or TIDEMARK_KAFKA_CACHE."""
    chosen = os.environ.get("TIDEMARK_KAFKA_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidemark" / "kafka"


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Let one process at a time fetch a release."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(folder.parent / f".{folder.name}.lock", "a", opener=lock_opener) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(version: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise InputError(f"the jars of Kafka {version} are fetched by Maven, and no mvn is on the PATH")
    with tempfile.TemporaryDirectory(prefix=f".{version}-", dir=folder.parent) as name:
        target = Path(name)
        binding = "\n".join(
            f"    <dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
            f"<version>{number}</version></dependency>"
            for group, artifact, number in _BINDINGS[release(version)[0]]
        )
        (target / "pom.xml").write_text(_POM.format(version=version, binding=binding))
        options = ["-q", "-B", "--strict-checksums", "-f", str(target / "pom.xml"), "-DincludeScope=runtime"]
        options.append(f"-Daether.connector.connectTimeout={1000 * _CONNECT_SECONDS}")
        options += [f"-D{name}={1000 * _SILENT_SECONDS}" for name in _SILENCE]
        command = [maven, *options, f"-DoutputDirectory={target / 'lib'}", _GOAL]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise InputError(f"Maven did not fetch the jars of Kafka {version} within {_SECONDS} s") from None
        if done.returncode:
            lines = _COLOUR.sub("", done.stdout + done.stderr).splitlines()
            reasons = [line.removeprefix("[ERROR] ") for line in lines if "ERROR" in line] or lines[-1:]
            raise InputError(
                f"Maven cannot fetch the jars of Kafka {version}: {shortened(' '.join(reasons[:1]), _MESSAGE)}"
            )
        (target / _MANIFEST).write_text(json.dumps(_digests(target / "lib"), indent=1))
        os.chmod(target, 0o700)
        if folder.exists():
            shutil.rmtree(folder)
        os.rename(target, folder)
        # The context manager removes the folder that is no longer there.
        target.mkdir()


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.jar"))}


def _check(folder: Path) -> None:
    """Raise InputError if the jars are not those that were fetched, or belong to another user."""
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        raise InputError(f"{folder} belongs to another user: set TIDEMARK_KAFKA_CACHE to a folder of your own")
    if _digests(folder / "lib") != json.loads(read_data_text(folder / _MANIFEST)):
        raise InputError(f"the jars in {folder} were changed: remove the folder, and they are fetched again")


def class_path(version: str, lib: str = "") -> str:
    """Return the class path of a release, or of a local build that is treated as one. Raises InputError."""
    return str((local_build(version, Path(lib)) if lib else libraries(version) / "lib") / "*")


def local_build(version: str, folder: Path) -> Path:
    """Return the whole path of a folder with the jars of a local build that has the major release of a version.

    Raises InputError if it is none, or Java is missing.
    """
    major, _ = release(version)
    require_java()
    folder = folder.absolute()
    if os.pathsep in str(folder):
        raise InputError(f"{folder} cannot be a class path, because of the {os.pathsep!r} in it: move the build")
    for jar, part in _PARTS.items():
        builds = [found[1] for path in folder.glob("*.jar") if path.is_file() and (found := jar.fullmatch(path.name))]
        if not builds:
            wanted = "name the folder libs of a release, or of the archive that ./gradlew releaseTarGz makes"
            raise InputError(f"{folder} is no build of Kafka, because it has no jar of {part}: {wanted}")
        if len(builds) > 1 or int(builds[0].split(".")[0]) != major:
            shown = ", ".join(sorted(builds))
            raise InputError(f"{folder} has {part} of Kafka {shown}: --kafka {version} needs one of {major}.x")
    return folder
