"""Replication before KIP-101 (Kafka up to 0.10.2): followers truncate to their own high watermark."""

from checker.language import Scenario
from specs.replication.base import Replication


class TruncateToHighWatermark(Replication):
    """Before KIP-101: a new follower truncates its log to its own high watermark.

    A follower learns the high watermark one fetch after the leader raised it. So its own may lag, and the records that
    it truncates may be committed. Until it has fetched them again it is still in the ISR, and may be elected: then no
    replica has them any more.

    Source: KIP-101, first scenario (KAFKA-1211); TLA+ module KafkaTruncateToHighWatermark.
    """


scenarios = [
    Scenario(TruncateToHighWatermark, "two_replicas", dict(replicas=2, max_leader_epoch=1),
        expect={"weak_isr": 9, "strong_isr": 10},
        description="A follower restarts, truncates a committed record, and may be elected without it."),
    Scenario(TruncateToHighWatermark, "two_replicas_three_epochs", dict(replicas=2),
        expect={"weak_isr": 9, "strong_isr": 10, "log_matching": 15},
        description="With one more leader epoch, another record gets the lost one's offset and is committed too."),
    Scenario(TruncateToHighWatermark, "three_replicas", dict(max_leader_epoch=1),
        expect={"weak_isr": 9, "strong_isr": 9}, description="A third replica makes the loss one step shorter."),
    Scenario(TruncateToHighWatermark, "three_replicas_three_epochs",
        expect={"weak_isr": 9, "strong_isr": 9, "log_matching": 14}, description="The same with three replicas."),
]  # fmt: skip
