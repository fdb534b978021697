"""The jobs of Spark: the rows of one that ends, the end of one that is cancelled, and the sentences for failed ones."""

import threading
from types import SimpleNamespace

import pytest

from checker.errors import InputError
from spark_analysis.background_job import collected
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


def test_an_error_of_a_query_is_its_condition() -> None:
    condition = "[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03"
    text = f"{condition}\n'Project\n\nJVM stacktrace:\norg.apache.spark.sql.AnalysisException\n\tat x"
    assert str(job_error(Exception(text), "read the traces")) == f"Spark could not read the traces: {condition}"


def test_frames_of_java_are_no_cause() -> None:
    text = "Job aborted: Lost task 0.0: org.apache.spark.SparkException: worker exited\n\tat org.apache.a\n\tat ..."
    shown = str(job_error(Exception(text), "explore level 3"))
    assert shown == f"Spark could not explore level 3: {text.splitlines()[0]}"


def test_the_rows_of_a_job_are_returned_and_its_error_is_raised() -> None:
    spark, never = SimpleNamespace(addTag=lambda tag: None, interruptTag=None), threading.Event()
    assert collected(spark, lambda: SimpleNamespace(collect=lambda: [1, 2]), "count", never) == [1, 2]
    with pytest.raises(InputError, match="no rows"):
        collected(spark, lambda: SimpleNamespace(collect=lambda: raised(InputError("no rows"))), "count", never)


def raised(error: Exception) -> None:
    raise error


def test_a_cancelled_job_is_interrupted_by_its_tag() -> None:
    cancelled, interrupted = threading.Event(), threading.Event()
    tags: list[str] = []

    def interrupt(tag: str) -> None:
        assert tag == tags[0]
        interrupted.set()

    spark = SimpleNamespace(addTag=tags.append, interruptTag=interrupt)
    frame = SimpleNamespace(collect=lambda: interrupted.wait(10) and None)
    assert collected(spark, lambda: frame, "count", cancelled, on_poll=cancelled.set) is None
    assert interrupted.is_set()
    assert collected(spark, lambda: raised(AssertionError()), "count", cancelled) is None
