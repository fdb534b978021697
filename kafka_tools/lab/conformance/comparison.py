"""The answers of Kafka's class beside those of a rule of the spec, for all inputs of a scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kafka_tools.lab.conformance.controller_cases import Case, ControllerCases
from kafka_tools.lab.conformance.registration import BuilderCall, Change, no_change
from specs import kafka_versions as kafka
from specs.kafka_versions import KRAFT
from specs.replication.versions import replication_rules

_MEMBERSHIP = dict(log_size=1, max_records=1, late_requests=False, numbers_eligible_changes=True)
_LAGGING = dict(replicas=3, lagging=True, lags_before_first_fetch=True) | dict(
    crashes=1, shutdowns=1, max_leader_epoch=2, max_partition_epoch=4
)
_STOPS = dict(replicas=3, lagging=False, crashes=2, shutdowns=1, max_leader_epoch=3, max_partition_epoch=6)
_FOUR = dict(replicas=4, lagging=False, crashes=1, shutdowns=1, max_leader_epoch=2, max_partition_epoch=3)


class Answering(Protocol):
    """What answers calls of the class: the bridge, or a test's own. `name` says whose class it is."""

    name: str

    def answers(self, calls: Sequence[BuilderCall]) -> list[Change | str]:
        """Return the answer to each call: the change, or an exception as text."""


@dataclass(frozen=True)
class ConformScenario:
    """A scenario: its name, and the constants of the spec."""

    name: str
    constants: dict[str, int | bool | str]


def scenarios_of(version: str) -> list[ConformScenario]:
    """Return the scenarios of a release, with its rules under KRaft."""
    rules = replication_rules(version, KRAFT) | _MEMBERSHIP
    # A release before 4.0 has parts of the code of eligible leader replicas, and no way to turn them on.
    settings = [False, True] if kafka.ELIGIBLE_LEADER_REPLICAS.applies_to(version, KRAFT) else [False]
    scenarios = []
    for has_elr in settings:
        for is_unclean in (False, True):
            for name, size, min_isr in _SIZES:
                if min_isr == 1 and not has_elr:
                    continue  # The class reads min.insync.replicas for the eligible leader replicas alone.
                words = f"{name}, min ISR {min_isr}, ELR {'on' if has_elr else 'off'}"
                constants = rules | size | dict(min_insync_replicas=min_isr)
                constants |= dict(eligible_leader_replicas=has_elr, unclean_elections=is_unclean)
                scenarios.append(ConformScenario(f"{words}, {'un' if is_unclean else ''}clean elections", constants))
    return scenarios


_SIZES = [("stops", _STOPS, 2), ("lagging", _LAGGING, 1), ("lagging", _LAGGING, 2), ("4 brokers", _FOUR, 2)]
"""The events and bounds of the scenarios: two crashes and a shutdown; followers that lag; four brokers."""


@dataclass(frozen=True)
class Difference:
    """An input for which the class and the spec differ. `answer` is the class's: a change, or an exception."""

    case: Case
    answer: Change | str


@dataclass
class ConformResult:
    """The result of a scenario.

    `equal`: the class gives an answer of the spec. `in_two_steps`: the spec needs one more election. `without_call`:
    Kafka does not call the class, and the spec changes nothing. `undecided`: the bounds cut off that election.
    `compared` counts the steps by action, with a call.
    """

    states: int
    equal: int = 0
    in_two_steps: int = 0
    without_call: int = 0
    undecided: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)


def compare(inputs: ControllerCases, bridge: Answering) -> ConformResult:
    """Ask the class for every case, and compare its answers with those of the spec."""
    result = ConformResult(inputs.states)
    calls = list(dict.fromkeys(case.call for case in inputs.cases if case.call is not None))
    answers = dict(zip(calls, bridge.answers(calls), strict=True))
    decided: set[BuilderCall] = set()
    waiting = []
    for case, answer in _cases_with_answers(inputs, answers):
        changes = {change for change, _ in case.allowed}
        if case.call is None:
            if answer in changes:
                result.without_call += 1
            else:
                result.differences.append(Difference(case, answer))
            continue
        result.compared[case.action] += 1
        if answer in changes:
            result.equal += 1
            decided.add(case.call)
        elif isinstance(answer, Change) and answer.after in case.later:
            result.in_two_steps += 1
            decided.add(case.call)
        elif case.is_open or isinstance(answer, str) or answer.after.leader is None:
            # Without a leader no further election explains the answer.
            result.differences.append(Difference(case, answer))
        else:
            waiting.append(case.call)
    # The same input may be reached with more of the bounds left.
    result.undecided = sum(call not in decided for call in waiting)
    return result


def _cases_with_answers(
    inputs: ControllerCases, answers: dict[BuilderCall, Change | str]
) -> Iterator[tuple[Case, Change | str]]:
    for case in sorted(inputs.cases, key=lambda each: (each.action, str(each.call), str(each.before))):
        yield case, no_change(case.before) if case.call is None else answers[case.call]
