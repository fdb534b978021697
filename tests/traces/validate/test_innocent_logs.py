"""No log is rejected for a mistake of its mapping, or for a constant that is too small."""

import pytest

from checker.language import (
    Bag,
    Constant,
    Domain,
    Enum,
    Map,
    OneOf,
    Option,
    Range,
    SetOf,
    Spec,
    Struct,
    action,
    require,
)
from tests.traces.validate.toys import recorded
from traces.validate import Mapping, Observation, PossibleStep, event
from traces.validate.larger_constants import limiting_constants
from traces.validate.task import RunningValidation, ValidationTask


class Clerk(Domain):
    size, prefix = "clerks", "c"


class Phase(Enum):
    OPEN = "open"
    SHUT = "shut"


class Stamp(Struct):
    clerk: Clerk
    number: Range(0, 9)


class Counter(Spec):
    """Clerks stamp papers. `papers` and `clerks` keep the states few; `stride` is a rule."""

    papers = Constant(2)
    clerks = Constant(2)
    stride = Constant(1)

    stamped = Map(Clerk, Range(0, "papers"))
    last = Option(Stamp)
    signed = SetOf(Clerk)
    phase = Phase

    def total(self):
        return sum(self.stamped[clerk] for clerk in Clerk)

    @action
    def stamp(self, clerk: Clerk):
        require(self.total() < self.papers)
        self.stamped[clerk] += self.stride
        self.last = Stamp(clerk, 1)
        self.signed.add(clerk)

    @action
    def pass_on(self, clerk: Clerk, other: Clerk):
        require(self.stamped[clerk] > 0)
        self.stamped[other] += 1


class Desk(Spec):
    """`drawers` and `lamps` limit no log of `tidy`; `tasks` and `slots` limit each `fill`, `years` a `tidy`."""

    drawers = Constant(3)
    lamps = Constant(3)
    tasks = Constant(2)
    slots = Constant(2)
    years = Constant(3)

    made = Range(0, 65_535)
    filled = Range(0, "slots")
    tidied = Range(0, 65_535)

    @action
    def fill(self):
        require(self.made < self.tasks)
        self.made += 1
        self.filled += 1

    @action
    def tidy(self):
        require(self.tidied < self.years)
        self.tidied += 1

    @action
    def light(self):
        require(self.tidied < self.drawers)
        require(self.tidied < self.lamps)


class Drawer(Spec):
    """Guards that negate a comparison, in place and in a helper; `least` is a lower limit, and no larger one helps."""

    papers = Constant(2)
    pens = Constant(2)
    least = Constant(0)
    drops = Constant(0)
    laid = Range(0, 255)
    written = Range(0, 255)

    def is_full(self):
        return self.laid >= self.papers

    @action
    def lay(self):
        require(self.laid >= self.least)
        require(not self.is_full())
        self.laid += 1

    @action
    def drop(self):
        require(self.laid < self.drops)

    @action
    def write(self):
        require(not (self.written == self.pens or self.written > 200))
        self.written += 1


class Shelf(Spec):
    """A set without a capacity has at most 64 possible items, so `places` can be 63 and not twice 40."""

    places = Constant(40)
    books = Range(0, 1_000)
    read = SetOf(Range(0, "places"))

    @action
    def put(self):
        require(self.books < self.places)
        self.books += 1


class DeskLog(Mapping):
    @event("step")
    def step(self, found):
        return PossibleStep(found["action"])


class CounterLog(Mapping):
    @event("stamped")
    def stamped(self, found):
        return PossibleStep("stamp", clerk=found["clerk"]).after({"total()": found["total"]})

    @event("passed")
    def passed(self, found):
        return PossibleStep("pass_on", clerk="c1", other=found["to"])

    @event("seen")
    def seen(self, found):
        return Observation({found["what"]: found["value"]})


TARGET, MAPPING = f"{__file__}/counter", f"{__name__}:CounterLog"


def verdict_on(*events, engine="python", **settings):
    return RunningValidation(ValidationTask(TARGET, MAPPING, settings, engine)).outcome(recorded(*events))


def stamped(total, clerk="c1"):
    return {"event": "stamped", "clerk": clerk, "total": total}


def seen(what, value):
    return {"event": "seen", "what": what, "value": value}


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (seen("total", 1), "compares total, which is a helper: write total()"),
        (seen("total()", "1"), '1 is an integer, and the event\'s "1" is a text'),
        (seen("total()", 1.0), "1 is an integer, and the event's 1.0 is a fraction"),
        (seen("total()", True), "is an integer, and the event's true is a truth value"),
        (seen("total() == 1", "yes"), 'is a truth value, and the event\'s "yes" is a text'),
        (seen("phase", "opened"), '"opened" is no Phase: did you mean open?'),
        (seen("phase", 0), "is a member, and the event's 0 is an integer"),
        (seen("last.clerk", "clerk 1"), '"clerk 1" is no Clerk: the names are c1, c2 and so on'),
        (seen("last", {"clrk": "c1"}), "Stamp has no field clrk: did you mean clerk?"),
        (seen("last", {"number": "1"}), "1 is an integer, and"),
        (seen("stamped", {"c1": "1"}), "0 is an integer, and"),
        (seen("stamped", {"c0": 1}), '"c0" is no Clerk: the names are c1, c2 and so on'),
        (seen("stamped[c0]", 1), "cannot be evaluated in counter: name 'c0' is not defined"),
        (seen("signed", [1]), "c1 is a member, and the event's 1 is an integer"),
        (seen("stamped", [1, 0]), "is an object, and the event's [1, 0] is a list"),
        (seen("[stamped[c] for c in [c1, c2]]", ["1", "0"]), "1 is an integer, and"),
        (seen("total() / 2", 1), "is a Python float, and the event's 1 is an integer"),
        (stamped("2"), '2 is an integer, and the event\'s "2" is a text'),
        (stamped(1, clerk="Ann"), 'gives stamp an argument clerk that it never has: "Ann" is no Clerk'),
        (stamped(1, clerk=1), "c1 is a member, and the event's 1 is an integer"),
    ],
)
@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_mistake_of_the_mapping_is_named(engine, found, says):
    outcome = verdict_on(stamped(1), found, engine=engine)
    assert outcome.verdict == "unreadable" and outcome.message.startswith("log.jsonl:2: the mapping")
    assert says in outcome.message


@pytest.mark.parametrize(
    "found",
    [
        seen("total()", 2),
        seen("phase", "shut"),
        seen("last", None),
        seen("last.clerk", "c2"),
        seen("'none' if total() == 1 else total()", 1),
        seen("[total(), phase][total()]", 1),
        seen("last", {"clerk": "c1", "number": 2}),
    ],
)
def test_a_value_that_another_state_has_rejects_the_log(found):
    assert verdict_on(stamped(1), found).verdict == "rejected"


@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_log_beyond_a_guard_names_the_larger_constant(engine):
    events = [stamped(total) for total in range(1, 7)]
    outcome = verdict_on(*events, engine=engine)
    assert (outcome.verdict, outcome.rejection.line, outcome.message) == (
        "undecided",
        3,
        "with --set papers=8: conforms",
    )
    # A constant that the command gives is a fact about the implementation.
    assert verdict_on(*events, papers=5).verdict == "rejected"
    assert verdict_on(*events, papers=6).verdict == "conforms"


def test_a_wrong_log_is_rejected_with_the_larger_constant():
    outcome = verdict_on(*[stamped(total) for total in range(1, 6)], stamped(5))
    assert (outcome.verdict, outcome.rejection.line, outcome.constants["papers"]) == ("rejected", 6, 8)


@pytest.mark.parametrize(
    "found", [stamped(2, clerk="c7"), seen("stamped", {"c7": 0}), seen("last.clerk", "c7"), seen("stamped[c7]", 0)]
)
def test_a_member_that_a_small_domain_lacks_is_undecided(found):
    outcome = verdict_on(stamped(1), found)
    assert outcome.verdict == "undecided" and outcome.limits == {"bounds"}
    if found["event"] == "stamped":
        assert outcome.message == "with --set clerks=8: conforms"


def test_a_value_beyond_a_type_names_the_larger_constant():
    outcome = verdict_on(stamped(1), stamped(2), {"event": "passed", "to": "c1"})
    assert (outcome.verdict, outcome.message) == ("undecided", "with --set papers=4: conforms")


def test_a_rule_of_the_protocol_is_no_limit():
    spec = RunningValidation(ValidationTask(TARGET, MAPPING)).entry.spec()
    rejected = verdict_on(stamped(1), stamped(1))
    assert rejected.verdict == "rejected" and limiting_constants(spec, rejected) == {"papers"}


def desk_verdict(spec, action, times):
    task = ValidationTask(f"{__file__}/{spec}", f"{__name__}:DeskLog", {}, "python")
    return RunningValidation(task).outcome(recorded(*[{"event": "step", "action": action}] * times))


def test_two_constants_that_limit_one_step_are_both_named():
    outcome = desk_verdict("desk", "fill", 5)
    assert (outcome.verdict, outcome.rejection.line) == ("undecided", 3)
    assert outcome.message == "with --set tasks=8 --set slots=8: conforms"


@pytest.mark.parametrize(("step", "constant"), [("lay", "papers"), ("write", "pens")])
def test_a_negated_guard_limits_a_log(step, constant):
    assert desk_verdict("drawer", step, 4).message == f"with --set {constant}=4: conforms"
    spec = RunningValidation(ValidationTask(f"{__file__}/drawer", f"{__name__}:DeskLog")).entry.spec()
    assert limiting_constants(spec, desk_verdict("drawer", step, 1)) == {"papers", "pens"}


def test_a_log_that_needs_more_trials_than_there_are_is_undecided():
    outcome = desk_verdict("desk", "tidy", 200)
    assert outcome.verdict == "undecided"
    assert outcome.message.startswith("with --set years=")
    assert outcome.message.endswith("larger constants could not all be tried")


def test_a_constant_that_cannot_be_larger_in_a_model_is_undecided():
    outcome = desk_verdict("shelf", "put", 41)
    assert (outcome.verdict, outcome.limits) == ("undecided", {"bounds"})
    assert outcome.message == "larger constants could not all be tried"


class Ask(Struct):
    clerk: Clerk
    number: Range(0, 9)


class Tell(Struct):
    phase: Phase


class Office(Spec):
    """Values of each kind of collection."""

    clerks = Constant(2)
    wire = Bag(OneOf(Ask, Tell), 2)
    pages = Map(Range(0, 1), Range(0, 9))
    signed = Map(bool, SetOf(Clerk))
    pair = tuple[Clerk, Range(0, 9)]

    @action
    def send(self, message: OneOf(Ask, Tell)):
        require(len(self.wire) < 2)
        self.wire.add(message)


class OfficeLog(CounterLog):
    @event("sent")
    def sent(self, found):
        return PossibleStep("send", message=found["message"])


def office(found):
    task = ValidationTask(f"{__file__}/office", f"{__name__}:OfficeLog", engine="python")
    sent = [{"event": "sent", "message": message} for message in ({"clerk": "c1", "number": 1}, {"phase": "shut"})]
    return RunningValidation(task).outcome(recorded(*sent, found))


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (seen("wire", [{}, {"phase": "shot"}]), '"shot" is no Phase: did you mean shut?'),
        (seen("wire", [{}, {"number": "1"}]), '0 is an integer, and the event\'s "1" is a text'),
        (
            seen("wire", [{}, {"clerk": "c1", "phase": "shut"}]),
            "no struct of OneOf(Ask, Tell) has the fields clerk, phase",
        ),
        (seen("pages", {"one": 1}), '"one" is no key: known are 0, 1'),
        (seen("signed", {"true": []}), '"true" is no key: known are no, yes'),
        (seen("signed", {"no": ["Ann"]}), '"Ann" is no Clerk'),
        (seen("pair", ["c1"]), '(c1, 0) has 2 items, and the event\'s ["c1"] has 1'),
        (seen("send(pair)", None), "name 'send' is not defined"),
        ({"event": "sent", "message": None}, "gives send None as message, which is never None"),
        ({"event": "sent", "message": {"phase": "shot"}}, '"shot" is no Phase'),
    ],
)
def test_a_mistake_in_a_collection_is_named(found, says):
    outcome = office(found)
    assert outcome.verdict == "unreadable" and says in outcome.message


@pytest.mark.parametrize(
    "found", [seen("wire", [{"phase": "open"}, {}]), seen("pages", {"0": 1}), seen("signed", {"no": ["c1"]})]
)
def test_another_content_of_a_collection_rejects_the_log(found):
    assert office(found).verdict == "rejected"
    assert office(seen("wire", [{"phase": "shut"}, {"number": 1}])).verdict == "conforms"


def test_a_failure_that_a_constant_of_0_excludes_is_no_limit():
    outcome = desk_verdict("drawer", "drop", 1)
    assert (outcome.verdict, outcome.message) == ("rejected", "")
