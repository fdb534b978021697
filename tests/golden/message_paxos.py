"""The module Paxos of tlaplus/Examples with its one set of messages, and quorums as a constant."""

from checker.language import (
    Constant,
    Domain,
    Map,
    OneOf,
    Option,
    Range,
    SetOf,
    Spec,
    Struct,
    action,
    assume,
    invariant,
    require,
)


class Acceptor(Domain):
    size, prefix = 3, "a"


class Value(Domain):
    size, prefix = "values", "v"


class Ballot(Range):
    low, high = -1, "ballots - 1"


class Phase1a(Struct):
    ballot: Ballot


class Phase1b(Struct):
    acceptor: Acceptor
    ballot: Ballot
    voted: Ballot
    value: Option(Value)


class Phase2a(Struct):
    ballot: Ballot
    value: Value


class Phase2b(Struct):
    acceptor: Acceptor
    ballot: Ballot
    value: Value


Message = OneOf(Phase1a, Phase1b, Phase2a, Phase2b)
A1, A2, A3 = Acceptor[0], Acceptor[1], Acceptor[2]


class MessagePaxos(Spec):
    """Acceptors promise to ignore lower ballots, and vote for the proposal of a ballot."""

    values = Constant(2, at_least=1)
    ballots = Constant(2, at_least=1)
    quorums = Constant({frozenset({A1, A2}), frozenset({A1, A3}), frozenset({A2, A3})})

    promised = Map(Acceptor, Ballot)
    voted = Map(Acceptor, Ballot)
    value = Map(Acceptor, Option(Value))
    messages = SetOf(Message, "8 * ballots")

    @assume(says="every two quorums have a common member")
    def quorums_intersect(self):
        return all(len(one & other) > 0 for one in self.quorums for other in self.quorums)

    @action
    def phase_1a(self, ballot: Range(0, "ballots - 1")):
        self.messages.add(Phase1a(ballot))

    @action
    def phase_1b(self, acceptor: Acceptor, message: Message):
        require(message in self.messages and isinstance(message, Phase1a) and message.ballot > self.promised[acceptor])
        self.promised[acceptor] = message.ballot
        self.messages.add(Phase1b(acceptor, message.ballot, self.voted[acceptor], self.value[acceptor]))

    def is_safe(self, quorum, ballot, value):
        promises = {m for m in self.messages if isinstance(m, Phase1b) and m.acceptor in quorum and m.ballot == ballot}
        latest = max((m.voted for m in promises), default=-1)
        is_voted = latest == -1 or any(m.voted == latest and m.value == value for m in promises)
        return {m.acceptor for m in promises} == quorum and is_voted

    @action
    def phase_2a(self, ballot: Range(0, "ballots - 1"), value: Value):
        require(not any(isinstance(m, Phase2a) and m.ballot == ballot for m in self.messages))
        require(any(self.is_safe(quorum, ballot, value) for quorum in self.quorums))
        self.messages.add(Phase2a(ballot, value))

    @action
    def phase_2b(self, acceptor: Acceptor, message: Message):
        require(message in self.messages and isinstance(message, Phase2a) and message.ballot >= self.promised[acceptor])
        self.promised[acceptor] = message.ballot
        self.voted[acceptor], self.value[acceptor] = message.ballot, message.value
        self.messages.add(Phase2b(acceptor, message.ballot, message.value))

    @invariant
    def votes_are_sent(self):
        return all(self.voted[a] == -1 or Phase2b(a, self.voted[a], self.value[a]) in self.messages for a in Acceptor)

    @invariant
    def one_value_is_proposed(self):
        proposals = {m for m in self.messages if isinstance(m, Phase2a)}
        return all(one == other for one in proposals for other in proposals if one.ballot == other.ballot)
