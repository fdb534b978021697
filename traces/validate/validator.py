"""The validator: it computes the set of candidate states of the spec after each event of a trace.

The candidates are the last states of all behaviours that explain the events so far, including silent steps. A trace is
rejected only if no candidate is left. Sets are cached together with their successors by event: many traces of one spec
share prefixes, and an event after a known prefix costs one look-up.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from checker.errors import InputError, UserError
from traces.validate.events import RecordedEvent, RecordedTrace
from traces.validate.forgetting import FinishedPrefix, RecordWindow, WindowExceededError
from traces.validate.mapping import Mapping, PossibleStep
from traces.validate.moves import Key, Moves
from traces.validate.observations import Observer, matches
from traces.validate.rejections import SHOWN, Reasons, reasons_of, reasons_of_contradiction
from traces.validate.verdict import Limit, Rejection, TraceVerdict


@dataclass(frozen=True)
class ValidationLimits:
    """Limits of a validation: number of candidates at a time, number of silent steps in a row."""

    candidates: int = 10_000
    silent: int = 8


@dataclass
class CandidateStates:
    """A set of candidate states, and the sets that events lead to from it.

    `arrived` are the states after an event, `closed` these and the states that silent steps lead to. `limits` are those
    reached between the two. `next` holds, by event, the next set and the limits that the event reached. `shorter`
    holds, by the largest number of records to forget, the set without finished records.
    """

    arrived: tuple[Key, ...]
    closed: tuple[Key, ...]
    limits: frozenset[Limit]
    violated: frozenset[str]
    next: dict[tuple[str, ...], tuple[CandidateStates, frozenset[Limit]]] = field(default_factory=dict)
    shorter: dict[int, ShorterCandidates | None] = field(default_factory=dict)


@dataclass(frozen=True)
class ShorterCandidates:
    """Candidates without a finished prefix of records, and the largest number of identities that one has taken."""

    candidates: CandidateStates
    prefix: FinishedPrefix
    identities: int


class Validator:
    """Checks traces against a spec with fixed constants. Raises InputError if the mapping does not fit the spec.

    With a `window`, the spec has that number of records, and the mapping's `forgetting` removes finished ones from the
    candidates when later events need room. `unchecked` are the invariants that this makes impossible to check.
    """

    def __init__(
        self,
        moves: Moves,
        mapping: Mapping,
        limits: ValidationLimits | None = None,
        window: int | None = None,
        unchecked: tuple[str, ...] = (),
    ):
        self.spec, self.mapping, self.window, self._unchecked = moves.spec, mapping, window, unchecked
        self.limits = limits or ValidationLimits(silent=mapping.silent_bound)
        self.moves, self._observer = moves, Observer(moves.spec)
        self._known: dict[tuple[Key, ...], CandidateStates] = {}
        self._parameters = {shape.name: {p.name: p.type for p in shape.parameters} for shape in self.spec.shapes()}
        self.silent = mapping.silent_steps
        for step in self.silent:
            self._check(step)
        self.initial = self._candidates(tuple(moves.initial()))

    def validate(self, recorded: RecordedTrace) -> TraceVerdict:
        """Return the verdict on a trace.

        Raises InputError if the mapping fails or skips every event, and WindowExceededError if the window is too small.
        """
        outcome = TraceVerdict(
            recorded.name,
            recorded.file,
            len(recorded.events),
            constants=self.spec.constants,
            blank=recorded.blank,
            unchecked=self._unchecked,
        )
        window, consistency = self._window_of(recorded), self.mapping.consistency()
        current, line = self.initial, 0
        outcome.limits, outcome.widest = current.limits, len(current.closed)
        for position, event in enumerate(recorded.events):
            try:
                fields = event.found
                wrong = self.mapping.contradiction(consistency, fields)
                if wrong is None and window is not None:
                    wrong = window.contradiction(position, fields)
                if wrong is not None:
                    reasons = reasons_of_contradiction(wrong, len(current.closed))
                    return self._without_candidates(outcome, current, event, reasons)
                if window is not None:
                    current = self._with_room(current, window, position)
                    window.take(position)
                    fields = window.renumbered(fields)
                    outcome.forgotten, outcome.first_offset = window.forgotten.records, window.forgotten.offsets
                steps = self.mapping.steps_of(fields)
                if steps is None:
                    name = self.mapping.name_of(event.found)
                    outcome.skipped[name] = outcome.skipped.get(name, 0) + 1
                    continue
                following, limits = self.after(current, steps)
                outcome.limits |= limits
                if not following.arrived:
                    reasons = reasons_of(self.moves, self._observer, current.closed, steps)
                    return self._without_candidates(outcome, current, event, reasons)
            except UserError as error:
                raise InputError(error.message, file=recorded.file, line=event.line) from error
            is_step = any(step.action is not None for step in steps)
            outcome.steps, outcome.seen = outcome.steps + is_step, outcome.seen + (not is_step)
            current, line = following, event.line
            outcome.limits |= current.limits
            outcome.widest = max(outcome.widest, len(current.closed))
            for name in current.violated:
                outcome.violated.setdefault(name, line)
        if not line:
            what = "every event is skipped" if recorded.events else "it has no events"
            raise InputError(f"this trace does not concern {self.spec.name}: {what}", file=recorded.file)
        return outcome

    def _without_candidates(
        self, outcome: TraceVerdict, current: CandidateStates, event: RecordedEvent, reasons: Reasons
    ) -> TraceVerdict:
        """Return the verdict on a trace with an event that no candidate explains."""
        shown = tuple(self.moves.state(key) for key in current.closed[:SHOWN])
        outcome.rejection = Rejection(
            event.line, self.mapping.name_of(event.found), event.found, len(current.closed), shown, reasons
        )
        if any(reason.kind == "bounds" for reason in reasons):
            outcome.limits |= {"bounds"}
        outcome.verdict = "undecided" if outcome.limits else "rejected"
        return outcome

    # Finished records.

    def _window_of(self, recorded: RecordedTrace) -> RecordWindow | None:
        if self.window is None or self.mapping.forgetting is None:
            return None
        return RecordWindow(self.mapping.forgetting, self.window, [event.found for event in recorded.events])

    def _with_room(self, current: CandidateStates, window: RecordWindow, position: int) -> CandidateStates:
        """Return the candidates without finished records, if an event needs their room; raise WindowExceededError."""
        if window.has_room(position):
            return current
        most = window.most(position)
        if most not in current.shorter:
            current.shorter[most] = self._shorter(current, most)
        shorter = current.shorter[most]
        if shorter is None:
            raise WindowExceededError
        window.forget(shorter.prefix, shorter.identities)
        if not window.has_room(position):
            raise WindowExceededError
        return shorter.candidates

    def _shorter(self, current: CandidateStates, most: int) -> ShorterCandidates | None:
        """Return the candidates without their longest common finished prefix, and that prefix; None if there is none.

        The candidates must agree on the forgotten entries of the log, and on the violations that only these show. Such
        violations are already part of the verdict.
        """
        forgetting = self.mapping.forgetting
        assert forgetting is not None
        states = [self.moves.state(key) for key in current.arrived]
        with self.spec.bound():
            prefixes = [set(forgetting.finished(self.spec.in_state(state), most)) for state in states]
        for prefix in sorted(set.intersection(*prefixes), key=lambda prefix: -prefix.records):
            forget = functools.partial(forgetting.forget, prefix=prefix)
            changed = [self.spec.changed(state, forget) for state in states]
            keys = tuple(self.moves.key(state) for state in changed)
            lost = {
                self.moves.violated(old) - self.moves.violated(new)
                for old, new in zip(current.arrived, keys, strict=True)
            }
            if len(lost) == 1:
                with self.spec.bound():
                    identities = max(forgetting.identities_in(self.spec.in_state(state)) for state in changed)
                return ShorterCandidates(self._candidates(tuple(dict.fromkeys(keys))), prefix, identities)
        return None

    # Sets of candidates.

    def after(
        self, current: CandidateStates, steps: tuple[PossibleStep, ...]
    ) -> tuple[CandidateStates, frozenset[Limit]]:
        """Return the candidates after an event with some possible steps, and the limits reached."""
        key = tuple(step.key for step in steps)
        following = current.next.get(key)
        if following is None:
            for step in steps:
                self._check(step)
            arrived, limits = self._successors(current.closed, steps)
            following = current.next[key] = (self._candidates(arrived), limits)
        return following

    def _candidates(self, arrived: tuple[Key, ...]) -> CandidateStates:
        candidates = self._known.get(arrived)
        if candidates is None:
            closed, limits = self._closure(arrived)
            violated = [self.moves.violated(key) for key in arrived]
            common = frozenset.intersection(*violated) if violated else frozenset()
            candidates = CandidateStates(arrived, closed, limits, common)
            if len(self._known) >= self.moves.remembered // 2:
                self._forget()
            self._known[arrived] = candidates
        return candidates

    def _forget(self) -> None:
        """Empty the cache. Sets may refer to each other in cycles; clearing them breaks these cycles."""
        for candidates in (self.initial, *self._known.values()):
            candidates.next.clear()
            candidates.shorter.clear()
        self._known.clear()

    def _closure(self, arrived: tuple[Key, ...]) -> tuple[tuple[Key, ...], frozenset[Limit]]:
        """Return some states with all states that silent steps lead to, and the limits reached."""
        if not self.silent:
            return arrived, frozenset()
        known: dict[Key, None] = dict.fromkeys(arrived)
        limits: frozenset[Limit] = frozenset()
        frontier = arrived
        for depth in range(self.limits.silent + 1):
            reached, more = self._successors(frontier, self.silent, known=known)
            limits |= more
            frontier = reached
            if not frontier:
                return tuple(known), limits
            if depth == self.limits.silent:
                break
            room = self.limits.candidates - len(known)
            if len(frontier) > room:
                return (*known, *frontier[: max(room, 0)]), limits | {"candidates"}
            known.update(dict.fromkeys(frontier))
        return tuple(known), limits | {"silent"}

    def _successors(
        self, keys: Iterable[Key], steps: Iterable[PossibleStep], known: dict[Key, None] | None = None
    ) -> tuple[tuple[Key, ...], frozenset[Limit]]:
        """Return the successors of some states by some steps, without the known ones, and the limits reached."""
        reached: dict[Key, None] = {}
        limits: set[Limit] = set()
        for key in keys:
            for step in steps:
                limits |= self._limits_of(key, step)
                for _, target in self.matching(key, step):
                    if known is None or target not in known:
                        reached[target] = None
        if len(reached) > self.limits.candidates:
            limits.add("candidates")
            return tuple(reached)[: self.limits.candidates], frozenset(limits)
        return tuple(reached), frozenset(limits)

    def matching(self, key: Key, step: PossibleStep) -> list[tuple[tuple[Any, ...], Key]]:
        """Return the arguments with which a step can be taken in a state, each with the next state."""
        if step.action is None:
            return [((), key)] if self._is_seen(step.seen_after, key, {}) else []
        names = self._parameters[step.action]
        moves = []
        for arguments, target in self.moves.expand(key).moves.get(step.action, ()):
            given = dict(zip(names, arguments, strict=True))
            if (
                self._is_given(step, given)
                and self._is_seen(step.seen_before, key, given)
                and self._is_seen(step.seen_after, target, given)
            ):
                moves.append((arguments, target))
        return moves

    def _limits_of(self, key: Key, step: PossibleStep) -> set[Limit]:
        """Return {"bounds"} if a matching instance of the step leaves the bounds of a type."""
        failures = self.moves.expand(key).failures.get(step.action, ()) if step.action is not None else ()
        for arguments, _ in failures:
            given = dict(zip(self._parameters[step.action or ""], arguments, strict=True))
            if self._is_given(step, given) and self._is_seen(step.seen_before, key, given):
                return {"bounds"}
        return set()

    def _is_given(self, step: PossibleStep, given: dict[str, Any]) -> bool:
        return all(matches(given[name], observed) for name, observed in step.arguments.items())

    def _is_seen(self, expectations: dict[str, Any], key: Key, given: dict[str, Any]) -> bool:
        return not expectations or self._observer.mismatch(expectations, self.moves.state(key), given) is None

    def _check(self, step: PossibleStep) -> None:
        """Raise InputError if a step names an action or a parameter that the spec does not have."""
        if step.action is None:
            return
        known = self._parameters.get(step.action)
        if known is None:
            raise InputError(
                f"{type(self.mapping).__name__} names the action {step.action}, which {self.spec.name} does not have; "
                f"its actions are {', '.join(self._parameters)}"
            )
        for name, observed in step.arguments.items():
            if name not in known:
                raise InputError(
                    f"{type(self.mapping).__name__} gives {step.action} the argument {name}; "
                    f"it takes {', '.join(known) or 'none'}"
                )
            self._observer.require_argument(step.action, name, known[name], observed)
