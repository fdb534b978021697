"""Counterexamples as sequence drawings in Graphviz's DOT language: a rank for each step, a column for each lane."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checker.explain.differences import StateChange, changes_within
from checker.explain.lane_owners import LaneOwner, lane_owners
from checker.explain.message_transfers import MessageTransfer, transfers
from checker.language.default_drawing import drawing_of
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.types import MapType, StructType, TupleType, Type
from checker.language.values import show
from checker.output.graphs import BAD, centre_lines, change_text, digraph, left_aligned
from checker.output.lasso_text import obligation_text
from checker.output.page.story import bindings_of
from checker.run.result import ActionCall, TraceStep, Violation

if TYPE_CHECKING:
    from graphviz import Digraph

_LINE = 44
"""Characters of a line in a box."""

_STEPS = ""
"""The column of the calls. It also has the changes of the variables that no lane shows."""

_LIFE = {"arrowhead": "none", "color": "#b0b8c0", "weight": "100"}
_MESSAGE = {"color": "#0069a6", "fontcolor": "#0069a6", "constraint": "false"}
_LOST = {"color": BAD["color"], "fontcolor": BAD["color"], "style": "dashed", "constraint": "false"}
_HEAD = {"shape": "box", "style": "filled", "fillcolor": "#e6f3fb", "fontname": "sans-serif"}


def sequence_graph(spec: Spec, violation: Violation) -> Digraph:
    """Return the sequence drawing of a counterexample.

    A box in a lane has the changes of the step. The boxes of the initial state have the first values of the parts that
    later steps change. A spec without lanes has the column of the steps alone.
    """
    return _SequenceGraph(spec, violation).graph()


@dataclass(frozen=True)
class _Part:
    """A variable, the entry of a map at a position, or the field of a struct; with the lane that has its changes."""

    path: str
    name: str
    kind: Type
    lane: str
    index: int | None = None
    field: str = ""

    def value(self, state: State) -> Any:
        """Return its value in a state."""
        whole = state.values[self.name]
        if self.index is not None:
            return whole.items_in_order()[self.index]
        return whole.field(self.field) if self.field else whole


class _SequenceGraph:
    def __init__(self, spec: Spec, violation: Violation):
        self._spec, self._violation = spec, violation
        self._trace: list[TraceStep | ActionCall] = [*violation.trace]
        if violation.failed_action is not None:
            self._trace.append(violation.failed_action)
        drawing = drawing_of(spec)
        self._owners = lane_owners(spec, drawing) if drawing is not None else []
        self._lanes = [owner.title for owner in self._owners]
        self._bindings = bindings_of(spec, violation)
        self._graph = digraph(violation.property)

    def graph(self) -> Digraph:
        self._graph.attr(nodesep="0.3", ranksep="0.3", splines="line")
        texts = list(self._texts())
        self._heads()
        for number, (step, lane_texts) in enumerate(zip(self._trace, texts, strict=True), 1):
            self._row(number, step, lane_texts)
        self._loop()
        for transfer in transfers(self._spec, self._violation.trace):
            self._message(transfer)
        return self._graph

    def _node(self, number: int, column: str) -> str:
        """Return the name of a node. It has no part of a lane's title, which may contain any character."""
        return f"step{number}" if column == _STEPS else f"step{number}_{self._lanes.index(column)}"

    def _texts(self) -> Iterator[dict[str, list[str]]]:
        """Yield the lines of each step by lane."""
        states = [step.state for step in self._violation.trace]
        parts = list(self._parts())
        steps = [list(_changes(parts, before, after)) for before, after in itertools.pairwise(states)]
        changing = {part.path for step_changes in steps for part, _ in step_changes}
        if states:
            first = states[0]
            yield _by_lane((part, f"{part.path}: {show(part.value(first))}") for part in parts if part.path in changing)
        for step_changes in steps:
            yield _by_lane((part, change_text(change)) for part, change in step_changes)
        if self._violation.failed_action is not None:
            yield {}

    def _parts(self) -> Iterator[_Part]:
        """Yield the variables; of a map each entry, and of a struct each field."""
        for name, kind in self._spec.variables.items():
            if isinstance(kind, MapType):
                for index, key in enumerate(kind.key.values()):
                    lane = self._lane_of(name, kind.key, key)
                    yield _Part(f"{name}[{show(key)}]", name, kind.value, lane, index=index)
            elif isinstance(kind, StructType) and not isinstance(kind, TupleType):
                lane = self._lane_of(name)
                for field, inner in kind.fields:
                    yield _Part(f"{name}.{field}", name, inner, lane, field=field)
            else:
                yield _Part(name, name, kind, self._lane_of(name))

    def _lane_of(self, name: str, kind: Type | None = None, key: Any = None) -> str:
        """Return the lane of a part of a variable: one that shows the variable, else that of the key `key`."""
        indexed = [owner for owner in self._owners if kind is not None and owner.kind == kind and owner.member == key]
        single = [owner for owner in self._owners if owner.member is None]
        showing = [owner for owner in (*indexed, *single) if _shows(owner, name)]
        return next((owner.title for owner in (*showing, *indexed)), _STEPS)

    def _heads(self) -> None:
        if self._owners:
            self._rank(
                [(self._node(0, lane), lane, _HEAD) for lane in self._lanes],
                self._node(0, _STEPS),
                "",
                {"shape": "none"},
            )

    def _row(self, number: int, step: TraceStep | ActionCall, texts: dict[str, list[str]]) -> None:
        is_bad = bool(self._mark(number))
        lines = [f"{number}  {step}", *texts.get(_STEPS, ()), self._mark(number)]
        cells = []
        for owner in self._owners:
            in_lane = texts.get(owner.title)
            is_about = is_bad and self._bindings.names(owner)
            style = BAD if is_about else {} if in_lane else {"shape": "point", "width": "0.04", "color": "#b0b8c0"}
            cells.append((self._node(number, owner.title), "\n".join(in_lane or ["unchanged"] * is_about), style))
        style = BAD if is_bad else {"shape": "none", "fontname": "sans-serif"} if not texts.get(_STEPS) else {}
        self._rank(cells, self._node(number, _STEPS), "\n".join(filter(None, lines)), style)
        if number > 1 or self._owners:
            for column in (_STEPS, *self._lanes):
                is_hidden = column == _STEPS and bool(self._owners)
                style = {"style": "invis", "weight": "100"} if is_hidden else _LIFE
                self._graph.edge(self._node(number - 1, column), self._node(number, column), **style)

    def _rank(self, cells: list[tuple[str, str, dict[str, str]]], step: str, text: str, style: dict[str, str]) -> None:
        """Add the nodes of one rank, in the order of the columns."""
        nodes = [(step, text, style), *cells]
        with self._graph.subgraph() as rank:
            rank.attr(rank="same")
            for name, label, attributes in nodes:
                column = name.partition("_")[2] or "steps"
                rank.node(name, left_aligned(_wrap(label)), group=column, **attributes)
            for (left, *_), (right, *_) in itertools.pairwise(nodes):
                rank.edge(left, right, style="invis")

    def _mark(self, number: int) -> str:
        """Return the line of a step that shows the violation: the last step, or a step of the loop of a lasso."""
        violation = self._violation
        if violation.loop_start is not None:
            return obligation_text(self._spec, violation, number - 1) if number > violation.loop_start else ""
        if number < len(self._trace) or violation.kind in ("walk", "explanation"):
            return ""
        if violation.failed_action is not None:
            return "cannot be executed"
        return f"{violation.property} is violated"

    def _loop(self) -> None:
        start, last = self._violation.loop_start, len(self._trace)
        if start is not None:
            stays = start + 1 == last
            text = "stays for ever" if stays else f"state {last} is state {start + 1} again"
            style = {"color": BAD["color"], "fontcolor": BAD["color"], "penwidth": "2", "constraint": "false"}
            self._graph.edge(self._node(last, _STEPS), self._node(start + 1, _STEPS), centre_lines(text), **style)

    def _message(self, transfer: MessageTransfer) -> None:
        ends = {transfer.source, transfer.target}
        if not ends <= set(self._lanes):
            return
        arrived = transfer.arrived or len(self._violation.trace)
        is_open = transfer.arrived is None
        note = " (lost)" if transfer.is_lost else " (still in flight)" if is_open else ""
        style = _LOST if transfer.is_lost else {**_MESSAGE, "style": "dotted" if is_open else "solid"}
        tail, head = self._node(transfer.sent, transfer.source), self._node(arrived, transfer.target)
        # A label between two ranks would bend its arrow.
        kind = "label" if transfer.sent == arrived else "xlabel"
        self._graph.edge(tail, head, **{kind: centre_lines(_wrap(f" {transfer.text}{note}"))}, **style)


def _changes(parts: list[_Part], before: State, after: State) -> Iterator[tuple[_Part, StateChange]]:
    for part in parts:
        for change in changes_within(part.path, part.kind, part.value(before), part.value(after)):
            yield part, change


def _by_lane(changes_of_step: Iterable[tuple[_Part, str]]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for part, text in changes_of_step:
        texts.setdefault(part.lane, []).append(text)
    return texts


def _shows(owner: LaneOwner, name: str) -> bool:
    return any(variable.partition(".")[0] == name for variable in owner.lane.names())


def _wrap(text: str) -> str:
    lines = (textwrap.wrap(line, _LINE, subsequent_indent="    ", drop_whitespace=False) for line in text.split("\n"))
    return "\n".join(part for group in lines for part in group)
