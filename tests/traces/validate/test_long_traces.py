"""Traces that need a larger model than there can be, or a window of their records."""

import dataclasses
from types import SimpleNamespace

import pytest

from tests.traces.validate.toys import recorded
from traces.validate.forgetting import FinishedPrefix, Forgotten, RecordWindow, prefix_of_log
from traces.validate.moves import REMEMBERED_IN_WINDOW
from traces.validate.task import RunningValidation, ValidationTask

SPEC = """from checker.language import Constant, Range, SetOf, Spec, action




class Bag(Spec):
    numbers = Constant(3, at_least=1)
    seen = SetOf(Range(1, "numbers"))

    @action
    def take(self, number: Range(1, "numbers")):
        self.seen.add(number)
"""

MAPPING = """from traces.validate import Mapping, PossibleStep, event


class Taken(Mapping):
    def constants(self, events):
        return {"numbers": max(found["number"] for found in events)}

    @event("taken")
    def taken(self, found):
        return PossibleStep("take", number=found["number"])
"""


@pytest.mark.parametrize(("number", "verdict"), [(64, "conforms"), (65, "undecided"), (0, "unreadable")])
def test_a_trace_with_too_many_records_is_undecided(number, verdict, tmp_path):
    (tmp_path / "bag.py").write_text(SPEC)
    (tmp_path / "taken.py").write_text(MAPPING)
    validation = RunningValidation(
        ValidationTask(f"{tmp_path / 'bag.py'}", f"{tmp_path / 'taken.py'}", engine="python")
    )
    outcome = validation.outcome(recorded({"event": "taken", "number": number}))
    assert outcome.verdict == verdict
    assert outcome.limits == (frozenset({"window"}) if verdict == "undecided" else frozenset())
    # A number that the user gives is not the trace's.
    given = RunningValidation(dataclasses.replace(validation.task, settings={"numbers": number}))
    assert given.outcome(recorded({"event": "taken", "number": 1})).verdict == (
        "conforms" if verdict == "conforms" else "unreadable"
    )


LETTERS = """from checker.language import Constant, Range, Spec, action, invariant, require


class Letters(Spec):
    letters = Constant(3, at_least=1)
    sent = Range(0, "letters")
    seen = Range(0, "letters")

    @action
    def send(self, number: Range(1, "letters")):
        require(number == self.sent + 1)
        self.sent = number

    @action
    def read(self, number: Range(1, "letters")):
        require(number == self.seen + 1 and number <= self.sent)
        self.seen = number

    @invariant
    def sent_first(self):
        return self.seen <= self.sent

    @invariant
    def of_the_whole_log(self):
        return self.sent < 9
"""

READ_LETTERS = """from traces.validate import Mapping, PossibleStep, event
from traces.validate.forgetting import FinishedPrefix, Forgetting


class ReadLetters(Forgetting):
    checked = frozenset(("sent_first",))

    def fits(self, spec):
        return True

    def total(self, events):
        return sum(found["event"] == "sent" for found in events)

    def named(self, events):
        return [[found["number"]] for found in events]

    def renumbered(self, found, forgotten):
        return found | {"number": found["number"] - forgotten.records}

    def constants(self, constants, window):
        return {**constants, "letters": window}

    def finished(self, spec, most):
        return [FinishedPrefix(n, tuple(range(1, n + 1))) for n in range(1, min(most, spec.seen) + 1)]

    def forget(self, spec, prefix):
        spec.sent -= prefix.records
        spec.seen -= prefix.records


class Log(Mapping):
    forgetting = ReadLetters()

    def constants(self, events):
        return {"letters": self.forgetting.total(events)}

    @event("sent")
    def sent(self, found):
        return PossibleStep("send", number=found["number"])

    @event("read")
    def read(self, found):
        return PossibleStep("read", number=found["number"])
"""


@pytest.fixture
def letters(tmp_path):
    """Return a function that validates a log of `total` letters, each read before the one that is `late` later."""
    (tmp_path / "letters.py").write_text(LETTERS)
    (tmp_path / "log.py").write_text(READ_LETTERS)

    def outcome(total, late, last=0, **settings):
        task = ValidationTask(f"{tmp_path / 'letters.py'}", f"{tmp_path / 'log.py'}", settings=settings)
        events = []
        for number in range(1, total + late + 1):
            events += [{"event": "sent", "number": number}] * (number <= total)
            events += [{"event": "read", "number": number - late}] * (number > late)
        events[-1]["number"] += last
        validation, trace = RunningValidation(task), recorded(*events)
        found = validation.outcome(trace)
        outcome.explanation = validation.explanation(trace, found)
        outcome.remembered = {validator.moves.remembered for validator in validation._validators.values()}
        return found

    return outcome


@pytest.mark.parametrize(
    ("total", "late", "settings", "forgotten"),
    [
        (16, 1, {}, 0),
        (17, 1, {}, 1),
        (40, 1, {}, 24),
        (40, 14, {}, 24),
        (40, 15, {}, 8),
        (40, 30, {}, 8),
        (40, 31, {}, 0),
        (40, 1, {"letters": 40}, 0),
    ],
)
def test_a_window_forgets_what_no_later_event_names(letters, total, late, settings, forgotten):
    outcome = letters(total, late, **settings)
    assert (outcome.verdict, outcome.steps, outcome.forgotten) == ("conforms", 2 * total, forgotten)
    assert (letters.explanation is None) == bool(forgotten)
    assert not forgotten or letters.remembered == {REMEMBERED_IN_WINDOW}
    assert outcome.unchecked == (("of_the_whole_log",) if forgotten else ())
    assert outcome.violated.keys() == (set() if forgotten else {"of_the_whole_log"})


def test_a_log_that_needs_a_larger_window_than_there_is_is_undecided(letters):
    outcome = letters(300, 256)
    assert (outcome.verdict, outcome.limits, outcome.total) == ("undecided", {"window"}, 600)
    assert letters.explanation is None
    assert letters(300, 254).verdict == "conforms"


@pytest.mark.parametrize(
    ("last", "why"), [(-1, "is false"), (1, "the log has records 1 to 40; the event names record 41")]
)
def test_the_last_record_of_a_long_log_is_checked(letters, last, why):
    rejection = letters(40, 1, last).rejection
    assert rejection.line == 80 and why in rejection.reasons[0].text


def test_a_window_has_room_while_identities_are_left():
    forgetting = SimpleNamespace(
        total=len,
        named=lambda events: [[number] for number, _ in enumerate(events, 1)],
        takes_identity=lambda found: found,
        identities=lambda size: 2,
    )
    window = RecordWindow(forgetting, 9, [True, True, False, True])
    for position in range(3):
        assert window.has_room(position)
        window.take(position)
    assert not window.has_room(3)
    window.forget(FinishedPrefix(1, (1,)), 1)
    assert window.has_room(3)


def test_what_was_forgotten_adds_up():
    assert prefix_of_log(3, (1, 2)) == FinishedPrefix(3, (1, 2, 3), (1, 2))
    assert prefix_of_log(1) == FinishedPrefix(1, (1,), (0, 0))
    forgotten = Forgotten()
    for records, entries, sequences in [(2, (1, 2), (0, 3)), (1, (), (0, 2)), (3, (2,), (1, 4))]:
        forgotten.add(FinishedPrefix(records, entries, sequences))
        if forgotten.records == 3:
            assert forgotten.sequences == (0, 5)
    assert (forgotten.records, forgotten.entries, forgotten.sequences) == (6, [1, 2, 5], (1, 4))
