"""The inputs of the driver `cluster_driver`, and its results as this machine computes them without Spark."""

import json
from dataclasses import dataclass
from pathlib import Path

from checker.engines.native import engine as native
from spark_analysis.walks.local_simulation import write_walks
from spark_analysis.walks.records import part_paths
from spark_analysis.walks.walk_request import run_of_request
from specs.examples.peterson import Peterson
from tests.cli.test_validate import BAD, GOOD, MAPPING, RETRY
from tests.spark_analysis.cluster_driver import PLAN, REQUESTS
from traces.storage import Location


@dataclass(frozen=True)
class ClusterJob:
    """A job whose inputs are in a folder; `results` is the folder or URL of what the driver writes."""

    folder: Path
    results: Location

    def command(self, python: str, master: str) -> list[str]:
        """Write the walks of this machine and the inputs of the driver; return its command."""
        for name, request in REQUESTS.items():
            write_walks(run_of_request(request), self.folder / name)
        mapping, log = self.folder / "mapping.py", self.folder / "many.jsonl"
        mapping.write_text(MAPPING)
        traces = {"good": GOOD, "bad": BAD}
        log.write_text("".join(json.dumps(event | {"run": name}) + "\n" for name in traces for event in traces[name]))
        script = Path(__file__).with_name("cluster_driver.py")
        return [python, str(script), master, str(self.results), RETRY, str(mapping), str(log)]

    def check(self, output: str) -> None:
        """Check the output of the driver and the walks that it has written."""
        found = json.loads(output)
        assert "tidemark.zip" in found["file"]
        assert found["is_whole"] == dict.fromkeys(REQUESTS, True)
        for name, request in REQUESTS.items():
            run = run_of_request(request)
            expected = [path.read_bytes() for path in part_paths(self.folder / name, run)]
            assert [path.read_bytes() for path in part_paths(self.results / name, run)] == expected, name
        assert found["levels"] == list(native.explore(Peterson(), PLAN).levels)
        assert found["verdicts"] == {"conforms": 1, "rejected": 1}
