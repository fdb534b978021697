"""Spec of a replicated log: a leader appends, followers copy, and a record on every replica is committed."""

from checker.language import Constant, Domain, Map, Range, Scenario, Seq, Spec, action, invariant, reachable, require


class Replica(Domain):
    """A copy of the log."""

    size, prefix = "replicas", "b"


class Epoch(Range):
    """The number of elections so far."""

    low, high = 0, "max_epoch"


class Offset(Range):
    """An offset of a log, or its end."""

    low, high = 0, "log_size"


class ReplicatedLog(Spec):
    """A log whose records are committed once every replica has them. Any replica may be elected at any time."""

    replicas = Constant(3, at_least=1)
    log_size = Constant(3, at_least=1)
    max_epoch = Constant(2, at_least=0)

    log = Map(Replica, Seq(Epoch, "log_size"))
    leader = Replica
    epoch = Epoch
    fetched = Map(Replica, Offset)
    committed = Offset

    @action
    def write(self):
        """The leader appends a record, of which only the epoch matters."""
        require(len(self.log[self.leader]) < self.log_size)
        self.log[self.leader].append(self.epoch)
        self.fetched[self.leader] = len(self.log[self.leader])
        self.commit()

    @action
    def fetch(self, follower: Replica):
        """A follower truncates records that its leader does not have, or copies the leader's next record."""
        require(follower != self.leader)
        same = self.agreed(follower)
        is_behind = same == len(self.log[follower]) and same < len(self.log[self.leader])
        require(is_behind or same < len(self.log[follower]) or self.fetched[follower] < same)
        if is_behind:
            self.log[follower].append(self.log[self.leader][same])
        else:
            del self.log[follower][same:]
        self.fetched[follower] = len(self.log[follower])
        self.commit()

    @action
    def elect(self, replica: Replica):
        """Another replica becomes the leader in a new epoch. It does not know the others' log end offsets."""
        require(self.epoch < self.max_epoch)
        require(replica != self.leader)
        self.epoch += 1
        self.leader = replica
        self.fetched = {other: len(self.log[replica]) if other == replica else 0 for other in Replica}

    def agreed(self, follower: Replica):
        """Return the number of records at the start of a follower's log that the leader's log has too."""
        same = 0
        for offset in range(min(len(self.log[follower]), len(self.log[self.leader]))):
            if same == offset and self.log[follower][offset] == self.log[self.leader][offset]:
                same = offset + 1
        return same

    def commit(self):
        """Commit the records that every replica is known to have."""
        self.committed = max(self.committed, min(self.fetched[replica] for replica in Replica))

    @invariant
    def every_replica_has_what_is_committed(self):
        """Every replica has every committed record, at the same offset."""
        return all(
            len(self.log[replica]) >= self.committed and self.agreed(replica) >= self.committed for replica in Replica
        )

    @reachable
    def logs_diverge(self):
        """A follower has a record that its leader lacks."""
        return any(self.agreed(replica) < len(self.log[replica]) for replica in Replica)


scenarios = [Scenario(ReplicatedLog, "three_replicas")]
