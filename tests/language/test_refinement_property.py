"""Refinements: their declaration, their verdicts, and what a person sees of a violated one."""

import pytest

from checker.engines.native import engine as native
from checker.engines.native.walk.walker import Walker, walk_seeds
from checker.engines.python import explorer
from checker.errors import SpecError
from checker.language import Range, Refinement, Spec, action
from checker.output.counterexample_text import counterexample_lines
from checker.output.page.story import story_of
from checker.output.styled_lines import plain
from checker.run.plan import Plan
from specs.examples.two_phase import At, Manager, TransactionCommit, TwoPhase, TwoPhaseHasty

PLAN = Plan(("refines",))


class StartsAborted(TwoPhase):
    """Two-phase commit in which every manager has aborted at the start: transaction commit does not start so."""

    def init(self):
        for manager in Manager:
            self.at[manager] = At.ABORTED


class Number(Range):
    low, high = 0, "most"


class Digit(Range):
    low, high = 0, 2


class Counter(Spec):
    """A number that grows by one."""

    most = 5
    number = Range(0, 5)

    @action
    def grow(self):
        self.number = self.number + 1 if self.number < 5 else 0


class TwoDigits(Spec):
    """A number of two digits that grows by one. It has no variable `number`, so the refinement maps it."""

    low = Digit
    high = Range(0, 1)

    refines = Refinement(Counter, number=lambda self: 3 * self.high + self.low)

    @action
    def grow(self):
        self.high = (self.high + 1) % 2 if self.low == 2 else self.high
        self.low = (self.low + 1) % 3


class TwoDigitsWithoutCarry(TwoDigits):
    """The second digit never changes."""

    @action
    def grow(self):
        self.low = (self.low + 1) % 3


@pytest.mark.parametrize(("managers", "states"), [(3, 288), (5, 8_832)])
def test_two_phase_commit_refines_transaction_commit(managers: int, states: int) -> None:
    # The counts of TLC for module TwoPhase of tlaplus/Examples.
    result = native.explore(TwoPhase(managers=managers), PLAN)
    assert (result.verdict, result.distinct_states) == ("holds", states)


@pytest.mark.slow
def test_two_phase_commit_with_nine_managers() -> None:
    result = native.explore(TwoPhase(managers=9), Plan(("refines",), workers=2))
    assert (result.verdict, result.distinct_states) == ("holds", 10_340_352)


def test_a_mapping_by_a_lambda() -> None:
    for engine in (native, explorer):
        assert engine.explore(TwoDigits(), PLAN).verdict == "holds"
        (violation,) = engine.explore(TwoDigitsWithoutCarry(), PLAN).violations
        assert (violation.kind, violation.length) == ("step_invariant", 4)
        assert violation.explanation == "no step of counter changes number from 2 to 0"


def test_an_initial_state_can_violate_a_refinement() -> None:
    for engine in (native, explorer):
        result = engine.explore(StartsAborted(), PLAN)
        (violation,) = result.violations
        assert (violation.length, result.ended, result.levels) == (1, "violation", (1,))
        assert violation.explanation.startswith("this is not an initial state of transaction_commit: at = {m1: aborted")
    with pytest.raises(SpecError, match="an initial state violates refines"):
        Walker(StartsAborted(), ["refines"])


def test_the_text_shows_both_traces_side_by_side() -> None:
    text = text_of(TwoPhaseHasty(managers=1))
    beside = [line.split("  |  ")[1] for line in text if "  |  transaction_commit: " in line]
    assert [part.removeprefix("transaction_commit: ") for part in beside] == [
        "initial state",
        "nothing changes",
        "no step",
    ]


def test_long_lines_of_the_abstract_trace_are_below_those_of_the_step() -> None:
    text = text_of(TwoPhaseHasty(managers=2))
    step = text.index("  2  prepare(manager=m1)")
    assert text[step + 3 : step + 5] == ["     transaction_commit: prepare(m1)", "     at[m1]  working  ->  prepared"]
    assert max(map(len, text)) <= 80


def text_of(spec: TwoPhaseHasty) -> list[str]:
    (violation,) = native.explore(spec, PLAN).violations
    return plain(counterexample_lines(spec, "two_phase_hasty", violation)).splitlines()


def test_the_page_shows_the_abstract_step_of_each_step() -> None:
    spec = TwoPhaseHasty(managers=2)
    (violation,) = native.explore(spec, PLAN).violations
    refined = [step.refined[0].step.action for step in story_of(spec, violation).steps]
    assert refined == [None, "prepare(m1)", None, None, ""]


def test_random_walks_check_refinements() -> None:
    walker = Walker(TwoPhaseHasty(managers=2), ["refines"])
    assert walker.walk(walk_seeds(7, 0, 200), 30).violated.any()


def refused(**mapping: object) -> str:
    with pytest.raises(SpecError) as error:
        type("Wrong", (TwoDigits,), {"refines": Refinement(Counter, **mapping)})
    return error.value.message


def test_a_wrong_declaration_is_refused() -> None:
    assert refused() == "refines: the variable number of counter has no value: add number=lambda self: ..."
    assert refused(numbr=lambda self: 0).startswith("refines: counter has no variable numbr; its variables are: number")
    assert refused(number=lambda self: 0, constants={"n": 1}) == "refines: counter has no constant n"


class MapsWrongType(TwoDigits):
    refines = Refinement(Counter, number=lambda self: self.low == self.high)


class MapsByWriting(TwoDigits):
    def reset(self):
        self.low = 0
        return 0

    refines = Refinement(Counter, number=reset)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (MapsWrongType, "expected Range 0..5, found bool"),
        (MapsByWriting, "refines: the value of number must not change the state"),
    ],
)
def test_a_wrong_mapping_is_refused(spec: type[Spec], message: str) -> None:
    with pytest.raises(SpecError) as error:
        native.explore(spec(), PLAN)
    assert message in error.value.message
    assert error.value.file is not None
    assert error.value.file.endswith("test_refinement_property.py")


def test_a_value_outside_the_abstract_type_is_an_error() -> None:
    class Overflows(TwoDigits):
        refines = Refinement(Counter, number=lambda self: 6 if self.low + self.high == 3 else 3 * self.high + self.low)

    for engine in (native, explorer):
        (violation,) = engine.explore(Overflows(), PLAN).violations
        assert violation.kind == "bounds_error"
        assert "number of counter" in violation.explanation


def test_the_abstract_spec_takes_the_constants_of_the_same_name() -> None:
    assert TransactionCommit(managers=4).constants == TwoPhase.refines.behaviour_of(TwoPhase(managers=4)).spec.constants
