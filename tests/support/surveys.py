"""Surveys of `advise`, explored in this process."""

import threading
from collections.abc import Iterable, Iterator

from kafka_tools.advise.survey import Explored, Found, ModelExploration, ModelExplorer, Survey, run

_explored: dict[ModelExploration, Explored | None] = {}


def explore_once(surveys: Iterable[Survey]) -> Iterator[Found]:
    """Explore surveys in this process; equal explorations of all tests are done once."""
    never = threading.Event()

    def once(explorer: ModelExplorer, asked: ModelExploration) -> Explored | None:
        if asked not in _explored:
            _explored[asked] = explorer.explore(asked, never)
        return _explored[asked]

    return iter([run(survey, None, never, once) for survey in surveys])
