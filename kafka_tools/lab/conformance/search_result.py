"""What a search over Kafka's classes has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class SearchResult:
    """The counts and the violations of a search.

    `violations` has for each violated property a shortest sequence of (sentence, state); the first sentence is empty.
    A name of a violation begins with that of its property. `calls` counts the different calls of the class, `steps`
    those of the search. Without `is_complete` the limit of states ended it; `is_bounded` if its depth cut off steps.
    """

    properties: Sequence[str]
    states: int = 0
    steps: int = 0
    calls: int = 0
    seconds: float = 0.0
    is_complete: bool = False
    is_bounded: bool = False
    violations: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def add_violation(self, sentence: str, path: list[tuple[str, str]]) -> None:
        """Keep the first sequence that violates a property."""
        self.violations.setdefault(sentence, path)

    @property
    def properties_that_hold(self) -> list[str]:
        """The properties that were not violated."""
        return [name for name in self.properties if not any(each.startswith(name) for each in self.violations)]
