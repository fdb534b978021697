"""Specs that the tests of the explorer step through."""

from enum import Enum

from checker.language import (
    Bag,
    Constant,
    Domain,
    Map,
    Range,
    Seq,
    Spec,
    Struct,
    action,
    choose,
    constraint,
    invariant,
    reachable,
    require,
    step_invariant,
)

NASTY = "\x1b[31m\n</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e&#27;\"'{{7*7}}:\\"


class Grid(Spec):
    """A state with 10,000 enabled steps."""

    row = Range(0, 99)
    column = Range(0, 99)

    @action
    def move(self, row: Range(0, 99), column: Range(0, 99)):
        """Move to a field."""
        self.row = row
        self.column = column

    @invariant
    def not_in_the_corner(self):
        return self.row + self.column < 198


class Mood(Enum):
    CALM = "calm"
    WILD = NASTY


class Nasty(Spec):
    __doc__ = NASTY
    mood = Mood
    moods = Map(Mood, Range(0, 2))

    @action
    def change(self, to: Mood):
        self.mood = to
        self.moods[to] += 1

    @invariant(says=NASTY[:-1].replace("{{7*7}}", ""))
    def calm(self):
        return self.mood == Mood.CALM


class Node(Domain):
    prefix = "n"
    size = 2


class Packet(Struct):
    """A packet of which the text leaves out the number."""

    to: Node
    number: Range(0, 200)
    shows = "packet to {to}"


class Network(Spec):
    """Packets that look alike, a choice, a constraint, and an action that leaves the bounds of a type."""

    most = Constant(2, at_least=1, at_most=4)
    loud = Constant(False)
    sent = Bag(Packet, 4)
    received = Map(Node, Seq(Range(0, 200), 4))
    total = Range(0, 3)

    @action
    def send(self, to: Node):
        require(len(self.sent) < self.most)
        self.sent.add(Packet(to=to, number=len(self.sent) + self.total))
        self.total += 1

    @action
    def receive(self):
        packet = choose(self.sent)
        self.received[packet.to].append(packet.number)
        self.sent.remove(packet)

    @constraint
    def is_small(self):
        return self.loud or self.total < 3

    @invariant(says="{node} received {len(self.received[node])} packets")
    def at_most_one(self):
        return all(len(self.received[node]) <= 1 for node in Node)

    @step_invariant
    def total_never_falls(self, old):
        return old.total <= self.total

    @reachable
    def both_received(self):
        return all(len(self.received[node]) == 1 for node in Node)


class Tolerant(Network):
    """A node may receive two packets."""

    @invariant
    def at_most_one(self):
        return all(len(self.received[node]) <= 2 for node in Node)


class Several(Spec):
    """Three initial states; nothing is enabled in the last one."""

    value = Range(0, 3)

    def init(self, start: Range(0, 2)):
        self.value = start + 1

    @action
    def grow(self):
        require(self.value < 3)
        self.value += 1


class Vast(Spec):
    """Too many states for any search."""

    one, two, three, four = Range(0, 255), Range(0, 255), Range(0, 255), Range(0, 255)

    @action
    def first(self):
        require(self.one < 255)
        self.one += 1

    @action
    def second(self):
        require(self.two < 255)
        self.two += 1

    @action
    def third(self):
        require(self.three < 255)
        self.three += 1

    @action
    def fourth(self):
        require(self.four < 255)
        self.four += 1

    @invariant
    def is_small(self):
        return self.one + self.two + self.three + self.four < 1020
