"""Every known experiment, one after another: progress, a table of the results, and one exit status."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from checker.errors import InputError
from checker.output import styled_lines
from checker.output.output_files import write_whole
from checker.output.styled_lines import BLANK, Line, line
from checker.printable import quantity
from checker.run.endings import StoppedError
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED
from kafka_tools.experiments.experiment import Experiment, experiment_files, read_experiment
from kafka_tools.lab.cluster.cluster_command import perform_experiment
from kafka_tools.lab.cluster.experiment_run import new_folder

FILE = "experiments.json"

Verdict = Literal["as expected", "not as expected", "undecided", "not run"]
_STYLES: dict[Verdict, str] = {
    "as expected": "green",
    "not as expected": "bold red",
    "undecided": "yellow",
    "not run": "yellow",
}


@dataclass(frozen=True)
class ExperimentResult:
    """The result of an experiment on a release of Kafka.

    `shows_bug`: a record was lost, duplicated, reordered or decided wrongly, as the experiment expects.
    `reason` is the step that did not end, the error that prevented the run, or the counts that differ. `log` is that of
    the last leader.
    """

    name: str
    entry: str
    kafka: str
    verdict: Verdict
    shows_bug: bool = False
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    log: tuple[str, ...] = ()
    reason: str = ""


def run_every_experiment(version: str | None, out: Path | None) -> int:
    """Run the known experiments, continue after one that fails, print a table, and return the exit status.

    Experiments that describe other releases than `version` are left out. The status is 1 if an outcome is not as
    expected, otherwise 3 if an experiment did not end or did not run.
    """
    known = [read_experiment(path.stem, version) for path in experiment_files()]
    experiments = [each for each in known if each.describes(each.kafka)]
    others = [each.name for each in known if each not in experiments]
    if out is not None:
        new_folder(out)
    results: list[ExperimentResult] = []
    try:
        for number, experiment in enumerate(experiments, 1):
            print(f"[{number}/{len(experiments)}] {experiment.name}", file=sys.stderr, flush=True)
            results.append(_result(experiment, None if out is None else out / experiment.name))
            _write(results, out)
    except KeyboardInterrupt:
        results += [_not_run(each, "interrupted") for each in experiments[len(results) :]]
        _write(results, out)
    styled_lines.write(list(result_lines(results)), sys.stdout)
    if others:
        print(f"left out, because they describe other releases than {version}: {', '.join(others)}")
    verdicts = {result.verdict for result in results}
    if "not as expected" in verdicts:
        return EXIT_VIOLATED
    return EXIT_OK if verdicts == {"as expected"} else EXIT_STOPPED


def _result(experiment: Experiment, out: Path | None) -> ExperimentResult:
    """Run an experiment and return its result. A missing extra is an error: every experiment needs it."""
    begun = time.monotonic()
    try:
        outcome = perform_experiment(experiment, out)
    except (InputError, StoppedError, OSError) as error:
        reason = str(error) if isinstance(error, OSError) else error.message
        print(f"{experiment.name} did not run: {reason}\n", flush=True)
        return _not_run(experiment, reason, time.monotonic() - begun)
    print(flush=True)
    reason = outcome.unfinished or "; ".join(outcome.differences)
    verdict: Verdict = "undecided" if outcome.unfinished else "not as expected" if reason else "as expected"
    return ExperimentResult(
        experiment.name,
        experiment.entry,
        experiment.kafka,
        verdict,
        verdict == "as expected" and experiment.expects_harm,
        round(time.monotonic() - begun, 1),
        outcome.counts,
        tuple(outcome.log),
        reason,
    )


def _not_run(experiment: Experiment, reason: str, seconds: float = 0.0) -> ExperimentResult:
    return ExperimentResult(
        experiment.name, experiment.entry, experiment.kafka, "not run", seconds=round(seconds, 1), reason=reason
    )


def _write(results: Sequence[ExperimentResult], out: Path | None) -> None:
    if out is not None:
        write_whole(out / FILE, json.dumps([dataclasses.asdict(each) for each in results], indent=1) + "\n")


def result_lines(results: Sequence[ExperimentResult]) -> Iterator[Line]:
    """Yield a row for each experiment, and the number of experiments by verdict."""
    name, verdict = (max(len(getattr(each, key)) for each in results) for key in ("name", "verdict"))
    for each in results:
        yield line(
            f"{each.name:{name}}  {each.entry:4} {each.kafka:6} ",
            (f"{each.verdict:{verdict}}", _STYLES[each.verdict]),
            f" {each.seconds:6.1f} s  {each.reason or _harm(each.counts)}",
        )
    counts = Counter(each.verdict for each in results)
    entries = {each.entry for each in results if each.shows_bug}
    yield BLANK
    yield line(
        f"{quantity(len(results), 'experiment')} in {sum(each.seconds for each in results) / 60:.1f} min: "
        + ", ".join(f"{counts[each]} {each}" for each in _STYLES if counts[each])
        + f"; entries of the catalogue that a broker showed: {len(entries)}"
    )


def _harm(counts: dict[str, int]) -> str:
    """Return the counts that are not zero, besides those of the futures."""
    shown = (f"{name.replace('_', ' ')} {count}" for name, count in counts.items() if count and name not in _USUAL)
    return ", ".join(shown) or "no record lost, duplicated or reordered"


_USUAL = ("acknowledged", "committed", "aborted")
