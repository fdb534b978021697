"""Graphs in Graphviz's DOT language: complete small state spaces, and the parts that all graphs share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from checker.errors import BoundsError, InputError, MissingExtraError
from checker.explain.differences import StateChange, came_and_went
from checker.language.interpreter import BoundsFailure, State, Step, call_text
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import Spec
from checker.language.values import show
from checker.output.counterexample_text import state_lines
from checker.output.styled_lines import plain
from checker.printable import printable
from checker.run.plan import DEADLOCK

if TYPE_CHECKING:
    from graphviz import Digraph

MOST_STATES = 300
"""Largest number of states in a state graph: a larger graph is unreadable, and its layout takes minutes."""

_FONT = {"fontname": "monospace", "fontsize": "10"}
BAD = {"color": "#b3261e", "penwidth": "3", "style": "filled", "fillcolor": "#fdecea"}
"""The attributes of a node that shows a violation."""


def state_graph(spec: Spec, properties: tuple[str, ...]) -> Digraph:
    """Return the complete state space of a spec, with marks on states and steps that violate one of `properties`.

    Initial states have a double frame. Raises InputError if there are more than `MOST_STATES` states.
    """
    graph = digraph(spec.name)
    numbers: dict[State, int] = {}
    for state in spec.initial_states():
        _number(spec, numbers, state)
    initial = len(numbers)
    for state in _in_order_of_discovery(numbers):
        number = numbers[state]
        false = [name for name in properties if name != DEADLOCK and _is_false(spec, name, state)]
        steps, failures = spec.expand(state) if spec.within_constraints(state) else ([], [])
        if DEADLOCK in properties and not steps and not failures:
            false.append(DEADLOCK)
        label = _state_text(spec, state) + "".join(f"\n✗ {name}" for name in false)
        shape = {"peripheries": "2"} if number < initial else {}
        graph.node(str(number), left_aligned(label), **shape, **(BAD if false else {}))
        _add_steps(graph, spec, properties, numbers, state, steps)
        _add_failures(graph, number, failures)
    return graph


def svg(graph: Digraph) -> str:
    """Return a graph laid out as SVG; raise InputError if Graphviz's program `dot` is not installed."""
    from graphviz import ExecutableNotFound

    try:
        return str(graph.pipe(format="svg", encoding="utf-8"))
    except ExecutableNotFound:
        raise InputError(
            "SVG needs the program dot, which is not installed: install Graphviz (apt-get install graphviz, "
            "brew install graphviz), or use the .dot file"
        ) from None


def _in_order_of_discovery(numbers: dict[State, int]) -> Iterator[State]:
    """Iterate over states in the order of their insertion, including those inserted during the iteration."""
    # An iterator over the dict itself would fail as soon as the dict grows.
    visited = 0
    while visited < len(numbers):
        for state in list(numbers)[visited:]:
            visited += 1
            yield state


def _number(spec: Spec, numbers: dict[State, int], state: State) -> int:
    if state not in numbers and len(numbers) == MOST_STATES:
        raise InputError(
            f"{spec.name} has more than {MOST_STATES} states, too many for a graph: "
            "make it smaller with --set NAME=VALUE"
        )
    return numbers.setdefault(state, len(numbers))


def _add_steps(
    graph: Digraph, spec: Spec, properties: tuple[str, ...], numbers: dict[State, int], state: State, steps: list[Step]
) -> None:
    """Add the steps out of a state: one edge per successor, labelled with every step that leads to it."""
    by_target: dict[int, list[Step]] = {}
    for step in steps:
        by_target.setdefault(_number(spec, numbers, step.state), []).append(step)
    rules = [name for name in properties if spec.roles.get(name) in STEP_ROLES]
    for target, taken in by_target.items():
        broken = [name for name in rules if not spec.holds(name, taken[0].state, state)]
        label = "\n".join([*(str(step) for step in taken), *(f"✗ {name}" for name in broken)])
        style = {"color": BAD["color"], "penwidth": BAD["penwidth"]} if broken else {}
        graph.edge(str(numbers[state]), str(target), centre_lines(label), **style)


def _add_failures(graph: Digraph, number: int, failures: list[BoundsFailure]) -> None:
    for failure in failures:
        node = f"{number} fails {failure.instance}"
        graph.node(node, left_aligned(f"✗ {failure.message}"), **BAD)
        graph.edge(str(number), node, centre_lines(call_text(failure.action, failure.arguments)))


def _is_false(spec: Spec, name: str, state: State) -> bool:
    if spec.roles[name] is not Role.INVARIANT:
        return False
    try:
        return not spec.holds(name, state)
    except BoundsError:
        return True


def digraph(name: str) -> Digraph:
    """Return an empty graph; raise MissingExtraError if the package graphviz is missing."""
    try:
        from graphviz import Digraph
    except ModuleNotFoundError:
        raise MissingExtraError(
            "graphs need the package graphviz, which is not installed: pip install graphviz"
        ) from None
    return Digraph(name, node_attr={"shape": "box", **_FONT}, edge_attr=_FONT)


def _state_text(spec: Spec, state: State) -> str:
    return plain(state_lines(spec, state)).rstrip("\n")


def change_text(change: StateChange) -> str:
    """Return a change as one line."""
    items = came_and_went(change)
    if items is None:
        return f"{change.path}: {show(change.before)} -> {show(change.after)}"
    return f"{items.path}: {' '.join(text for text in items.texts if text)}"


def centre_lines(text: str) -> str:
    """Escape text for a label with centred lines."""
    return _lines(text, "\\n").removesuffix("\\n")


def left_aligned(text: str) -> str:
    """Escape text for a label with left-aligned lines."""
    return _lines(text, "\\l")


def _lines(text: str, end: str) -> str:
    from graphviz import escape

    # Graphviz takes a label that begins with < and ends with > for HTML; a space at the end prevents that. It resolves
    # entities, so that `&#27;` would become a character that XML does not allow.
    lines = [escape(printable(line)).replace("&", "&amp;") for line in text.split("\n")]
    return "".join(f"{line}{' ' if line.endswith('>') else ''}{end}" for line in lines)
