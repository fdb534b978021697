"""Published TLA+ specifications with a state constraint, to compare the number of states with that of TLC."""

from checker.language import Constant, Domain, Map, Range, Seq, SetOf, Spec, Struct, action, constraint, require


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


class Node(Range):
    low, high = 0, "nodes - 1"


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
