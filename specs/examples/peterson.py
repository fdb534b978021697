"""Peterson's algorithm: mutual exclusion of two processes by reads and writes of shared variables."""

from checker.language import Domain, Enum, Map, Scenario, Spec, action, invariant, lemma, reachable, require


class Process(Domain):
    """One of the two processes."""

    size, prefix = 2, "p"


class At(Enum):
    """The program counter of a process: each step of the program is one atomic read or write."""

    IDLE = "idle"
    YIELDING = "yielding"
    WAITING = "waiting"
    CRITICAL = "critical"


class Peterson(Spec):
    """Two processes that enter their critical sections one at a time.

    A process that wants to enter raises its flag, then gives the turn to the other process. It waits until the other's
    flag is down or the turn is its own again.

    Source: G. L. Peterson, Myths About the Mutual Exclusion Problem, Information Processing Letters 12(3), 1981.
    """

    at = Map(Process, At)
    wants_in = Map(Process, bool)
    turn = Process

    def other(self, process: Process):
        """Return the other process."""
        return Process[1] if process == Process[0] else Process[0]

    def may_enter(self, process: Process):
        """Return whether a waiting process may enter."""
        return not self.wants_in[self.other(process)] or self.turn == process

    @action
    def raise_flag(self, process: Process):
        """Raise the flag: this process wants to enter."""
        require(self.at[process] == At.IDLE)
        self.wants_in[process] = True
        self.at[process] = At.YIELDING

    @action
    def yield_turn(self, process: Process):
        """Give the turn to the other process."""
        require(self.at[process] == At.YIELDING)
        self.turn = self.other(process)
        self.at[process] = At.WAITING

    @action
    def enter(self, process: Process):
        """Enter the critical section."""
        require(self.at[process] == At.WAITING)
        require(self.may_enter(process))
        self.at[process] = At.CRITICAL

    @action
    def leave(self, process: Process):
        """Leave the critical section."""
        require(self.at[process] == At.CRITICAL)
        self.wants_in[process] = False
        self.at[process] = At.IDLE

    @invariant(says="{one} and {other} are in their critical sections at the same time")
    def mutual_exclusion(self):
        """At most one process is in its critical section."""
        return not any(
            one != other and self.at[one] == At.CRITICAL and self.at[other] == At.CRITICAL
            for one in Process
            for other in Process
        )

    @lemma
    def flags_are_up(self):
        """A process has raised its flag exactly if it is not idle."""
        return all(self.wants_in[process] == (self.at[process] != At.IDLE) for process in Process)

    @lemma
    def other_process_has_the_turn(self):
        """If one process is in its critical section and the other one waits, the first one has the turn."""
        return all(
            self.turn == process
            for process in Process
            if self.at[process] == At.CRITICAL and self.at[self.other(process)] == At.WAITING
        )

    @reachable
    def first_process_enters(self):
        """The first process enters: the algorithm does not exclude it."""
        return self.at[Process[0]] == At.CRITICAL

    @reachable
    def second_process_enters(self):
        """The second process enters: the algorithm does not exclude it."""
        return self.at[Process[1]] == At.CRITICAL


class PetersonHasty(Peterson):
    """Peterson's algorithm with its first two steps swapped: a process gives the turn away before it raises its flag.

    A process may then read the other's flag just before the other raises it.
    """

    flags_are_up = None
    other_process_has_the_turn = None

    @action
    def raise_flag(self, process: Process):
        """Raise the flag, one step too late."""
        require(self.at[process] == At.YIELDING)
        self.wants_in[process] = True
        self.at[process] = At.WAITING

    @action
    def yield_turn(self, process: Process):
        """Give the turn to the other process, one step too early."""
        require(self.at[process] == At.IDLE)
        self.turn = self.other(process)
        self.at[process] = At.YIELDING


scenarios = [
    Scenario(Peterson, "exclusive", expect="holds", deadlock=True),
    Scenario(PetersonHasty, "swapped_steps", expect={"mutual_exclusion": 7},
        description="Both processes enter if the turn is given away first."),
]  # fmt: skip
