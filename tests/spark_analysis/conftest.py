"""One Spark session for all tests of this folder, because its start takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from spark_analysis import session as sessions
from spark_analysis.session import LazySession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def session() -> Iterator[LazySession]:
    """A session of two cores, which starts Java when a test first needs it."""
    if sessions.java_command() is None:
        pytest.skip("no Java is installed, which Spark needs")
    with LazySession("local[2]") as session:
        yield session


@pytest.fixture(scope="session")
def spark(session: LazySession) -> SparkSession:
    return session.spark
