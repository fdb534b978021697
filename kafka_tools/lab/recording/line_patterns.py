"""The log lines of Kafka that carry an event of replication: a pattern for each, and how such a line is recognised.

A line is recognised by its class and its first words. If a recognised line does not match its pattern, Kafka has
changed its text: the recording counts the line and shows it. Patterns of 3.9.2 and 4.3.1; the sources are named by
class and method.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kafka_tools.lab.recording.log_lines import LogLine

_PREFIX = r"(?:\[[^\]]*\] )?"
_IDS = r"\[([\d, ]*)\]"


@dataclass(frozen=True)
class LinePattern:
    """A kind of line: the class that writes it, words that it contains, and its pattern with named groups."""

    kind: str
    class_name: str
    words: str
    pattern: re.Pattern[str]


def _line(kind: str, class_name: str, words: str, pattern: str) -> LinePattern:
    return LinePattern(kind, class_name, words, re.compile(pattern))


_PARTITION = r"(?P<partition>[\w.\-]+-\d+)"

PATTERNS = (
    # ReplicationControlManager.replay(PartitionRecord), PartitionRegistration.maybeLogPartitionChange, alterPartition.
    _line(
        "created",
        "ReplicationControlManager",
        "Replayed PartitionRecord for new partition",
        rf"Replayed PartitionRecord for new partition {_PARTITION} with topic ID \S+ and "
        r"PartitionRegistration\(replicas=\[(?P<replicas>[\d, ]*)\].*?, isr=\[(?P<isr>[\d, ]*)\].*?"
        r"leader=(?P<leader>-?\d+)",
    ),
    _line(
        "changed",
        "ReplicationControlManager",
        "partition change for",
        rf"(?:UNCLEAN )?partition change for {_PARTITION} with topic ID [^:]+: "
        r"(?P<difference>.*partitionEpoch: \d+ -> \d+.*)",
    ),
    _line(
        "granted",
        "ReplicationControlManager",
        "has altered ISR for",
        rf"Node (?P<node>\d+) has altered ISR for {_PARTITION}(?:\. | to \[)",
    ),
    # ReplicationControlManager.generateLeaderAndIsrUpdates and maybeFenceStaleBroker,
    # BrokerHeartbeatManager.calculateNextBrokerState, ClusterControlManager.registerBroker: only the active controller
    # writes these lines, and they are about a broker.
    _line(
        "cause",
        "ReplicationControlManager",
        ": changing partition(s): ",
        r"(?P<cause>[\w\-]+)(?:\[(?P<node>\d+)\])?: changing partition\(s\): (?P<partitions>.*)",
    ),
    _line(
        "fencing",
        "ReplicationControlManager",
        "because its session has timed out",
        r"Fencing broker (?P<node>\d+)(?: at epoch \d+)? because its session has timed out\.",
    ),
    _line(
        "fencing",
        "BrokerHeartbeatManager",
        "immediate shutdown",
        r"(?:Unfenced|Fenced) broker (?P<node>\d+) has requested and been granted an immediate shutdown\.",
    ),
    _line(
        "fencing",
        "BrokerHeartbeatManager",
        "to shut down has been granted",
        r"The request from broker (?P<node>\d+) to shut down has been granted ",
    ),
    _line(
        "unfencing",
        "BrokerHeartbeatManager",
        "to unfence has been granted",
        r"The request from broker (?P<node>\d+) to unfence has been granted ",
    ),
    _line(
        "registered",
        "ClusterControlManager",
        "Registering a new incarnation of broker",
        r"Registering a new incarnation of broker (?P<node>\d+)\.",
    ),
    # Partition.makeLeader and makeFollower, by the state change logger.
    _line(
        "leading",
        "logger",
        "Leader ",
        rf"Leader {_PARTITION} with topic id .* starts at leader epoch (?P<epoch>\d+) from offset (?P<end>\d+) with "
        r"partition epoch (?P<partition_epoch>\d+), high watermark (?P<high_watermark>\d+), ISR \[(?P<isr>[\d,]*)\]",
    ),
    _line(
        "following",
        "logger",
        "Follower ",
        rf"Follower {_PARTITION} starts at leader epoch (?P<epoch>\d+) from offset (?P<end>\d+) with partition epoch "
        r"(?P<partition_epoch>\d+) and high watermark (?P<high_watermark>\d+)\. Current leader is (?P<leader>-?\d+)\.",
    ),
    _line(
        "refreshed",
        "logger",
        "Skipped the become-leader state change for",
        rf"Skipped the become-leader state change for {_PARTITION} with topic id .*"
        r"(?:PartitionRegistration|LeaderAndIsrPartitionState)\(.*?, isr=\[(?P<isr>[\d, ]*)\].*?"
        r"partitionEpoch=(?P<partition_epoch>\d+)",
    ),
    # Partition.createLog, updateFollowerFetchState, maybeIncrementLeaderHW, maybeShrinkIsr, submitAlterPartition,
    # handleAlterPartitionUpdate, handleAlterPartitionError.
    _line(
        "loaded",
        "Partition",
        "Log loaded for partition",
        rf"Log loaded for partition {_PARTITION} with initial high watermark (?P<high_watermark>\d+)",
    ),
    _line(
        "recorded",
        "Partition",
        "Recorded replica",
        r"Recorded replica (?P<follower>\d+) log end offset \(LEO\) position (?P<end>\d+) and log start offset",
    ),
    _line(
        "committed",
        "Partition",
        "High watermark updated from",
        r"High watermark updated from \(offset=(?P<before>\d+),? .* to \(offset=(?P<high_watermark>\d+),? ",
    ),
    _line("shrinking", "Partition", "Shrinking ISR from", r"Shrinking ISR from [\d,]+ to [\d,]+\. "),
    _line(
        "asked_to_shrink",
        "Partition",
        "Submitting ISR state change PendingShrinkIsr",
        r"Submitting ISR state change PendingShrinkIsr\(outOfSyncReplicaIds=(?:\[|Set\()(?P<followers>[\d, ]+)[\])]",
    ),
    _line(
        "asked_to_expand",
        "Partition",
        "Submitting ISR state change PendingExpandIsr",
        r"Submitting ISR state change PendingExpandIsr\(newInSyncReplicaId=(?P<follower>\d+),",
    ),
    _line(
        "learnt_isr",
        "Partition",
        "ISR updated to",
        r"ISR updated to (?P<isr>[\d,]+)\s.*version updated to (?P<partition_epoch>\d+)",
    ),
    _line(
        "rejected_isr",
        "Partition",
        "Failed to alter partition to",
        r"Failed to alter partition to .* (?:since the controller rejected the request with (?P<error>\w+)"
        r"|since the (?:leader epoch is old|controller doesn't know)|because the (?:partition epoch|request) is)",
    ),
    # UnifiedLog.append.
    _line(
        "appended",
        "UnifiedLog",
        "Appended message set with last offset",
        r"Appended message set with last offset: (?P<last>\d+), first offset: (?P<first>\d+),",
    ),
    # LogManager.getOrCreateLog.
    _line(
        "configured",
        "LogManager",
        "Created log for partition",
        rf"Created log for partition {_PARTITION} in .* with properties \{{(?P<settings>.*)\}}",
    ),
    # LeaderEpochFileCache.assign.
    _line(
        "cached",
        "LeaderEpochFileCache",
        "Appended new epoch entry",
        r"Appended new epoch entry EpochEntry[\[(]epoch=(?P<epoch>\d+), startOffset=(?P<start>\d+)[\])]",
    ),
    # AbstractFetcherThread.processFetchRequest, maybeTruncateToEpochEndOffsets, fetchOffsetAndTruncate;
    # ReplicaFetcherThread.processPartitionData.
    _line(
        "fetching",
        "ReplicaFetcherThread",
        "Sending fetch request",
        r"Sending fetch request \(type=FetchRequest, replicaId=(?P<replica>\d+),.*fetchData=\{(?P<partitions>.*)\}, "
        r"isolationLevel",
    ),
    _line(
        "receiving",
        "ReplicaFetcherThread",
        "Follower has replica log end offset",
        r"Follower has replica log end offset (?P<end>\d+) (?:for partition (?P<partition>[\w.\-]+-\d+)\. Received "
        r"(?P<bytes>\d+) bytes of messages and leader hw (?P<leader_high_watermark>\d+)|after appending \d+ bytes of "
        r"messages for partition (?P<after>[\w.\-]+-\d+))",
    ),
    _line(
        "received",
        "ReplicaFetcherThread",
        "Follower received high watermark",
        r"Follower received high watermark (?P<sent>\d+) from the leader (?:and updated replica high watermark to "
        rf"(?P<high_watermark>\d+)|but did not update replica high watermark) for partition {_PARTITION}",
    ),
    _line(
        "truncated",
        "ReplicaFetcherThread",
        "Truncating partition",
        rf"Truncating partition {_PARTITION} with TruncationState\(offset=(?P<end>\d+), completed=\w+\) due to "
        r"(?:leader epoch and offset EpochEndOffset\(.*leaderEpoch=(?P<epoch>-?\d+), endOffset=(?P<epoch_end>-?\d+)\)"
        r"|local high watermark (?P<high_watermark>\d+))",
    ),
    _line(
        "reset",
        "ReplicaFetcherThread",
        "Reset fetch offset for partition",
        rf"Reset fetch offset for partition {_PARTITION} from (?P<before>\d+) to (?:current leader's latest offset|the "
        r"current local replica's end offset) (?P<end>\d+)",
    ),
)
"""Every kind of line. Lines of the classes `Partition`, `UnifiedLog` and `LeaderEpochFileCache` name the partition in
the brackets before the message."""

_BRACKETS = re.compile(r"\[([^\]]*)\] ")
_IN_BRACKETS = re.compile(r"(?:Partition |partition=|LeaderEpochCache )([\w.\-]+-\d+)")

_BY_CLASS: dict[str, tuple[LinePattern, ...]] = {}
for _pattern in PATTERNS:
    _BY_CLASS[_pattern.class_name] = (*_BY_CLASS.get(_pattern.class_name, ()), _pattern)


@dataclass(frozen=True)
class RecognisedLine:
    """A recognised line: its kind, its partition (None if it is about a broker), and the named groups.

    `groups` is None if the line does not match the pattern of its kind.
    """

    kind: str
    partition: str | None
    groups: Mapping[str, str] | None
    line: LogLine


def recognise(line: LogLine) -> RecognisedLine | None:
    """Return what a line reports, or None if it carries no event."""
    patterns = _BY_CLASS.get(line.class_name)
    if patterns is None:
        return None
    text, partition = line.text, None
    while (brackets := _BRACKETS.match(text)) is not None:
        named = _IN_BRACKETS.search(brackets[1])
        partition = named[1] if named else partition
        text = text[brackets.end() :]
    for pattern in patterns:
        if pattern.words in text[:200] and (pattern.kind not in ("leading", "following") or " starts at " in text):
            match = pattern.pattern.match(text)
            if match is None:
                return RecognisedLine(pattern.kind, partition, None, line)
            groups = {name: value for name, value in match.groupdict().items() if value is not None}
            return RecognisedLine(
                pattern.kind, groups.get("partition") or groups.get("after") or partition, groups, line
            )
    return None
