"""The methods of a spec as functions of packed states, for `witness_check.py`: each result is kept.

A method depends on the variables that it reads. A tree keeps its results by the values of these variables: a method
runs once for each of their combinations, not once for each state. This module imports public names of
`checker.language` alone.
"""

from __future__ import annotations

import copy
import functools
import itertools

from checker.language import BoundsError, Disabled, State
from witness_files import RefutedError, require

MOST_RESULTS = 5_000_000
"""The results that are kept: later ones are computed each time."""


class Record:
    """Stands in for the values of a state while a method runs: it notes what the method reads, and what it writes.

    It has no other methods of a dict, so that nothing is read without a note.
    """

    def __init__(self, fields, table, packed, reads):
        self.fields, self.table, self.packed, self.reads, self.known = fields, table, packed, reads, {}
        self.written = {}

    def __getitem__(self, name):
        if name in self.written:
            return self.written[name]
        if name not in self.known:
            shift, mask = self.fields[name]
            number = self.packed >> shift & mask
            self.reads[shift, mask] = number
            self.known[name] = self.table[name][number]
        return self.known[name]

    def __setitem__(self, name, value):
        self.written[name] = value

    def keys(self):
        """Return nothing: the interpreter copies the values after a step, of which `written` has all that changed."""
        return ()


class Methods:
    """The methods of a spec, with the values that one of the tables gives to the numbers of a packed state."""

    def __init__(self, spec, stored, table, classes_of):
        self.stored, self.table, self.numbers = stored, stored.tables[table], stored.numbers[table]
        self.plain, self.spec, self.index, self.classes_of, self.kept, self.known = (
            spec,
            copy.copy(spec),
            table,
            classes_of,
            0,
            {},
        )
        self.spec._working = self._working
        # The old state of a step is above the new one.
        self.above = 8 * stored.width
        old = {name: (shift + self.above, mask) for name, (shift, mask) in stored.fields.items()}
        self.fields = [stored.fields, old]
        self.actions = []
        for shape in spec.shapes():
            calls = Memo(self, functools.partial(self._calls, shape))
            self.actions.append(Memo(self, functools.partial(self._effects, calls)))

    def _working(self, record):
        """Return the copy of the spec on which the interpreter runs a method, with a record in place of values."""
        made = object.__new__(type(self.spec))
        made.__dict__.update(self.spec.__dict__, _values=record)
        return made

    def holds(self, name, arguments=()):
        """Return the function of a property, a premise or a constraint."""
        if (name, arguments) not in self.known:
            self.known[name, arguments] = Memo(self, lambda state: self.spec.holds(name, state, arguments=arguments))
        return self.known[name, arguments]

    def holds_after(self, name, old, state):
        """Return whether a property of steps is true of the step from a packed state to one of its successors."""
        if isinstance(state, State):
            return self.plain.holds(name, state, self.stored.state(old, self.index))
        if name not in self.known:
            self.known[name] = Memo(self, lambda state, old: self.spec.holds(name, state, old), states=2)
        return self.known[name](old << self.above | state)

    def steps(self, state):
        """Return the successors of a packed state, each with the fair classes of the steps to it and its position.

        A successor is packed, or, with a value that is in no table of this image, a State.
        """
        steps = {}
        for call, effect in itertools.chain.from_iterable(action(state) for action in self.actions):
            require(type(effect) is tuple, call, "leaves its bounds:", effect)
            stay, bits, written = effect
            after = state & stay | bits if bits is not None else self._whole(state, written)
            if after in steps:
                steps[after][0].update(call.classes)
            elif (position := self._position(after)) is None:
                raise RefutedError(
                    f"{call} leads from a state to one that is not in the set: {self._whole(state, written)}"
                )
            else:
                steps[after] = set(call.classes), position
        return steps

    def _position(self, after):
        position = None if isinstance(after, State) else self.stored.position(after)
        if position is None and len(self.stored.tables) > 1:
            position = self.stored.find(after if isinstance(after, State) else self.stored.state(after, self.index))
        return position

    def _whole(self, state, written):
        return State(self.stored.state(state, self.index).values | written)

    def _calls(self, shape, state):
        """Return the instances of an action in a state, enabled or not."""
        given = [(shape.name, arguments) for _, arguments in self.spec.instances_of(shape, state)]
        return [self.known.setdefault(call, Call(self, *call)) for call in given]

    def _effects(self, calls, state):
        """Return the enabled instances with what they change: as a whole they depend on all that each of them reads."""
        packed, reads = state.values.packed, state.values.reads
        effects = [(call, call.noted(packed, reads)) for call in calls.noted(packed, reads)]
        return [(call, effect) for call, effect in effects if effect is not None]


class Memo:
    """A function of a packed state, or of two. It is a tree: (shift, mask, {number: tree}), or (None, result, None)."""

    def __init__(self, methods, run, states=1):
        self.methods, self.run, self.states, self.tree = methods, run, states, {}

    def __call__(self, packed):
        """Return the result for a packed state."""
        node, at = self.tree, None
        while (branch := node.get(at)) is not None:
            shift, mask, node = branch
            if shift is None:
                return mask
            at = packed >> shift & mask
        return self._computed(packed, {})

    def noted(self, packed, reads):
        """Return the result for a packed state, and note in `reads` on what it depends."""
        node, at = self.tree, None
        while (branch := node.get(at)) is not None:
            shift, mask, node = branch
            if shift is None:
                return mask
            reads[shift, mask] = at = packed >> shift & mask
        own = {}
        value = self._computed(packed, own)
        reads.update(own)
        return value

    def _computed(self, packed, reads):
        methods = self.methods
        fields = methods.fields[: self.states]
        with methods.spec.bound():
            value = self.run(*(State(Record(each, methods.table, packed, reads)) for each in fields))
        if methods.kept < MOST_RESULTS:
            methods.kept += 1
            self._keep(reads, value)
        return value

    def _keep(self, reads, value):
        node, at = self.tree, None
        for (shift, mask), number in reads.items():
            branch = node.setdefault(at, (shift, mask, {}))
            require(branch[:2] == (shift, mask), "a method reads other variables the second time")
            node, at = branch[2], number
        node[at] = (None, value, None)


class Call(Memo):
    """An instance of an action: a function that returns None if it is disabled, a message, or what it changes.

    What it changes: the bits that stay, those that replace others (None: a value is in no table), and the new values.
    """

    def __init__(self, methods, action, arguments):
        super().__init__(methods, self._effect)
        self.action, self.arguments, self.classes = action, arguments, methods.classes_of(action, arguments)

    def __str__(self):
        return f"{self.action}({', '.join(map(str, self.arguments))})"

    def _effect(self, state):
        methods = self.methods
        try:
            methods.spec._run(self.action, state.values, self.arguments)
        except Disabled:
            return None
        except BoundsError as error:
            return str(error)
        stay, bits, written = -1, 0, state.values.written
        for name, value in written.items():
            (shift, mask), number = methods.stored.fields[name], methods.numbers[name].get(value)
            stay &= ~(mask << shift)
            bits = None if bits is None or number is None else bits | number << shift
        return stay, bits, written
