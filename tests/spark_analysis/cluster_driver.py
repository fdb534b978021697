"""The driver of `cluster_job`: all work of one application, with its results as JSON.

python cluster_driver.py MASTER URL SPEC MAPPING LOG
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checker.run.plan import Plan
from spark_analysis.explore import jobs
from spark_analysis.explore.spark_explorer import explore
from spark_analysis.session import LazySession
from spark_analysis.validate.validation import validate_on_spark
from spark_analysis.walks.simulation import simulate
from spark_analysis.walks.walk_request import WalkRequest, run_of_request
from specs.examples.peterson import Peterson
from traces.storage import location_of
from traces.validate.task import ValidationTask

SCENARIO = "producer/plain_producer/p1_reorder_by_retry"
REQUESTS = {
    "walks": WalkRequest(SCENARIO, 6000, 30, 3),
    "beyond": WalkRequest(SCENARIO, 2000, 30, 4, beyond=True),
}
"""The walks by the name of their folder."""

PLAN = Plan(("mutual_exclusion",))


def main(master: str, url: str, spec: str, mapping: str, log: str) -> None:
    store = location_of(url)
    # Executors process even the smallest levels.
    jobs.CANDIDATES_BEFORE_SPARK = jobs.CANDIDATES_BEFORE_JOB = -1
    with LazySession(master) as session:
        spark = session.spark
        files = spark.range(1).mapInArrow(_packages, "file string").collect()
        is_whole = {
            name: simulate(run_of_request(request), store / name, spark=spark) for name, request in REQUESTS.items()
        }
        explored = explore(Peterson(), PLAN, session, checkpoint=store / "states", partitions=2)
        task = ValidationTask(spec, mapping)
        verdicts = validate_on_spark(task, (Path(log),), "run", out=store / "verdicts", spark=spark).verdicts
    found = {
        "file": files[0].file,
        "is_whole": is_whole,
        "levels": explored.levels,
        "verdicts": dict(verdicts),
    }
    print(json.dumps(found))


def _packages(batches: Iterator[Any]) -> Iterator[Any]:
    """Return where an executor has the packages of this project."""
    import pyarrow

    from checker import errors

    for _ in batches:
        yield pyarrow.RecordBatch.from_pylist([{"file": errors.__file__}])


if __name__ == "__main__":
    main(*sys.argv[1:])
