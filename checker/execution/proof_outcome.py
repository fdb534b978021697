"""The outcome of a proof method, and the report on it: text, JSON and exit status, the same for every method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from checker.language.roles import LIVENESS_ROLES
from checker.output import proof_text, styled_lines
from checker.output.counterexample_text import constants_text, counterexample_lines
from checker.output.files import violation_to_json
from checker.output.styled_lines import BLANK, Line, line
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, Run
from checker.run.result import Violation
from traces.replay import replay

Method = Literal["induction", "k-induction", "bounded", "pdr"]

ProofVerdict = Literal["proved", "not inductive", "not proved", "violated", "no violation", "unknown"]

_REFUTED: tuple[ProofVerdict, ...] = ("not inductive", "not proved", "violated")


@dataclass(frozen=True, kw_only=True)
class ProofSettings:
    """The method of proof, its limits, and the destinations of the results.

    `depth`: the largest k, or the most states of a trace. `timeout`: seconds for a query. `unbounded`: the constants
    that are left open. `out`: the folder for counterexamples, including pages of counterexamples to induction.
    `certificate`: the file for the certificate of a proof by induction. `explain`: the only cell to prove.
    `all_cells`: prove the cells even if the explorer refutes a property. `seed`: the random seed of Z3.
    """

    method: Method
    depth: int
    timeout: float
    workers: int
    unbounded: tuple[str, ...] = ()
    find_lemmas: bool = False
    json: str = ""
    out: Path | None = None
    certificate: Path | None = None
    explain: str = ""
    all_cells: bool = False
    seed: int = 0


@dataclass(frozen=True)
class ProofTask:
    """One configuration to prove: the properties, the lemmas to use, and the settings.

    `untreated` are the selected properties that the method does not decide, such as `deadlock`, `left_out` those that
    the scenario expects to be violated, and `not_selected` the other declared ones. `on_progress` receives a short text
    about the current query. `found` is the text of the lemmas that a search has added to the spec. `notes` are the
    lines on work that was cut off.
    """

    run: Run
    names: list[str]
    lemmas: list[str]
    untreated: list[str]
    left_out: list[str]
    not_selected: list[str]
    settings: ProofSettings
    on_progress: Callable[[str], None]
    found: str = ""
    notes: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class ProofOutcome:
    """The outcome of a proof method for one configuration.

    - `lines`: the text between the heading and the counterexamples.
    - `fields`: the fields of the JSON object that only this method has.
    - `pages`: counterexamples to induction as HTML, by the names of their files.
    - `differences`: sentences about differences from the expected violations; `is_expected`: the scenario expects
      exactly these violations.
    - `has_unknown`: Z3 left a query unanswered.
    """

    verdict: ProofVerdict
    lines: list[Line]
    fields: dict[str, Any]
    violations: tuple[Violation, ...] = ()
    pages: Mapping[str, str] = field(default_factory=dict)
    differences: tuple[str, ...] = ()
    is_expected: bool = False
    has_unknown: bool = False

    @property
    def status(self) -> int:
        """The exit status: 1 refuted or not as expected, 3 unknown, else 0."""
        if self.differences or (self.verdict in _REFUTED and not self.is_expected):
            return EXIT_VIOLATED
        return EXIT_STOPPED if self.verdict == "unknown" or self.has_unknown else EXIT_OK


def proof_lines(task: ProofTask, outcome: ProofOutcome) -> list[Line]:
    """Return the text of an outcome. The interpreter replays every counterexample before it is shown."""
    run = task.run
    constants = {
        name: "any" if name in task.settings.unbounded else value for name, value in run.spec.constants.items()
    }
    shown = [line((run.name, "bold"), f"  {constants_text(constants)}"), *outcome.lines, *_notes(task, outcome)]
    shown += proof_text.lines_of_the_account(
        run.spec, task.untreated, task.left_out, task.not_selected, task.settings.method
    )
    shown += [line((f"  {sentence}", "red")) for sentence in outcome.differences]
    for violation in outcome.violations:
        replay(run.spec, violation)
        shown += [BLANK, *counterexample_lines(run.spec, run.name, violation)]
    return shown


def closing_lines(proofs: Sequence[tuple[Run, ProofOutcome]]) -> list[Line]:
    """Return the last line of the command: the verdict of one proof, or how many proofs have each verdict."""
    if not proofs:
        return []
    is_expected = all(outcome.status == EXIT_OK for _, outcome in proofs)
    style = "bold green" if is_expected else "bold red"
    if len(proofs) == 1:
        ((run, outcome),) = proofs
        expected = ", as expected" if outcome.is_expected else ""
        return [line((f"{run.name}: {outcome.verdict}{expected}", style))]
    counts = Counter(outcome.verdict for _, outcome in proofs)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return [line((f"{len(proofs)} proofs: {verdicts}", style))]


def _notes(task: ProofTask, outcome: ProofOutcome) -> list[Line]:
    """Return the lines about searches for violations that were cut off; a proof excludes every violation."""
    return [] if outcome.verdict == "proved" else task.notes


def proof_to_json(task: ProofTask, outcome: ProofOutcome) -> dict[str, Any]:
    """Return the JSON object of an outcome."""
    run = task.run
    return {
        "spec": run.entry.name,
        "scenario": run.scenario,
        "constants": run.spec.constants,
        "method": task.settings.method,
        "verdict": outcome.verdict,
        "properties": task.names,
        "untreated": task.untreated,
        "expected_violations": task.left_out,
        "not_selected": task.not_selected,
        **outcome.fields,
        "notes": [text.strip() for text in styled_lines.plain(_notes(task, outcome)).splitlines()],
        "differences": list(outcome.differences),
        "violations": [violation_to_json(run.spec, violation) for violation in outcome.violations],
    }


def expectation_differences(run: Run, violations: list[Violation], depth: int) -> tuple[str, ...]:
    """Return sentences about differences from the expectation of a scenario; traces have up to `depth` states."""
    if run.expected is None:
        return ()
    if isinstance(run.expected, str):
        if run.expected == "error" and all(violation.kind == "bounds_error" for violation in violations):
            return ()
        return tuple(f"{violation.property} is violated, which is not expected" for violation in violations)
    lengths = {violation.property: violation.length for violation in violations}
    differences = []
    for name, length in run.expected.items():
        # A bound that excludes the shortest stem, because its loop is too long, is no difference.
        is_liveness = run.spec.roles.get(name) in LIVENESS_ROLES
        if name in lengths:
            if length not in (None, lengths[name]) and not (is_liveness and length < lengths[name]):
                differences.append(
                    f"expected a counterexample to {name} of {length} states, but it has {lengths[name]}"
                )
        elif length is not None and length <= depth and not is_liveness:
            differences.append(f"expected a counterexample to {name} of {length} states, but none has up to {depth}")
    return tuple(differences)
