"""The runs of all scenarios of the library, which several files take as parameters of their tests."""

from checker.run.request import Request, runs_for

FAMILIES = ("broker", "consumer", "examples", "pipeline", "producer", "replication", "transactions")
RUNS = {run.name: run for run in runs_for(Request(FAMILIES))}
