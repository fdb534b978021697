"""`prove`: proofs and bounded searches executed one after the other, and reported."""

from __future__ import annotations

import ctypes
import dataclasses
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from checker.errors import InputError, MissingExtraError, UserError
from checker.language.roles import Role
from checker.output import styled_lines as lines
from checker.output import text
from checker.output.files import STANDARD_OUTPUT, JsonLines
from checker.output.proof_files import PageFolder, breaking_step, page_name, proof_command
from checker.output.styled_lines import BLANK, Line, line
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED, EXIT_WRONG_INPUT, Request, Run, runs_for
from checker.run.result import Violation
from traces import trace_file
from traces.replay import replay

Method = Literal["induction", "k-induction", "bounded", "pdr"]

DEPTHS: dict[Method, int] = {"k-induction": 4, "bounded": 10}
"""How far a method that takes `--depth` goes where it does not say."""

PROVABLE = (Role.INVARIANT, Role.STEP_INVARIANT)


@dataclass(frozen=True)
class ProofSettings:
    """How to prove: the method, its depth, the seconds a query may take, and where the results go.

    `out` is a folder for pages and files of counterexamples, of counterexamples to induction too.
    """

    method: Method
    depth: int
    timeout: float
    workers: int
    json: str = ""
    unbounded: tuple[str, ...] = ()
    find_lemmas: bool = False
    out: Path | None = None


@dataclass(frozen=True)
class ProofReport:
    """What there is to say of one configuration: for people, for programs, and as an exit status.

    `violations` are counterexamples; `pages` has those to induction as HTML, by the names of their files.
    """

    lines: list[Line]
    content: dict[str, Any]
    status: int
    violations: tuple[Violation, ...] = ()
    pages: Mapping[str, str] = field(default_factory=dict)


def depth_of(method: Method, given: int | None) -> int:
    """Return how far a method goes; raise UserError where `--depth` is given to one that has none."""
    if given is not None and method not in DEPTHS:
        raise InputError(f"--depth goes with --method {' or '.join(DEPTHS)}, not with {method}")
    return given or DEPTHS.get(method, 1)


def execute_proofs(request: Request, settings: ProofSettings) -> int:
    """Prove what a request asks for and return the exit status; raise UserError where the input is wrong."""
    _require_z3()
    statuses, wrong = [], []
    folder = PageFolder(settings.out)
    with JsonLines(settings.json) as json_lines:
        for run in runs_for(request):
            try:
                report = _proved(run, settings, request.properties)
            except UserError as error:
                wrong.append(error if error.file else InputError(f"{run.name}: {error.message}"))
                continue
            except (KeyboardInterrupt, ctypes.ArgumentError) as error:
                # An interrupt while Z3 is called is one of these, and says so.
                if isinstance(error, ctypes.ArgumentError) and "KeyboardInterrupt" not in str(error):
                    raise
                print(f"\nstopped: {run.name} is neither proved nor refuted", file=sys.stderr)
                statuses.append(EXIT_STOPPED)
                break
            statuses.append(report.status)
            folder.write(run, report.violations, report.pages)
            json_lines.write(report.content)
            if settings.json != STANDARD_OUTPUT:
                lines.write([*report.lines, BLANK], sys.stdout)
    folder.close()
    for message in dict.fromkeys(str(error) for error in wrong):
        print(f"error: {message}", file=sys.stderr)
    if wrong:
        return EXIT_WRONG_INPUT
    return next((status for status in (EXIT_VIOLATED, EXIT_STOPPED) if status in statuses), EXIT_OK)


def _require_z3() -> None:
    try:
        import z3  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError(
            "proofs need Z3, which is not installed: pip install 'tidemark[prove]', "
            "or pip install -e '.[prove]' in a checkout"
        ) from None


def _proved(run: Run, settings: ProofSettings, asked: tuple[str, ...]) -> ProofReport:
    provers: dict[Method, Callable[[Run, list[str], list[str], ProofSettings], ProofReport]] = {
        "induction": _induction,
        "k-induction": _k_induction,
        "bounded": _bounded,
        "pdr": _pdr,
    }
    names = [name for name in run.properties if run.spec.roles.get(name) in PROVABLE]
    expected = run.expected if isinstance(run.expected, Mapping) else {}
    if settings.method not in ("bounded", "pdr") and not asked:
        names = [name for name in names if name not in expected]
    if not names:
        raise InputError("there is nothing to prove: no invariant or step invariant is asked for and expected to hold")
    lemmas = run.spec.names_of(Role.LEMMA)
    if settings.unbounded and settings.find_lemmas:
        raise InputError("--find-lemmas explores states, of which --unbounded has no end: write one of the two")
    if settings.unbounded:
        return _unbounded(run, names, lemmas, settings)
    unenumerated = dataclasses.replace(run, spec=run.spec.unenumerated())
    if settings.find_lemmas:
        if settings.method != "induction":
            raise InputError(f"--find-lemmas goes with --method induction, not with {settings.method}")
        return _with_found_lemmas(unenumerated, names, lemmas, settings)
    return provers[settings.method](unenumerated, names, lemmas, settings)


def _with_found_lemmas(run: Run, names: list[str], lemmas: list[str], settings: ProofSettings) -> ProofReport:
    from checker.execution.prove_lemmas import with_found_lemmas

    progress = _ProofProgress(run.name)
    goals = [*names, *lemmas]
    extended, shown, found = with_found_lemmas(run, goals, settings.timeout, settings.workers, progress.show)
    progress.clear()
    report = _induction(extended, names, extended.spec.names_of(Role.LEMMA), settings)
    heading, *rest = report.lines
    content = {**report.content, "found": found}
    return dataclasses.replace(report, lines=[heading, *shown, *rest], content=content)


class _ProofProgress:
    """One line on standard error that says what is asked now, in a terminal only."""

    def __init__(self, name: str):
        self._name, self._started = name, time.monotonic()
        self._is_shown = sys.stderr.isatty()

    def show(self, words: str) -> None:
        """Show what is asked now."""
        if self._is_shown and time.monotonic() - self._started > 0.5:
            print(f"\r\033[K{self._name}: {words}, {time.monotonic() - self._started:.0f} s", end="", file=sys.stderr)

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _content(run: Run, settings: ProofSettings, verdict: str, **more: Any) -> dict[str, Any]:
    return {
        "spec": run.entry.name,
        "scenario": run.scenario,
        "constants": run.spec.constants,
        "method": settings.method,
        "verdict": verdict,
        **more,
    }


def _status(verdict: str) -> int:
    return {"proved": EXIT_OK, "fails": EXIT_VIOLATED, "unknown": EXIT_STOPPED}[verdict]


def _induction(run: Run, names: list[str], lemmas: list[str], settings: ProofSettings) -> ProofReport:
    from checker.engines.smt.induction import prove
    from checker.engines.smt.reachability import ReachableStates
    from checker.engines.smt.solving import QueryLimits
    from checker.engines.smt.transition_system import TransitionSystem
    from checker.output import proof_text
    from checker.output.page.induction_page import induction_page

    progress = _ProofProgress(run.name)
    system = TransitionSystem(run.spec, [*names, *lemmas])
    spec = system.spec
    proof = prove(
        system,
        names,
        lemmas,
        QueryLimits(settings.timeout),
        lambda conjunct, action: progress.show(f"{conjunct}, {action}"),
    )
    explored = ReachableStates(run.entry.spec(**run.spec.constants), settings.workers)
    first = {cell.conjunct: cell for cell in reversed(proof.cells) if cell.outcome == "fails"}
    shown = [proof_text.heading(spec, run.name), *proof_text.induction_lines(proof)]
    labels: dict[tuple[str, str], str] = {}
    pages: dict[str, str] = {}
    for cell in proof.cells:
        found = cell.counterexample
        if found is None or found.before is None:
            if found is not None:
                shown += proof_text.step_lines(spec, cell, None)
            continue
        progress.show("looking up counterexamples to induction")
        where = explored.look_up(found.before)
        labels[cell.conjunct, cell.action] = where.label
        if cell is first[cell.conjunct] or where.trace is not None:
            shown += proof_text.step_lines(spec, cell, where)
            if settings.out is not None:
                command = (
                    proof_command(run, "--property", cell.conjunct) if cell.conjunct in names else proof_command(run)
                )
                trace, failed = breaking_step(found)
                page = induction_page(spec, run.name, command, cell.conjunct, trace, failed, where)
                pages[page_name(run, cell.conjunct, cell.action)] = page
    progress.clear()
    cells = [
        {
            "conjunct": cell.conjunct,
            "action": cell.action,
            "outcome": cell.outcome,
            "seconds": round(cell.seconds, 6),
            "reason": cell.reason,
            "first_state": labels.get((cell.conjunct, cell.action)),
        }
        for cell in proof.cells
    ]
    more = {"properties": names, "lemmas": lemmas, "never_taken": proof.never_taken, "queries": cells}
    content = _content(run, settings, {"fails": "not inductive"}.get(proof.verdict, proof.verdict), **more)
    return ProofReport(shown, content, _status(proof.verdict), pages=pages)


def _unbounded(run: Run, names: list[str], lemmas: list[str], settings: ProofSettings) -> ProofReport:
    from checker.execution.prove_unbounded import proved_unbounded

    if settings.method != "induction":
        raise InputError(f"--unbounded goes with --method induction, not with {settings.method}")
    progress = _ProofProgress(run.name)
    unbounded = list(dict.fromkeys(settings.unbounded))
    found = proved_unbounded(run, names, lemmas, unbounded, settings.timeout, settings.workers, progress.show)
    progress.clear()
    content = _content(run, settings, {"fails": "not inductive"}.get(found.verdict, found.verdict), **found.content)
    return ProofReport(found.lines, content, _status(found.verdict), tuple(found.violations), found.pages)


def _k_induction(run: Run, names: list[str], lemmas: list[str], settings: ProofSettings) -> ProofReport:
    from checker.engines.smt.k_induction import prove
    from checker.engines.smt.reachability import ReachableStates
    from checker.engines.smt.solving import QueryLimits
    from checker.engines.smt.transition_system import TransitionSystem
    from checker.output import proof_text
    from checker.output.page.induction_page import induction_page

    progress = _ProofProgress(run.name)
    system = TransitionSystem(run.spec, [*names, *lemmas])
    proof = prove(
        system,
        [*names, *lemmas],
        settings.depth,
        QueryLimits(settings.timeout),
        lambda k, conjunct: progress.show(f"k = {k}, {conjunct}"),
    )
    progress.show("looking up counterexamples to induction")
    explored = ReachableStates(run.entry.spec(**run.spec.constants), settings.workers)
    where = {name: explored.look_up(trace[0].state) for name, trace in proof.failing.items()}
    progress.clear()
    shown = [proof_text.heading(run.spec, run.name), *proof_text.k_induction_lines(run.spec, proof, names, where)]
    shown += _counterexamples(run, proof.base.violations)
    pages: dict[str, str] = {}
    for name, trace in proof.failing.items() if settings.out is not None else ():
        command = proof_command(run, "--method", "k-induction", "--depth", str(proof.k))
        failed = proof.failed_actions.get(name)
        page = induction_page(run.spec, run.name, command, name, trace, failed, where[name])
        pages[page_name(run, name, f"{proof.k}-steps")] = page
    more = {"properties": names, "lemmas": lemmas, "k": proof.k, "not_proved": list(proof.failing)}
    more |= {"first_states": {name: found.label for name, found in where.items()}}
    more |= {"violations": _violations_to_json(run, proof.base.violations)}
    verdict = "violated" if proof.base.violations else {"fails": "not proved"}.get(proof.verdict, proof.verdict)
    content = _content(run, settings, verdict, **more)
    return ProofReport(shown, content, _status(proof.verdict), tuple(proof.base.violations), pages)


def _bounded(run: Run, names: list[str], lemmas: list[str], settings: ProofSettings) -> ProofReport:
    from checker.engines.smt.bounded import search
    from checker.engines.smt.solving import QueryLimits
    from checker.engines.smt.transition_system import TransitionSystem
    from checker.output import proof_text

    progress = _ProofProgress(run.name)
    system = TransitionSystem(run.spec, names)
    found = search(
        system,
        names,
        settings.depth,
        QueryLimits(settings.timeout),
        run.stop,
        lambda length, seconds: progress.show(f"traces of {length} states"),
    )
    progress.clear()
    shown = [proof_text.heading(run.spec, run.name), *proof_text.bounded_lines(found)]
    differences = _differences(run, found.violations, settings.depth)
    shown += [line((f"  {words}", "red")) for words in differences]
    shown += _counterexamples(run, found.violations)
    verdict = "violated" if found.violations else "unknown" if found.unknown else "no violation"
    more = {
        "properties": names,
        "depth": found.depth,
        "differences": differences,
        "unknown": [{"property": u.property, "length": u.length, "reason": u.reason} for u in found.unknown],
        "seconds": [round(seconds, 6) for seconds in found.seconds],
        "violations": _violations_to_json(run, found.violations),
    }
    is_wrong = bool(differences) or (run.expected is None and bool(found.violations))
    status = EXIT_VIOLATED if is_wrong else EXIT_STOPPED if found.unknown else EXIT_OK
    return ProofReport(shown, _content(run, settings, verdict, **more), status, tuple(found.violations))


def _pdr(run: Run, names: list[str], lemmas: list[str], settings: ProofSettings) -> ProofReport:
    from checker.execution.prove_pdr import by_pdr

    progress = _ProofProgress(run.name)
    shown, more, verdict, violation = by_pdr(run, names, settings.timeout, progress.show)
    progress.clear()
    found = [violation] if violation is not None else []
    shown += _counterexamples(run, found)
    more = {"properties": names, **more, "violations": _violations_to_json(run, found)}
    content = _content(run, settings, {"holds": "proved"}.get(verdict, verdict), **more)
    status = {"holds": EXIT_OK, "violated": EXIT_VIOLATED, "unknown": EXIT_STOPPED}[verdict]
    is_expected = run.expected is not None and found and not _differences(run, found, depth=0)
    return ProofReport(shown, content, EXIT_OK if is_expected else status, tuple(found))


def _differences(run: Run, violations: list[Violation], depth: int) -> list[str]:
    """Return in words what is not as the scenario expects."""
    if run.expected is None:
        return []
    if isinstance(run.expected, str):
        fine = run.expected == "error" and all(found.kind == "bounds_error" for found in violations)
        return [] if fine else [f"{found.property} is violated, which is not expected" for found in violations]
    lengths = {found.property: found.length for found in violations}
    differences = []
    for name, length in run.expected.items():
        if name in lengths and length not in (None, lengths[name]):
            differences.append(f"expected {name} to be violated by {length} states, but it takes {lengths[name]}")
        elif name not in lengths and length is not None and length <= depth:
            differences.append(f"expected {name} to be violated by {length} states, but it is not by up to {depth}")
    return differences


def _counterexamples(run: Run, violations: list[Violation]) -> list[Line]:
    """Return the lines of counterexamples, each of which the interpreter takes step by step."""
    shown: list[Line] = []
    for violation in violations:
        replay(run.spec, violation)
        shown += [BLANK, *text.counterexample(run.spec, run.name, violation)]
    return shown


def _violations_to_json(run: Run, violations: list[Violation]) -> list[dict[str, Any]]:
    return [
        {
            "property": violation.property,
            "kind": violation.kind,
            "length": violation.length or None,
            "explanation": violation.explanation,
            "trace": trace_file.steps_to_json(run.spec, violation.trace),
        }
        for violation in violations
    ]
