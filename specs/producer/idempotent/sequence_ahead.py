"""A client whose sequence counter gets ahead of the broker, so that every later send fails (I10, kafkajs#598).

`sequence_taken_early` has the failure of one send. Here the sends have no end. Sequences are counted from the one that
the broker expects next, so that the state space is finite.

Sources: sendMessages and eosManager of kafkajs before and after the lock of a broker's sends (`acquireBrokerLock`).
"""

from checker.language import Bug, Constant, Drawing, Enum, Event, Lane, Map, Range, Spec
from checker.language.roles import action, always_eventually, require


class Send(Range):
    """One of the sends that may run at the same time."""

    low, high = 0, "sends - 1"


class Distance(Range):
    """A sequence minus the one that the broker expects. A request has -1 for every earlier sequence."""

    low, high = "-sends", "sends"


class Stage(Enum):
    """The stage of a send."""

    IDLE = "idle"
    IN_FLIGHT = "in flight"
    ACKNOWLEDGED = "acknowledged"


class Outcome(Enum):
    """The outcome of the last finished send."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


class SequenceAhead(Spec):
    """Concurrent sends to one partition. A send reads the counter at its start and advances it when it succeeds.

    The broker appends the expected sequence, acknowledges an earlier one as a duplicate, and refuses a later one. A
    refused send fails, and the client does not change its counter: kafkajs has no epoch bump.
    """

    sends = Constant(2, at_least=1)
    locks = Constant(True)
    """Whether a send holds a lock from its read of the counter to its response."""

    counter = Distance
    stage = Map(Send, Stage)
    sequence = Map(Send, Distance)
    last = Outcome

    draws = Drawing(
        Lane("client", facts={"counter": "counter, minus the expected sequence"}),
        Lane("send", each=Send, facts={"stage": "stage", "sequence": "sequence, minus the expected one"}),
    ).with_events(
        Event("init", "The broker expects the sequence that the client's counter has"),
        Event("start", "Send {send} reads the counter, which is {'right' if counter == 0 else str(counter) + ' off'}, "
            "and writes its request", "sends", "f'send {send}'"),
        Event("handle", "The broker {'refuses the sequence of send ' + str(send) + ', which fails' if sequence[send] > "
            "0 else 'appends the record of send ' + str(send) if sequence[send] == 0 else 'acknowledges send ' + "
            "str(send) + ' as a duplicate'}", "{'refused' if sequence[send] > 0 else 'handled'}", "f'send {send}'",
            "{'refusal' if sequence[send] > 0 else ''}"),
        Event("receive", "The client reads that send {send} succeeded, and counts on", "advance", "'client'"),
    )  # fmt: skip

    def init(self):
        self.counter = 0
        for send in Send:
            self.sequence[send] = 0

    @action(fair="weak")
    def start(self, send: Send):
        """A send reads the counter and writes its request."""
        require(self.stage[send] == Stage.IDLE)
        require(not self.locks or all(self.stage[other] == Stage.IDLE for other in Send))
        self.stage[send] = Stage.IN_FLIGHT
        self.sequence[send] = self.counter

    @action(fair="weak")
    def handle(self, send: Send):
        """The broker handles a request; the client fails a refused send at once."""
        require(self.stage[send] == Stage.IN_FLIGHT)
        if self.sequence[send] > 0:
            self.finish(send, Outcome.FAILED)
        else:
            if self.sequence[send] == 0:
                self.advance_broker()
            self.stage[send] = Stage.ACKNOWLEDGED

    def advance_broker(self):
        """Expect the next sequence: every distance falls by one."""
        self.counter -= 1
        for send in Send:
            if self.stage[send] == Stage.IN_FLIGHT:
                self.sequence[send] = max(self.sequence[send] - 1, -1)

    @action(fair="weak")
    def receive(self, send: Send):
        """The client reads an acknowledgement and advances its counter."""
        require(self.stage[send] == Stage.ACKNOWLEDGED)
        self.counter += 1
        self.finish(send, Outcome.SUCCEEDED)

    def finish(self, send, outcome):
        """End a send."""
        self.stage[send] = Stage.IDLE
        self.sequence[send] = 0
        self.last = outcome

    @always_eventually(says="the counter is {self.counter} ahead of the broker, and every send fails")
    def sends_succeed(self):
        """Sends succeed again and again."""
        return self.last == Outcome.SUCCEEDED


scenarios = [
    Bug("i10_every_send_fails", SequenceAhead, {"sends_succeed": 9}, faulty=dict(locks=False), larger=dict(sends=4),
        fixed_name="i10_sends_succeed",
        description="I10: two sends read the same sequence and both advance the counter; all later ones are refused.",
        remedy="I10 with a lock: a send reads the counter after the response to the one before."),
]  # fmt: skip
