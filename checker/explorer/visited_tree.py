"""The tree of the paths that were visited: steps that were undone stay as branches."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_NODES = 5_000
"""The most steps that a tree keeps. After that it begins again with the current path."""


@dataclass
class VisitedNode:
    """A visited state by the step that led to it. `last` is the code of the branch that was visited last."""

    branches: dict[str, VisitedNode] = field(default_factory=dict)
    last: str = ""

    @property
    def end(self) -> tuple[str, ...]:
        """The codes from here to the end of the branches that were visited last."""
        codes, node = [], self
        while node.last:
            codes.append(node.last)
            node = node.branches[node.last]
        return tuple(codes)


class VisitedTree:
    """The visited paths from one initial state."""

    def __init__(self) -> None:
        self.root = VisitedNode()
        self._nodes = 0

    def visit(self, codes: tuple[str, ...]) -> list[VisitedNode]:
        """Add a path, and return the nodes of its states, the initial one first."""
        if self._nodes > MOST_NODES:
            self.root, self._nodes = VisitedNode(), 0
        node, nodes = self.root, [self.root]
        for code in codes:
            if code not in node.branches:
                node.branches[code] = VisitedNode()
                self._nodes += 1
            node.last = code
            node = node.branches[code]
            nodes.append(node)
        return nodes
