"""One Spark session for all tests of this folder, because its start takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from spark_analysis import session as sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    if sessions.java_command() is None:
        pytest.skip("no Java is installed, which Spark needs")
    with sessions.opened("local[2]", settings=sessions.FORWARDING) as spark:
        yield spark
