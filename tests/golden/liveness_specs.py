"""Published TLA+ specifications with liveness properties, written in the language of this project.

Each class names its module. `liveness.json` has TLC's verdicts for them, under several fairness conditions.
"""

from enum import Enum

from checker.language import (
    Constant,
    Domain,
    Map,
    Option,
    Range,
    Seq,
    SetOf,
    Spec,
    Struct,
    action,
    always_eventually,
    eventually,
    eventually_always,
    leads_to,
    require,
)
from tests.golden.counted_specs import Bit, ConstrainedAlternatingBit, ConstrainedTermination, Data, Message
from tests.golden.termination_on_ring import Node, TerminationOnRing

__all__ = ["Node", "TerminationOnRing"]


class Counter(Range):
    low, high = 0, "counters - 1"


class SelfStabilizingRing(Spec):
    """Dijkstra's self-stabilizing token ring, EWD 426. Module TokenRing of tlaplus/Examples."""

    nodes = Constant(4, at_least=4, at_most=4)
    counters = Constant(4, at_least=3)

    counter = Map(Node, Counter)

    def init(self, a: Counter, b: Counter, c: Counter, d: Counter):
        self.counter[0] = a
        self.counter[1] = b
        self.counter[2] = c
        self.counter[3] = d

    @action
    def create_token(self):
        require(self.counter[0] == self.counter[self.nodes - 1])
        self.counter[0] = (self.counter[self.nodes - 1] + 1) % self.counters

    @action
    def pass_token(self, node: Node):
        require(node != 0 and self.counter[node] != self.counter[node - 1])
        self.counter[node] = self.counter[node - 1]

    @eventually_always
    def token_is_unique(self):
        """The nodes before some node have the counter of node 0; the others have the one before it."""
        return any(
            all(self.counter[j] == self.counter[0] for j in range(i))
            and all(
                self.counter[j] == (self.counter[0] + self.counters - 1) % self.counters for j in range(i, self.nodes)
            )
            for i in range(self.nodes + 1)
        )

    @always_eventually
    def is_zero(self, node: Node):
        return self.counter[node] == 0


class AlternatingBit(ConstrainedAlternatingBit):
    """The alternating bit protocol. Module AlternatingBit of Specifying Systems, with queues of at most two messages.

    The bound is a condition of the actions that send, not a constraint.
    """

    messages = Seq(Message, 2)
    answers = Seq(Bit, 2)
    queues_are_short = None

    @action
    def send_new(self, data: Data):
        require(len(self.messages) < 2 and self.acked_bit == self.sent_bit)
        self.send(data)

    @action
    def send_again(self):
        require(len(self.messages) < 2 and self.acked_bit != self.sent_bit)
        self.messages.append(Message(bit=self.sent_bit, data=self.sent))

    @action
    def send_answer(self):
        require(len(self.answers) < 2)
        self.answers.append(self.received_bit)

    def is_sent(self, data):
        return self.sent == data and self.sent_bit != self.acked_bit

    @leads_to("is_sent")
    def is_received(self, data: Data):
        return self.received == data

    def is_unanswered(self):
        return self.sent_bit != self.acked_bit

    @leads_to("is_unanswered")
    def is_answered(self):
        return self.sent_bit == self.acked_bit


class Process(Range):
    low, high = 0, 1


class Label(Enum):
    A0 = "a0"
    A1 = "a1"
    A2 = "a2"
    A3 = "a3"
    CRITICAL = "cs"
    A4 = "a4"


class PetersonLabels(Spec):
    """Peterson's algorithm. Module Peterson in locks_auxiliary_vars of tlaplus/Examples."""

    at = Map(Process, Label)
    wants = SetOf(Process)
    turn = Process

    @action
    def move(self, me: Process):
        if self.at[me] == Label.A0:
            self.at[me] = Label.A1
        elif self.at[me] == Label.A1:
            self.wants.add(me)
            self.at[me] = Label.A2
        elif self.at[me] == Label.A2:
            self.turn = 1 - me
            self.at[me] = Label.A3
        elif self.at[me] == Label.A3:
            require(1 - me not in self.wants or self.turn == me)
            self.at[me] = Label.CRITICAL
        elif self.at[me] == Label.CRITICAL:
            self.at[me] = Label.A4
        else:
            self.wants.remove(me)
            self.at[me] = Label.A0

    def is_trying(self, me):
        return self.at[me] == Label.A1

    @leads_to("is_trying")
    def enters(self, me: Process):
        return self.at[me] == Label.CRITICAL

    @always_eventually
    def enters_again(self, me: Process):
        return self.at[me] == Label.CRITICAL


class Seat(Range):
    low, high = 0, "philosophers - 1"


class Doing(Enum):
    LOOP = "Loop"
    EAT = "Eat"
    THINK = "Think"


class Philosophers(Spec):
    """The dining philosophers of Chandy and Misra. Module DiningPhilosophers of tlaplus/Examples.

    Fork i lies to the left of philosopher i.
    """

    philosophers = Constant(3, at_least=2)

    holder = Map(Seat, Seat)
    clean = SetOf(Seat)
    hungry = SetOf(Seat)
    doing = Map(Seat, Doing)

    def init(self):
        self.holder = {fork: 0 if fork == 1 else fork for fork in Seat}
        self.hungry = set(Seat)

    @action
    def philosopher(self, me: Seat):
        left = me
        right = (me + 1) % self.philosophers
        if self.doing[me] == Doing.LOOP:
            if self.holder[left] == me and left not in self.clean:
                self.holder[left] = (me + self.philosophers - 1) % self.philosophers
                self.clean.add(left)
            elif self.holder[right] == me and right not in self.clean:
                self.holder[right] = right
                self.clean.add(right)
            elif me in self.hungry and self.holder[left] == me and self.holder[right] == me:
                self.doing[me] = Doing.EAT
            if me not in self.hungry:
                self.doing[me] = Doing.THINK
        elif self.doing[me] == Doing.EAT:
            self.hungry.remove(me)
            self.clean.discard(left)
            self.clean.discard(right)
            self.doing[me] = Doing.LOOP
        else:
            self.hungry.add(me)
            self.doing[me] = Doing.LOOP

    @always_eventually
    def is_fed(self, me: Seat):
        return me not in self.hungry


class Client(Domain):
    size, prefix = 3, "c"


class Resource(Domain):
    size, prefix = 2, "r"


class SimpleAllocator(Spec):
    """Clients that request and return sets of resources. Module SimpleAllocator of tlaplus/Examples."""

    wanted = Map(Client, SetOf(Resource))
    held = Map(Client, SetOf(Resource))

    def available(self):
        return {resource for resource in Resource if all(resource not in self.held[client] for client in Client)}

    @action
    def request(self, client: Client, resources: SetOf(Resource)):
        require(self.wanted[client] == set() and self.held[client] == set() and len(resources) > 0)
        self.wanted[client] = resources

    @action
    def allocate(self, client: Client, resources: SetOf(Resource)):
        require(len(resources) > 0 and resources <= self.available() & self.wanted[client])
        self.held[client] |= resources
        self.wanted[client] -= resources

    @action
    def give_back(self, client: Client, resources: SetOf(Resource)):
        """Return some of the client's resources, not all of them."""
        require(len(resources) > 0 and resources < self.held[client])
        self.held[client] -= resources

    @action
    def give_all_back(self, client: Client):
        require(self.held[client] != set())
        self.held[client] = set()

    def wants_nothing(self, client):
        return self.wanted[client] == set()

    @leads_to("wants_nothing")
    def will_return(self, client: Client):
        return self.held[client] == set()

    def wants(self, client, resource):
        return resource in self.wanted[client]

    @leads_to("wants")
    def will_obtain(self, client: Client, resource: Resource):
        return resource in self.held[client]

    @always_eventually
    def is_satisfied(self, client: Client):
        return self.wanted[client] == set()


class SimpleAllocator2(SimpleAllocator):
    """The same; only a client that wants nothing more promises to return its resources. Formula SimpleAllocator2."""

    @action
    def give_all_back(self, client: Client):
        require(self.wanted[client] != set() and self.held[client] != set())
        self.held[client] = set()

    @action
    def satisfied_gives_all_back(self, client: Client):
        require(self.wanted[client] == set() and self.held[client] != set())
        self.held[client] = set()


class SchedulingAllocator(SimpleAllocator2):
    """Clients are served in an order. Module SchedulingAllocator of tlaplus/Examples."""

    queue = Seq(Client, 3)

    @action
    def allocate(self, client: Client, resources: SetOf(Resource)):
        require(len(resources) > 0 and resources <= self.available() & self.wanted[client])
        require(client in self.queue)
        place = self.queue.index(client)
        require(all(self.wanted[earlier] & resources == set() for earlier in self.queue[:place]))
        if resources == self.wanted[client]:
            del self.queue[place]
        self.held[client] |= resources
        self.wanted[client] -= resources

    @action
    def schedule(self, order: Seq(Client, 3)):
        """Append every client that waits without a place, in some order."""
        unscheduled = {client for client in Client if self.wanted[client] != set() and client not in self.queue}
        require(len(order) > 0 and set(order) == unscheduled and len(order) == len(unscheduled))
        self.queue += order


class Car(Range):
    low, high = 0, 3


class Place(Range):
    low, high = 1, 8


class SingleLaneBridge(Spec):
    """A bridge with one lane at the places 4 and 5. Module SingleLaneBridge of tlaplus/Examples.

    Cars 0 and 1 go from 8 to 1, cars 2 and 3 from 1 to 8, round and round.
    """

    place = Map(Car, Place)
    waiting = Seq(Car, 4)

    def init(self):
        self.place = {car: 8 if car < 2 else 1 for car in Car}

    def on_bridge(self, car):
        return 4 <= self.place[car] <= 5

    def next_place(self, car):
        if car < 2:
            return self.place[car] - 1 if self.place[car] > 1 else 8
        return self.place[car] + 1 if self.place[car] < 8 else 1

    def go(self, car):
        place = self.next_place(car)
        self.place[car] = place
        if (car < 2 and place == 6) or (car >= 2 and place == 3):
            self.waiting.append(car)

    @action
    def move_outside(self, car: Car):
        require(not 4 <= self.next_place(car) <= 5)
        self.go(car)

    @action
    def move_inside(self, car: Car):
        require(self.on_bridge(car))
        require(all(self.place[other] != self.next_place(car) for other in Car))
        self.go(car)

    @action
    def enter(self):
        require(len(self.waiting) > 0)
        car = self.waiting[0]
        require(
            all(not self.on_bridge(other) for other in Car)
            or (
                not self.on_bridge(car)
                and all((other < 2) == (car < 2) for other in Car if self.on_bridge(other))
                and all(self.place[other] != self.next_place(car) for other in Car)
            )
        )
        self.place[car] = self.next_place(car)
        self.waiting.pop(0)

    def enters_bridge(self, car):
        return self.on_bridge(car)

    @leads_to("enters_bridge")
    def leaves_bridge(self, car: Car):
        return not self.on_bridge(car)

    def is_outside(self, car):
        return not self.on_bridge(car)

    @leads_to("is_outside")
    def comes_to_bridge(self, car: Car):
        return self.on_bridge(car)


class Actor(Domain):
    size, prefix = 2, "a"


class Activity(Enum):
    READ = "read"
    WRITE = "write"


class Request(Struct):
    activity: Activity
    actor: Actor


class ReadersWriters(Spec):
    """Readers and writers in a queue. Module ReadersWriters of tlaplus/Examples."""

    readers = SetOf(Actor)
    writers = SetOf(Actor)
    waiting = Seq(Request, 4)

    @action
    def wait(self, activity: Activity, actor: Actor):
        request = Request(activity=activity, actor=actor)
        require(request not in self.waiting)
        self.waiting.append(request)

    @action
    def read_or_write(self):
        require(len(self.waiting) > 0 and len(self.writers) == 0)
        request = self.waiting[0]
        if request.activity == Activity.READ:
            self.readers.add(request.actor)
        else:
            require(len(self.readers) == 0)
            self.writers.add(request.actor)
        self.waiting.pop(0)

    @action
    def stop(self, actor: Actor):
        require(actor in self.readers or actor in self.writers)
        if actor in self.readers:
            self.readers.remove(actor)
        else:
            self.writers.remove(actor)

    @always_eventually
    def reads(self, actor: Actor):
        return actor in self.readers

    @always_eventually
    def writes(self, actor: Actor):
        return actor in self.writers

    @always_eventually
    def stops_reading(self, actor: Actor):
        return actor not in self.readers

    @always_eventually
    def stops_writing(self, actor: Actor):
        return actor not in self.writers


class OtherPrisoner(Domain):
    size, prefix = 2, "p"


class Prisoners(Spec):
    """Prisoners, two switches, and one prisoner who counts. Module Prisoners of tlaplus/Examples."""

    a_is_up = bool
    b_is_up = bool
    switched = Map(OtherPrisoner, Range(0, 2))
    count = Range(0, 5)

    def init(self, a: bool, b: bool):
        self.a_is_up = a
        self.b_is_up = b

    @action
    def counter_step(self):
        if self.a_is_up:
            self.a_is_up = False
            self.count += 1
        else:
            self.b_is_up = not self.b_is_up

    @action
    def other_step(self, prisoner: OtherPrisoner):
        if not self.a_is_up and self.switched[prisoner] < 2:
            self.a_is_up = True
            self.switched[prisoner] += 1
        else:
            self.b_is_up = not self.b_is_up

    @eventually
    def is_done(self):
        return self.count == 4


class Hour(Range):
    low, high = 1, 12


class HourClock(Spec):
    """A clock that does not stop. Module LiveHourClock of Specifying Systems."""

    hour = Hour

    def init(self, hour: Hour):
        self.hour = hour

    @action
    def tick(self):
        self.hour = 1 if self.hour == 12 else self.hour + 1

    @always_eventually
    def shows(self, hour: Hour):
        return self.hour == hour


class Standing(Enum):
    CANDIDATE = "cand"
    LOST = "lost"
    WON = "won"


class ChangRoberts(Spec):
    """Election on a ring by Chang and Roberts. Module MCChangRoberts of tlaplus/Examples; ids are positions."""

    nodes = Constant(3, at_least=2)

    messages = Map(Node, SetOf(Node))
    started = SetOf(Node)
    initiators = SetOf(Node)
    standing = Map(Node, Standing)

    def init(self, initiators: SetOf(Node)):
        self.initiators = initiators
        self.standing = {node: Standing.CANDIDATE if node in initiators else Standing.LOST for node in Node}

    def forward(self, node, id):
        self.messages[(node + 1) % self.nodes].add(id)

    @action
    def move(self, node: Node, id: Node):
        """Start, which needs no message (so `id` is fixed), or receive a message."""
        if node not in self.started:
            require(id == 0)
            self.started.add(node)
            if node in self.initiators:
                self.forward(node, node)
        else:
            require(id in self.messages[node])
            self.messages[node].remove(id)
            if self.standing[node] == Standing.LOST:
                self.forward(node, id)
            elif id < node:
                self.standing[node] = Standing.LOST
                self.forward(node, id)
            elif id == node:
                self.standing[node] = Standing.WON

    @eventually
    def is_decided(self):
        return self.initiators == set() or any(self.standing[node] == Standing.WON for node in Node)


class Beans(Range):
    low, high = 0, "beans"


class CoffeeCan(Spec):
    """The coffee can of Gries and Dijkstra. Module CoffeeCan of tlaplus/Examples, with at most ten beans."""

    beans = Constant(10, at_least=1)

    black = Beans
    white = Beans

    def init(self, black: Beans, white: Beans):
        require(1 <= black + white <= self.beans)
        self.black = black
        self.white = white

    @action
    def pick_two_black(self):
        require(self.black >= 2)
        self.black -= 1

    @action
    def pick_two_white(self):
        require(self.white >= 2)
        self.black += 1
        self.white -= 2

    @action
    def pick_one_of_each(self):
        require(self.black >= 1 and self.white >= 1)
        self.black -= 1

    @eventually
    def has_one_bean(self):
        return self.black + self.white == 1

    @eventually
    def has_one_white_bean(self):
        return self.white == 1


class AsyncTermination(ConstrainedTermination):
    """Termination with messages. Module AsyncTerminationDetection of tlaplus/Examples, two messages to a node at most.

    The bound is a condition of `send`, not a constraint.
    """

    nodes = Constant(2, at_least=1)

    pending = Map(Node, Range(0, 2))
    few_messages_are_pending = None

    @action
    def terminate(self, node: Node, detects: bool):
        require(node in self.active)
        self.active.remove(node)
        if detects:
            require(not self.detected)
            self.detected = self.is_terminated()

    @action
    def send(self, sender: Node, receiver: Node):
        require(sender in self.active and self.pending[receiver] < 2)
        self.pending[receiver] += 1

    @leads_to("is_terminated")
    def is_detected(self):
        return self.detected

    @eventually
    def terminates(self):
        return self.is_terminated()


class Manager(Domain):
    size, prefix = 3, "r"


class ManagerState(Enum):
    WORKING = "working"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Decision(Enum):
    INIT = "init"
    COMMITTED = "committed"
    ABORTED = "aborted"


class TwoPhaseCommit(Spec):
    """Two-phase commit. Module TwoPhase of tlaplus/Examples; the decision is the message Commit or Abort."""

    state = Map(Manager, ManagerState)
    decision = Decision
    prepared = SetOf(Manager)
    messages = SetOf(Manager)

    @action
    def coordinator_learns(self, manager: Manager):
        require(self.decision == Decision.INIT and manager in self.messages)
        self.prepared.add(manager)

    @action
    def coordinator_commits(self):
        require(self.decision == Decision.INIT and self.prepared == set(Manager))
        self.decision = Decision.COMMITTED

    @action
    def coordinator_aborts(self):
        require(self.decision == Decision.INIT)
        self.decision = Decision.ABORTED

    @action
    def prepare(self, manager: Manager):
        require(self.state[manager] == ManagerState.WORKING)
        self.state[manager] = ManagerState.PREPARED
        self.messages.add(manager)

    @action
    def choose_to_abort(self, manager: Manager):
        require(self.state[manager] == ManagerState.WORKING)
        self.state[manager] = ManagerState.ABORTED

    @action
    def learn_commit(self, manager: Manager):
        require(self.decision == Decision.COMMITTED)
        self.state[manager] = ManagerState.COMMITTED

    @action
    def learn_abort(self, manager: Manager):
        require(self.decision == Decision.ABORTED)
        self.state[manager] = ManagerState.ABORTED

    @eventually
    def every_manager_decides(self):
        return all(self.state[m] == ManagerState.COMMITTED or self.state[m] == ManagerState.ABORTED for m in Manager)

    @eventually
    def every_manager_commits(self):
        return all(self.state[m] == ManagerState.COMMITTED for m in Manager)

    def is_committed(self):
        return self.decision == Decision.COMMITTED

    @leads_to("is_committed")
    def every_manager_follows(self):
        return all(self.state[m] == ManagerState.COMMITTED for m in Manager)


class Box(Range):
    low, high = 1, "boxes"


class HiddenCat(Spec):
    """A cat that moves every night, and boxes that are inspected in turn. Module Cat of tlaplus/Examples."""

    boxes = Constant(5, at_least=4)

    cat = Box
    observed = Box
    to_the_right = bool

    def init(self, cat: Box, observed: Box, to_the_right: bool):
        require(1 < observed < self.boxes)
        self.cat = cat
        self.observed = observed
        self.to_the_right = to_the_right

    @action
    def night(self, cat_goes_right: bool):
        """The cat moves, and the observer goes to the next box or turns."""
        cat = self.cat + (1 if cat_goes_right else -1)
        require(1 <= cat <= self.boxes)
        self.cat = cat
        box = self.observed + (1 if self.to_the_right else -1)
        if 1 < box < self.boxes:
            self.observed = box
        else:
            self.to_the_right = not self.to_the_right

    @eventually
    def is_found(self):
        return self.observed == self.cat


class Contender(Domain):
    size, prefix = "contenders", "p"


class MutexLabel(Enum):
    """A label of the PlusCal text, or the critical or the noncritical section."""

    LI0 = "Li0"
    LI1 = "Li1"
    LI2 = "Li2"
    LI3A = "Li3a"
    LI3B = "Li3b"
    LI3C = "Li3c"
    LI3D = "Li3d"
    LI4A = "Li4a"
    LI4B = "Li4b"
    CRITICAL = "cs"
    LI5 = "Li5"
    LI6 = "Li6"
    NONCRITICAL = "ncs"


class DijkstraMutex(Spec):
    """Dijkstra's mutual exclusion. Module DijkstraMutex of tlaplus/Examples.

    The variable `temp` of the text is a process (`favoured`) or, if `has_set`, a set of processes (`others`).
    """

    contenders = Constant(2, at_least=1)

    is_outside = Map(Contender, bool)  # b
    is_not_entering = Map(Contender, bool)  # c
    turn = Contender  # k
    at = Map(Contender, MutexLabel)
    favoured = Map(Contender, Option(Contender))
    others = Map(Contender, SetOf(Contender))
    has_set = Map(Contender, bool)

    def init(self, turn: Contender):
        self.turn = turn
        for process in Contender:
            self.is_outside[process] = True
            self.is_not_entering[process] = True

    @action
    def move(self, process: Contender, other: Contender):
        """A step outside the noncritical section. Only Li4b looks at another process."""
        at = self.at[process]
        require(at != MutexLabel.NONCRITICAL)
        if at == MutexLabel.LI4B and len(self.others[process]) > 0:
            self.look_at(process, other)
        else:
            require(other == process)
            self.enter_or_yield(process)

    def look_at(self, process, other):
        """Li4b: start again if another process is entering."""
        require(other in self.others[process])
        self.others[process].discard(other)
        if not self.is_not_entering[other]:
            self.at[process] = MutexLabel.LI1

    def enter_or_yield(self, process):
        """The labels from Li0 to Li4b, without its loop."""
        at = self.at[process]
        if at == MutexLabel.LI0:
            self.is_outside[process] = False
            self.at[process] = MutexLabel.LI1
        elif at == MutexLabel.LI1:
            self.at[process] = MutexLabel.LI4A if self.turn == process else MutexLabel.LI2
        elif at == MutexLabel.LI2:
            self.is_not_entering[process] = True
            self.at[process] = MutexLabel.LI3A
        elif at == MutexLabel.LI3A:
            self.favoured[process] = self.turn
            self.others[process].clear()
            self.has_set[process] = False
            self.at[process] = MutexLabel.LI3B
        elif at == MutexLabel.LI3B:
            is_free = any(self.favoured[process] == other and self.is_outside[other] for other in Contender)
            self.at[process] = MutexLabel.LI3C if is_free else MutexLabel.LI3D
        elif at == MutexLabel.LI3C:
            self.turn = process
            self.at[process] = MutexLabel.LI3D
        elif at == MutexLabel.LI3D:
            self.at[process] = MutexLabel.LI1
        elif at == MutexLabel.LI4A:
            self.is_not_entering[process] = False
            self.favoured[process] = None
            self.others[process] = {other for other in Contender if other != process}
            self.has_set[process] = True
            self.at[process] = MutexLabel.LI4B
        else:
            self.pass_critical_section(process)

    def pass_critical_section(self, process):
        """The end of Li4b, and the labels from cs to Li6."""
        at = self.at[process]
        if at == MutexLabel.LI4B:
            self.at[process] = MutexLabel.CRITICAL
        elif at == MutexLabel.CRITICAL:
            self.at[process] = MutexLabel.LI5
        elif at == MutexLabel.LI5:
            self.is_not_entering[process] = True
            self.at[process] = MutexLabel.LI6
        else:
            self.is_outside[process] = True
            self.at[process] = MutexLabel.NONCRITICAL

    @action
    def leave_noncritical_section(self, process: Contender):
        require(self.at[process] == MutexLabel.NONCRITICAL)
        self.at[process] = MutexLabel.LI0

    def is_trying(self, process):
        return self.at[process] == MutexLabel.LI0

    @leads_to("is_trying")
    def one_enters(self, process: Contender):
        return any(self.at[other] == MutexLabel.CRITICAL for other in Contender)

    @leads_to("is_trying")
    def enters(self, process: Contender):
        return self.at[process] == MutexLabel.CRITICAL
