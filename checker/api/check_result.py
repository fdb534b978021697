"""The result of a check: the verdicts, counts, traces and states of one exploration."""

from __future__ import annotations

from typing import Literal

from checker.api.state_graph import MOST_STATES, StateGraph
from checker.api.trace import Trace
from checker.language.spec import Spec
from checker.output import styled_lines
from checker.output.counterexample_text import constants_text
from checker.output.page.render import render_fragment
from checker.output.run_summary import run_details
from checker.output.run_table import columns_line, row
from checker.printable import quantity
from checker.run.account import account_of
from checker.run.expectation import states_text
from checker.run.plan import DEADLOCK
from checker.run.result import Coverage, Result, Verdict, Violation

PropertyVerdict = Literal["holds", "violated", "error", "undecided"]


class CheckResult:
    """The result of exploring a spec. It prints as `run` does; in a notebook it also shows the counterexamples.

    `result` is the engine's result with every figure; the most used ones are attributes here. `properties` are the
    properties that were checked, with `deadlock` if it was; `account` has what the run did with each declared one.
    """

    def __init__(self, spec: Spec, result: Result, properties: tuple[str, ...], name: str):
        self.spec, self.result, self.properties, self.name = spec, result, properties, name
        self.account = account_of(spec, properties, result)

    @property
    def verdict(self) -> Verdict:
        """The verdict of the run: "holds", "violated", "error" or "incomplete"."""
        return self.result.verdict

    @property
    def holds(self) -> bool:
        """Whether every property holds and the exploration is complete."""
        return self.verdict == "holds"

    @property
    def verdicts(self) -> dict[str, PropertyVerdict]:
        """The verdict of each property.

        It is "undecided" if the run stopped before the property was decided, for example at the violation of another
        property: `explore(spec, stop="all")` decides every property.
        """
        return {name: self._verdict_of(name) for name in self.properties}

    def _verdict_of(self, name: str) -> PropertyVerdict:
        kinds = [violation.kind for violation in self.result.violations if violation.property == name]
        if kinds:
            return "error" if "bounds_error" in kinds else "violated"
        return "holds" if self.result.is_decided(name) else "undecided"

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The violations, in the order in which they were found."""
        return tuple(self.result.violations)

    @property
    def traces(self) -> dict[str, Trace]:
        """The counterexample of each violated property. A `@reachable` that is never reached has none."""
        violations = [violation for violation in self.result.violations if violation.trace]
        return {violation.property: Trace(self.spec, violation, self.name) for violation in violations}

    @property
    def trace(self) -> Trace | None:
        """The first counterexample, or None."""
        return next(iter(self.traces.values()), None)

    @property
    def distinct_states(self) -> int:
        """The number of states that were found."""
        return self.result.distinct_states

    @property
    def generated_states(self) -> int:
        """The number of executed action instances."""
        return self.result.generated_states

    @property
    def depth(self) -> int:
        """The number of levels: the number of states of a longest shortest path."""
        return self.result.depth

    @property
    def levels(self) -> tuple[int, ...]:
        """The number of new states of each level."""
        return self.result.levels

    @property
    def reached(self) -> dict[str, int]:
        """The number of states of the shortest trace to each `@reachable` that was reached."""
        return self.result.reached

    @property
    def seconds(self) -> float:
        """The time of the exploration without compilation."""
        return self.result.seconds

    @property
    def coverage(self) -> dict[str, Coverage]:
        """The successors of each action, and the states that it reached first."""
        return self.result.coverage

    def graph(self, most_states: int = MOST_STATES) -> StateGraph:
        """Return all states and steps of the spec, explored again; see `StateGraph`."""
        return StateGraph(self.spec, most_states)

    def __repr__(self) -> str:
        violated = ", ".join(violation.property for violation in self.violations)
        shown = f"{self.verdict}: {violated}" if violated else self.verdict
        return f"<CheckResult of {self.name}: {shown}, {quantity(self.distinct_states, 'state')}, depth {self.depth}>"

    def __str__(self) -> str:
        width = len(self.name)
        lines = [
            columns_line(width),
            *row(self.name, width, self.result, None),
            *run_details(self.result, self.account),
        ]
        shown = [styled_lines.plain(lines).rstrip(), *(str(trace) for trace in self.traces.values())]
        return "\n\n".join(shown)

    def _repr_html_(self) -> str:
        return render_fragment(
            "notebook_result.html.j2",
            filters={"states": states_text},
            result=self,
            constants=constants_text(self.spec.constants),
        )


def deadlock_included(properties: tuple[str, ...], *, deadlock: bool) -> tuple[str, ...]:
    """Return the names of properties, with the built-in property `deadlock` if it is checked."""
    return (*properties, DEADLOCK) if deadlock and DEADLOCK not in properties else properties
