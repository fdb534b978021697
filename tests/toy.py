"""Small specs for the tests, with state spaces that can be counted by hand."""

from checker.language import (
    Constant,
    Domain,
    Enum,
    Map,
    Option,
    Range,
    Scenario,
    Seq,
    SetOf,
    Spec,
    Struct,
    action,
    constraint,
    invariant,
    reachable,
    require,
    step_invariant,
)


class Counter(Spec):
    """Counts up to a limit, and can be reset at the limit."""

    limit = Constant(3, at_least=1, at_most=9)
    resets = Constant(False)
    value = Range(0, "limit")

    @action
    def increment(self):
        """Add one."""
        require(self.value < self.limit)
        self.value += 1

    @action
    def stay(self):
        """Do nothing, in the first state only."""
        require(self.value == 0)

    @action
    def reset(self):
        """Count from zero again."""
        require(self.resets)
        require(self.value == self.limit)
        self.value = 0

    @invariant
    def below_limit(self):
        return self.value < self.limit

    @step_invariant
    def never_falls(self, old):
        return old.value <= self.value

    @reachable
    def is_two(self):
        return self.value == 2

    @reachable
    def is_over(self):
        return self.value > self.limit


class Overflow(Counter):
    """Counts beyond the limit."""

    below_limit = None
    is_over = None

    @action
    def increment(self):
        """Add one."""
        self.value += 1


class Bounded(Counter):
    """A counter with a constraint: states above one are not explored."""

    below_limit = None
    is_over = None

    @constraint
    def is_small(self):
        return self.value < 2


class Replica(Domain):
    size, prefix = "replicas", "b"


class Role(Enum):
    FOLLOWER = "follower"
    LEADER = "leader"


class Record(Struct):
    id: Range(0, 3)
    epoch: Range(0, 2)
    shows = "r{id}@{epoch}"


class Head(Struct):
    leader: Option(Replica)
    epoch: Range(0, 2)


class Log(Spec):
    """Leaders write and followers copy, without fencing of old leaders."""

    replicas = Constant(2, at_least=1)
    log_size = Constant(1, at_least=1)
    log = Map(Replica, Seq(Record, "log_size"))
    role = Map(Replica, Role)
    head = Head
    isr = SetOf(Replica)

    def init(self):
        self.isr = set(Replica)

    @action
    def elect(self, replica: Replica):
        """Make a replica the leader."""
        require(self.head.epoch < 2)
        self.head.epoch += 1
        self.head.leader = replica
        for other in Replica:
            self.role[other] = Role.FOLLOWER
        self.role[replica] = Role.LEADER

    @action
    def write(self, leader: Replica):
        """Append a record to the leader's log."""
        require(self.role[leader] == Role.LEADER)
        require(len(self.log[leader]) < self.log_size)
        self.log[leader].append(Record(id=len(self.log[leader]), epoch=self.head.epoch))

    @action
    def fetch(self, follower: Replica, leader: Replica):
        """Copy the next record."""
        require(self.head.leader == leader)
        end = len(self.log[follower])
        require(end < len(self.log[leader]))
        self.log[follower].append(self.log[leader][end])

    @invariant(says="offset {offset}: {a} has {self.log[a][offset]}, {b} has {self.log[b][offset]}, {self.role[a]}")
    def logs_agree(self):
        return all(
            self.is_same(a, b, offset)
            for a in Replica
            for b in Replica
            for offset in range(min(len(self.log[a]), len(self.log[b])))
        )

    def is_same(self, one: Replica, other: Replica, at: int):
        return self.log[one][at] == self.log[other][at]


scenarios = [
    Scenario(Counter, "reaches_limit", {"limit": 2}, expect={"below_limit": 3}, properties=["below_limit"]),
    Scenario(Overflow, "overflows", expect="error"),
    Scenario(Bounded, "bounded", expect="holds"),
    Scenario(Log, "two_leaders", expect={"logs_agree": 5}),
]
