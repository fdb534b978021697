"""JUnit XML: a test suite for each run, with a test case for each property."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from checker.errors import UserError
from checker.evidence.spec_findings import findings_by_spec
from checker.explain.locations import location_of
from checker.output.output_files import open_for_writing
from checker.output.problems import BOUNDS, DRIFT, Problem, problems_of
from checker.output.reports import ReportTarget
from checker.run.expectation import end_text
from checker.run.finding import Finding
from checker.run.finished import FinishedRun
from checker.run.request import Run
from checker.run.result import Result

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent, not even escaped. The message of a property may contain them."""


class JUnitReport:
    """Collects runs and writes them to a file as one document when it is closed."""

    def __init__(self, target: ReportTarget):
        self._strict = target.strict
        self._finished: list[FinishedRun] = []
        self._stream = open_for_writing(target.path)
        self._root = ElementTree.Element("testsuites", name="tidemark")

    def add(self, done: FinishedRun) -> None:
        """Add a run as a test suite."""
        run, result, problems = done.run, done.result, problems_of(done)
        cases = [_case(run, result, name, problems) for name in run.properties]
        if run.expected == "error" or any(problem.property == BOUNDS for problem in problems):
            cases.append(_case(run, result, BOUNDS, problems))
        self.add_suite(run.name, cases, result.seconds, properties=dataclasses.asdict(done.account))
        self._finished.append(done)

    def add_wrong(self, name: str, error: UserError) -> None:
        """Add a run that could not be executed because its spec is wrong."""
        case = ElementTree.Element("testcase", name="spec")
        _say(case, "error", error.message, str(error))
        self.add_suite(name, [case], 0.0)

    def add_drift(self, ledger: Path, text: str) -> None:
        """Add the differences from a ledger as a test suite."""
        case = ElementTree.Element("testcase", name=ledger.name)
        _say(case, "failure", DRIFT, text)
        self.add_suite("ledger", [case], 0.0)

    def close(self) -> None:
        """Write the document."""
        for spec in findings_by_spec(self._finished):
            self.add_suite(f"{spec.name} evidence", _evidence_cases(spec.findings, self._strict), 0.0)
        self._root.set("time", f"{sum(float(suite.get('time', '0')) for suite in self._root):.3f}")
        for outcome in ("tests", "failures", "errors"):
            self._root.set(outcome, str(sum(int(suite.get(outcome, "0")) for suite in self._root)))
        _clean(self._root)
        ElementTree.indent(self._root)
        with self._stream:
            self._stream.write('<?xml version="1.0" encoding="utf-8"?>\n')
            self._stream.write(ElementTree.tostring(self._root, encoding="unicode") + "\n")

    def add_suite(
        self,
        name: str,
        cases: list[ElementTree.Element],
        seconds: float,
        properties: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Add a test suite of finished test cases, at least one, and of their seconds in all."""
        suite = ElementTree.SubElement(self._root, "testsuite", name=name, time=f"{seconds:.3f}")
        if properties is not None:
            listed = ElementTree.SubElement(suite, "properties")
            for key, names in properties.items():
                ElementTree.SubElement(listed, "property", name=key, value=" ".join(names))
        for key, outcome in (("tests", None), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(key, str(sum(outcome is None or case.find(outcome) is not None for case in cases)))
        for case in cases:
            case.set("classname", name)
            case.set("time", f"{seconds / len(cases):.3f}")
            suite.append(case)


def _case(run: Run, result: Result, name: str, problems: list[Problem]) -> ElementTree.Element:
    case = ElementTree.Element("testcase", name=name)
    own = [problem for problem in problems if problem.property == name]
    wrong = [problem for problem in own if not problem.accepted]
    if wrong:
        _say(case, "failure", wrong[0].message, "\n".join(_text(problem) for problem in wrong))
    elif not own and not result.is_decided(name):
        ElementTree.SubElement(case, "skipped", message=f"not decided: {_why_undecided(result, name)}")
    return case


def _why_undecided(result: Result, name: str) -> str:
    if name in result.undecided:
        return result.undecided[name]
    if result.verdict == "error":
        return "the run stopped where a value leaves the bounds of its type"
    if result.ended == "violation":
        names = ", ".join(dict.fromkeys(violation.property for violation in result.violations))
        return f"the run stopped at the violation of {names}; --keep-going decides the other properties"
    return end_text(result)


def _evidence_cases(findings: tuple[Finding, ...], strict: bool) -> list[ElementTree.Element]:
    """Return a test case for each finding about a spec; without findings, one case that states so."""
    cases = []
    for finding in findings:
        case = ElementTree.Element("testcase", name=f"{finding.kind} {finding.subject}")
        if strict and not finding.is_note:
            _say(case, "failure", finding.message, str(finding))
        else:
            ElementTree.SubElement(case, "system-out").text = str(finding)
        cases.append(case)
    return cases or [ElementTree.Element("testcase", name="nothing is unused")]


def _text(problem: Problem) -> str:
    """Return the location of a property and the counterexample."""
    place = location_of(type(problem.run.spec), problem.method)
    return (f"{place.relative}:{place.first_line}\n\n" if place is not None else "") + problem.details


def _clean(root: ElementTree.Element) -> None:
    """Replace the characters that XML cannot represent, in every text and attribute."""
    for element in root.iter():
        element.text = _NOT_IN_XML.sub("\ufffd", element.text) if element.text else element.text
        for name, value in element.items():
            element.set(name, _NOT_IN_XML.sub("\ufffd", value))


def _say(case: ElementTree.Element, outcome: str, message: str, content: str) -> None:
    element = ElementTree.SubElement(case, outcome, message=message, type=outcome)
    element.text = content
