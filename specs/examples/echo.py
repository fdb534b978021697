"""The Echo algorithm: the nodes of a graph build a spanning tree by messages to their neighbours."""

from checker.language import Constant, Domain, Enum, Map, Option, Range, Scenario, SetOf, Spec
from checker.language.roles import action, assume, eventually, invariant, require


class Node(Domain):
    """A node of the graph."""

    size, prefix = "nodes", "n"


class Kind(Enum):
    """A message to explore the graph, or the message of a child to its parent."""

    EXPLORE = "explore"
    CHILD = "child"


class At(Enum):
    """The program counter of a node."""

    START = "start"
    RECEIVE = "receive"
    ANSWER = "answer"
    DONE = "done"


TRIANGLE = {Node[0]: {Node[1], Node[2]}, Node[1]: {Node[0], Node[2]}, Node[2]: {Node[0], Node[1]}}
SQUARE = {Node[i]: {Node[(i + 1) % 4], Node[(i + 3) % 4]} for i in range(4)}


class Echo(Spec):
    """A node explores its neighbours, and answers its parent when all of them have sent it a message.

    Source: Ernest Chang, Echo Algorithms: Depth Parallel Operations on General Graphs, IEEE TSE 8(4), 1982. Module Echo
    of tlaplus/Examples.
    """

    nodes = Constant(3, at_least=1)
    graph = Constant(TRIANGLE)
    initiator = Constant(Node[0])

    at = Map(Node, At)
    inbox = Map(Node, SetOf(tuple[Kind, Node]))
    received = Map(Node, Range(0, "nodes"))
    parent = Map(Node, Option(Node))
    children = Map(Node, SetOf(Node))

    @assume(says="the graph is undirected, without loops, and connected")
    def is_graph(self):
        reached = {self.initiator}
        for _ in Node:
            reached |= {m for n in reached for m in self.graph[n]}
        return reached == set(Node) and all(n in self.graph[m] and n != m for n in Node for m in self.graph[n])

    def multicast(self, sender, kind, receivers):
        for receiver in receivers:
            self.inbox[receiver].add((kind, sender))

    @action(fair="weak", for_each="node")
    def start(self, node: Node):
        require(self.at[node] == At.START)
        if node == self.initiator:
            self.multicast(node, Kind.EXPLORE, self.graph[node])
        self.at[node] = At.RECEIVE

    @action(fair="weak", for_each="node")
    def receive(self, node: Node, message: tuple[Kind, Node]):
        require(self.at[node] == At.RECEIVE and message in self.inbox[node])
        kind, sender = message
        self.inbox[node].remove(message)
        self.received[node] += 1
        if node != self.initiator and self.received[node] == 1:
            self.parent[node] = sender
            for other in self.graph[node]:
                if other != sender:
                    self.inbox[other].add((Kind.EXPLORE, node))
        if kind == Kind.CHILD:
            self.children[node].add(sender)

    @action(fair="weak", for_each="node")
    def receive_last(self, node: Node):
        require(self.at[node] == At.RECEIVE and self.received[node] == len(self.graph[node]))
        self.at[node] = At.ANSWER

    @action(fair="weak", for_each="node")
    def answer(self, node: Node):
        require(self.at[node] == At.ANSWER)
        if node != self.initiator:
            self.inbox[self.parent[node]].add((Kind.CHILD, node))
        self.at[node] = At.DONE

    @invariant
    def parents_are_neighbours(self):
        return all(self.parent[n] is None or self.parent[n] in self.graph[n] for n in Node)

    @invariant
    def initiator_has_no_parent(self):
        return self.parent[self.initiator] is None

    @invariant
    def children_know_their_parents(self):
        return all(self.parent[n] == m for m in Node for n in self.children[m])

    @eventually
    def everyone_is_done(self):
        return all(self.at[n] == At.DONE for n in Node)


scenarios = [
    Scenario(Echo, "triangle", description="Three nodes, each a neighbour of the others."),
    Scenario(Echo, "square", dict(nodes=4, graph=SQUARE), description="Four nodes in a circle."),
]
