"""Validation of traces in both engines: conforming, rejected and undecided traces, with reasons."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.errors import UserError
from checker.language import Bag, Domain, Map, OneOf, Option, Range, Seq, SetOf, Spec, Struct, action, invariant
from tests.traces.validate import toys
from tests.traces.validate.toys import Post, PostLog, Wire, WireLog, recorded, walk
from traces.validate import Mapping, Observation, PossibleStep, event
from traces.validate.moves import InterpretedMoves, NativeMoves, invariants_of, moves_of
from traces.validate.observations import matches, plain_text
from traces.validate.task import RunningValidation, ValidationTask
from traces.validate.validator import ValidationLimits, Validator

ENGINES = ("python", "native")


@pytest.fixture(scope="module")
def validators() -> dict[str, Validator]:
    invariants = tuple(invariants_of(Wire))
    return {engine: Validator(moves_of(Wire(), engine, invariants), WireLog()) for engine in ENGINES}


def sent(number: int) -> dict:
    return {"event": "sent", "number": number}


@pytest.mark.parametrize("engine", ENGINES)
def test_behaviour_of_the_spec_conforms(validators, engine):
    outcome = validators[engine].validate(
        recorded(sent(0), {"event": "tick"}, sent(1), {"event": "received", "newest": 1}, sent(2))
    )
    assert (outcome.verdict, outcome.steps, outcome.skipped, outcome.rejection) == ("conforms", 4, {"tick": 1}, None)
    assert outcome.widest > 1 and not outcome.limits and (outcome.forgotten, outcome.first_offset) == (0, 0)
    assert type(validators[engine].moves) is {"native": NativeMoves, "python": InterpretedMoves}[engine]


@pytest.mark.parametrize("engine", ENGINES)
def test_false_guard_is_named(validators, engine):
    outcome = validators[engine].validate(recorded(sent(0), sent(2)))
    assert (outcome.verdict, outcome.rejection.line, outcome.rejection.event) == ("rejected", 2, "sent")
    # The arguments are possible ones: no other kind of reason is named.
    assert {reason.kind for reason in outcome.rejection.reasons} == {"guard"}
    text = outcome.rejection.reasons[0].text
    assert text.startswith("require(number == self.sent) is false (toys.py:") and text.endswith("): 2 is not 1")
    assert outcome.rejection.cause.startswith("sent: send: require(number == self.sent) is false (toys.py:")


@pytest.mark.parametrize("engine", ENGINES)
def test_different_value_is_named(validators, engine):
    outcome = validators[engine].validate(recorded(sent(0), sent(1), {"event": "received", "newest": 2}))
    first = outcome.rejection.reasons[0]
    assert (first.kind, first.part) == ("seen", "newest()")
    texts = {reason.text for reason in outcome.rejection.reasons}
    assert "after the step, newest() is 1; the event says 2" in texts
    assert "after the step, newest() is 0; the event says 2" in texts
    assert outcome.rejection.candidates == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_impossible_argument_is_named(validators, engine):
    outcome = validators[engine].validate(recorded(sent(7)))
    assert outcome.rejection.reasons[0].kind == "arguments"
    assert "number is 7, which is not one of" in outcome.rejection.reasons[0].text


@pytest.mark.parametrize("engine", ENGINES)
def test_observation_is_compared_with_the_state(validators, engine):
    start = [sent(0), sent(1), {"event": "received", "newest": 0}, {"event": "received", "newest": 1}]
    good = {"event": "looked", "stored": [1, 0], "colour": "red"}
    assert validators[engine].validate(recorded(*start, good)).verdict == "conforms"
    wrong = validators[engine].validate(recorded(*start, good | {"stored": [0, 2]}))
    assert [reason.text for reason in wrong.rejection.reasons] == ["stored is {0, 1}; the event says [0, 2]"]
    assert validators[engine].validate(recorded(*start, good | {"colour": "green"})).verdict == "rejected"


def test_an_observation_without_a_value_is_named():
    class Log(WireLog):
        @event("newest")
        def newest(self, found):
            return Observation({"wire[0]": found["newest"]})

    validator = Validator(moves_of(Wire(), "python", ()), Log())
    (reason,) = validator.validate(recorded({"event": "newest", "newest": 1})).rejection.reasons
    assert reason.text.startswith("wire[0] has no value (") and reason.text.endswith("); the event says 1")


@pytest.mark.parametrize("engine", ENGINES)
def test_event_with_several_possible_steps(validators, engine):
    either, looked = {"event": "either"}, {"event": "looked", "colour": "red"}
    for stored in ([], [0]):
        outcome = validators[engine].validate(recorded(sent(0), either, looked | {"stored": stored}))
        assert outcome.verdict == "conforms"
    assert validators[engine].validate(recorded(either)).verdict == "rejected"


def test_an_event_that_may_be_a_step_counts_as_one():
    class Perhaps(WireLog):
        @event("perhaps")
        def perhaps(self, found):
            return [Observation({"sent": 1}), PossibleStep("lose")]

    validator = Validator(moves_of(Wire(), "python", ()), Perhaps())
    outcome = validator.validate(
        recorded(sent(0), {"event": "perhaps"}, {"event": "looked", "stored": [], "colour": "red"})
    )
    assert (outcome.verdict, outcome.steps, outcome.seen) == ("conforms", 2, 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_step_out_of_bounds_leaves_a_trace_undecided(validators, engine):
    events = [sent(0), sent(1), sent(2), sent(3), {"event": "overflowed"}]
    outcome = validators[engine].validate(recorded(*events))
    assert (outcome.verdict, outcome.limits) == ("undecided", {"bounds"})
    assert outcome.rejection.reasons[0].kind == "bounds"


@pytest.mark.parametrize(("silent", "verdict"), [(None, "conforms"), (0, "undecided"), (1, "conforms")])
def test_a_task_may_limit_the_silent_steps(silent, verdict):
    task = ValidationTask(f"{toys.__file__}/wire", f"{toys.__name__}:WireLog", engine="python", silent=silent)
    assert RunningValidation(task).outcome(recorded(sent(0), sent(1), sent(2), sent(3))).verdict == verdict


@pytest.mark.parametrize("engine", ENGINES)
def test_too_many_silent_steps_leave_a_trace_undecided(engine):
    events = recorded(sent(0), sent(1), sent(2), sent(3))
    verdicts = {}
    for bound in (0, 1):
        validator = Validator(moves_of(Wire(), engine, ()), WireLog(), ValidationLimits(silent=bound))
        for shown in (events, recorded(sent(0), sent(1), {"event": "looked", "stored": [0], "colour": "red"})):
            outcome = validator.validate(shown)
            verdicts[bound, len(shown.events)] = (outcome.verdict, set(outcome.limits))
    assert verdicts == {
        (0, 4): ("undecided", {"silent"}),
        (0, 3): ("undecided", {"silent"}),
        (1, 4): ("conforms", set()),
        (1, 3): ("rejected", set()),
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_too_many_candidates_leave_a_trace_undecided(engine):
    validator = Validator(moves_of(Wire(), engine, ()), WireLog(), ValidationLimits(candidates=1))
    outcome = validator.validate(recorded(sent(0), sent(1), sent(2)))
    assert (outcome.verdict, outcome.limits) == ("undecided", {"candidates"})


@pytest.mark.parametrize(("most", "verdicts"), [(1, {"conforms", "undecided"}), (2, {"conforms"})])
def test_what_a_dropped_candidate_explains_is_undecided(most, verdicts):
    validator = Validator(moves_of(Wire(), "python", ()), WireLog(), ValidationLimits(candidates=most))
    validator.silent = ()
    looked = [{"event": "looked", "stored": stored, "colour": "red"} for stored in ([], [0])]
    outcomes = [validator.validate(recorded(sent(0), {"event": "either"}, found)) for found in looked]
    assert {outcome.verdict for outcome in outcomes} == verdicts
    assert {outcome.limits for outcome in outcomes} == {frozenset({"candidates"} if most == 1 else ())}


class Other(Struct):
    name: Range(0, 9)


class Part(Struct):
    size: Range(0, 9)
    tags: SetOf(Range(0, 9))


class Node(Domain):
    size, prefix = 2, "n"


@pytest.mark.parametrize(
    ("kind", "value", "same", "others"),
    [
        (bool, True, [True], [1, False, "True"]),
        (Range(0, 9), 1, [1], [True, 2, 1.0, "1"]),
        (Option(Range(0, 9)), None, [None], [0, False, "none"]),
        (Node, Node[1], ["n2"], ["n1", 1]),
        (
            Part,
            Part(1, {2, 3}),
            [{}, {"size": 1}, {"size": 1, "tags": [3, 2]}],
            [{"size": 2}, {"sise": 1}, [1], "size"],
        ),
        (
            Map(Node, bool),
            {Node[0]: True, Node[1]: False},
            [{"n1": True}],
            [{"n1": False}, {"n3": True}, [True, False]],
        ),
        (Seq(Range(0, 9), 3), [1, 2], [[1, 2]], [[2, 1], [1], [1, 2, 3], "12", {"0": 1}, 1, None]),
        (Bag(Range(0, 9), 3), [1, 1, 2], [[1, 2, 1]], [[1, 2], [1, 2, 2], [1, 1, 2, 2], 1]),
        (SetOf(Range(0, 9)), {1, 2}, [[2, 1]], [[1], [1, 1], [1, 2, 2], {"1": 2}]),
        (OneOf(Part, Other), Part(1, set()), [{"size": 1}], [{"name": 1}]),
    ],
)
def test_what_an_observation_matches(kind, value, same, others):
    class Holding(Spec):
        held = kind

    made = Holding().resolved_type(kind).coerce(value)
    assert [seen for seen in (*same, *others) if matches(made, seen)] == same


@pytest.mark.parametrize(
    ("observed", "text"),
    [([1, "a", None], "[1, a, none]"), ({"a": [True]}, "{a: [yes]}"), ([{"b": 1}, []], "[{b: 1}, []]")],
)
def test_an_observation_is_shown_as_a_trace_shows_values(observed, text):
    assert plain_text(observed) == text


@pytest.mark.parametrize("engine", ENGINES)
def test_invariant_false_in_every_candidate_is_violated(validators, engine):
    received = {"event": "received"}
    events = [sent(0), sent(1), received, sent(2), received, sent(3), received]
    possible = validators[engine].validate(recorded(*events))
    assert (possible.verdict, possible.violated) == ("conforms", {})
    certain = validators[engine].validate(recorded(*events[:-1], {"event": "received", "newest": 3}))
    assert (certain.verdict, certain.violated) == ("conforms", {"nothing_but_small_numbers": 7})


def test_trace_without_mapped_events_is_refused(validators):
    for events, why in (((), "it has no events"), (({"event": "tick"},), "every event is skipped")):
        with pytest.raises(UserError, match=why):
            validators["python"].validate(recorded(*events))


def test_mapping_that_does_not_fit_the_spec_is_refused(validators):
    class Wrong(Mapping):
        @event("sent")
        def sent(self, found):
            return PossibleStep(found["action"], **found.get("arguments", {}))

    validator = Validator(moves_of(Wire(), "python", ()), Wrong())
    with pytest.raises(UserError, match=r"log.jsonl:1: .*names the action sned, which wire does not have.*send, lose"):
        validator.validate(recorded({"event": "sent", "action": "sned"}))
    with pytest.raises(UserError, match="gives send the argument value; it takes number"):
        validator.validate(recorded({"event": "sent", "action": "send", "arguments": {"value": 1}}))

    class Silent(Mapping):
        silent = ("loose",)

    with pytest.raises(UserError, match="names the action loose"):
        Validator(moves_of(Wire(), "python", ()), Silent())


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("wire[", "is not an expression"),
        ("wire\0", "is not an expression: source code string cannot contain null bytes"),
        ("'\ud800'", "surrogates not allowed"),
        ("nothing", "nothing"),
        ("declared_variables", "name 'declared_variables' is not defined"),
        ("initial_states()", "name 'initial_states' is not defined"),
        ("wire.colour", "which is not a field"),
        ("wire.get(a=1, a=2)", "cannot be compiled: keyword argument repeated: a"),
        ("wire.get(__debug__=1)", "cannot be compiled: cannot assign to __debug__"),
        ("[x async for x in wire]", "may not contain async"),
        ("(x async for x in wire)", "may not contain async"),
        ("lambda: 1", "may not contain Lambda"),
        ("__import__", "may not contain __import__"),
    ],
)
def test_invalid_expression_is_refused(expression, why):
    class Wrong(Mapping):
        @event("sent")
        def sent(self, found):
            return PossibleStep("send").after({expression: 1})

    with pytest.raises(UserError, match=r"log.jsonl:1: the mapping's") as caught:
        Validator(moves_of(Wire(), "python", ()), Wrong()).validate(recorded({"event": "sent"}))
    assert why in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), position=st.integers(0, 11), number=st.integers(0, 3))
def test_engines_agree_and_reject_no_walk(validators, seed, position, number):
    good = walk(Wire(), seed)
    if not any(found.found["event"] != "tick" for found in good.events):
        return
    events = [event.found for event in good.events]
    corrupted = recorded(*events[:position], {"event": "sent", "number": number}, *events[position:])
    outcomes = {engine: [validators[engine].validate(trace) for trace in (good, corrupted)] for engine in ENGINES}
    assert outcomes["python"][0].verdict == "conforms"
    for ours, theirs in zip(outcomes["python"], outcomes["native"], strict=True):
        assert ours == theirs


def test_verdicts_do_not_depend_on_the_cache(validators):
    forgetful = Validator(moves_of(Wire(), "native", tuple(invariants_of(Wire)), remembered=6), WireLog())
    for seed in range(30):
        trace = walk(Wire(), seed)
        assert forgetful.validate(trace) == validators["native"].validate(trace)
        assert len(forgetful._known) <= 3


@pytest.mark.parametrize("engine", ENGINES)
def test_arguments_bound_by_a_collection(engine):
    validator = Validator(moves_of(Post(), engine, ()), PostLog())
    posted = [{"event": "posted", "number": number} for number in (7, 3, 7)]
    first = {"event": "delivered", "letter": 777, "count": 2}
    second = {"event": "delivered", "letter": 333, "count": 3}
    assert validator.validate(recorded(*posted, first, second)).verdict == "conforms"
    wrong = validator.validate(recorded(*posted, first, first | {"letter": 444}))
    assert (wrong.verdict, wrong.rejection.line) == ("rejected", 5)
    assert wrong.rejection.reasons[0].text == "no instance of the action has these arguments"


@pytest.mark.parametrize("engine", ENGINES)
def test_each_of_several_arguments_has_its_value(engine):
    class Added(Spec):
        last = Range(0, 123)

        @action
        def add(self, hundreds: Range(0, 1), tens: Range(0, 2), ones: Range(0, 3)):
            self.last = 100 * hundreds + 10 * tens + ones

    class Log(Mapping):
        @event("added")
        def added(self, found):
            hundreds, tens, ones = found["digits"]
            return PossibleStep("add", hundreds=hundreds, tens=tens, ones=ones).after({"last": found["last"]})

    validator = Validator(moves_of(Added(), engine, ()), Log())
    digits = [list(each) for each in itertools.product(range(2), range(3), range(4))]
    events = [{"event": "added", "digits": each, "last": int("".join(map(str, each)))} for each in digits]
    assert validator.validate(recorded(*events)).verdict == "conforms"


@pytest.mark.parametrize("engine", ENGINES)
def test_invariant_out_of_bounds_is_reported_with_one_sentence(engine):
    class Narrow(Wire):
        @invariant
        def newest_is_small(self):
            return min(self.stored) < 2

    with pytest.raises(UserError, match="an invariant of narrow leaves the bounds of a type"):
        Validator(moves_of(Narrow(), engine, ("newest_is_small",)), WireLog())
