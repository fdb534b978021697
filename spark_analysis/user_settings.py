"""The settings of Spark that the user made: in `spark-defaults.conf`, `PYSPARK_SUBMIT_ARGS`, or for `spark-submit`.

Settings that a program gives to the session's builder override both, so the session leaves out what the user has set.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import re
import shlex
from pathlib import Path

from checker.errors import InputError

_DEFAULTS = "spark-defaults.conf"
_SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The variable by which `spark-submit` gives a driver the port of its Java machine."""

# The first white space, `=` or `:` separates a name from its value, as in a properties file of Java.
_LINE = re.compile(r"\s*([^\s=:#!][^\s=:]*)\s*[=:\s]\s*(.*?)\s*")


def user_settings() -> dict[str, str]:
    """Return the user's settings; those of `PYSPARK_SUBMIT_ARGS` override those of the file.

    Raises InputError if the arguments cannot be split into words.
    """
    if submitted := settings_of_submit():
        return submitted
    words = _submit_words()
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    options.add_argument("--conf", "-c", action="append", default=[])
    options.add_argument("--driver-memory")
    options.add_argument("--driver-java-options")
    options.add_argument("--properties-file")
    try:
        given, _ = options.parse_known_args(words)
    except argparse.ArgumentError as error:
        raise InputError(f"{_SUBMIT_ARGUMENTS}: {error}") from None
    file = Path(given.properties_file) if given.properties_file else _default_file()
    settings = _read(file) if file is not None else {}
    if given.driver_memory:
        settings["spark.driver.memory"] = given.driver_memory
    if given.driver_java_options:
        settings["spark.driver.extraJavaOptions"] = given.driver_java_options
    for setting in given.conf:
        name, _, value = setting.partition("=")
        settings[name.strip()] = value
    return settings


@functools.cache
def settings_of_submit() -> dict[str, str]:
    """Return the settings that `spark-submit` was given, if it started this process; else none."""
    if _SUBMITTED not in os.environ:
        return {}
    from pyspark import SparkConf

    return dict(SparkConf().getAll())


def _submit_words() -> list[str]:
    text = os.environ.get(_SUBMIT_ARGUMENTS, "")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"{_SUBMIT_ARGUMENTS} cannot be split into words ({error}): {text}") from None


def _default_file() -> Path | None:
    """Return the path of `spark-defaults.conf`, where Spark looks for it."""
    if folder := os.environ.get("SPARK_CONF_DIR"):
        return Path(folder) / _DEFAULTS
    if home := os.environ.get("SPARK_HOME"):
        return Path(home) / "conf" / _DEFAULTS
    pyspark = importlib.util.find_spec("pyspark")
    return Path(pyspark.origin).parent / "conf" / _DEFAULTS if pyspark is not None and pyspark.origin else None


def _read(file: Path) -> dict[str, str]:
    """Return the settings of a file; none if Spark cannot read it either."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    matches = [_LINE.fullmatch(line) for line in lines]
    return {match[1]: match[2] for match in matches if match is not None}
