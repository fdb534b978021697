"""Reports on random walks: a page, its figures as JSON, and counterexamples."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checker.language.constant_values import setting_text
from checker.language.spec import Spec
from checker.output.counterexample_text import non_default_constants
from checker.output.files import JsonLines, make_folder
from checker.output.formats import FORMATS, Counterexample
from checker.output.output_files import STANDARD_OUTPUT, check_outputs, open_for_writing
from checker.output.styled_lines import BLANK, Line, line, write
from checker.printable import printable, quantity
from checker.run import registry
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, EXIT_WRONG_INPUT
from checker.run.result import Violation
from spark_analysis.commands.simulation_text import beyond_text, choice_text
from spark_analysis.report.causes import first_and_frequent
from spark_analysis.report.chart_geometry import share_text, share_texts, split_text, walks_text
from spark_analysis.report.make_report import MOST_EXACT_STATES, MOST_STATES, WalkReport, dot_of, needs_spark, report_on
from spark_analysis.report.readable_parts import readable_parts
from spark_analysis.report.report_page import rate_of, walk_report_page
from spark_analysis.report.risk_factors import is_absolute, is_shown, risk_text
from spark_analysis.report.run_comparison import (
    compare_reports,
    compare_siblings,
    read_report,
    report_file,
    run_name,
    sibling_name,
)
from spark_analysis.report.run_history import append_line, line_of, read_history, trend
from spark_analysis.report.violation_causes import failure_of
from spark_analysis.report.walk_queries import query_walks, result_lines, result_objects
from spark_analysis.session import master_url, require_pyspark
from spark_analysis.walks.records import part_kinds, run_with_known_target
from spark_analysis.walks.writing import check_walk_outputs
from traces import trace_file
from traces.shrink import NOT_SEARCHED, ShrunkViolation
from traces.storage import Location

PAGES = "counterexamples"
MOST_EXACT_STATES_ASKED = 100_000
"""Number of states up to which `--exact` computes exact probabilities: about a minute of the interpreter."""

MOST_RUNS = 6
"""The number of runs of a history in the summary: the last ones."""

MOST_RISKS = 3
"""The number of risk factors of a property in the summary; the page has all."""

SENTENCE_WIDTH = 80
MOST_PAGES = 24
"""The number of causes with a counterexample page: the most frequent ones, and the first of each property."""


def report_walks(
    folder: Location,
    spec: Path | None,
    *,
    out: Location | None = None,
    json_name: str = "",
    master: str | None = None,
    max_states: int = MOST_STATES,
    exact: bool = False,
    splitting: int = 0,
    compare: Location | None = None,
    against: Sequence[Location] = (),
    history: Location | None = None,
    spark: Any = None,
    with_summary: bool = True,
) -> int:
    """Write the report on a folder of walks, show a summary, and return the exit status.

    `spec` is the file of the spec, if that is not in the library. `exact` computes exact probabilities of larger
    configurations too. `splitting` is the number of walks for each level of importance splitting, 0 for none. `compare`
    is the place of an earlier report to compare with, `against` are those of reports on related specs. `history` is the
    file to which the rates are appended. `spark` is a session to use instead of a new one. Without `with_summary`, only
    errors are shown. Raises UserError if the folder has no readable walks or the report cannot be written. An interrupt
    writes nothing.
    """
    # Wrong input is reported before a folder is created.
    master_url(master)
    if master is not None or needs_spark(run_with_known_target(folder, spec), master):
        require_pyspark()
    lines = read_history(history) if history is not None else []
    earlier = read_report(compare) if compare is not None else None
    siblings = [read_report(place) for place in against]
    to = out or folder / "report"
    json_file = Path(json_name) if json_name not in ("", STANDARD_OUTPUT) else None
    files = {f"--out {name}": to / name for name in ("report.html", "report.json", "causes.dot")}
    read = [report_file(place) for place in (*against, *([compare] if compare is not None else []))]
    check_outputs({**files, "--json": json_file, "--history": history}, [*read, *([spec] if spec is not None else [])])
    check_walk_outputs({"--out": to / "report.html", "--json": json_file, "--history": history}, folder)
    make_folder(to)
    started = time.perf_counter()
    on_stage = _show_stage if sys.stderr.isatty() else _ignore
    exact_states = MOST_EXACT_STATES_ASKED if exact else MOST_EXACT_STATES
    report = report_on(
        folder,
        spec=spec,
        master=master,
        max_states=max_states,
        exact_states=exact_states,
        splitting=splitting,
        on_stage=on_stage,
        spark=spark,
    )
    if earlier is not None:
        report.data["comparison"] = compare_reports(earlier, report.data)
    report.data["siblings"] = compare_siblings(report.data, siblings)
    if history is not None:
        _add_to_history(history, lines, report)
    words = ["python", "-m", "checker", "report", str(folder), *registry.spec_words(report.run.target)]
    words += ["--out", str(out)] if out else []
    pages = _write_pages(to, report, folder)
    _write_text(to / "report.html", walk_report_page(report.data, pages, _write_missed(to, report), shlex.join(words)))
    _write_text(to / "report.json", _json_text(report.data))
    _write_text(to / "causes.dot", dot_of(report))
    if json_name == STANDARD_OUTPUT:
        sys.stdout.write(_json_text(report.data))
    else:
        if json_name:
            _write_text(Path(json_name), _json_text(report.data))
        if with_summary:
            write(_summary_lines(report.data, to / "report.html", time.perf_counter() - started), sys.stdout)
    return _status(report)


def _add_to_history(file: Location, lines: list[dict[str, Any]], report: WalkReport) -> None:
    """Put the trend into the data of a report, and append its line to the history if no part is missing."""
    new = line_of(report.run, report.data)
    report.data["trend"] = trend(lines, new)
    if report.data["is_complete"]:
        append_line(file, lines, new)
    else:
        report.data["notes"].append(f"Not appended to {file}, because parts of the run are not counted.")


def _status(report: WalkReport) -> int:
    """Print an error for each damaged part, and return the exit status; damaged parts outrank a violation."""
    for sentence in report.damaged:
        print(printable(f"error: not counted: {sentence}"), file=sys.stderr)
    if report.damaged:
        return EXIT_WRONG_INPUT
    if not is_as_expected(report.data):
        return EXIT_VIOLATED
    return EXIT_OK if report.data["is_complete"] else EXIT_STOPPED


def is_as_expected(data: dict[str, Any]) -> bool:
    """Return whether the scenario expects every violation, of walks and of the exploration.

    With constants set by hand, none is expected.
    """
    expected = data["expected"]
    failed = {(failure["property"], failure["is_error"]) for failure in data["failures"] if failure["walks"]}
    failed |= {(missed["property"], missed["kind"] == "bounds_error") for missed in data["missed"]}
    return all(
        expected == "error" if is_error else isinstance(expected, list) and name in expected
        for name, is_error in failed
    )


def _show_stage(stage: str) -> None:
    print(f"{stage} ...", file=sys.stderr)


def _ignore(_: str) -> None:
    pass


def _json_text(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1) + "\n"


def _write_text(path: Location, text: str) -> None:
    with open_for_writing(path) as stream:
        stream.write(text)


def _write_pages(to: Location, report: WalkReport, folder: Location) -> list[str | None]:
    """Write the counterexample of each cause as a page, a trace file and DOT; return the addresses of the pages."""
    pages: list[str | None] = []
    clusters = [cluster for _, cluster in report.clusters]
    with_page = first_and_frequent(clusters, lambda cluster: failure_of(cluster.cause), MOST_PAGES)
    for number, (spec, cluster) in enumerate(report.clusters, 1):
        if cluster not in with_page:
            pages.append(None)
            continue
        stem = f"{number:02d}-{cluster.cause.property}"
        own = ["traces", "replay", str(folder), "--walk", str(cluster.walk), "--shrink"]
        if not failure_of(cluster.cause).is_error:
            own += ["--property", cluster.cause.property]
        sentence = ShrunkViolation(cluster.reduced, cluster.walk_length, cluster.reduced.length, NOT_SEARCHED).sentence
        traces = [(stem, cluster.reduced, own, sentence)]
        if cluster.shortest is not None:
            sentence = "the shortest trace by these actions; it has the same cause as the walk"
            traces.append((f"{stem}-shortest", cluster.shortest, ["report", str(folder)], sentence))
        for name, violation, words, sentence in traces:
            counterexample = _counterexample(report, spec, violation, words, sentence)
            for format in ("html", "json", "dot"):
                file = name + FORMATS[format].ending
                _write_text(to / PAGES / file, FORMATS[format].write(counterexample))
        pages.append(f"{PAGES}/{stem}.html")
    return pages


def _write_missed(to: Location, report: WalkReport) -> dict[str, str]:
    """Write the counterexamples that only exploration found; return the address of the page of each property."""
    entry, run = registry.select_spec(report.run.target), report.run
    pages = {}
    for spec, violation in report.missed:
        words = ["python", "-m", "checker", "run", entry.target]
        for name, value in non_default_constants(spec).items():
            words += ["--set", setting_text(name, value)]
        command = shlex.join([*words, "--property", violation.property])
        origin = trace_file.origin_of(spec, entry.name, run.scenario, entry.target, command)
        shown = Counterexample(spec, violation, origin, notes=("Found by exploration; no walk shows this violation.",))
        pages[violation.property] = f"{PAGES}/explored-{violation.property}.html"
        _write_text(to / pages[violation.property], FORMATS["html"].write(shown))
    return pages


def _counterexample(
    report: WalkReport, spec: Spec, violation: Violation, words: list[str], sentence: str
) -> Counterexample:
    run = report.run
    entry = registry.select_spec(run.target)
    command = shlex.join(["python", "-m", "checker", *words, *registry.spec_words(run.target)])
    origin = trace_file.origin_of(spec, entry.name, run.scenario, entry.target, command)
    return Counterexample(spec, violation, origin, entry.description(run.scenario, spec.constants), (sentence,))


def _summary_lines(data: dict[str, Any], page: Location, seconds: float) -> list[Line]:
    """Return the lines of the summary: each property with its rate, the causes, and notes."""
    shown = [
        line(
            (run_name(data), "bold"),
            f"  {quantity(data['walks'], 'walk')}{beyond_text(data['beyond'])}, {data['steps']:,} steps, "
            f"analysed in {seconds:.1f} s",
        )
    ]
    missed = {violation["property"]: violation["length"] for violation in data["missed"]}
    width = max((len(failure["property"]) for failure in data["failures"]), default=0)
    for failure in data["failures"]:
        mark, style = ("✗", "bold red") if failure["walks"] else ("✓", "green")
        length = missed.get(failure["property"])
        if length is not None:
            mark, style = "!", "bold yellow"
        share, setting = rate_of(data, failure)
        estimate, low, high = share_texts(share)
        rate = f"{estimate:>8}  of walks ({low} to {high})"
        if share["exact"]:
            rate += f"; computed without sampling {share_text(share['exact'])}"
        elif share["exact"] == 0:
            rate += f"; exactly 0: no walk of at most {data['depth']} steps violates it"
        if share["split"] is not None:
            rate += f", by splitting {split_text(share['split'])}"
        if setting:
            rate += f" with {setting}; in {failure['violated_in']} of {len(data['configurations'])} configurations"
        more = ", leaves its bounds" if failure["is_error"] else ""
        if length is not None:
            more = f", but exploration finds it violated: {length} states"
        shown.append(line((f"  {mark} ", style), f"{failure['property']:<{width}}", f"  {rate}{more}"))
    for number, cluster in enumerate(data["clusters"][:8], 1):
        shortest = "" if cluster["shortest"] is None else f", shortest with this cause {cluster['shortest']['length']}"
        shown += [
            BLANK,
            line(
                f"  {number}. ",
                (cluster["property"], "bold"),
                f"  {walks_text(cluster)}, {quantity(cluster['length'], 'state')}{shortest}",
            ),
            *_story_lines(cluster),
            line(("     " + ", ".join(map(_step_text, cluster["schedule"])), "dim")),
        ]
    if len(data["clusters"]) > 8:
        shown += [BLANK, line(f"  and {len(data['clusters']) - 8} more causes")]
    shown += _risk_lines(data["risks"])
    if data["comparison"]:
        before = data["comparison"]["before"]
        shown += _comparison_lines(data["comparison"], "Compared with ", run_name(before), before["walks"])
    for sibling in data["siblings"]:
        shown += _comparison_lines(sibling, "Beside ", sibling_name(sibling), sibling["after"]["walks"])
    shown += _trend_lines(data["trend"]) if data["trend"] else []
    choice = choice_text(data["bias"], data["weights"])
    notes = [*([choice] if choice else []), *data["notes"]]
    shown += [BLANK, *(line((f"  {note}", "yellow")) for note in notes), line("  ", str(page))]
    return shown


def _risk_lines(risks: list[dict[str, Any]]) -> list[Line]:
    """Return for each property the settings with which walks alone or never violate it, then the greatest risks."""
    shown = []
    for name in dict.fromkeys(row["property"] for row in risks):
        own = [row for row in risks if row["property"] == name]
        greater = [row for row in own if is_shown(row) and row["ratio"] > 1]
        greater.sort(key=lambda row: (row["kind"] == "action", -row["ratio"]))
        shown += [
            line("    ", (name, "bold"), f" {risk_text(row)}")
            for row in [*filter(is_absolute, own), *greater[:MOST_RISKS]]
        ]
    return [BLANK, line("  Risk factors (an association, not a proof of a cause):"), *shown] if shown else []


def _comparison_lines(comparison: dict[str, Any], title: str, name: str, walks: int) -> list[Line]:
    """Return the differences from the report on another run, with the causes that vanish and those that are new."""
    shown = [BLANK, line(f"  {title}", (name, "bold"), f", {quantity(walks, 'walk')}:")]
    rows = [(row["property"], row) for row in comparison["failures"]]
    rows += [(f"{row['property']} by {', '.join(row['actions'])}", row) for row in comparison["causes"]]
    for text, row in rows:
        where = f" with {row['setting']}" if row["setting"] else ""
        shares = f"{share_text(row['before']['rate'])} → {share_text(row['after']['rate'])}"
        change = "no difference shown" if row["change"] == "not shown" else row["change"]
        shown.append(line(f"    {change}: ", (text, "bold"), f"{where}  {shares}"))
    return [*shown, *(line((f"  {note}", "yellow")) for note in comparison["notes"])]


def _trend_lines(trend_data: dict[str, Any]) -> list[Line]:
    """Return the rates of the last runs in the history, and the change since the run before."""
    shown = [
        BLANK,
        line(f"  Trend over {quantity(trend_data['runs'], 'run')}, the last one is this:"),
    ]
    for row in trend_data["rows"]:
        where = f" with {row['setting']}" if row["setting"] else ""
        rates = " → ".join(share_text(rate["rate"]) for rate in row["rates"][-MOST_RUNS:])
        change = "no difference shown" if row["change"] == "not shown" else row["change"]
        shown.append(line("    ", (row["property"], "bold"), f"{where}  {rates}  ({change})"))
    return shown


def query_walks_of(folder: Location, spec: Path | None, query: str, json_name: str) -> int:
    """Print the result of a SQL query over a folder of walks, or write it as JSON lines; return the exit status.

    Raises UserError if the query is wrong or the folder has no readable walks.
    """
    run = run_with_known_target(folder, spec)
    json_file = Path(json_name) if json_name not in ("", STANDARD_OUTPUT) else None
    check_outputs({"--json": json_file}, [spec] if spec is not None else [])
    check_walk_outputs({"--json": json_file}, folder)
    parts = readable_parts(folder, run, part_kinds(run))
    answer = query_walks(folder, run, parts, query)
    with JsonLines(json_name) as json_lines:
        for row in result_objects(answer) if json_name else ():
            json_lines.write(row)
    for text in result_lines(answer) if json_name != STANDARD_OUTPUT else ():
        print(printable(text))
    for sentence in parts.sentences:
        print(printable(f"error: {sentence}"), file=sys.stderr)
    return EXIT_WRONG_INPUT if parts.damaged else EXIT_STOPPED if parts.missing else EXIT_OK


def _story_lines(cluster: dict[str, Any]) -> list[Line]:
    """Return the sentences of a cause: the promise, the violation, the steps behind it, and the tickets."""
    steps = {"Made possible": cluster["made_possible_by"], "Violated": cluster["violated_by"]}
    texts = [
        f"{verb} by step {step['step']}{_fault_text(step.get('fault', ''))}: {step['sentence']}"
        for verb, step in steps.items()
        if step is not None
    ]
    promise = [f"Promised: {cluster['promise']}"] if cluster["promise"] else []
    tickets = [f"Tickets: {', '.join(cluster['tickets'])}"] if cluster["tickets"] else []
    return [
        line(part)
        for text in (*promise, cluster["sentence"], *texts, *tickets)
        for part in textwrap.wrap(text, SENTENCE_WIDTH, initial_indent=" " * 5, subsequent_indent=" " * 7)
    ]


def _fault_text(kind: str) -> str:
    """Return the kind of a fault in parentheses; "" for any other step."""
    return f" ({kind})" if kind else ""


def _step_text(step: dict[str, Any]) -> str:
    return f"{step['action']}{_fault_text(step['fault'])}"
