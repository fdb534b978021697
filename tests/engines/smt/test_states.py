"""Encodings of states: the well-formed ones are exactly the canonical encodings of the states."""

import itertools

import pytest
import z3

from checker.engines.smt.lowering.encoding import decoded, new_value, well_formed
from checker.engines.smt.lowering.integers import SymbolicInteger
from checker.engines.smt.lowering.logic import truth_term
from checker.engines.smt.lowering.symbolic_values import parts_of, z3_constants
from checker.engines.smt.transition_system import TransitionSystem
from checker.language import Bag, Domain, Enum, Map, OneOf, Option, Range, Seq, SetOf, Spec, Struct, action, invariant
from checker.language.interpreter import State
from tests.engines.smt.single_state import SymbolicStateEngine


class Colour(Enum):
    RED = "red"
    GREEN = "green"
    BLUE = "blue"


class Name(Domain):
    size, prefix = 3, "n"


class Pair(Struct):
    number: Range(0, 2)
    name: Option(Name)


class Alone(Struct):
    name: Name


class Everything(Spec):
    """A variable of each type that has ill-formed encodings."""

    colour = Colour
    number = Range(3, 7)
    below = Range(-3, 1)
    chosen = Option(Range(2, 4))
    pairs = Seq(Pair, 2)
    few = SetOf(Range(0, 4), 2)
    bag = Bag(Range(0, 2), 2)
    of_each = Map(Name, Option(Colour))
    either = OneOf(Pair, Alone)

    @action
    def stay(self):
        self.colour = self.colour

    @invariant
    def is_a_state(self):
        return True


def numbers_of(kind):
    """Iterate over all values of the Z3 constants of a type, including ill-formed ones."""
    value = new_value(kind, "x")
    constants = z3_constants(value)
    sizes = [2 ** term.size() if isinstance(term, z3.BitVecRef) else 2 for term in constants]
    for numbers in itertools.product(*(range(size) for size in sizes)):
        yield (
            value,
            [
                (term, z3.BitVecVal(n, term.size()) if isinstance(term, z3.BitVecRef) else z3.BoolVal(bool(n)))
                for term, n in zip(constants, numbers, strict=True)
            ],
        )


KINDS = {name: kind for name, kind in Everything().variables.items() if name not in ("pairs", "of_each")}


@pytest.mark.parametrize("name", KINDS)
def test_every_value_has_one_well_formed_encoding(name):
    kind = KINDS[name]
    spec = Everything()
    with spec.bound():
        found = []
        for value, pairs in numbers_of(kind):
            is_one = z3.simplify(z3.substitute(truth_term(well_formed(kind, value)), *pairs))
            if z3.is_true(is_one):
                found.append(decoded(kind, value, lambda term, given=pairs: z3.simplify(z3.substitute(term, *given))))
        assert len(found) == len(set(found)) == kind.cardinality()
        assert set(found) == set(kind.values())


def part(system, variable, *path):
    """Return a part of a variable's symbolic value."""
    value = system.state[variable]
    for step in path:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    return value.term if isinstance(value, SymbolicInteger) else value


ILL_FORMED = {
    "an enum's position past its members": lambda s: part(s, "colour") == 3,
    "a number below its range": lambda s: part(s, "number") == 2,
    "a number above its range, in two's complement": lambda s: part(s, "below") == 2,
    "a number below its range, in two's complement": lambda s: part(s, "below") == -4,
    "None with an item that is not blank": lambda s: z3.And(
        z3.Not(part(s, "chosen", "present")), part(s, "chosen", "item") != 2
    ),
    "a sequence longer than its capacity": lambda s: part(s, "pairs", "length") == 3,
    "an item that is not blank after a sequence's end": lambda s: z3.And(
        part(s, "pairs", "length") == 1, part(s, "pairs", "items", 1, "parts", 0) != 0
    ),
    "a position that the item's domain does not have": lambda s: part(s, "pairs", "items", 0, "parts", 1, "item") == 3,
    "a set that has an item twice": lambda s: z3.And(
        part(s, "few", "length") == 2, part(s, "few", "items", 0) == part(s, "few", "items", 1)
    ),
    "a set out of order": lambda s: z3.And(
        part(s, "few", "length") == 2, z3.UGT(part(s, "few", "items", 0), part(s, "few", "items", 1))
    ),
    "a bag out of order": lambda s: z3.And(
        part(s, "bag", "length") == 2, z3.UGT(part(s, "bag", "items", 0), part(s, "bag", "items", 1))
    ),
    "a map's value that is None with an item that is not blank": lambda s: z3.And(
        z3.Not(part(s, "of_each", "parts", 1, "present")), part(s, "of_each", "parts", 1, "item") != 0
    ),
}


@pytest.mark.parametrize("name", ILL_FORMED)
def test_an_ill_formed_encoding_is_not_a_state(name):
    system = TransitionSystem(Everything(), ["is_a_state"])
    with Everything().bound():
        ill_formed = ILL_FORMED[name](system)
        solver = z3.Solver()
        solver.add(ill_formed)
        assert solver.check() == z3.sat
        solver.add(truth_term(system.well_formed))
        assert solver.check() == z3.unsat


def test_states_of_the_interpreter_are_well_formed():
    spec = Everything()
    probe = SymbolicStateEngine(spec)
    for state in spec.initial_states():
        assert not probe.check(state, ["is_a_state"]).names
        with spec.bound():
            parts = [part for value in probe.system.encoded(state).values() for part in parts_of(value)]
        assert all(isinstance(part, (bool, SymbolicInteger)) for part in parts)
        assert [step for words in probe.expand(state).words.values() for step in words] == [state]


class Spread(Spec):
    at = Name
    is_at = Map(Name, bool)

    @action
    def spread(self):
        self.is_at = {name: name == self.at for name in Name}


def test_the_value_of_a_built_map_depends_on_its_key():
    spec = Spread()
    engine = SymbolicStateEngine(spec)
    (first,) = spec.initial_states()
    with spec.bound():
        for name in Name:
            moved = State(first.values | {"at": name})
            assert engine.expand(moved).words == {0: [step.state for step in spec.successors(moved)]}
