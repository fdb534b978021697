"""The ABA problem: a lock-free stack whose compare-and-swap cannot see that its top was popped and pushed again."""

from checker.language import Domain, Map, Option, Range, Scenario, Spec, action, invariant, reachable, require

MOST_PUSHES = 3
"""The pushes after which the counted stack takes no other: its counter is bounded."""


class Process(Domain):
    """One of the two processes."""

    size, prefix = 2, "p"


class Node(Domain):
    """One of the two nodes, which the processes pop and push again."""

    size, prefix = 2, "n"


class AbaStack(Spec):
    """Treiber's stack without a counter: a pop compares the top only.

    To pop, a process reads the top and the node below it, and then swaps the top for that node if the top is still the
    one that it read. Meanwhile another process may pop both nodes and push the first one again: the top is the same,
    the node below it is not.

    Source: R. K. Treiber, Systems Programming: Coping with Parallelism, IBM Research Report RJ 5118, 1986.
    """

    top = Option(Node)
    below = Map(Node, Option(Node))
    owner = Map(Node, Option(Process))
    read_top = Map(Process, Option(Node))
    read_below = Map(Process, Option(Node))

    def init(self):
        """The stack has both nodes."""
        self.top = Node[0]
        self.below[Node[0]] = Node[1]

    @action
    def read(self, process: Process):
        """A process begins a pop: it reads the top and the node below it."""
        require(self.read_top[process] is None and self.top is not None)
        self.read_top[process] = self.top
        self.read_below[process] = self.below[self.top]

    @action
    def swap(self, process: Process):
        """A process ends its pop: the top is the one that it read, and is swapped for the node below."""
        require(self.read_top[process] is not None and self.is_unchanged(process))
        self.top = self.read_below[process]
        self.owner[self.read_top[process]] = process
        self.read_top[process] = None
        self.read_below[process] = None

    @action
    def give_up(self, process: Process):
        """A process ends its pop without a node: the top is another one, so it has to read again."""
        require(self.read_top[process] is not None and not self.is_unchanged(process))
        self.read_top[process] = None
        self.read_below[process] = None

    @action
    def push(self, process: Process, node: Node):
        """A process pushes a node that it popped."""
        require(self.read_top[process] is None and self.owner[node] == process)
        self.below[node] = self.top
        self.top = node
        self.owner[node] = None

    def is_unchanged(self, process: Process):
        """Return whether the top is the one that a process read, as far as the swap can see."""
        return self.top == self.read_top[process]

    @invariant(says="{node} is on top of the stack, but a process has popped it")
    def top_is_not_popped(self):
        """The top of the stack is a node that no process has popped."""
        return not any(self.top == node and self.owner[node] is not None for node in Node)

    @reachable
    def stack_is_empty(self):
        """Both nodes are popped."""
        return self.top is None


class CountedStack(AbaStack):
    """The stack with a counter beside the top, which each push raises: a pop compares both."""

    pushes = Range(0, MOST_PUSHES)
    read_pushes = Map(Process, Range(0, MOST_PUSHES))

    @action
    def read(self, process: Process):
        """A process begins a pop: it reads the top with its counter, and the node below it."""
        super().read(process)
        self.read_pushes[process] = self.pushes

    @action
    def push(self, process: Process, node: Node):
        """A process pushes a node that it popped, and raises the counter."""
        require(self.pushes < MOST_PUSHES)
        super().push(process, node)
        self.pushes += 1

    def is_unchanged(self, process: Process):
        """Return whether the top and the counter are those that a process read."""
        return self.top == self.read_top[process] and self.pushes == self.read_pushes[process]


scenarios = [
    Scenario(AbaStack, "popped_and_pushed_again", expect={"top_is_not_popped": 8},
        description="A pop swaps in a node that another process has popped: the top was popped and pushed again."),
    Scenario(CountedStack, "counter_beside_the_top", expect="holds",
        description="With a counter beside the top, the swap fails after the push."),
]  # fmt: skip
