"""Exhaustive conformance of an implementation: breadth-first over pairs of a spec's state and the implementation.

A random test may miss a difference that the state of the implementation hides from the spec. The search takes each
step of the spec from each pair, with a copy of the implementation, so that it ends with a shortest run to a difference
or with the number of pairs in which there is none.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import pickle
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from checker.errors import Disabled, InputError, SpecError, exception_text
from checker.explain.guards import why_disabled
from checker.frontend.program import compile_spec
from checker.language.interpreter import State, call_text
from checker.language.spec import Spec
from checker.output import styled_lines
from checker.output.counterexample_text import state_lines
from checker.printable import quantity
from checker.testing.adapter import Adapter, differences, require_methods

MOST_PAIRS = 1_000_000

_NOT_COPIED = (TypeError, AttributeError, RecursionError, pickle.PicklingError, copy.Error)


@dataclass(frozen=True)
class ConformanceResult:
    """The result of a search over pairs.

    `pairs` counts the pairs of states, `steps` the calls that the spec allows, `refusals` those that it forbids.
    `calls` is a shortest run to the `difference`, or empty; `state` is then the state of the spec. `is_complete`: a
    step was compared, and no pair was left out. `leaves_out` are the actions that no run takes.
    """

    spec: Spec
    pairs: int
    steps: int
    refusals: int
    is_complete: bool
    leaves_out: tuple[str, ...] = ()
    difference: str = ""
    calls: tuple[str, ...] = ()
    state: State | None = None

    def check(self) -> None:
        """Raise AssertionError if there is a difference, or if the search was not complete."""
        if self.difference or not self.is_complete:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        counts = f"{quantity(self.pairs, 'pair')}, {quantity(self.steps, 'step')}"
        counts += f", {self.refusals:,} forbidden" if self.refusals else ""
        if self.state is None:
            open_end = "undecided, no difference so far" if self.steps else "undecided, no step was compared"
            end = "no difference is possible" if self.is_complete else open_end
            without = f" without {', '.join(self.leaves_out)}" if self.leaves_out else ""
            return f"{self.spec.name}: {end}{without}: {counts}"
        run = "\n".join(f"  {number} {call}" for number, call in enumerate(self.calls, 1))
        with self.spec.bound():
            shown = styled_lines.plain(state_lines(self.spec, self.state))
        return (
            f"the implementation differs from {self.spec.name} after {quantity(len(self.calls), 'call')} ({counts}):\n"
            f"{self.difference}\n\n{run or '  initial state'}\n\nstate of {self.spec.name}:\n{shown}"
        )


@dataclass(frozen=True)
class _Pair:
    """A state of the spec, the implementation in it, and the calls that led there from an initial state."""

    initial: State
    state: State
    adapter: Adapter
    path: tuple[_Call, ...] = ()
    identity: bytes = b""


@dataclass(frozen=True)
class _Call:
    action: str
    arguments: tuple[Any, ...]
    is_allowed: bool

    def __str__(self) -> str:
        return call_text(self.action, self.arguments) + ("" if self.is_allowed else ", which the spec forbids")


class _DifferenceError(Exception):
    """The implementation does what the spec does not allow; `text` says what."""

    def __init__(self, text: str, pair: _Pair):
        super().__init__(text)
        self.text, self.pair = text, pair


def conform(spec: type[Spec] | Spec, adapter: type[Adapter], most_pairs: int = MOST_PAIRS) -> ConformanceResult:
    """Compare an implementation with a spec in every pair of their states; return a shortest difference, if any.

    From each pair the search takes every step that the spec allows and, if `adapter.refuses` names exceptions, every
    one that it forbids: with all values of the parameters; where these are too many, with all arguments that the spec
    allows in some state. The answer holds for the bounds of the spec, and for an implementation that keeps its whole
    state in the adapter's attributes; see `Adapter.fork` and `Adapter.identity`. A search that reaches `most_pairs` is
    undecided. Raises SpecError if the spec is outside the language or has no initial state, or the adapter no method
    for an action, InputError if the state of the implementation cannot be compared, or copies of it share a part, and
    BoundsError if the spec leaves a type's bounds.
    """
    driven = spec if isinstance(spec, Spec) else spec()
    compile_spec(driven)
    require_methods(driven, adapter)
    with driven.bound():
        return _PairSearch(driven, adapter, most_pairs).result()


class _PairSearch:
    def __init__(self, spec: Spec, adapter: type[Adapter], most: int):
        self._spec, self._adapter, self._most = spec, adapter, most
        self._known: set[tuple[State, bytes]] = set()
        self._waiting: deque[_Pair] = deque()
        self._steps = self._refusals = 0
        self._is_complete, self._replays = True, False
        self._somewhere: dict[str, dict[tuple[Any, ...], None]] | None = None

    def result(self) -> ConformanceResult:
        """Search, and return the result."""
        text = ""
        calls: tuple[str, ...] = ()
        last: State | None = None
        try:
            self._search()
        except _DifferenceError as error:
            self._require_repeatable(error.pair)
            text, calls, last = error.text, tuple(map(str, error.pair.path)), error.pair.state
            error.pair.adapter.close()
        finally:
            for pair in self._waiting:
                pair.adapter.close()
        return ConformanceResult(
            self._spec,
            len(self._known),
            self._steps,
            self._refusals,
            self._is_complete and self._steps > 0,
            self._adapter.leaves_out,
            text,
            calls,
            last,
        )

    def _search(self) -> None:
        for state in self._spec.initial_states():
            self._arrive(_Pair(state, state, self._new_adapter(state)))
        if not self._known:
            raise SpecError(
                f"{self._spec.name} has no initial state: `init` is disabled for every choice of its parameters"
            )
        while self._waiting:
            origin = self._waiting.popleft()
            try:
                self._expand(origin)
            finally:
                origin.adapter.close()

    def _expand(self, origin: _Pair) -> None:
        """Take each call from a pair."""
        # As in an exploration, no run continues from a state outside the constraints.
        for call, state in self._calls(origin.state) if self._spec.within_constraints(origin.state) else ():
            try:
                following = self._after_call(origin, call, state)
            finally:
                self._require_independent(origin)
            self._arrive(following)

    def _calls(self, state: State) -> Iterator[tuple[_Call, State]]:
        """Iterate over the calls to take in a state, each with the next state of the spec."""
        left_out = self._adapter.leaves_out
        steps = [step for step in self._spec.successors(state) if step.action not in left_out]
        for step in steps:
            self._steps += 1
            yield _Call(step.action, step.arguments, is_allowed=True), step.state
        if not self._adapter.refuses:
            return
        allowed = {(step.action, step.arguments) for step in steps}
        for shape in self._spec.shapes():
            if shape.name in left_out:
                continue
            instances = dict.fromkeys(arguments for _, arguments in self._spec.instances_of(shape, state))
            if any(parameter.collection is not None for parameter in shape.parameters):
                instances |= dict.fromkeys(self._arguments_somewhere(shape.name))
            for arguments in instances:
                if (shape.name, arguments) not in allowed:
                    self._refusals += 1
                    yield _Call(shape.name, arguments, is_allowed=False), state

    def _arguments_somewhere(self, action: str) -> dict[tuple[Any, ...], None]:
        """Return the arguments with which the spec allows an action in some state, such as all messages ever sent.

        The instances of a state are only those of its own messages, which the spec allows.
        """
        if self._somewhere is None:
            self._somewhere = {name: {} for name in self._spec.actions}
            known = dict.fromkeys(self._spec.initial_states())
            waiting = deque(known)
            while waiting:
                state = waiting.popleft()
                for step in self._spec.successors(state) if self._spec.within_constraints(state) else ():
                    self._somewhere[step.action][step.arguments] = None
                    if step.state in known:
                        continue
                    if len(known) >= self._most:
                        self._is_complete = False
                        continue
                    known[step.state] = None
                    waiting.append(step.state)
        return self._somewhere[action]

    def _after_call(self, origin: _Pair, call: _Call, state: State) -> _Pair:
        """Return the pair after a call; raise _DifferenceError if the implementation does not do what the spec says."""
        following = _Pair(origin.initial, state, self._copy_of(origin), (*origin.path, call))
        try:
            getattr(following.adapter, call.action)(*call.arguments)
        except self._adapter.refuses as error:
            if call.is_allowed:
                raise _DifferenceError(f"  it refuses the step: {exception_text(error)}", following) from None
            return following
        except Exception as error:
            raise _DifferenceError(f"  it fails: {exception_text(error)}", following) from error
        if not call.is_allowed:
            raise _DifferenceError(f"  it accepts a step that the spec forbids: {self._why(origin, call)}", following)
        return following

    def _why(self, origin: _Pair, call: _Call) -> str:
        try:
            self._spec.step(origin.state, call.action, *call.arguments)
        except Disabled as error:
            return why_disabled(self._spec, error)
        raise AssertionError("the step is enabled")

    def _arrive(self, pair: _Pair) -> None:
        """Compare the implementation with the spec, and add the pair if it is new."""
        self._compare(pair)
        pair = replace(pair, identity=self._identity(pair.adapter))
        key = pair.state, pair.identity
        if key in self._known:
            pair.adapter.close()
        elif len(self._known) >= self._most:
            self._is_complete = False
            pair.adapter.close()
        else:
            self._known.add(key)
            self._waiting.append(pair)

    def _compare(self, pair: _Pair) -> None:
        seen, expected = pair.adapter.observe(), pair.adapter.project(self._spec.in_state(pair.state))
        if seen != expected:
            raise _DifferenceError("\n".join(f"  {line}" for line in differences(expected, seen)), pair)

    def _require_repeatable(self, pair: _Pair) -> None:
        """Raise InputError if a new implementation does not differ after the same calls, as with a class attribute."""
        if not pair.path or self._replays:
            return
        self._replays = True
        try:
            # The state of the spec is that before a step that it forbids.
            again = self._after_call(replace(pair, path=pair.path[:-1]), pair.path[-1], pair.state)
            self._compare(again)
        except _DifferenceError as error:
            error.pair.adapter.close()
            return
        again.adapter.close()
        raise InputError(
            f"{type(pair.adapter).__name__} differs from the spec as a copy only: copies share state or lose a part of "
            "it, or it is not deterministic; define fork(self), which returns an independent copy, or raises TypeError"
        )

    def _require_independent(self, origin: _Pair) -> None:
        """Raise InputError if a call on a copy changed its original, as with a closure: deepcopy does not copy it."""
        if self._identity(origin.adapter) != origin.identity:
            raise InputError(
                f"a copy of {type(origin.adapter).__name__} shares state with its original: "
                "define fork(self), which returns an independent copy, or raises TypeError"
            )

    def _identity(self, adapter: Adapter) -> bytes:
        try:
            content = pickle.dumps(adapter.identity())
        except _NOT_COPIED as error:
            raise InputError(
                f"the state of {type(adapter).__name__} cannot be compared ({exception_text(error)}): "
                "define identity(self), which returns it as numbers, texts, tuples and the like"
            ) from None
        return hashlib.blake2b(content, digest_size=16).digest()

    # Copies of the implementation.

    def _copy_of(self, pair: _Pair) -> Adapter:
        """Return a copy of the implementation in a pair; one that cannot be copied takes all its calls again."""
        if not self._replays:
            try:
                return pair.adapter.fork()
            except _NOT_COPIED:
                self._replays = True
        again = self._new_adapter(pair.initial)
        for call in pair.path:
            with contextlib.suppress(*self._adapter.refuses):
                getattr(again, call.action)(*call.arguments)
        return again

    def _new_adapter(self, state: State) -> Adapter:
        adapter = self._adapter()
        adapter.start(self._spec.in_state(state))
        return adapter
