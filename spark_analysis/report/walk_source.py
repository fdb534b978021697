"""The walks of a run as a report reads them: by processes of this machine, or by Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from spark_analysis.report.partial_counts import PartialCount
from spark_analysis.walks.records import STATES, WalkRun, part_path
from spark_analysis.walks.state_tallies import sampling_of
from traces.storage import Location

Item = TypeVar("Item")
Result = TypeVar("Result")

_OUTCOME_COLUMNS = ("configuration", "ending", "verdict", "property", "violated")
ROW_COLUMNS = ("walk", "initial", *_OUTCOME_COLUMNS, "failed_instance", "actions")
"""The columns of a walk that its trace depends on."""


class StateGroup(NamedTuple):
    """The sampled states of a configuration of which the first walk has a `power`-bit number there.

    `states` is their number, `visits` the number of pairs of such a state and a walk that visited it. `once` and
    `twice` count the states that one walk and that two walks visited.
    """

    configuration: int
    power: int
    states: int
    visits: int
    once: int
    twice: int


class OutcomeSpacing(NamedTuple):
    """The distance between the numbers of sampled walks, for the walks with one outcome."""

    configuration: int
    verdict: str
    property: str
    violated: int
    spacing: int


class WalkSource(Protocol):
    """The readable parts of a run. Every method raises InputError if a part is damaged."""

    @property
    def samplings(self) -> Mapping[int, int]:
        """The sampling of states by configuration; configurations without parts are left out."""

    def partial_counts(self) -> list[PartialCount]:
        """Return the counts of all walks."""

    def state_groups(self) -> list[StateGroup]:
        """Return the counts of all sampled states."""

    def violating_rows(self, spacings: Sequence[OutcomeSpacing], chosen: set[int]) -> list[dict[str, Any]]:
        """Return the violating walks, by column, of which the number is in `chosen` or a multiple of their spacing."""

    def map(self, work: Callable[[Item], Result], items: Sequence[Item], doing: str) -> list[Result]:
        """Return `work(item)` for each item, computed by tasks; work, items and results must be picklable.

        `doing` names the work, for the message of a failure.
        """


def actions_of(run: WalkRun) -> dict[int, NDArray[np.int64]]:
    """Return for each configuration the number of each instance's action (instances,), for `partial_counts`."""
    return {
        settings.number: np.repeat(np.arange(len(settings.actions)), [action.instances for action in settings.actions])
        for settings in run.configurations
    }


def samplings_of(folder: Location, run: WalkRun, parts: Sequence[int]) -> dict[int, int]:
    """Return for each configuration the largest sampling of its parts: all of them have counted these states."""
    samplings: dict[int, int] = defaultdict(lambda: run.sampling)
    for number in parts:
        configuration = run.span(number)[0].number
        samplings[configuration] = max(samplings[configuration], sampling_of(part_path(folder, STATES, number)))
    return dict(samplings)
