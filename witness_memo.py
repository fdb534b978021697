"""What `witness_check.py --memo` adds: the results of a spec's methods are kept. The answer is the same, and sooner.

A method depends on the variables that it reads. A tree keeps its results by the values of these variables: a method
runs once for each of their combinations, not once for each state. This module uses public names of `checker.language`
alone.
"""

from functools import partial

from checker.language import BoundsError, Disabled, State, Step

MOST_RESULTS = 5_000_000
"""The results that are kept: later ones are computed each time."""


class Noted:
    """The values of a state for the methods of the interpreter: notes in `reads` what is read, and keeps what is set.

    It has no other methods of a dict, so that nothing is read without a note.
    """

    def __init__(self, values, number, reads):
        self.values, self.number, self.reads, self.written = values, number, reads, {}

    def __getitem__(self, name):
        if name in self.written:
            return self.written[name]
        value = self.reads[self.number, name] = self.values[name]
        return value

    def __setitem__(self, name, value):
        self.written[name] = value

    def copy(self):
        """Return the values for another run of a method, which notes in the same place."""
        return Noted(self.values, self.number, self.reads)


class Memo:
    """A spec with the two methods that the checker calls for each state, `holds` and `successors`."""

    def __init__(self, spec):
        self.spec, self.properties, self.values, self.kept = spec, {}, {}, 0
        self.actions = [(shape.name, Results(self, self._effects_of(shape))) for shape in spec.shapes()]

    def holds(self, name, state, old=None, arguments=()):
        """Return what `Spec.holds` returns."""
        if (name, arguments) not in self.properties:
            run = partial(self.spec.holds, arguments=arguments)
            self.properties[name, arguments] = Results(self, lambda *noted: run(name, *map(State, noted)))
        states = [state.values] if old is None else [state.values, old.values]
        return self.properties[name, arguments](*states)

    def successors(self, state):
        """Return what `Spec.successors` returns, or raise the same error."""
        steps = []
        for action, effects in self.actions:
            for number, arguments, effect in effects(state.values):
                if isinstance(effect, str):
                    return self.spec.successors(state)
                steps.append(Step(action, arguments, number, State({**state.values, **effect})))
        return steps

    def _effects_of(self, shape):
        """Return the function from a state to the enabled instances of an action, each with its effect."""
        instances = Results(self, lambda noted: list(self.spec.instances_of(shape, State(noted))))
        calls = {}

        def effects(noted):
            enabled = []
            for number, arguments in instances(noted):
                if arguments not in calls:
                    calls[arguments] = Results(self, partial(self._effect, shape.name, arguments))
                effect = calls[arguments](noted)
                enabled += [(number, arguments, effect)] if effect is not None else []
            return enabled

        return effects

    def _effect(self, action, arguments, noted):
        """Return the new values, None if the instance is disabled, or the message if a value leaves its bounds."""
        try:
            written = self.spec.values_after(action, noted, arguments).written
            return {name: self.values.setdefault((name, value), value) for name, value in written.items()}
        except Disabled:
            return None
        except BoundsError as error:
            return str(error)


class Results:
    """A function of the values of one state or of two, with its results in a tree.

    A node is ((number of the state, name of the variable), {id of the value: (value, node)}), or (None, result). A hash
    of a value takes longer than an id. An equal value with another id is computed again. A value in the tree lives, so
    no other value gets its id.
    """

    def __init__(self, memo, run):
        self.memo, self.run, self.tree = memo, run, None

    def __call__(self, *states):
        """Return the result for the values of states; if these are noted, so is what the result depends on."""
        node = self.tree
        while node is not None:
            key, content = node
            if key is None:
                return content
            number, name = key
            _, node = content.get(id(states[number][name]), (None, None))
        reads = {}
        with self.memo.spec.bound():
            result = self.run(*(Noted(values, number, reads) for number, values in enumerate(states)))
        if self.memo.kept < MOST_RESULTS:
            self.memo.kept += 1
            self.tree = self._with(self.tree, list(reads.items()), result)
        return result

    def _with(self, node, reads, result):
        """Return a tree with one more result."""
        if not reads:
            return None, result
        (key, value), *others = reads
        if node is None:
            node = key, {}
        if node[0] != key:
            raise BoundsError("a method reads other variables the second time")
        _, below = node[1].get(id(value), (None, None))
        node[1][id(value)] = value, self._with(below, others, result)
        return node
