"""SARIF 2.1.0: every violation as a result at the lines of its property, with its counterexample as a code flow.

Source: Static Analysis Results Interchange Format (SARIF) 2.1.0, OASIS. GitHub's page "SARIF support for code scanning"
describes the parts that it shows. Paths are relative to the checkout.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from checker.errors import UserError
from checker.evidence.spec_findings import findings_by_spec
from checker.explain.differences import changes
from checker.explain.locations import SourceLocation, last_action, location_of, location_of_error
from checker.output import styled_lines
from checker.output.counterexample_text import change_lines, state_lines
from checker.output.lasso_text import loop_text
from checker.output.output_files import open_for_writing
from checker.output.problems import BOUNDS, Problem, location_of_finding, problems_of
from checker.output.reports import ReportTarget
from checker.run.expectation import end_text
from checker.run.finding import Finding
from checker.run.finished import FinishedRun
from checker.run.plan import DEADLOCK
from checker.run.request import Run
from checker.run.result import TraceStep, Violation
from checker.run.version import tidemark_version

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
WRONG_SPEC = "wrong-spec"

_Json = dict[str, Any]


class SarifReport:
    """Collects runs and writes them to a file as one SARIF run when it is closed."""

    def __init__(self, target: ReportTarget):
        self._strict = target.strict
        self._finished: list[FinishedRun] = []
        self._stream = open_for_writing(target.path)
        self._rules: dict[str, _Json] = {}
        self._results: list[_Json] = []
        self._notifications: list[_Json] = []

    def add(self, done: FinishedRun) -> None:
        """Add a rule for each property of a run, and a result for each of its problems."""
        for name in done.run.properties:
            self._rule(done.run, name)
        for problem in problems_of(done):
            rule = self._rule(done.run, problem.property)
            self._add_result(rule, _result(problem))
        if done.is_open:
            # Without results it would look like a run in which every property holds.
            message = {"text": f"{done.run.name} is not decided: {end_text(done.result)}"}
            self._notifications.append({"level": "warning", "message": message})
        self._finished.append(done)

    def add_wrong(self, name: str, error: UserError) -> None:
        """Add a run that could not be executed because its spec is wrong."""
        description = "A spec that is wrong or outside the language cannot be run."
        self._rules.setdefault(WRONG_SPEC, _rule(WRONG_SPEC, "wrong_spec", description, description))
        message = {"text": f"{name} cannot be run: {error.message}"}
        result = {"level": "error", "message": message, "locations": _locations(location_of_error(error))}
        self._add_result(WRONG_SPEC, result)
        self._notifications.append(result)

    def add_drift(self, ledger: Path, text: str) -> None:
        """Add the differences from a ledger."""
        description = "The results of all scenarios are as recorded in the ledger."
        self._rules.setdefault("ledger", _rule("ledger", "ledger", description, description))
        locations = [_location(SourceLocation(str(ledger), 1, 1))]
        self._add_result("ledger", {"level": "error", "message": {"text": text.strip()}, "locations": locations})

    def close(self) -> None:
        """Write the log."""
        for spec in findings_by_spec(self._finished):
            for finding in spec.findings:
                self._add_finding(spec.name, finding)
        driver = {"name": "tidemark", "semanticVersion": _version(), "rules": list(self._rules.values())}
        notifications = self._notifications
        invocation = {"executionSuccessful": not notifications, "toolExecutionNotifications": notifications}
        run = {"tool": {"driver": driver}, "invocations": [invocation], "results": self._results}
        log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"columnKind": "unicodeCodePoints", **run}]}
        with self._stream:
            json.dump(log, self._stream, indent=1)
            self._stream.write("\n")

    def _add_result(self, rule: str, result: _Json) -> None:
        self._results.append({"ruleId": rule, "ruleIndex": list(self._rules).index(rule), **result})

    def _add_finding(self, name: str, finding: Finding) -> None:
        rule = f"evidence/{finding.kind}"
        description = f"Unused: {finding.kind.replace('_', ' ')}, in all complete runs of a spec."
        self._rules.setdefault(rule, _rule(rule, finding.kind, description, description, "warning"))
        level = "note" if finding.is_note else "error" if self._strict else "warning"
        message = {"text": f"{name}: {finding.message}"}
        locations = [_location(location_of_finding(finding))]
        self._add_result(rule, {"level": level, "message": message, "locations": locations})

    def _rule(self, run: Run, name: str) -> str:
        """Return the id of the rule of a property, and add the rule if it is new."""
        rule = f"{run.entry.name}/{name}"
        if rule not in self._rules:
            self._rules[rule] = _rule(rule, name, *_descriptions(run, name))
        return rule


def _version() -> str:
    version = tidemark_version()
    return version if version[0].isdigit() else "0.0.0"


def _rule(rule: str, name: str, short: str, full: str, level: str = "error") -> _Json:
    return {
        "id": rule,
        "name": name,
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "help": {"text": full},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["model-checking"]},
    }


def _descriptions(run: Run, name: str) -> tuple[str, str]:
    """Return a property as one sentence, and its documentation."""
    if name == BOUNDS:
        short = f"{run.entry.name}: every value stays within the bounds of its type."
    elif name == DEADLOCK:
        short = f"{run.entry.name}: every state has a successor."
    else:
        short = f"{run.entry.name}: {run.spec.roles[name].value} {name}."
    documented = " ".join((getattr(type(run.spec), name, None).__doc__ or "").split()) if name in run.spec.roles else ""
    return short, documented or short


def _result(problem: Problem) -> _Json:
    run, violation = problem.run, problem.violation
    result: _Json = {
        "level": "note" if problem.accepted else "error",
        "message": {"text": f"{run.name}: {problem.message}"},
        "locations": _locations(location_of(type(run.spec), problem.method)),
        "partialFingerprints": {"scenarioAndProperty/v1": f"{run.name}/{problem.property}"},
        "properties": {"constants": run.spec.constants},
    }
    if violation is not None:
        result["properties"]["counterexampleStates"] = violation.length
        result["properties"]["command"] = run.command(violation)
        result |= _how(run, violation)
    if problem.accepted:
        why = f"The scenario {run.name} expects it."
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": why}]
    return result


def _how(run: Run, violation: Violation) -> _Json:
    """Return the last action of a violation, and the steps of its trace as a code flow."""
    places: _Json = {}
    action = last_action(violation)
    place = location_of(type(run.spec), action) if action is not None else None
    if place is not None:
        step = violation.failed_action or violation.trace[-1]
        role = "the last action" if violation.closing_step is None else "the action that closes the loop"
        places["relatedLocations"] = [_location(place, f"{role}: {step}") | {"id": 1}]
    flow = [_flow_location(run, violation.trace, number) for number in range(len(violation.trace))]
    if violation.failed_action is not None:
        flow.append(
            _step_location(run, violation.failed_action.action, f"{violation.failed_action} cannot be executed")
        )
    if violation.loop_start is not None:
        action = violation.trace[violation.loop_start].action or "init"
        flow.append(_step_location(run, action, "\n".join([loop_text(violation), *violation.fairness])))
    if flow:
        places["codeFlows"] = [{"message": {"text": "The counterexample"}, "threadFlows": [{"locations": flow}]}]
    return places


def _flow_location(run: Run, trace: tuple[TraceStep, ...], number: int) -> _Json:
    step = trace[number]
    if number == 0:
        changed = state_lines(run.spec, step.state)
    else:
        changed = change_lines(changes(run.spec, trace[number - 1].state, step.state))
    return _step_location(run, step.action or "init", f"{step}\n{styled_lines.plain(changed)}".strip())


def _step_location(run: Run, action: str, message: str) -> _Json:
    place = location_of(type(run.spec), action)
    return {"location": _location(place, message) if place is not None else {"message": {"text": message}}}


def _locations(place: SourceLocation | None) -> list[_Json]:
    return [_location(place)] if place is not None else []


def _location(place: SourceLocation, message: str = "") -> _Json:
    artifact = {"uri": place.uri}
    if not place.relative.startswith("/"):
        artifact["uriBaseId"] = "%SRCROOT%"
    region = {"startLine": place.first_line, "endLine": place.last_line}
    location: _Json = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    return location | ({"message": {"text": message}} if message else {})
