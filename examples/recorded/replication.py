"""Mapping of a replicated partition's recorded events to actions of the family `replication`.

No event records that a leader raises its high watermark: that action is silent, and followers' fetches show it.
"""

from traces.validate import Mapping, PossibleStep, event


class ReplicationLog(Mapping):
    """Events of the controller and of brokers, each with its known effect."""

    skips = ("heartbeat",)
    silent = ("leader_increment_high_watermark",)
    silent_bound = 6

    @event("elected")
    def elected(self, found):
        return PossibleStep("controller_elect_leader", replica=found["leader"]).after(
            {"len(requests) - 1": found["epoch"]}
        )

    @event("isr_shrunk")
    def isr_shrunk(self, found):
        by_controller = PossibleStep("controller_shrink_isr").after({"quorum.isr": found["isr"]})
        by_leader = PossibleStep("leader_shrink_isr").after({"quorum.isr": found["isr"]})
        return [by_controller, by_leader]

    @event("isr_expanded")
    def isr_expanded(self, found):
        return PossibleStep("leader_expand_isr").after({"quorum.isr": found["isr"]})

    @event("leading")
    def leading(self, found):
        return PossibleStep("become_leader", epoch=found["epoch"]).before({"requests[epoch].leader": found["broker"]})

    @event("following")
    def following(self, found):
        step = PossibleStep("become_follower", follower=found["broker"], epoch=found["epoch"])
        return step.after({"len(log[follower])": found["end"]})

    @event("appended")
    def appended(self, found):
        return PossibleStep("leader_write", leader=found["broker"]).after({"len(log[leader])": found["end"]})

    @event("fetched")
    def fetched(self, found):
        step = PossibleStep("follower_fetch", follower=found["broker"])
        return step.after({"len(log[follower])": found["end"], "high_watermark[follower]": found["high_watermark"]})
