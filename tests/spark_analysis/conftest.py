"""One Spark session for all tests of this folder, because its start takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from spark_analysis import session as sessions
from spark_analysis.session import LazySession
from tests.support.object_store import ENVIRONMENT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def session() -> Iterator[LazySession]:
    """A session of two cores, which starts Java when a test first needs it."""
    if sessions.java_command() is None:
        pytest.skip("no Java is installed, which Spark needs")
    # For object stores, which start later: a URL names the server then.
    settings = {f"spark.executorEnv.{name}": value for name, value in ENVIRONMENT.items()}
    # A task takes as long as the few rows of a test: the 200 of the default take seconds.
    settings["spark.sql.shuffle.partitions"] = "4"
    with LazySession("local[2]", settings=settings) as session:
        yield session


@pytest.fixture(scope="session")
def spark(session: LazySession) -> SparkSession:
    return session.spark
