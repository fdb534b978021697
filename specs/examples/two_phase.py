"""Two-phase commit, which refines transaction commit: an example of refinement."""

from checker.language import Constant, Domain, Enum, Map, Refinement, Scenario, SetOf, Spec, action, invariant, require


class Manager(Domain):
    """A resource manager, which takes part in the transaction."""

    size, prefix = "managers", "m"


class At(Enum):
    """The state of a resource manager."""

    WORKING = "working"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Decision(Enum):
    """The decision of the transaction manager."""

    OPEN = "open"
    COMMIT = "commit"
    ABORT = "abort"


class TransactionCommit(Spec):
    """The goal of every commit protocol: the resource managers all commit or all abort.

    Sources: J. Gray and L. Lamport, Consensus on Transaction Commit, 2004, section 2; TCommit of tlaplus/Examples.
    """

    managers = Constant(3, at_least=1)

    at = Map(Manager, At)

    @action
    def prepare(self, manager: Manager):
        """Prepare: the manager is ready to commit."""
        require(self.at[manager] == At.WORKING)
        self.at[manager] = At.PREPARED

    @action
    def commit(self, manager: Manager):
        """Commit, if every manager is prepared or has committed."""
        require(self.at[manager] == At.PREPARED)
        require(all(self.at[other] == At.PREPARED or self.at[other] == At.COMMITTED for other in Manager))
        self.at[manager] = At.COMMITTED

    @action
    def abort(self, manager: Manager):
        """Abort, if no manager has committed."""
        require(self.at[manager] == At.WORKING or self.at[manager] == At.PREPARED)
        require(all(self.at[other] != At.COMMITTED for other in Manager))
        self.at[manager] = At.ABORTED

    @invariant
    def consistent(self):
        """Managers do not decide differently."""
        states = [self.at[manager] for manager in Manager]
        return not (At.ABORTED in states and At.COMMITTED in states)


class TwoPhase(Spec):
    """Two-phase commit: a transaction manager collects the votes and decides.

    Messages are never lost, and may be received more than once.

    Sources: J. Gray and L. Lamport, Consensus on Transaction Commit, 2004, section 3; TwoPhase of tlaplus/Examples.
    """

    managers = Constant(3, at_least=1)

    at = Map(Manager, At)
    decision = Decision
    votes_sent = SetOf(Manager)
    votes_counted = SetOf(Manager)

    refines = Refinement(TransactionCommit)

    @action
    def prepare(self, manager: Manager):
        """Prepare, and send the vote to the transaction manager."""
        require(self.at[manager] == At.WORKING)
        self.at[manager] = At.PREPARED
        self.votes_sent.add(manager)

    @action
    def choose_to_abort(self, manager: Manager):
        """Abort before the vote: the transaction cannot commit any more."""
        require(self.at[manager] == At.WORKING)
        self.at[manager] = At.ABORTED

    @action
    def count_vote(self, manager: Manager):
        """The transaction manager receives a vote."""
        require(self.decision == Decision.OPEN and manager in self.votes_sent)
        self.votes_counted.add(manager)

    @action
    def decide_to_commit(self):
        """The transaction manager has every vote and sends the decision."""
        require(self.decision == Decision.OPEN and self.votes_counted == set(Manager))
        self.decision = Decision.COMMIT

    @action
    def decide_to_abort(self):
        """The transaction manager may abort at any time before it decides."""
        require(self.decision == Decision.OPEN)
        self.decision = Decision.ABORT

    @action
    def receive_decision(self, manager: Manager):
        """A resource manager receives the decision."""
        require(self.decision != Decision.OPEN)
        self.at[manager] = At.COMMITTED if self.decision == Decision.COMMIT else At.ABORTED


class TwoPhaseHasty(TwoPhase):
    """Two-phase commit in which the transaction manager does not wait for the last vote."""

    @action
    def decide_to_commit(self):
        """The transaction manager has all votes but one and sends the decision."""
        require(self.decision == Decision.OPEN and len(self.votes_counted) >= self.managers - 1)
        self.decision = Decision.COMMIT


scenarios = [
    Scenario(TransactionCommit, "consistent", expect="holds"),
    Scenario(TwoPhase, "refines_transaction_commit", expect="holds"),
    Scenario(TwoPhaseHasty, "a_vote_is_missing", expect={"refines": 7},
        description="A manager commits while another one still works: no step of transaction commit allows this."),
]  # fmt: skip
