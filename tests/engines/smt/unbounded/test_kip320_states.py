"""The lowering of the proof of KIP-320 for any number of replicas agrees with the interpreter, state by state."""

import dataclasses
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from checker.engines.smt.lowering import arithmetic, encoding, integers, logic
from checker.engines.smt.lowering.encoding import new_value
from checker.engines.smt.lowering.integers import compare, concrete
from checker.engines.smt.lowering.symbolic_values import UnboundedSequence
from checker.engines.smt.unbounded.lowering import comprehensions, places, sequences
from checker.engines.smt.unbounded.lowering.collections import QuantifiedCollections
from checker.engines.smt.unbounded.lowering.evaluation import QuantifiedContext
from checker.engines.smt.unbounded.lowering.loops import QuantifiedLoops
from checker.engines.smt.unbounded.unbounded_system import UnboundedSystem
from checker.language import Spec, State
from checker.language.parameters import ActionShape
from checker.language.roles import Role
from specs.replication.kip320 import Kip320
from specs.replication.kip320_history import Kip320History
from tests.agreement.engines import holds, random_value
from tests.engines.smt.unbounded.term_arrays import Layout, Tables

OPEN = ["replicas", "log_size", "max_records", "max_leader_epoch"]
ROWS = 128


class OpenComparison:
    """A spec with open constants as terms, compared with the interpreter at one value of these constants."""

    def __init__(self, spec: Spec, seed: int):
        self.spec, self.chooser = spec, random.Random(seed)
        self.outcomes: Counter[str] = Counter()
        properties = spec.names_of(Role.INVARIANT, Role.STEP_INVARIANT, Role.LEMMA)
        self.system = UnboundedSystem(spec, OPEN, properties)
        # One number below and one above all indices that exist.
        self.quantified = range(-1, max(spec.constants.values()) + 2)
        kinds = self.system.program.variables
        with integers.mathematical(), spec.bound():
            self.old = {name: new_value(kind, f"old {name}") for name, kind in kinds.items()}
            steps = spec.names_of(Role.STEP_INVARIANT)
            self.claims = {
                name: self.system.claim(name, self.system.state, self.old if name in steps else None)
                for name in properties
            }
            window = Tables(1, self.quantified).window
            self.state_layouts = self._layouts(self.system.state, window)
            self.old_layouts = self._layouts(self.old, window)
            self.successors = {
                found.name: self._layouts(found.successor, self.quantified) for found in self.system.transitions
            }

    def _layouts(self, symbols, window: range) -> dict[str, Layout]:
        kinds = self.spec.variables.items()
        return {name: Layout(kind, symbols[name], window, self.chooser) for name, kind in kinds}

    def _tables(self, states: list[State], old: list[State] | None = None) -> Tables:
        tables = Tables(len(states), self.quantified, self.system.definitions)
        for name in OPEN:
            tables.set_constant(f"constant {name}", self.spec.constants[name])
        for layouts, given in ((self.state_layouts, states), (self.old_layouts, old)):
            for name, layout in layouts.items():
                if given is not None:
                    tables.fill(layout, [state.values[name] for state in given])
        return tables

    def compare_properties(self, states: list[State]) -> None:
        """Assert that every state is well formed and that each invariant and lemma has the interpreter's value."""
        tables = self._tables(states)
        assert all(tables.truth(self.system.well_formed))
        for name in self.spec.names_of(Role.INVARIANT, Role.LEMMA):
            self._compare_claim(name, tables, [holds(self.spec, name, state) for state in states], states)

    def compare_steps(self, pairs: list[tuple[State, State]]) -> None:
        """Assert the same of the step invariants."""
        olds, news = [old for old, _ in pairs], [new for _, new in pairs]
        tables = self._tables(news, olds)
        for name in self.spec.names_of(Role.STEP_INVARIANT):
            self._compare_claim(name, tables, [holds(self.spec, name, new, old) for old, new in pairs], pairs)

    def _compare_claim(self, name: str, tables: Tables, expected: list[bool | None], shown: list[object]) -> None:
        claim = self.claims[name]
        failed, truths = tables.truth(claim.failed), tables.truth(claim.value)
        found = [None if fails else truth for fails, truth in zip(failed, truths, strict=True)]
        for one, other, where in zip(expected, found, shown, strict=True):
            assert one == other, f"{name} is {one}, lowered {other}, in {where}"

    def compare_actions(self, states: list[State]) -> list[tuple[State, State]]:
        """Assert that every instance of every action has the same outcome in both; return the steps."""
        expected: dict[tuple[int, int], State | None] = {}
        for row, state in enumerate(states):
            steps, failures = self.spec.expand(state)
            expected |= {(row, step.instance): step.state for step in steps}
            expected |= {(row, failure.instance): None for failure in failures}
        tables = self._tables(states)
        with self.spec.bound(), integers.mathematical():
            for shape in self.spec.shapes():
                cases = [
                    (row, instance, arguments)
                    for row, state in enumerate(states)
                    for instance, arguments in self.spec.instances_of(shape, state)
                ]
                outcomes = [expected.get((row, instance), "disabled") for row, instance, _ in cases]
                here = tables.at([row for row, _, _ in cases])
                self._compare_action(shape, here, [found for _, _, found in cases], outcomes)
        self.outcomes["failed"] += len([None for after in expected.values() if after is None])
        return [(states[row], after) for (row, _), after in expected.items() if after is not None]

    def _compare_action(self, shape: ActionShape, tables: Tables, arguments: list[Any], outcomes: list[Any]) -> None:
        """Compare an action's instances: a successor, None for one that leaves the bounds, or "disabled"."""
        (transition,) = [found for found in self.system.transitions if found.name == shape.name]
        for position, (declared, parameter) in enumerate(zip(shape.parameters, transition.parameters, strict=True)):
            layout = Layout(declared.type, parameter.value, tables.window, self.chooser)
            tables.fill(layout, [given[position] for given in arguments])
        assert all(tables.truth(transition.assumed))
        taken = [row for row, outcome in enumerate(outcomes) if isinstance(outcome, State)]
        lowered = {"enabled": tables.truth(transition.enabled), "failed": tables.truth(transition.failed)}
        for row, outcome in enumerate(outcomes):
            found = [name for name, truths in lowered.items() if truths[row]]
            expected = ["failed"] if outcome is None else [] if outcome == "disabled" else ["enabled"]
            assert found == expected, f"{shape.name}{arguments[row]}: {found}, not {expected}"
        self.outcomes[shape.name] += len(taken)
        if taken:
            self._compare_successors(shape.name, tables.at(taken), [outcomes[row] for row in taken])

    def _compare_successors(self, action: str, tables: Tables, states: list[State]) -> None:
        for variable, layout in self.successors[action].items():
            numbers, exist = layout.numbers([state.values[variable] for state in states])
            for term, column, is_part in zip(layout.terms, numbers.T, exist.T, strict=True):
                wrong = is_part & (tables.value(term) != column)
                assert not wrong.any(), f"{action} leads to {states[wrong.argmax()]}, lowered {variable} differs"

    def compare_initial(self) -> None:
        """Assert that the initial states are those of the interpreter."""
        (initial,) = self.system.initials
        (state,) = self.spec.initial_states()
        tables = self._tables([state])
        for variable, layout in self._layouts(initial.successor, self.quantified).items():
            numbers, exist = layout.numbers([state.values[variable]])
            for term, number, is_part in zip(layout.terms, numbers[0], exist[0], strict=True):
                assert not is_part or tables.value(term) == number, variable

    def compare(self, states: Iterable[State]) -> None:
        """Compare everything in some states, a few at a time."""
        states = list(states)
        for start in range(0, len(states), ROWS):
            chunk = states[start : start + ROWS]
            self.compare_properties(chunk)
            self.compare_steps(self.compare_actions(chunk))


def reached(spec: Spec, count: int, chooser: random.Random) -> list[State]:
    """Return distinct reachable states of random walks; a walk ends where nothing is enabled."""
    found: dict[State, None] = {}
    while len(found) < count:
        state = chooser.choice(spec.initial_states())
        for _ in range(30):
            found[state] = None
            steps = spec.successors(state)
            if not steps:
                break
            state = chooser.choice(steps).state
    return list(found)[:count]


def perturbed(spec: Spec, states: list[State], chooser: random.Random) -> Iterator[State]:
    """Iterate over the states, each with one or two variables replaced by random values: most are unreachable."""
    for state in states:
        names = chooser.sample(list(spec.variables), chooser.choice([1, 1, 2]))
        with spec.bound():
            yield State(state.values | {name: random_value(spec.variables[name], chooser) for name in names})


def compare_many(kind: type[Spec], count: int, seed: int, **constants: int) -> Counter[str]:
    """Compare the lowering with the interpreter in `count` reachable states, and in as many perturbed ones.

    Return the number of instances with a successor by action, and under "failed" those that leave the bounds.
    """
    spec, chooser = kind(**constants).without_view(), random.Random(seed)
    comparison, states = OpenComparison(spec, seed), reached(spec, count, chooser)
    comparison.compare_initial()
    comparison.compare([*states, *perturbed(spec, states, chooser)])
    return comparison.outcomes


ACTIONS = {shape.name for shape in Kip320().shapes()}


def test_hundreds_of_states_agree():
    outcomes = compare_many(Kip320, 100, 1)
    assert {name for name, number in outcomes.items() if number > 4} == {*ACTIONS, "failed"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "count", "constants"),
    [
        (Kip320, 1500, {}),
        (Kip320, 200, dict(replicas=2, log_size=3, max_records=3)),
        (Kip320, 150, dict(replicas=4, log_size=1, max_leader_epoch=3)),
        (Kip320History, 250, {}),
    ],
    ids=["kip320", "two replicas", "four replicas", "history"],
)
def test_thousands_of_states_agree(kind, count, constants):
    outcomes = compare_many(kind, count, 2, **constants)
    assert {name for name, number in outcomes.items() if number > 4} == {*ACTIONS, "failed"}


# Deliberate bugs in the lowering: the comparison must detect each of them.


def _present(self, clause):
    return dataclasses.replace(_bound_item(self, clause), is_present=True)


def _one_further(self, clause):
    item = _bound_item(self, clause)
    return dataclasses.replace(item, is_present=logic.either(item.is_present, compare("==", item.index, concrete(2))))


_bound_item = QuantifiedLoops.bind_item

BUGS = {
    "a quantifier ignores what it ranges over": (QuantifiedLoops, "bind_item", _present),
    "a range has another number": (QuantifiedLoops, "bind_item", _one_further),
    "some item decides only if all do": (comprehensions, "exists", logic.for_all),
    "failures are dropped": (QuantifiedContext, "check", lambda self, test, site: None),
    "a member is compared without its place": (logic, "both", lambda one, other: one),
    "a write reaches every key": (places, "merged", lambda test, then, otherwise: then),
    "a member is not added": (QuantifiedCollections, "with_item", lambda self, node, base, item, test: base),
    "a record is appended one too far": (
        sequences,
        "appended",
        lambda base, item: sequences.inserted(base, arithmetic.add(base.length, concrete(1)), item),
    ),
    "a truncation leaves the last record": (
        sequences,
        "sliced",
        lambda base, low, high, inverted: UnboundedSequence(arithmetic.add(low, concrete(1)), base.at),
    ),
    "an open member has no upper bound": (encoding, "size_of", lambda kind: concrete(99)),
    "a maximum is not attained": (QuantifiedContext, "define", lambda self, truth: None),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_the_comparison_detects_a_bug_in_the_lowering(monkeypatch, name):
    monkeypatch.setattr(*BUGS[name])
    with pytest.raises(AssertionError):
        compare_many(Kip320, 60, 3)
