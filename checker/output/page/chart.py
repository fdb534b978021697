"""The sequence chart of a trace: a row for each step, a column for each lane, and messages as arrows between them.

Heights are pixels and horizontal positions are percentages of the width, so that the chart is as wide as its page and
its text keeps its size.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from checker.explain.drawn_expressions import item_text
from checker.explain.lane_owners import FailureBindings, LaneOwner, identity, lane_owners, type_of, value_of
from checker.explain.message_transfers import MessageTransfer, transfers
from checker.explain.step_effects import StepEffect, difference_of_logs, is_lane_alive
from checker.explain.step_events import StepEvent
from checker.explain.step_sentences import StepSentence, describe_steps
from checker.language.default_drawing import drawing_of
from checker.language.drawing import Drawing, EventKind, Log
from checker.language.spec import Spec
from checker.output.page.chart_boxes import LABEL_CHARACTER, LABEL_LINE, ChartBox, arrow_label_box, log_box, node_boxes
from checker.output.page.chart_parts import (
    MOST_WIDTH,
    USUAL_WIDTH,
    CellStyle,
    ChartArrow,
    ChartCell,
    ChartLane,
    ChartLog,
    ChartLoop,
    ChartNode,
    ChartRow,
    LifeLine,
    SequenceChart,
    drawn_width,
)
from checker.output.page.story import bindings_of
from checker.run.result import TraceStep, Violation

_NODE, _LINE, _LOG, _GAP = 24, 15, 27, 8
"""Pixels: from the top of a row to its node; a line of text; a log; the lower margin."""

_BELOW = 9
"""Pixels from a horizontal message to the change that answers it in the same step."""

_SENTENCE, _SENTENCE_LINE = 46, 18
"""Characters of a line of a sentence beside the chart, and its height in pixels."""

_NARROW_SENTENCE = 26
"""Characters of a line beside a chart whose lanes need the space."""

_LABEL, _SHORTEST_LABEL = 18, 9
"""Most characters of a line of a label, and of a line of one in the narrowest lane."""

_CELL_CHARACTER = 7.3
"""Width of a character in a cell of a log, in pixels."""

_TITLE_CHARACTER = 9
"""Width of a character of the title of a lane, in pixels."""

_SHORT_PARTS = (0.5, 0.38, 0.62, 0.28, 0.72)
_LONG_PARTS = (0.66, 0.72, 0.6, 0.78, 0.54, 0.84, 0.48, 0.9, 0.42)
"""Places for the label of an arrow within a row or over several rows, as parts of the way from its start."""

_MOST_ROOM, _MOST_LIFT = 20, 9
"""The most lines that are added to a row, so that labels of arrows have room, and those from an arrow to its label."""

_NARROWEST = 64
"""The least width of a column, in pixels."""

_SIGNS: dict[EventKind, str] = {
    "crash": "crash",
    "power loss": "power loss",
    "shutdown": "clean shutdown",
    "restart": "restart",
    "disconnect": "connection lost",
    "truncation": "truncation",
    "election": "election",
    "timeout": "timeout",
    "lost state": "state lost",
    "refusal": "refusal",
    "abort": "abort",
    "new epoch": "new epoch",
}
"""The kinds of events with a sign of their own, and its meaning in the legend."""


def chart(
    spec: Spec,
    trace: tuple[TraceStep, ...],
    violation: Violation | None = None,
    *,
    least_heights: Sequence[float] = (),
    start: str = "",
) -> SequenceChart:
    """Return the chart of a trace; with the violation that it shows, the violating step is marked.

    `least_heights` are the least heights of the rows, so that several charts can have rows of the same height. `start`
    describes the first state, if that is not an initial state.
    """
    return _ChartBuilder(spec, trace, violation, least_heights, start).chart()


@dataclass
class _Row:
    """A row before its height is known: the nodes and logs of each lane."""

    sentence: StepSentence
    event: StepEvent | None
    labels: dict[str, list[str]] = field(default_factory=dict)
    logs: dict[str, list[tuple[ChartCell, ...]]] = field(default_factory=dict)
    lane: str = ""
    top: float = 0
    height: float = 0
    lines_above: int = 1

    @property
    def y(self) -> float:
        return self.top + _NODE + (self.lines_above - 1) * LABEL_LINE


class _ChartBuilder:
    def __init__(
        self,
        spec: Spec,
        trace: tuple[TraceStep, ...],
        violation: Violation | None,
        least_heights: Sequence[float],
        start: str,
    ) -> None:
        self._spec, self._trace, self._violation = spec, trace, violation
        self._least_heights = least_heights
        drawing = drawing_of(spec)
        self._drawing = drawing if drawing is not None else Drawing()
        with spec.bound():
            self._owners = lane_owners(spec, self._drawing)
        failed = violation.failed_action if violation is not None else None
        self._rows = [_Row(*described) for described in describe_steps(spec, trace, failed, start)]
        self._transfers = transfers(spec, trace)
        self._bindings = bindings_of(spec, violation) if violation is not None and trace else FailureBindings()
        for row in self._rows:
            row.lane = self._lane(row)
        self._occupied: list[ChartBox] = []
        self._crowded: set[float] = set()
        self._tail = 0
        self._changes = [change for row in self._rows for change in self._changes_elsewhere(row)]

    def chart(self) -> SequenceChart:
        self._place_logs()
        idle = self._remove_idle_lanes()
        self._place_lanes()
        self._place_labels()
        nodes, logs, arrows = self._place_rows()
        life_lines = tuple(self._life_lines())
        kinds = {node.kind for node in nodes}
        return SequenceChart(
            lanes=tuple(ChartLane(title, x, self._width[title]) for title, x in self._x.items()),
            rows=tuple(self._chart_rows()),
            life_lines=life_lines,
            stopped=tuple(line for line in life_lines if line.style == "stopped"),
            nodes=nodes,
            logs=logs,
            arrows=arrows,
            signs=tuple((kind, text) for kind, text in _SIGNS.items() if kind in kinds),
            notations=tuple(self._notations()),
            crowns=self._crowns(),
            idle=idle,
            loop=self._loop(),
            height=self._bottom,
            least_width=self._least_width,
        )

    @property
    def _bottom(self) -> float:
        return self._rows[-1].top + self._rows[-1].height if self._rows else 0

    def _is_violated(self, number: int) -> bool:
        if self._violation is None or self._violation.kind in ("walk", "explanation"):
            return False
        start = self._violation.loop_start
        return number == len(self._rows) if start is None else number > start

    def _lane(self, row: _Row) -> str:
        """Return the lane of a step: unless it is declared, that at which a message of a channel arrives or begins."""
        if row.event is None:
            return ""
        number, declared = row.sentence.number, self._drawing.event_of(row.event.action)
        is_arrow = any(arrow.action == row.event.action for arrow in self._drawing.arrows)
        if declared.at or is_arrow or not self._drawing.channels:
            return row.event.lane
        arrived = [
            transfer.target for transfer in self._transfers if transfer.arrived == number and not transfer.is_lost
        ]
        sent = [transfer.source for transfer in self._transfers if transfer.sent == number]
        return next(iter([*arrived, *sent]), row.event.lane)

    def _finding(self, row: _Row) -> str:
        """Return what the violated property finds in the last step of a trace without a loop."""
        violation = self._violation
        if violation is None or violation.loop_start is not None or not self._is_violated(row.sentence.number):
            return ""
        return f"{violation.property}: {violation.explanation.partition(chr(10))[0]}"

    # The content of the rows.

    def _changes_elsewhere(self, row: _Row) -> Iterator[tuple[int, str, StepEffect]]:
        """Yield the number and the lane of a step with each effect on another, single lane that no message shows."""
        if row.event is None or not row.lane:
            return
        number, lane = row.sentence.number, row.lane
        ends = {
            (transfer.source, transfer.target)
            for transfer in self._transfers
            if number in (transfer.sent, transfer.arrived)
        }
        for effect in row.event.effects:
            is_elsewhere = effect.is_single and effect.lane != lane and effect.kind in ("items", "appended")
            if is_elsewhere and self._is_said(row, effect) and (lane, effect.lane) not in ends:
                yield number, lane, effect

    def _remove_idle_lanes(self) -> tuple[str, ...]:
        """Remove the lanes in which nothing happens, unless that is every lane, and return their titles."""
        busy = {title for transfer in self._transfers for title in (transfer.source, transfer.target)}
        for row in self._rows:
            effects = row.event.effects if row.event is not None else ()
            busy |= {row.lane, *row.logs, *(effect.lane for effect in effects)}
        with self._spec.bound():
            last = self._spec.in_state(self._trace[-1].state) if self._trace else None
            styles = {owner.title: _style(last, owner) for owner in self._owners} if last is not None else {}
        kept = [
            owner
            for owner in self._owners
            if owner.title in busy or styles.get(owner.title) != "runs" or self._bindings.names(owner)
        ]
        idle = [owner.title for owner in self._owners if owner not in kept] if kept else []
        self._owners = kept or self._owners
        return tuple(idle)

    def _place_labels(self) -> None:
        drawn = {(number, effect) for number, _, effect in self._changes}
        for row in self._rows:
            event = row.event
            if event is None:
                continue
            number = row.sentence.number
            if row.lane and self._is_named(row):
                row.labels.setdefault(row.lane, []).extend(self._lines_in(row.lane, event.label))
            for effect in event.effects:
                if self._is_shown(row, effect) and (number, effect) not in drawn and effect.short not in event.label:
                    row.labels.setdefault(effect.lane, []).extend(self._lines_in(effect.lane, effect.short))
        for row, effect in self._silent_changes():
            if effect.short not in " ".join(row.labels.get(effect.lane, ())):
                row.labels.setdefault(effect.lane, []).extend(self._lines_in(effect.lane, effect.short))
        arrows = [
            (transfer.sent if transfer.sent > 1 else transfer.arrived or 1, _lines(transfer.text))
            for transfer in self._transfers
        ]
        for number, lines in [*arrows, *((number, _lines(effect.short)) for number, _, effect in self._changes)]:
            self._rows[number - 1].lines_above = max(self._rows[number - 1].lines_above, len(lines))

    def _silent_changes(self) -> Iterator[tuple[_Row, StepEffect]]:
        """Yield the changes of the lanes that have no event, message or log: labels show them, as nothing else does."""
        shown = {title for transfer in self._transfers for title in (transfer.source, transfer.target)}
        shown |= {effect.lane for _, _, effect in self._changes}
        shown |= {title for row in self._rows for title in (row.lane, *row.logs)}
        declared = {owner.title: owner.lane for owner in self._owners}
        for row in self._rows:
            effects = [effect for effect in (row.event.effects if row.event is not None else ()) if effect.lane]
            silent = {declared[effect.lane].title for effect in effects if effect.lane not in shown}
            # A step that changes several lanes of a kind shows it in each, and not only where nothing else happens.
            siblings = [each for each in effects if each.kind == "value" and declared[each.lane].title in silent]
            yield from ((row, each) for each in effects if each.lane not in shown or each in siblings)

    def _lines_in(self, lane: str, text: str) -> list[str]:
        """Return the label of a lane in lines that are not wider than the lane."""
        pixels = self._width[lane] * drawn_width(self._least_width) / 100
        return _lines(text, min(_LABEL, max(_SHORTEST_LABEL, int(pixels / LABEL_CHARACTER))))

    def _is_said(self, row: _Row, effect: StepEffect) -> bool:
        """Return whether an effect on items has words: beside a declared sentence, only a declared verb says it."""
        assert row.event is not None
        return effect.kind != "items" or effect.is_gain or not self._drawing.event_of(row.event.action).says

    def _is_shown(self, row: _Row, effect: StepEffect) -> bool:
        """Return whether an effect is a label of its lane; a message, a log or a line of the lane shows the others."""
        if self._spec.draws is None:
            return effect.kind in ("items", "value")
        if not self._is_said(row, effect):
            return False
        if row.event is not None and effect.is_said_by(row.event.label):
            return False
        if effect.kind in ("items", "members", "leader"):
            has_sign = row.event is not None and bool(row.event.kind)
            return effect.is_single or (has_sign and effect.lane == row.lane and effect.kind == "items")
        return effect.kind == "offset"

    def _is_named(self, row: _Row) -> bool:
        """Return whether the label of an event is shown: a message or a longer log often says the same."""
        event = row.event
        assert event is not None
        if event.kind or event.is_named:
            return True
        if self._drawing.event_of(event.action).label:
            return False
        number = row.sentence.number
        has_message = any(
            (transfer.sent == number and transfer.source == row.lane)
            or (transfer.arrived == number and not transfer.is_lost)
            for transfer in self._transfers
        )
        return not has_message and not any(effect.kind == "appended" for effect in event.effects)

    def _place_logs(self) -> None:
        """Place a log in each row that changes it, and all logs in the last row of a violation."""
        lost: dict[tuple[str, str], dict[int, Any]] = {}
        with self._spec.bound():
            states = [self._spec.in_state(step.state) for step in self._trace]
            for index, row in enumerate(self._rows[: len(states)]):
                is_last = self._is_violated(index + 1) and index == len(states) - 1
                bindings = self._bindings if is_last else FailureBindings()
                for owner in self._owners:
                    for log in owner.lane.logs:
                        before = list(value_of(states[max(index - 1, 0)], owner, log.name))
                        after = list(value_of(states[index], owner, log.name))
                        missing = lost.setdefault((owner.title, log.name), {})
                        is_changed = before != after
                        if log.name in self._left_out(index):
                            # Nothing is lost or appended: the log is drawn as it is.
                            before = after
                            missing.clear()
                        if is_changed or (index == 0 and after) or (is_last and (after or missing)):
                            cells = self._cells(owner, log, states[index], before, after, missing, bindings)
                            row.logs.setdefault(owner.title, []).append(cells)

    def _left_out(self, index: int) -> tuple[str, ...]:
        """Return the names whose changes are no events in a step of the trace."""
        action = self._trace[index].action
        return self._drawing.event_of(action).leaves_out if action is not None else ()

    def _cells(
        self,
        owner: LaneOwner,
        log: Log,
        working: Any,
        before: list[Any],
        after: list[Any],
        missing: dict[int, Any],
        bindings: FailureBindings,
    ) -> tuple[ChartCell, ...]:
        start, lost, gained = difference_of_logs(before, after)
        is_shifted = start == 0 and 0 < len(lost) < len(before) and after == before[len(lost) :] + gained
        if not is_shifted:
            missing.update({start + offset: item for offset, item in enumerate(lost)})
        name = next(iter(log.markers), "")
        committed = value_of(working, owner, name) if name else None
        shown: list[tuple[Any, CellStyle, bool]] = []
        for offset, item in enumerate(after):
            is_new = offset >= len(after) - len(gained) if is_shifted else offset >= start and bool(gained)
            missing.pop(offset, None)
            is_open = isinstance(committed, int) and offset >= committed
            shown.append((item, "added" if is_new else "kept", is_open))
        for offset in range(len(after), max(missing, default=-1) + 1):
            is_now = not is_shifted and start <= offset < start + len(lost)
            shown.append((missing.get(offset), "removed" if is_now else "missing", False))
        texts = [item_text(self._drawing, log.name, item) if item is not None else "" for item, _, _ in shown]
        widths = [max(26.0, _CELL_CHARACTER * len(text) + 8) for text in texts]
        left = -sum(widths) / 2
        cells = []
        for offset, ((item, style, is_open), text, width) in enumerate(zip(shown, texts, widths, strict=True)):
            is_violation = bindings.is_at(owner, log, offset) or (item is not None and bindings.is_about(log, item))
            place = (round(left, 1), round(width, 1))
            cells.append(ChartCell(*place, text, style, _colour(item, log), is_open, is_violation))
            left += width
        # An empty log is a frame without text.
        return tuple(cells) or (ChartCell(-13, 26, "", "kept", None, True),)

    def _notations(self) -> Iterator[str]:
        """Yield the form of the items of each log that are structs with a notation of their own."""
        forms: list[str] = []
        for owner in self._owners:
            for log in owner.lane.logs:
                item = getattr(type_of(self._spec, owner, log.name), "item", None)
                structs = [getattr(kind, "declared", None) for kind in getattr(item, "alternatives", [item])]
                label = self._drawing.item_labels.get(log.name)
                texts = [label] if label else [getattr(struct, "shows", None) or "" for struct in structs]
                forms += [re.sub(r"\{(?:item\.)?(\w+)\}", r"<\1>", text) for text in texts]
        yield from dict.fromkeys(form for form in forms if "<" in form)

    # The places.

    def _place_lanes(self) -> None:
        """Give each lane its part of the width: a lane with a long log gets more."""
        needs = {owner.title: float(_NARROWEST) for owner in self._owners}
        for row in self._rows:
            for title, logs in row.logs.items():
                needs[title] = max(needs[title], *(sum(cell.width for cell in cells) + 10 for cells in logs))
        for _, effect in self._silent_changes():
            longest = max(len(word) for word in effect.short.split())
            needs[effect.lane] = max(needs[effect.lane], longest * LABEL_CHARACTER + 2)
        named = {title: max(need, _TITLE_CHARACTER * len(title) + 4) for title, need in needs.items()}
        if sum(named.values()) <= MOST_WIDTH:
            needs = named
        self._least_width = sum(needs.values())
        # What is left over is shared equally.
        spare = max(USUAL_WIDTH - self._least_width, 0) / max(len(needs), 1)
        whole = sum(need + spare for need in needs.values())
        self._width = {title: 100 * (need + spare) / whole for title, need in needs.items()}
        ends = list(itertools.accumulate(self._width.values()))
        self._x = {title: end - self._width[title] / 2 for title, end in zip(needs, ends, strict=True)}

    def _place_rows(self) -> tuple[tuple[ChartNode, ...], tuple[ChartLog, ...], tuple[ChartArrow, ...]]:
        """Place the rows and what is in them; a row in which a label covers something gets more room above its node."""
        for _ in range(_MOST_ROOM):
            self._stack_rows()
            nodes, logs = tuple(self._nodes()), tuple(self._logs())
            width = drawn_width(self._least_width)
            self._occupied = [box for node in nodes for box in node_boxes(node, width)]
            self._occupied += [log_box(log, width) for log in logs]
            self._crowded = set()
            arrows = tuple(self._arrows())
            if not self._crowded:
                break
            for row in self._rows:
                row.lines_above += any(row.top <= y < row.top + row.height for y in self._crowded)
            # What is in flight at the end has its label below the last step.
            self._tail += LABEL_LINE * any(arrow.style == "open" for arrow in arrows)
        return nodes, logs, arrows

    def _stack_rows(self) -> None:
        top = 0.0
        for row in self._rows:
            inner = max(
                (
                    _LINE * len(row.labels.get(title, ())) + _LOG * len(row.logs.get(title, ()))
                    for title in {*row.labels, *row.logs}
                ),
                default=0,
            )
            width = _NARROW_SENTENCE if self._least_width > USUAL_WIDTH else _SENTENCE
            text, finding = row.sentence.text, self._finding(row)
            # The mark of a violation follows the sentence, and bold letters are wider.
            lines = _sentence_lines(f"{text} ✗" if finding else text, width)
            lines += _sentence_lines(finding, width - width // 6)
            drawn = _NODE + (row.lines_above - 1) * LABEL_LINE + _LINE * 0.5 + inner + _GAP if self._owners else 0
            least = self._least_heights[row.sentence.number - 1] if self._least_heights else 0
            row.top, row.height = top, max(drawn, lines * _SENTENCE_LINE + 10, least)
            row.height += self._tail if row is self._rows[-1] else 0
            top += row.height

    def _chart_rows(self) -> Iterator[ChartRow]:
        start = self._violation.loop_start if self._violation is not None else None
        for row in self._rows:
            number, call, text = row.sentence.number, row.sentence.call, row.sentence.text
            is_violated, is_in_loop = self._is_violated(number), start is not None and number > start
            finding = self._finding(row)
            x = self._x.get(row.lane)
            yield ChartRow(number, call, text, row.top, row.height, row.y, is_violated, is_in_loop, finding, x)

    def _nodes(self) -> Iterator[ChartNode]:
        for row in self._rows:
            lane = row.lane
            is_last = self._is_violated(row.sentence.number)
            is_marked = is_last and (self._violation is None or self._violation.loop_start is None)
            senders = [found.source for found in self._transfers if row.sentence.number == found.sent != found.arrived]
            titles = [*([lane] if lane else []), *row.labels, *(title for title in senders if title in self._x)]
            for title in dict.fromkeys(titles):
                kind: EventKind = row.event.kind if row.event is not None and title == lane else ""
                lines = tuple(row.labels.get(title, ()))
                yield ChartNode(self._x[title], row.y, kind, lines, title == lane, is_marked and title == lane)

    def _logs(self) -> Iterator[ChartLog]:
        for row in self._rows:
            for title, logs in row.logs.items():
                y = row.y + _LINE * 0.5 + _LINE * len(row.labels.get(title, ())) + 5
                for number, cells in enumerate(logs):
                    yield ChartLog(self._x[title], y + number * _LOG, cells)

    def _life_lines(self) -> Iterator[LifeLine]:
        """Yield the parts of the lanes' lines: a change of style is at the node of the step that makes it."""
        with self._spec.bound():
            states = [self._spec.in_state(step.state) for step in self._trace]
            for owner in self._owners:
                styles = [_style(state, owner) for state in states]
                begin = 0.0
                for index, style in enumerate(styles):
                    if index + 1 < len(styles) and styles[index + 1] == style:
                        continue
                    end = self._rows[index + 1].y if index + 1 < len(styles) else self._bottom
                    yield LifeLine(self._x[owner.title], self._width[owner.title], begin, end, style)
                    begin = end

    def _crowns(self) -> tuple[str, ...]:
        """Return what a line of the style "leads" says of its lane."""
        with self._spec.bound():
            states = [self._spec.in_state(step.state) for step in self._trace]
            crowned = [(owner, name, title) for owner in self._owners for name, title in owner.lane.crowned.items()]
            leads = [
                title for owner, name, title in crowned if any(value_of(state, owner, name) is True for state in states)
            ]
        return tuple(dict.fromkeys(leads))

    def _arrows(self) -> Iterator[ChartArrow]:
        # The labels of messages that one step loses stand above one another, that of the first one at the top.
        placed = sorted(self._transfers, key=lambda each: each.sent if each.is_lost else 0, reverse=True)
        for transfer in placed:
            if transfer.source in self._x and transfer.target in self._x:
                yield self._message(transfer)
        # A change in the lane that a message comes from in the same step, as by acks=1: both arrows are horizontal.
        answered = {(transfer.arrived, transfer.source, transfer.target) for transfer in self._transfers}
        for number, lane, effect in self._changes:
            y = self._rows[number - 1].y
            is_below = (number, effect.lane, lane) in answered
            y += _BELOW if is_below else 0
            ends = (self._x[lane], y), (self._x[effect.lane], y)
            yield self._arrow(*ends, "change", effect.short, effect.text, is_below)

    def _message(self, transfer: MessageTransfer) -> ChartArrow:
        # What is there from the beginning was not sent by a step: the arrow is that of its delivery.
        sent = transfer.sent if transfer.sent > 1 else transfer.arrived or 1
        start = (self._x[transfer.source], self._rows[sent - 1].y)
        target = self._x[transfer.target]
        where = f"{transfer.source} to {transfer.target}: {transfer.text}"
        if transfer.arrived is None:
            end = (start[0] + (target - start[0]) * 0.6, self._bottom - 4)
            return self._arrow(start, end, "open", transfer.text, f"{where}, still in flight")
        y = self._rows[transfer.arrived - 1].y
        if transfer.is_lost:
            end = (start[0] + (target - start[0]) * 0.6, y)
            return self._arrow(start, end, "lost", transfer.text, f"{where}, lost in step {transfer.arrived}")
        return self._arrow(start, (target, y), "", transfer.text, where)

    def _arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        style: Literal["", "lost", "open", "change"],
        text: str,
        title: str,
        is_below: bool = False,
    ) -> ChartArrow:
        """Return an arrow with its label above it (or below it): in the middle, nearer to its end if it crosses rows.

        The label is at the first place of these, and of those further away, where it covers the fewest others.
        """
        (x1, y1), (x2, y2) = start, end
        rise = y2 - y1
        lines = tuple(_lines(f"{text} (lost)" if style == "lost" else text))
        above = -LABEL_LINE if is_below else (11 if style == "lost" else 5) + LABEL_LINE * (len(lines) - 1)
        # Messages that leave one event are apart near their ends.
        parts = (1.0,) if style == "lost" else _SHORT_PARTS if rise < 60 else _LONG_PARTS
        lifts = range(1 if rise and style != "lost" else _MOST_LIFT)
        places = [
            (x1 + (x2 - x1) * part, y1 + rise * part - above - lift * LABEL_LINE * (-1 if is_below else 1))
            for lift in lifts
            for part in parts
        ]
        width = drawn_width(self._least_width)
        boxes = [arrow_label_box(*place, lines, width) for place in places]
        covered = [
            sum(box.overlaps(other) for other in self._occupied) + (box.top < 0 or box.left < 0 or box.right > width)
            for box in boxes
        ]
        best = covered.index(min(covered))
        if covered[best]:
            self._crowded.add(y2 - 1)
        self._occupied.append(boxes[best])
        return ChartArrow(x1, y1, x2, y2, style, lines, *places[best], title)

    def _loop(self) -> ChartLoop | None:
        start = self._violation.loop_start if self._violation is not None else None
        if start is None:
            return None
        first, last = self._rows[start], self._rows[-1]
        stays = start == len(self._rows) - 1
        text = (
            f"The system stays in state {start + 1} for ever."
            if stays
            else f"State {last.sentence.number} is state {first.sentence.number} again: this repeats for ever."
        )
        return ChartLoop(first.top, last.top + last.height, text)


def _style(working: Any, owner: LaneOwner) -> Literal["runs", "leads", "stopped"]:
    if not is_lane_alive(working, owner):
        return "stopped"
    leads = any(value_of(working, owner, name) is True for name in owner.lane.crowned)
    return "leads" if leads else "runs"


def _lines(text: str, width: int = _LABEL) -> list[str]:
    """Return a label in lines of `width` characters; a word that is longer than a line is not cut."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _sentence_lines(text: str, width: int) -> int:
    """Return the lines of a text of `width` characters; four capitals are as wide as five other letters."""
    return len(textwrap.wrap(re.sub("[A-Z_]{4}", r"\g<0>_", text), width))


def _colour(item: Any, log: Log) -> int | None:
    value = identity(item, log)
    number = value if isinstance(value, int) else getattr(value, "index", None)
    return number % 7 if isinstance(number, int) else None
