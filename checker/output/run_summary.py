"""One row for each run, and what there is to say about it: verdict, counts, coverage."""

from __future__ import annotations

from checker.output.styled_lines import BLANK, Line, Span, line
from checker.run.result import Result, Verdict, Violation
from checker.run.scenario import ExpectationComparison, end_text

_STYLES: dict[Verdict, str] = {"holds": "green", "violated": "red", "error": "red", "incomplete": "yellow"}


def heading(name_width: int) -> Line:
    """Return the line above the rows."""
    columns = f"{'':<{name_width}}  {'verdict':<10}  {'distinct':>12}  {'depth':>5}  {'seconds':>8}"
    return line((columns, "dim"))


def row(name: str, name_width: int, result: Result, comparison: ExpectationComparison | None) -> list[Line]:
    """Return the row of a run, and below it in what it differs from what is expected of it."""
    figures = f"{result.distinct_states:>12,}  {result.depth:>5}  {result.seconds:>8.2f}"
    spans: list[Span] = [
        (f"{name:<{name_width}}  ", ""),
        (f"{result.verdict:<10}", _verdict_style(result, comparison)),
        (f"  {figures}  ", ""),
    ]
    if comparison is not None:
        spans.append(_answer(comparison))
    spans.append((_found_text(result), "dim"))
    lines = [line(*spans)]
    if comparison is not None and not comparison.is_open:
        lines += [line((f"    {sentence}", "red")) for sentence in comparison.sentences]
    return lines


def _answer(comparison: ExpectationComparison) -> Span:
    if comparison.is_open:
        return "stopped ", "yellow"
    return ("ok      ", "green") if comparison.matches else ("differs ", "bold red")


def _verdict_style(result: Result, comparison: ExpectationComparison | None) -> str:
    return "green" if comparison is not None and comparison.matches else _STYLES[result.verdict]


def _found_text(result: Result) -> str:
    """Return which properties are violated, each with the length of its counterexample, or what ended the run."""
    if result.violations:
        return ", ".join(_violation_text(violation) for violation in result.violations)
    return "" if result.ended == "complete" else end_text(result)


def _violation_text(violation: Violation) -> str:
    if violation.kind == "reachable":
        return f"{violation.property} never"
    return f"{violation.property} {violation.length}"


def run_details(result: Result) -> list[Line]:
    """Return what a person who asked for this one run wants to know besides its row."""
    counts = f"{result.distinct_states:,} distinct states, {result.generated_states:,} generated, depth {result.depth}"
    seconds = f"{result.seconds:.2f} s" + (
        f" after {result.compile_seconds:.2f} s of compiling" if result.compile_seconds else ""
    )
    rate = f", {result.distinct_states / result.seconds:,.0f} states a second" if result.seconds >= 0.1 else ""
    workers = f"{result.workers} worker{'' if result.workers == 1 else 's'}"
    lines = [line(f"  {counts}"), line(f"  {seconds}{rate}, {result.engine} engine, {workers}")]
    if result.ended == "violation":
        lines.append(line("  explored to the end of the level with the violation"))
    elif result.ended != "complete":
        lines.append(line((f"  not everything was explored: {end_text(result)}", "yellow")))
    idle = [action for action, coverage in result.coverage.items() if not coverage.generated]
    if idle and result.ended == "complete":
        lines.append(line((f"  never enabled: {', '.join(idle)}", "yellow")))
    return lines


def coverage_table(result: Result) -> list[Line]:
    """Return how often each action was enabled and how many states it found, and which `@reachable` were seen."""
    width = max([len(name) for name in (*result.coverage, *result.reached, *result.unreached)], default=0)
    lines = [BLANK, line((f"  {'action':<{width}}  {'generated':>14}  {'distinct':>12}", "dim"))]
    for action, coverage in result.coverage.items():
        style = "" if coverage.generated else "yellow"
        note = "" if coverage.generated else "  never enabled"
        lines.append(line((f"  {action:<{width}}  {coverage.generated:>14,}  {coverage.distinct:>12,}{note}", style)))
    if result.reached or result.unreached:
        lines += [BLANK, line((f"  {'reachable':<{width}}  {'first reached by':>14}", "dim"))]
        lines += [line(f"  {name:<{width}}  {f'{length} states':>16}") for name, length in result.reached.items()]
        lines += [line((f"  {name:<{width}}  {'not reached':>16}", "yellow")) for name in result.unreached]
    return lines
