"""A spec of a sender with a lossy wire, a mapping of its events, and traces from random walks."""

import random

from checker.language import Bag, Enum, Range, Seq, SetOf, Spec, action, invariant, require
from checker.language.interpreter import State
from traces.validate import Mapping, Observation, PossibleStep, event
from traces.validate.events import RecordedEvent, RecordedTrace


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Wire(Spec):
    """Numbers are sent in order, lost or received; each is stored once."""

    wire = Seq(Range(0, 3), 2)
    stored = SetOf(Range(0, 3))
    sent = Range(0, 4)
    colour = Colour

    @action
    def send(self, number: Range(0, 3)):
        require(number == self.sent)
        require(len(self.wire) < 2)
        self.wire.append(number)
        self.sent += 1

    @action
    def lose(self):
        require(len(self.wire) > 0)
        self.wire.pop(0)

    @action
    def receive(self):
        require(len(self.wire) > 0)
        number = self.wire.pop(0)
        self.stored.add(number)
        self.colour = Colour.GREEN if number > 1 else Colour.RED

    @action
    def overflow(self):
        require(self.sent == 4)
        self.sent += 1

    def newest(self):
        return max(self.stored)

    @invariant
    def nothing_but_small_numbers(self):
        return 3 not in self.stored


class WireLog(Mapping):
    """Losses are silent steps."""

    skips = ("tick",)
    silent = ("lose",)
    silent_bound = 2

    @event("sent")
    def sent(self, found):
        return PossibleStep("send", number=found["number"])

    @event("received")
    def received(self, found):
        return PossibleStep("receive").after({"newest()": found["newest"]} if "newest" in found else {})

    @event("looked")
    def looked(self, found):
        return Observation({name: found[name] for name in ("wire", "stored", "colour") if name in found})

    @event("either")
    def either(self, found):
        return [PossibleStep("receive"), PossibleStep("lose")]

    @event("overflowed")
    def overflowed(self, found):
        return PossibleStep("overflow")


def recorded(*events: dict, name: str = "log") -> RecordedTrace:
    return RecordedTrace(name, "log.jsonl", tuple(RecordedEvent(line, found) for line, found in enumerate(events, 1)))


def walk(spec: Spec, seed: int, length: int = 12) -> RecordedTrace:
    """Return the recorded events of a random walk."""
    generator, state, events = random.Random(seed), spec.initial_states()[0], []
    for _ in range(length):
        steps, _ = spec.expand(state)
        if not steps:
            break
        step = generator.choice(steps)
        state = step.state
        events += _events(step.action, step.arguments, state, generator)
    return recorded(*events, name=f"walk {seed}")


def _events(action: str, arguments: tuple, state: State, generator: random.Random) -> list[dict]:
    found = []
    if action == "send":
        found.append({"event": "sent", "number": arguments[0]})
    if action == "receive":
        found.append({"event": "received", "newest": max(state.stored)})
    if generator.random() < 0.3:
        stored = sorted(state.stored, reverse=True)
        found.append({"event": "looked", "stored": stored, "colour": state.colour.value})
    return found


class Post(Spec):
    """Numbers of letters are too many to enumerate; a delivery takes one of the letters in transit."""

    under_way = Bag(Range(0, 999), 3)
    delivered = Seq(Range(0, 999), 4)

    @action
    def post(self, number: Range(0, 9)):
        require(len(self.under_way) < 3)
        self.under_way.add(number * 111)

    @action
    def deliver(self, letter: Range(0, 999), twice: bool):
        require(letter in self.under_way)
        require(len(self.delivered) < 3)
        self.under_way.remove(letter)
        self.delivered.append(letter)
        if twice:
            self.delivered.append(letter)


class PostLog(Mapping):
    @event("posted")
    def posted(self, found):
        return PossibleStep("post", number=found["number"])

    @event("delivered")
    def delivered(self, found):
        return PossibleStep("deliver", letter=found["letter"]).after({"len(delivered)": found["count"]})
