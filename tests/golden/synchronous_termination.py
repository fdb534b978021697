"""The module SyncTerminationDetection of tlaplus/Examples: what the algorithm of EWD 840 implements."""

from checker.language import Constant, Range, SetOf, Spec, action, require, step_invariant


class Node(Range):
    low, high = 0, "nodes - 1"


class SynchronousTermination(Spec):
    """Nodes activate each other without delay. It is detected when all of them are inactive."""

    nodes = Constant(3, at_least=1)

    active = SetOf(Node)
    detected = bool

    def init(self, active: SetOf(Node), detected: bool):
        require(active == set() or not detected)
        self.active = active
        self.detected = detected

    @action
    def terminate(self, node: Node, detects: bool):
        require(node in self.active)
        self.active.remove(node)
        self.detected = self.detected or (detects and self.active == set())

    @action
    def wake_up(self, sender: Node, receiver: Node):
        require(sender in self.active)
        self.active.add(receiver)

    @action
    def detect(self):
        require(self.active == set())
        self.detected = True

    @step_invariant
    def termination_is_stable(self, old):
        return old.active != set() or self.active == set()
