"""Small specs with liveness properties; the verdicts follow from TLA+'s definitions by hand."""

from checker.language import (
    Bag,
    Constant,
    FairUnion,
    Map,
    Range,
    SetOf,
    Spec,
    Struct,
    action,
    always_eventually,
    constraint,
    eventually,
    eventually_always,
    invariant,
    leads_to,
    require,
)
from tests.lasso_toy import Batch, Progress, Sending


class Retry(Sending):
    """Batches are sent, may be lost, and are sent again."""

    stays_sent = None

    @always_eventually
    def none_lost(self):
        return all(self.progress[batch] != Progress.LOST for batch in Batch)

    @eventually_always
    def stays_done(self):
        return all(self.progress[batch] == Progress.DONE for batch in Batch)


class Clock(Spec):
    """A cycle of hours. `rest` changes nothing."""

    hours = Constant(3, at_least=1)
    hour = Range(0, "hours")

    @action(fair="weak")
    def tick(self):
        self.hour = self.hour + 1 if self.hour < self.hours else 0

    @action(fair="weak")
    def rest(self):
        self.hour = self.hour

    @always_eventually
    def is_midnight(self):
        return self.hour == 0

    @eventually
    def was_midnight(self):
        return self.hour == 0

    @eventually_always
    def is_always_midnight(self):
        return self.hour == 0


class DeadEnd(Spec):
    """Two ways; one of them ends before the goal."""

    place = Range(0, 3)

    @action(fair="strong")
    def right(self):
        require(self.place == 0)
        self.place = 3

    @action(fair="strong")
    def wrong(self):
        require(self.place == 0)
        self.place = 1

    @eventually
    def arrives(self):
        return self.place == 3


class SelfLoop(Spec):
    """`poll` is always enabled, and changes the state only once there is something to poll."""

    produced = Range(0, 1)
    polled = Range(0, 1)

    @action
    def produce(self):
        require(self.produced == 0)
        self.produced = 1

    @action(fair="strong")
    def poll(self):
        self.polled = self.produced

    @eventually
    def is_polled(self):
        return self.polled == 1


class Desk(Range):
    low, high = 0, 1


class OneDeskOpens(Spec):
    """The first desk opens; nothing promises that the second one does. Each property fails for it alone."""

    opened = SetOf(Desk)

    @action(fair="weak", for_each=())
    def open_first(self):
        require(0 not in self.opened)
        self.opened.add(0)

    @action
    def open_second(self):
        require(0 in self.opened)
        self.opened.add(1)

    def is_closed(self, desk):
        return desk not in self.opened

    def first_is_open(self):
        return 0 in self.opened

    @eventually
    def opens(self, desk: Desk):
        return desk in self.opened

    @always_eventually
    def is_open(self, desk: Desk):
        return desk in self.opened

    @eventually_always
    def stays_open(self, desk: Desk):
        return desk in self.opened

    @leads_to("is_closed")
    def opens_if_closed(self, desk: Desk):
        return desk in self.opened

    @leads_to("first_is_open")
    def opens_after_the_first(self, desk: Desk):
        return desk in self.opened


class PartlyIdle(Spec):
    """An action that is fair as a whole; with the first batch it changes nothing. A light blinks meanwhile."""

    batches = Constant(2)
    done = Range(0, 1)
    light = Range(0, 1)

    @action
    def blink(self):
        self.light = 1 - self.light

    @action(fair="weak", for_each=())
    def work(self, batch: Batch):
        if batch == Batch[1]:
            self.done = 1

    @eventually
    def is_done(self):
        return self.done == 1


class WholeNext(Spec):
    """No action is fair by itself; the whole next-state relation is weakly fair."""

    fair_next = "weak"
    left = Range(0, 2)
    flag = Range(0, 1)

    @action
    def work(self):
        require(self.left < 2)
        self.left += 1

    @action
    def flip(self):
        require(self.left > 0)
        self.flag = 1 - self.flag

    @eventually
    def starts(self):
        return self.left > 0

    @eventually
    def finishes(self):
        return self.left == 2


class Chooser(Spec):
    """A server that serves one of two clients: fair as a whole or for each client."""

    served = Map(Batch, Range(0, 1))
    batches = Constant(2)

    @action(fair="weak", for_each=())
    def serve(self, batch: Batch):
        self.served[batch] = 1 - self.served[batch]

    @eventually
    def somebody(self):
        return any(self.served[batch] == 1 for batch in Batch)

    @eventually
    def everybody(self, batch: Batch):
        return self.served[batch] == 1


class Letter(Struct):
    number: Range(0, 299)


class Mail(Spec):
    """Letters from a bag are delivered in any order, and a new one replaces the letter 0 for ever."""

    box = Bag(Letter, 2)
    delivered = Range(0, 1)

    def init(self):
        self.box = [Letter(number=0), Letter(number=7)]

    @action(fair="strong")
    def deliver(self, letter: Letter):
        require(letter in self.box)
        self.box.remove(letter)
        if letter.number == 7:
            self.delivered = 1

    @action(fair="weak")
    def post(self):
        require(Letter(number=0) not in self.box)
        self.box.add(Letter(number=0))

    @eventually
    def arrives(self):
        return self.delivered == 1


class Boxes(Spec):
    """Letters in two boxes. A letter is bound to an expression, so an instance of `take` does not determine it."""

    batches = Constant(2)
    boxes = Map(Batch, Bag(Letter, 2))
    taken = Range(0, 1)

    def init(self):
        self.boxes[Batch[1]] = [Letter(number=0), Letter(number=7)]

    @action(fair="weak")
    def take(self, batch: Batch, letter: Letter):
        require(letter in self.boxes[batch])
        self.boxes[batch].remove(letter)
        if letter.number == 7:
            self.taken = 1

    @eventually
    def is_taken(self):
        return self.taken == 1


class Bounded(Spec):
    """A counter under a constraint."""

    count = Range(0, 9)
    most = Constant(5)

    @action(fair="weak")
    def increment(self):
        require(self.count < 9)
        self.count += 1

    @constraint
    def is_small(self):
        return self.count <= self.most

    @invariant
    def is_counted(self):
        return self.count >= 0

    @eventually
    def ends(self):
        return self.count == 9

    @eventually
    def passes_three(self):
        return self.count > 3


class Overflow(Spec):
    """The goal leaves the bounds of a type in state 2."""

    count = Range(0, 3)

    @action(fair="weak")
    def increment(self):
        require(self.count < 3)
        self.count += 1

    @eventually
    def is_even(self, divisor: Range(1, 2)):
        return 6 // (2 - self.count) == divisor


class OverflowBeside(Overflow):
    """Other properties do not leave their bounds: one holds, one is violated."""

    @eventually
    def ends(self):
        return self.count == 3

    @eventually
    def overshoots(self):
        return self.count > 3


class Bridge(Spec):
    """A walker paces on a bridge. At each end an action leads off it, so at any time one of the two is enabled."""

    side = Range(0, 1)
    is_off = Range(0, 1)

    leaving = FairUnion("leave_left", "leave_right", fair="weak")

    @action
    def pace(self):
        require(self.is_off == 0)
        self.side = 1 - self.side

    @action
    def leave_left(self):
        require(self.side == 0 and self.is_off == 0)
        self.is_off = 1

    @action
    def leave_right(self):
        require(self.side == 1 and self.is_off == 0)
        self.is_off = 1

    @eventually
    def leaves(self):
        return self.is_off == 1

    @eventually
    def paces(self):
        return self.side == 1


class Service(Spec):
    """A batch is attempted without end, or completed. Either keeps the promise of the union."""

    batches = Constant(2)
    attempts = Map(Batch, Range(0, 2))
    completed = Map(Batch, Range(0, 1))

    serving = FairUnion("attempt", "complete", fair="weak")

    @action
    def attempt(self, count: Range(1, 2), batch: Batch):
        self.attempts[batch] = (self.attempts[batch] + count) % 3

    @action
    def complete(self, batch: Batch):
        require(self.completed[batch] == 0)
        self.completed[batch] = 1

    @eventually
    def is_served(self, batch: Batch):
        return self.attempts[batch] != 0 or self.completed[batch] == 1

    @eventually
    def is_completed(self, batch: Batch):
        return self.completed[batch] == 1


class TwoDesks(Mail):
    """Two desks alternate; the one that is open delivers letters."""

    desk = Range(0, 1)
    deliver = None

    delivering = FairUnion("deliver_here", "deliver_there", fair="weak")

    @action
    def alternate(self):
        self.desk = 1 - self.desk

    @action
    def deliver_here(self, letter: Letter):
        require(letter in self.box)
        require(self.desk == 0)
        self.hand_over(letter)

    @action
    def deliver_there(self, letter: Letter):
        require(letter in self.box)
        require(self.desk == 1)
        self.hand_over(letter)

    def hand_over(self, letter):
        self.box.remove(letter)
        if letter.number == 7:
            self.delivered = 1
