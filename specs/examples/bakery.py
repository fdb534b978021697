"""Lamport's bakery algorithm: mutual exclusion by tickets, with registers that are not atomic."""

from checker.language import Constant, Enum, Map, Range, Scenario, SetOf, Spec, action, constraint, invariant, require


class Process(Range):
    """A process. Of two processes with the same ticket, the lower number enters first."""

    low, high = 1, "processes"


class Ticket(Range):
    """A ticket; 0 means that the process does not want to enter."""

    low, high = 0, "tickets + 1"


class At(Enum):
    """The program counter of a process, with the labels of the PlusCal text."""

    NCS = "ncs"
    E1 = "e1"
    E2 = "e2"
    E3 = "e3"
    E4 = "e4"
    W1 = "w1"
    W2 = "w2"
    CS = "cs"
    EXIT = "exit"


class Bakery(Spec):
    """Processes take a ticket greater than all tickets that they see, and enter in the order of the tickets.

    Tickets grow without bound. The constraint does not expand a state with a ticket above `tickets`. A write is not
    atomic: while a process writes its flag or its ticket, the register may have any value.

    Source: Leslie Lamport, A New Solution of Dijkstra's Concurrent Programming Problem, CACM 17(8), 1974. Module Bakery
    of tlaplus/Examples at 32a32c7. There, `Nat` is `0 .. tickets + 1`, and the constraint is `num[i] <= tickets`.
    """

    processes = Constant(2, at_least=1)
    tickets = Constant(2, at_least=1)

    ticket = Map(Process, Ticket)
    flag = Map(Process, bool)
    at = Map(Process, At)
    unchecked = Map(Process, SetOf(Process))
    greatest = Map(Process, Ticket)
    compared = Map(Process, Process)

    @constraint
    def tickets_are_small(self):
        """Bound the state space, which is infinite in the algorithm."""
        return all(self.ticket[process] <= self.tickets for process in Process)

    def moves(self, process: Process, here: At, there: At):
        """Move the program counter of a process; disable the action if it is elsewhere."""
        require(self.at[process] == here)
        self.at[process] = there

    def others(self, process: Process):
        """Return all other processes."""
        return {other for other in Process if other != process}

    @action
    def want(self, process: Process):
        """Leave the noncritical section."""
        self.moves(process, At.NCS, At.E1)

    @action
    def flag_flickers(self, process: Process):
        """The flag changes while it is written."""
        require(self.at[process] in (At.E1, At.E4))
        self.flag[process] = not self.flag[process]

    @action
    def raise_flag(self, process: Process):
        """Raise the flag: this process chooses a ticket."""
        self.moves(process, At.E1, At.E2)
        self.flag[process] = True
        self.unchecked[process] = self.others(process)
        self.greatest[process] = 0

    @action
    def read_ticket(self, process: Process, other: Process):
        """Read the ticket of another process."""
        require(self.at[process] == At.E2 and other in self.unchecked[process])
        self.unchecked[process].remove(other)
        self.greatest[process] = max(self.greatest[process], self.ticket[other])

    @action
    def have_read_tickets(self, process: Process):
        """All tickets are read."""
        require(self.unchecked[process] == set())
        self.moves(process, At.E2, At.E3)

    @action
    def ticket_flickers(self, process: Process, ticket: Ticket):
        """The ticket has any value while it is written."""
        require(self.at[process] in (At.E3, At.EXIT))
        self.ticket[process] = ticket

    @action
    def take_ticket(self, process: Process, ticket: Ticket):
        """Take a ticket that is greater than all tickets that were read."""
        require(ticket > self.greatest[process])
        self.moves(process, At.E3, At.E4)
        self.ticket[process] = ticket

    @action
    def lower_flag(self, process: Process):
        """Lower the flag: the ticket is chosen."""
        self.moves(process, At.E4, At.W1)
        self.flag[process] = False
        self.unchecked[process] = self.others(process)

    @action
    def see_flag_down(self, process: Process, other: Process):
        """Another process is not choosing its ticket."""
        require(other in self.unchecked[process] and not self.flag[other])
        self.moves(process, At.W1, At.W2)
        self.compared[process] = other

    @action
    def go_before(self, process: Process):
        """The other process does not want to enter, or has the greater ticket."""
        other = self.compared[process]
        mine = self.ticket[process]
        theirs = self.ticket[other]
        require(theirs == 0 or mine < theirs or (mine == theirs and process < other))
        self.moves(process, At.W2, At.W1)
        self.unchecked[process].remove(other)

    @action
    def enter(self, process: Process):
        """Enter the critical section: this process goes before all others."""
        require(self.unchecked[process] == set())
        self.moves(process, At.W1, At.CS)

    @action
    def leave(self, process: Process):
        """Leave the critical section."""
        self.moves(process, At.CS, At.EXIT)

    @action
    def drop_ticket(self, process: Process):
        """Give the ticket back."""
        self.moves(process, At.EXIT, At.NCS)
        self.ticket[process] = 0

    @invariant(says="{one} and {other} are in their critical sections at the same time")
    def mutual_exclusion(self):
        """At most one process is in its critical section."""
        return all(
            one == other or self.at[one] != At.CS or self.at[other] != At.CS for one in Process for other in Process
        )


scenarios = [Scenario(Bakery, "two_processes", description="The tickets are bounded by a constraint.")]
