"""Results of trace validation as text: one trace in detail, or totals over many traces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from checker.output.counterexample_text import constants_text, state_lines
from checker.output.styled_lines import BLANK, Line, line
from checker.printable import quantity
from traces.storage import Location
from traces.validate.controls import KINDS, ControlResults
from traces.validate.totals import ValidationTotals
from traces.validate.verdict import Rejection, RejectionReason, TraceVerdict

if TYPE_CHECKING:
    from traces.storage import Location
from traces.validate.task import RunningValidation

_REASONS = 8
_SURVIVORS = 10
_CLUSTERS = 10

_LIMITS = {
    "candidates": "more candidate states than --candidates allows",
    "silent": "more silent steps in a row than --silent allows",
    "bounds": "a value is beyond a type, or beyond a constant in a guard: the constants may be too small",
    "window": "more records at a time than a model can have",
}

_STYLES = {"conforms": "bold green", "rejected": "bold red", "undecided": "bold yellow", "unreadable": "bold red"}


def outcome_lines(validation: RunningValidation, outcome: TraceVerdict, controls: ControlResults | None) -> list[Line]:
    """Return the lines about one trace; `controls` are the results of its changed copies, if there are any."""
    shown = [line((outcome.name, "bold"), f": {_verdict_text(outcome)}", (f"  ({validation.name})", "dim"))]
    shown += [line(f"  {_counts_text(outcome)}", (f"  {constants_text(_set_constants(validation, outcome))}", "dim"))]
    if outcome.rejection is not None:
        shown += list(_rejection_lines(validation, outcome, outcome.rejection))
    for limit in sorted(outcome.limits):
        prefix = "undecided:" if outcome.verdict == "undecided" else "limit reached, without effect on the verdict:"
        shown.append(line((f"  {prefix} {_LIMITS[limit]}", "yellow")))
    if outcome.message:
        shown.append(line((f"  {outcome.message}", "yellow")))
    for name, number in sorted(outcome.violated.items(), key=lambda item: item[1]):
        expected = ", as the scenario expects" if name in validation.expected else ""
        shown.append(
            line((f"  shows a violation of {name}{expected}: every candidate state after line {number}", "red"))
        )
    if outcome.unchecked:
        shown.append(line((f"  not checked in a window of records: {', '.join(outcome.unchecked)}", "yellow")))
    if controls is not None:
        shown += _control_lines(controls)
    return [*shown, BLANK]


def _set_constants(validation: RunningValidation, outcome: TraceVerdict) -> dict[str, int | bool | str]:
    """Return the constants that differ from the spec's defaults."""
    defaults = {name: constant.default for name, constant in validation.entry.spec.declared_constants.items()}
    return {name: value for name, value in outcome.constants.items() if defaults.get(name) != value}


def _verdict_text(outcome: TraceVerdict) -> str:
    if outcome.rejection is None:
        return outcome.verdict
    return f"{outcome.verdict} at line {outcome.rejection.line}"


def _counts_text(outcome: TraceVerdict) -> str:
    skipped = ", ".join(f"{name} {count}" for name, count in sorted(outcome.skipped.items()))
    parts = [f"{outcome.steps} taken as steps", f"{outcome.seen} observed"]
    parts += [f"{sum(outcome.skipped.values())} skipped ({skipped})"] if skipped else []
    parts += [f"{outcome.blank} blank lines"] if outcome.blank else []
    explained = outcome.steps + outcome.seen + sum(outcome.skipped.values())
    of = "" if explained == outcome.total else f"{explained} of "
    return f"{of}{quantity(outcome.total, 'event')}: {', '.join(parts)}; at most {_states(outcome.widest)} at a time"


def _states(count: int) -> str:
    return quantity(count, "candidate state")


def _rejection_lines(validation: RunningValidation, outcome: TraceVerdict, rejection: Rejection) -> Iterator[Line]:
    yield line(("  line ", "dim"), f"{rejection.line}: {json.dumps(dict(rejection.found))}")
    forgetting = validation.mapping.forgetting
    if outcome.forgotten and forgetting is not None:
        numbers = forgetting.description(outcome.forgotten, outcome.first_offset)
        yield line((f"    {outcome.forgotten:,} finished records are forgotten. Below, {numbers}", "dim"))
    for reason in rejection.reasons[:_REASONS]:
        yield from _reason_lines(reason, rejection)
    if len(rejection.reasons) > _REASONS:
        yield line((f"    and {len(rejection.reasons) - _REASONS} other reasons", "dim"))
    which = "" if rejection.candidates == 1 else ", the first of them"
    yield line(("  before it: ", "dim"), f"{_states(rejection.candidates)}{which}")
    spec = validation.entry.spec(**outcome.constants)
    with spec.bound():
        for state in rejection.shown[:1]:
            yield from (line("    ", *spans) for spans in state_lines(spec, state))


def _reason_lines(reason: RejectionReason, rejection: Rejection) -> Iterator[Line]:
    total = rejection.candidates
    of = f"  (in {reason.count} of {total} candidate states)" if reason.count < total else ""
    yield line("    ", (reason.step, "bold cyan"), f": {reason.text}", (of, "dim"))


def _control_lines(controls: ControlResults) -> list[Line]:
    tried = ", ".join(f"{kind} {controls.rejected[kind]} of {controls.tried[kind]}" for kind in KINDS)
    shown = [
        line(f"  controls: {sum(controls.rejected.values())} of {sum(controls.tried.values())} rejected ({tried})")
    ]
    shown += [
        line(
            ("    still conforms, ", "yellow"),
            f"line {survivor.line}, {survivor.kind}: {survivor.change}: {survivor.why}",
        )
        for survivor in controls.survivors[:_SURVIVORS]
    ]
    if len(controls.survivors) > _SURVIVORS:
        shown.append(line((f"    and {len(controls.survivors) - _SURVIVORS} more", "dim")))
    if controls.unread:
        shown.append(line(("    fields that the mapping never reads: ", "dim"), ", ".join(controls.unread)))
    return shown


def summary_lines(name: str, summary: ValidationTotals, seconds: float, out: Location | None) -> list[Line]:
    """Return the lines about all traces; `out` is the folder of the report, if one was written."""
    verdicts: list[tuple[str, str] | str] = []
    for verdict, style in _STYLES.items():
        if summary.verdicts[verdict]:
            verdicts += [", " if verdicts else "", (f"{summary.verdicts[verdict]:,} {verdict}", style)]
    skipped = sum(summary.skipped.values())
    rate = f"{summary.traces / seconds:,.0f} traces/s" if seconds > 0 and summary.traces > 100 else ""
    shown = [
        line((name, "bold"), f": {quantity(summary.traces, 'trace')}: ", *verdicts),
        line((f"  {quantity(summary.events, 'event')}, {skipped:,} of them skipped; {seconds:.1f} s  {rate}", "dim")),
    ]
    if summary.is_interrupted:
        shown.append(line(("  interrupted: some logs were not validated", "bold yellow")))
    if summary.traces > 1:
        for cluster in summary.ranked()[:_CLUSTERS]:
            example = cluster.examples[0]
            where = f"{example['trace']}" + (f", line {example['line']}" if example["line"] else "")
            shown.append(line(f"  {cluster.count:>6,} {cluster.verdict}: ", cluster.cause, (f"  ({where})", "dim")))
    for violated, count in sorted(summary.violated.items()):
        shown.append(line(f"  {count:>6,} show a violation of {violated}"))
    if summary.tried:
        tried, caught = sum(summary.tried.values()), sum(summary.caught.values())
        shown.append(line(f"  controls: {caught:,} of {tried:,} rejected"))
        if tried and not caught:
            shown.append(line(("  no control was rejected: the mapping accepts everything", "bold red")))
    if out is not None:
        shown.append(line(("  report: ", "dim"), str(out / "report.html")))
    return shown
