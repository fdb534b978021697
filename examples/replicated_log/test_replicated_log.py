"""Test of the implementation against its spec: `python -m pytest examples/replicated_log`."""

from checker.testing import Adapter, state_machine
from examples.replicated_log.implementation import Cluster
from examples.replicated_log.specification import Replica, ReplicatedLog


class ClusterAdapter(Adapter):
    """Takes the actions of the spec on the implementation, and selects the values to compare."""

    cluster_class = Cluster

    def start(self, state):
        """Create a cluster with the spec's replicas."""
        self.cluster = self.cluster_class([str(replica) for replica in Replica])

    def write(self):
        """Write arbitrary bytes: the spec has only their epoch."""
        self.cluster.write(b"record")

    def fetch(self, follower):
        """Let a follower fetch."""
        self.cluster.fetch(str(follower))

    def elect(self, replica):
        """Elect a replica."""
        self.cluster.elect(str(replica))

    def observe(self):
        """Return the values that a client or an operator can see."""
        return {
            "leader": self.cluster.leader,
            "high watermark": self.cluster.high_watermark,
            **{f"log of {name}": [record.epoch for record in log] for name, log in self.cluster.logs.items()},
        }

    def project(self, state):
        """Return the same values of the spec's state."""
        return {
            "leader": str(state.leader),
            "high watermark": state.committed,
            **{f"log of {replica}": list(state.log[replica]) for replica in Replica},
        }


TestReplicatedLog = state_machine(ReplicatedLog, ClusterAdapter).TestCase
