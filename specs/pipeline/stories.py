"""What every article on Kafka's reliability tells, end to end."""

from checker.language import Scenario
from specs.pipeline.pipeline import Pipeline

scenarios = [
    Scenario(
        Pipeline,
        "two_crashes",
        dict(broker_crashes=2),
        properties=["no_loss", "no_duplicate", "no_reorder", "every_record_acknowledged", "another_broker_leads"],
        tells="acks=all, min.insync.replicas=2 of 3, no unclean election: two crashes lose nothing.",
    ),
    Scenario(
        Pipeline,
        "acks_1_loss_at_failover",
        dict(acks="1", broker_crashes=1),
        expect={"no_loss": 7},
        properties=["no_loss"],
        tells="acks=1: the leader acknowledges, and dies before a follower has fetched the record.",
    ),
]
