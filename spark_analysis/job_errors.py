"""The errors of Spark's jobs, as one sentence each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from checker.errors import InputError, UserError

_DAMAGED = re.compile(r"((?:/|[a-z0-9]+://)[^\s'\"]*\.parquet)[^\n]*(?:not a Parquet file|magic|[Cc]orrupt|expected)")
_UNREADABLE = re.compile(r"while reading file (?:file:(?://)?)?([^\s'\"]*\.parquet)")
_CAUSE = re.compile(r"^\s*(?:Caused by: )?((?:[\w.$]*(?:Error|Exception))\b[^\n]*)", re.MULTILINE)
_CONDITION = re.compile(r"^\[(?!PYTHON_EXCEPTION)[A-Z_.0-9]+\] [^\n]+", re.MULTILINE)
_OWN = re.compile(r"\b(?:InputError|OutputError|SpecError|MissingExtraError|StorageError): ([^\n]+)")


@contextmanager
def spark_errors_as_input_errors(work: str) -> Iterator[None]:
    """Raise an error of Spark as InputError with one sentence, which names the work, such as `count the walks`."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise job_error(error, work) from None


def job_error(error: Exception, work: str) -> UserError:
    """Return the error of a failed job as one sentence: of a task if one failed, and else of Spark.

    An error of this project, which the driver raised, is returned as it is, with its file and line.
    """
    if isinstance(error, UserError):
        return error
    text = str(error)
    if damaged := _DAMAGED.search(text):
        return InputError(f"Spark could not {work}: {damaged[1]} is not a complete Parquet file")
    if unreadable := _UNREADABLE.search(text):
        return InputError(f"Spark could not {work}: {unreadable[1]} is damaged")
    if own := _OWN.findall(text):
        # The error of this project on an executor is already a sentence for the user.
        return InputError(own[-1])
    return InputError(f"Spark could not {work}: {_cause(text)}")


def _cause(text: str) -> str:
    """Return the last error in the text of an exception, which holds the tracebacks of Python and Java."""
    causes = [cause.strip() for cause in _CAUSE.findall(text)]
    # A server of Spark Connect adds the stack of Java, which may name an error without its message.
    messages = [cause for cause in causes if ": " in cause] or _CONDITION.findall(text)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    missing = [cause for cause in causes if "ModuleNotFoundError" in cause]
    return (missing or messages or causes or lines or ["it gave no reason"])[-1]
