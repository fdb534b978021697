"""A replicated log in memory: `Cluster`, and `HastyCluster` with a deliberate bug."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Record:
    """A client's value, and the epoch of the leader that appended it."""

    epoch: int
    value: bytes


@dataclass
class Cluster:
    """Replicas by name; the first one leads."""

    names: list[str]
    logs: dict[str, list[Record]] = field(init=False)
    positions: dict[str, int] = field(init=False)
    leader: str = field(init=False)
    epoch: int = 0
    high_watermark: int = 0

    def __post_init__(self) -> None:
        self.logs = {name: [] for name in self.names}
        self.positions = dict.fromkeys(self.names, 0)
        self.leader = self.names[0]

    def write(self, value: bytes) -> None:
        """Append a record to the leader's log."""
        self.logs[self.leader].append(Record(self.epoch, value))
        self._fetched(self.leader)

    def fetch(self, name: str) -> None:
        """Let a follower truncate, or copy the leader's next record."""
        log, leaders = self.logs[name], self.logs[self.leader]
        end = self.end_of_agreement(log, leaders)
        if end < len(log):
            del log[end:]
        elif end < len(leaders):
            log.append(leaders[end])
        self._fetched(name)

    def elect(self, name: str) -> None:
        """Make another replica the leader."""
        self.epoch += 1
        self.leader = name
        self.positions = dict.fromkeys(self.names, 0) | {name: len(self.logs[name])}

    def end_of_agreement(self, log: list[Record], leaders: list[Record]) -> int:
        """Return the end of the common prefix, searched backwards: an epoch writes each offset at most once."""
        end = min(len(log), len(leaders))
        while end and log[end - 1].epoch != leaders[end - 1].epoch:
            end -= 1
        return end

    def _fetched(self, name: str) -> None:
        self.positions[name] = len(self.logs[name])
        self.high_watermark = max(self.high_watermark, min(self.positions.values()))


class HastyCluster(Cluster):
    """The deliberate bug: a follower compares the lengths of two logs, but not their epochs."""

    def end_of_agreement(self, log: list[Record], leaders: list[Record]) -> int:
        """Return the end of the shorter log."""
        return min(len(log), len(leaders))
