"""Published TLA+ specifications with a state constraint, to compare the number of states with that of TLC."""

from enum import Enum

from checker.language import (
    Constant,
    Domain,
    Map,
    Range,
    Seq,
    SetOf,
    Spec,
    Struct,
    action,
    constraint,
    invariant,
    require,
)
from tests.golden.synchronous_termination import Node


class Bit(Range):
    low, high = 0, 1


class Data(Domain):
    size, prefix = 2, "d"


class Message(Struct):
    bit: Bit
    data: Data


class ConstrainedAlternatingBit(Spec):
    """The alternating bit protocol. Module MCAlternatingBit of Specifying Systems."""

    queue_length = Constant(2, at_least=1)

    messages = Seq(Message, "queue_length + 1")
    answers = Seq(Bit, "queue_length + 1")
    sent_bit = Bit
    acked_bit = Bit
    received_bit = Bit
    sent = Data
    received = Data

    def init(self, bit: Bit, sent: Data, received: Data):
        self.sent_bit = bit
        self.acked_bit = bit
        self.received_bit = bit
        self.sent = sent
        self.received = received

    @constraint
    def queues_are_short(self):
        return len(self.messages) <= self.queue_length and len(self.answers) <= self.queue_length

    @action
    def send_new(self, data: Data):
        require(self.acked_bit == self.sent_bit)
        self.send(data)

    def send(self, data):
        self.sent = data
        self.sent_bit = 1 - self.sent_bit
        self.messages.append(Message(bit=self.sent_bit, data=data))

    @action
    def send_again(self):
        require(self.acked_bit != self.sent_bit)
        self.messages.append(Message(bit=self.sent_bit, data=self.sent))

    @action
    def receive_message(self):
        require(len(self.messages) > 0)
        message = self.messages.pop(0)
        self.received_bit = message.bit
        self.received = message.data

    @action
    def send_answer(self):
        self.answers.append(self.received_bit)

    @action
    def receive_answer(self):
        require(len(self.answers) > 0)
        self.acked_bit = self.answers.pop(0)

    @action
    def lose_message(self, place: Range(0, "queue_length - 1")):
        require(place < len(self.messages))
        del self.messages[place]

    @action
    def lose_answer(self, place: Range(0, "queue_length - 1")):
        require(place < len(self.answers))
        del self.answers[place]


class ConstrainedTermination(Spec):
    """Termination with messages. Module AsyncTerminationDetection of tlaplus/Examples."""

    nodes = Constant(4, at_least=1)
    most_pending = Constant(3, at_least=1)

    active = SetOf(Node)
    pending = Map(Node, Range(0, "most_pending + 1"))
    detected = bool

    def init(self, active: SetOf(Node), detected: bool):
        require(not detected or active == set())
        self.active = active
        self.detected = detected

    @constraint
    def few_messages_are_pending(self):
        return all(self.pending[node] <= self.most_pending for node in Node)

    def is_terminated(self):
        return self.active == set() and all(self.pending[node] == 0 for node in Node)

    @action
    def terminate(self, node: Node, detects: bool):
        require(node in self.active)
        self.active.remove(node)
        if detects:
            self.detected = self.is_terminated()

    @action
    def send(self, sender: Node, receiver: Node):
        require(sender in self.active)
        self.pending[receiver] += 1

    @action
    def receive(self, node: Node):
        require(self.pending[node] > 0)
        self.active.add(node)
        self.pending[node] -= 1

    @action
    def detect(self):
        require(self.is_terminated())
        self.detected = True


class Process(Range):
    low, high = 1, "processes"


class Ticket(Range):
    low, high = 0, "tickets + 1"


class At(Enum):
    LOOP = "loop"
    D1 = "d1"
    D2 = "d2"
    D3 = "d3"
    W1 = "w1"
    W2 = "w2"
    CS = "cs"
    EXIT = "exit"


class AtomicBakery(Spec):
    """The bakery algorithm with atomic registers, and the labels of the PlusCal text.

    Module Bakery of tlaplus/tlaplus, in tlatools/org.lamport.tlatools/test-model/pcal.
    """

    processes = Constant(2, at_least=1)
    tickets = Constant(3, at_least=1)

    ticket = Map(Process, Ticket)
    choosing = Map(Process, bool)
    at = Map(Process, At)
    read = Map(Process, SetOf(Process))
    greatest = Map(Process, Ticket)
    compared = Map(Process, Process)

    def init(self):
        self.compared = {process: process for process in Process}

    @constraint
    def tickets_are_small(self):
        return all(self.ticket[process] <= self.tickets for process in Process)

    def moves(self, process: Process, here: At, there: At):
        require(self.at[process] == here)
        self.at[process] = there

    @action
    def want(self, process: Process):
        self.moves(process, At.LOOP, At.D1)
        self.choosing[process] = True
        self.read[process] = {process}
        self.greatest[process] = 0

    @action
    def read_ticket(self, process: Process, other: Process):
        require(self.at[process] == At.D1 and other not in self.read[process])
        self.greatest[process] = max(self.greatest[process], self.ticket[other])
        self.read[process].add(other)

    @action
    def have_read_tickets(self, process: Process):
        require(self.read[process] == set(Process))
        self.moves(process, At.D1, At.D2)

    @action
    def take_ticket(self, process: Process):
        self.moves(process, At.D2, At.D3)
        self.ticket[process] = self.greatest[process] + 1

    @action
    def have_chosen(self, process: Process):
        self.moves(process, At.D3, At.W1)
        self.choosing[process] = False
        self.read[process] = {process}

    @action
    def compare(self, process: Process, other: Process):
        require(other not in self.read[process] and not self.choosing[other])
        self.moves(process, At.W1, At.W2)
        self.compared[process] = other

    @action
    def go_before(self, process: Process):
        other = self.compared[process]
        mine, theirs = self.ticket[process], self.ticket[other]
        require(theirs == 0 or theirs > mine or (theirs == mine and other > process))
        self.moves(process, At.W2, At.W1)
        self.read[process].add(other)

    @action
    def enter(self, process: Process):
        require(self.read[process] == set(Process))
        self.moves(process, At.W1, At.CS)

    @action
    def leave(self, process: Process):
        self.moves(process, At.CS, At.EXIT)

    @action
    def drop_ticket(self, process: Process):
        self.moves(process, At.EXIT, At.LOOP)
        self.ticket[process] = 0

    @invariant
    def mutual_exclusion(self):
        return all(
            one == other or self.at[one] != At.CS or self.at[other] != At.CS for one in Process for other in Process
        )
