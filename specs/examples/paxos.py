"""Paxos: a majority of acceptors chooses one value, although messages are lost and any number of leaders compete."""

from checker.language import Constant, Domain, Map, Option, Range, Scenario, SetOf, Spec, Struct, choose, subsets
from checker.language.roles import action, invariant, reachable, require


class Acceptor(Domain):
    """A process that votes."""

    size, prefix = "acceptors", "a"


class Value(Domain):
    """A value that can be chosen."""

    size, prefix = "values", "v"


class Ballot(Range):
    """A ballot; each is led by one process, which the spec does not name."""

    low, high = 0, "ballots - 1"


# A ballot, or -1 for none.
LastBallot = Range(-1, "ballots - 1")


class Promise(Struct):
    """A message of phase 1b: the acceptor ignores lower ballots, and reports its last vote."""

    acceptor: Acceptor
    ballot: Ballot
    voted: LastBallot
    value: Option(Value)


class Vote(Struct):
    """A message of phase 2b: an acceptor's vote for a value."""

    acceptor: Acceptor
    ballot: Ballot
    value: Value


class Paxos(Spec):
    """Acceptors promise to ignore lower ballots, and vote for the proposal of a ballot.

    Messages are never removed: a message that is lost is one that is never received.

    Source: Leslie Lamport, The Part-Time Parliament, ACM TOCS 16(2), 1998. Module Paxos of tlaplus/Examples at 32a32c7.
    """

    acceptors = Constant(3, at_least=1)
    values = Constant(2, at_least=1)
    ballots = Constant(2, at_least=1)

    promised = Map(Acceptor, LastBallot)
    voted = Map(Acceptor, LastBallot)
    voted_value = Map(Acceptor, Option(Value))
    begun = SetOf(Ballot)
    promises = SetOf(Promise, "acceptors * ballots")
    proposed = Map(Ballot, Option(Value))
    votes = SetOf(Vote, "acceptors * ballots")

    def quorums(self):
        """Return the majorities."""
        return {found for found in subsets(Acceptor) if 2 * len(found) > self.acceptors}

    @action
    def phase_1a(self, ballot: Ballot):
        """The leader of a ballot begins it."""
        self.begun.add(ballot)

    @action
    def phase_1b(self, acceptor: Acceptor):
        """An acceptor promises to ignore lower ballots, and reports its last vote."""
        ballot = choose({ballot for ballot in self.begun if ballot > self.promised[acceptor]})
        self.promised[acceptor] = ballot
        self.promises.add(Promise(acceptor, ballot, self.voted[acceptor], self.voted_value[acceptor]))

    @action
    def phase_2a(self, ballot: Ballot, value: Value):
        """The leader proposes a value that no lower ballot can contradict, as a quorum reports."""
        require(self.proposed[ballot] is None)
        require(any(self.shows_safe(quorum, ballot, value) for quorum in self.quorums()))
        self.proposed[ballot] = value

    def shows_safe(self, quorum, ballot, value):
        """Return whether a quorum has promised, and its latest vote, if any, is for the value."""
        promises = {p for p in self.promises if p.acceptor in quorum and p.ballot == ballot}
        latest = max((p.voted for p in promises), default=-1)
        has_all = {p.acceptor for p in promises} == quorum
        return has_all and (latest == -1 or any(p.voted == latest and p.value == value for p in promises))

    @action
    def phase_2b(self, acceptor: Acceptor, ballot: Ballot):
        """An acceptor votes for the proposal of a ballot."""
        require(self.proposed[ballot] is not None and self.promised[acceptor] <= ballot)
        self.promised[acceptor] = ballot
        self.voted[acceptor] = ballot
        self.voted_value[acceptor] = self.proposed[ballot]
        self.votes.add(Vote(acceptor, ballot, self.proposed[ballot]))

    def is_chosen(self, value):
        """Return whether some quorum voted for a value in one ballot."""
        return any(all(Vote(a, b, value) in self.votes for a in quorum) for quorum in self.quorums() for b in Ballot)

    @invariant
    def one_value_is_chosen(self):
        """No two values are chosen."""
        return sum(1 for value in Value if self.is_chosen(value)) <= 1

    @reachable
    def a_value_is_chosen(self):
        """Some value is chosen."""
        return any(self.is_chosen(value) for value in Value)


scenarios = [Scenario(Paxos, "two_ballots", description="Three acceptors, two values and two ballots.")]
