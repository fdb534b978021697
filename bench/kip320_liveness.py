"""KIP-320 with a liveness property, for `bench/liveness.py`."""

from checker.language import Scenario, leads_to
from specs.replication.kip320 import Kip320


class Kip320Liveness(Kip320):
    """Once the producers stop, every record is committed. Without further elections this is not the case."""

    def writes_have_stopped(self):
        """Return whether the producers have sent all their records."""
        return self.next_record_id == self.max_records

    @leads_to("writes_have_stopped")
    def everything_is_committed(self):
        """Return whether the high watermark of the elected leader is the end of its log."""
        leader = self.quorum.leader
        return leader is not None and self.high_watermark[leader] == len(self.log[leader])


ACTIONS = (
    "controller_elect_leader",
    "controller_shrink_isr",
    "become_leader",
    "leader_write",
    "leader_increment_high_watermark",
    "leader_expand_isr",
    "leader_shrink_isr",
    "become_follower",
    "follower_fetch",
)

scenarios = [
    Scenario(
        Kip320Liveness,
        name,
        constants,
        {"everything_is_committed": None},
        ["everything_is_committed"],
        fair=dict.fromkeys(ACTIONS, "weak"),
    )
    for name, constants in (
        ("tiny", dict(replicas=2)),
        ("small", {}),
        ("medium", dict(log_size=3, max_records=3)),
        ("large", dict(max_leader_epoch=3)),
    )
]
