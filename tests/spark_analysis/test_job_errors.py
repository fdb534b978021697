"""The sentences for failed jobs of Spark."""

from __future__ import annotations

from checker.errors import InputError
from spark_analysis.job_errors import job_error


def test_an_error_of_the_driver_keeps_its_place() -> None:
    error = InputError("this is no event", file="events.jsonl", line=3, text="Error: not JSON")
    assert job_error(error, "validate the traces") is error


def test_an_error_of_a_task_is_its_own_sentence() -> None:
    text = "Traceback\n  File\nchecker.errors.OutputError: walks cannot be written: the disk is full\n\tat org.apache"
    assert str(job_error(Exception(text), "generate the walks")) == "walks cannot be written: the disk is full"


def test_an_error_of_java_is_its_last_cause() -> None:
    text = "An error occurred\njava.lang.RuntimeException: first\nCaused by: java.io.IOException: no space\n\tat x"
    shown = str(job_error(Exception(text), "count the walks"))
    assert shown == "Spark could not count the walks: java.io.IOException: no space"
