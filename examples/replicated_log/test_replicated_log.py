"""The implementation driven along its spec: `python -m pytest examples/replicated_log`."""

from checker.testing import Adapter, state_machine
from examples.replicated_log.implementation import Cluster
from examples.replicated_log.specification import Replica, ReplicatedLog


class ClusterAdapter(Adapter):
    """Says how the actions of the spec are taken, and what is compared."""

    cluster_class = Cluster

    def start(self, state):
        """Make a cluster with the spec's replicas."""
        self.cluster = self.cluster_class([str(replica) for replica in Replica])

    def write(self):
        """Write any bytes: the spec knows only their epoch."""
        self.cluster.write(b"record")

    def fetch(self, follower):
        """Let a follower fetch."""
        self.cluster.fetch(str(follower))

    def elect(self, replica):
        """Elect a replica."""
        self.cluster.elect(str(replica))

    def observe(self):
        """Return what a client and an operator can see."""
        return {
            "leader": self.cluster.leader,
            "high watermark": self.cluster.high_watermark,
            **{f"log of {name}": [record.epoch for record in log] for name, log in self.cluster.logs.items()},
        }

    def project(self, state):
        """Return the same of the spec's state."""
        return {
            "leader": str(state.leader),
            "high watermark": state.committed,
            **{f"log of {replica}": list(state.log[replica]) for replica in Replica},
        }


TestReplicatedLog = state_machine(ReplicatedLog, ClusterAdapter).TestCase
