"""The module EWD840 of tlaplus/Examples, without the properties that are there because they do not hold."""

from checker.language import Constant, FairUnion, Refinement, SetOf, Spec, action, invariant, leads_to, require
from tests.golden.synchronous_termination import Node, SynchronousTermination


class TerminationOnRing(Spec):
    """Dijkstra's termination detection on a ring, EWD 840. Module EWD840 of tlaplus/Examples."""

    nodes = Constant(3, at_least=1)

    active = SetOf(Node)
    black = SetOf(Node)
    token = Node
    token_is_black = bool

    def init(self, active: SetOf(Node), black: SetOf(Node), token: Node):
        self.active = active
        self.black = black
        self.token = token
        self.token_is_black = True

    system = FairUnion("initiate_probe", "pass_token", fair="weak")

    @action
    def initiate_probe(self):
        require(self.token == 0)
        require(self.token_is_black or 0 in self.black)
        self.token = self.nodes - 1
        self.token_is_black = False
        self.black.discard(0)

    @action
    def pass_token(self, node: Node):
        require(self.token == node and node != 0)
        require(node not in self.active or node in self.black or self.token_is_black)
        self.token = node - 1
        self.token_is_black = self.token_is_black or node in self.black
        self.black.discard(node)

    @action
    def send(self, sender: Node, receiver: Node):
        require(sender in self.active and sender != receiver)
        self.active.add(receiver)
        if receiver > sender:
            self.black.add(sender)

    @action
    def deactivate(self, node: Node):
        require(node in self.active)
        self.active.remove(node)

    def is_terminated(self):
        return self.active == set()

    @leads_to("is_terminated")
    def is_detected(self):
        return self.token == 0 and not self.token_is_black and 0 not in self.black and 0 not in self.active

    @invariant
    def detected_is_terminated(self):
        return not self.is_detected() or self.is_terminated()

    @invariant
    def dijkstra(self):
        is_stained = self.token_is_black or any(node in self.black for node in range(self.token + 1))
        return is_stained or all(node not in self.active for node in range(self.token + 1, self.nodes))

    refines = Refinement(SynchronousTermination, detected=lambda self: self.is_detected())
