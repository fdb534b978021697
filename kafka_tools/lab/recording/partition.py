"""The mapping from the recording of a partition to `replication/partition`.

Almost every step leaves an event. Silent are the answer of a leader to a parked fetch, and its consequences for the
follower are visible. The recording begins with the creation of the partition, where the model begins, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kafka_tools.lab.recording.finished_offsets import FinishedOffsets
from specs.replication.by_version import AS_RECORDED
from specs.replication.versions import replication_rules
from traces.validate import Found, Mapping, Observation, PossibleStep, event
from traces.validate.mapping import Consistency, Expectations

_STARTS_EPOCH = "epoch_starts[{0}][len(epoch_starts[{0}]) - 1]"


class RecordedPartition(Mapping):
    """Events of `kafka_tools.lab.recording.partition_events`."""

    skips = ("created",)
    silent = ("leader_answer_parked_fetch", "leader_answer_without_record", "leader_await_follower")
    silent_bound = 8
    unused = ("time", "inferred")
    forgetting = FinishedOffsets()

    def constants(self, events: Sequence[Found]) -> dict[str, int | bool | str]:
        """Return the rules of the Kafka version, with KRaft, and bounds that follow from the recording."""
        created = next(found for found in events if found["event"] == "created")
        counts = Counter(found["event"] for found in events)
        return {
            **replication_rules(created["kafka"], "kraft"),
            **AS_RECORDED,
            "sends_lazily": False,
            "remembered_changes": 4,
            "replicas": len(created["replicas"]),
            "log_size": _bound(found.get("end", 0) for found in events),
            "max_records": _bound([counts["appended"]]),
            "max_leader_epoch": _bound(found.get("leader_epoch", 0) for found in events),
            "max_partition_epoch": _bound(found.get("partition_epoch", 0) + 1 for found in events),
            "acks": created.get("acks", "all"),
            "min_insync_replicas": created.get("min_insync_replicas", 1),
            "unclean_elections": True,
            "preferred_elections": True,
            "session_timeouts": True,
            "late_metadata": True,
            "late_checkpoints": True,
            "crashes": _bound([counts["killed"]]),
            "shutdowns": _bound([counts["stopped"]]),
            "disk_losses": _bound([counts["lost_disk"]]),
        }

    def consistency(self) -> Consistency:
        """Return what compares the leader and the ISR of the creation with what the first leader learns."""
        created: Found = {}

        def compared(found: Found) -> str | None:
            if found["event"] == "created":
                created.update(found)
            elif found["event"] == "leading" and found.get("initial") and created:
                learned = {"leader": found["broker"], "isr": found["isr"]}
                if any(created[name] != learned[name] for name in learned):
                    return f"the partition began with {created['leader']} and {created['isr']}"
            return None

        return compared

    # Leader and followers.

    @event("appended")
    def appended(self, found: Found) -> PossibleStep:
        """A leader has appended a batch."""
        return PossibleStep("leader_append", leader=found["broker"]).after(_replica_state(found))

    @event("fetch")
    def fetch(self, found: Found) -> PossibleStep:
        """A follower has sent a fetch that differs from the one that its leader has parked."""
        request = {name: found[name] for name in ("leader", "leader_epoch", "offset", "last_epoch")}
        return PossibleStep("follower_fetch", follower=found["broker"]).after({"fetches[follower]": request})

    @event("handled_fetch")
    def handled_fetch(self, found: Found) -> list[PossibleStep]:
        """A leader has counted a fetch, and answers or parks it."""
        leader, follower = found["broker"], found["follower"]
        counted = {f"remote_end[{leader}][{follower}]": found["end"], **_high_watermark(found)}
        steps = [
            PossibleStep(action, follower=follower).before({f"fetches[{follower}]": {"leader": leader}}).after(counted)
            for action in ("leader_handle_fetch", "leader_park_fetch", "leader_answer_as_read")
        ]
        former = PossibleStep("leader_handle_former_fetch", follower=follower)
        return [*steps, former.before({f"former_fetches[{follower}][0]": {"leader": leader}}).after(counted)]

    @event("diverged")
    def diverged(self, found: Found) -> PossibleStep:
        """A leader has answered a fetch with the offset at which the logs diverge, or that it is out of range."""
        step = PossibleStep("leader_handle_fetch", follower=found["follower"])
        return step.before({f"fetches[{found['follower']}]": {"leader": found["broker"]}})

    @event("received")
    def received(self, found: Found) -> PossibleStep:
        """A follower has appended what an answer to its fetch brought, and has adopted the high watermark."""
        step = PossibleStep("follower_receive", follower=found["broker"])
        length = f"len(log[{found['broker']}])"
        return step.before({length: found["end"] - found["records"]}).after(_replica_state(found))

    @event("truncated")
    def truncated(self, found: Found) -> PossibleStep:
        """A follower has truncated its log, because its leader's answer shows that the logs diverge."""
        step = PossibleStep("follower_receive", follower=found["broker"])
        answer: Expectations = {f"answers[{found['broker']}]": {"diverging": found["diverging"]}}
        return step.before(answer).after(_replica_state(found))

    @event("reset")
    def reset(self, found: Found) -> PossibleStep:
        """A follower whose fetch was out of range has truncated its log to the end of its leader's."""
        step = PossibleStep("follower_receive", follower=found["broker"])
        return step.before({f"answers[{found['broker']}]": {"diverging": {"epoch": -1}}}).after(_replica_state(found))

    @event("leading")
    def leading(self, found: Found) -> PossibleStep | list[PossibleStep]:
        """A broker has learned that it leads."""
        broker = found["broker"]
        seen: Expectations = _replica_state(found) | {
            f"leader_epoch[{broker}]": found["epoch"],
            f"isr[{broker}]": found["isr"],
            f"known_partition_epoch[{broker}]": found["partition_epoch"],
        }
        # The model begins when every broker has learned of the first leader epoch.
        if found.get("initial"):
            return Observation(seen)
        epoch, version = found["epoch"], found["partition_epoch"]
        steps = (
            PossibleStep("become_leader", epoch=epoch),
            PossibleStep("become_leader_with_earlier_isr", epoch=epoch, version=version),
        )
        return [step.after({**seen, f"leader[{broker}]": broker}) for step in steps]

    @event("following")
    def following(self, found: Found) -> PossibleStep:
        """A broker has learned which leader it follows, or that there is none."""
        broker = found["broker"]
        seen = _replica_state(found) | {f"leader[{broker}]": found["leader"], f"leader_epoch[{broker}]": found["epoch"]}
        if found["leader"] is None:
            return PossibleStep("become_leaderless", replica=broker, epoch=found["epoch"]).after(seen)
        step = PossibleStep("become_follower", follower=broker, epoch=found["epoch"]).after(seen)
        return Observation(seen) if found.get("initial") else step

    # The ISR.

    @event("asked_to_shrink")
    def asked_to_shrink(self, found: Found) -> PossibleStep:
        """A leader asks the controller to remove a follower from the ISR."""
        broker, followers = found["broker"], found["followers"]
        if len(followers) > 1:
            return PossibleStep("leader_ask_to_be_alone", leader=broker).after(
                {f"pending[{broker}]": {"isr": [broker]}}
            )
        return PossibleStep("leader_ask_to_shrink_isr", leader=broker, follower=followers[0])

    @event("asked_to_expand")
    def asked_to_expand(self, found: Found) -> PossibleStep:
        """A leader asks the controller to add a follower to the ISR."""
        return PossibleStep("leader_ask_to_expand_isr", leader=found["broker"], follower=found["follower"])

    @event("rejected_isr")
    def rejected_isr(self, found: Found) -> PossibleStep:
        """The controller refuses to add a follower."""
        action = (
            "controller_handle_alter_partition" if found["error"] == "INELIGIBLE_REPLICA" else "leader_drop_request"
        )
        return PossibleStep(action, leader=found["broker"]).after({f"pending[{found['broker']}]": None})

    @event("learnt_isr")
    def learnt_isr(self, found: Found) -> list[PossibleStep]:
        """A leader has learned the ISR of a partition epoch, from the answer to its request or from the metadata."""
        broker = found["broker"]
        seen: Expectations = {
            f"isr[{broker}]": found["isr"],
            f"known_partition_epoch[{broker}]": found["partition_epoch"],
        }
        steps = [PossibleStep("leader_get_answer", leader=broker)]
        if not found.get("answered"):
            steps = [
                PossibleStep("leader_learn_isr", leader=broker),
                PossibleStep("leader_learn_earlier_isr", leader=broker, version=found["partition_epoch"]),
            ]
        return [step.after(_high_watermark(found) | seen) for step in steps]

    @event("learnt_isr_again")
    def learnt_isr_again(self, found: Found) -> PossibleStep:
        """A leader has read the metadata of an ISR that it knows from the answer to its request."""
        step = PossibleStep("leader_learn_isr_again", leader=found["broker"])
        return step.after({**_high_watermark(found), f"pending[{found['broker']}]": None})

    # The controller.

    @event("changed")
    def changed(self, found: Found) -> PossibleStep | list[PossibleStep]:
        """The controller has changed leader or ISR."""
        seen = {
            "quorum.isr": found["isr"],
            "quorum.leader": found["leader"],
            "len(requests) - 1": found["leader_epoch"],
            "partition_epoch": found["partition_epoch"],
        }
        match found["cause"]:
            case "alter_partition":
                actions = ("controller_handle_alter_partition", "controller_handle_request_of_dead_leader")
                return [PossibleStep(action, leader=found["broker"]).after(seen) for action in actions]
            case "fenced":
                return PossibleStep("controller_fence", broker=found["broker"]).after(seen)
            case "new_directory":
                return PossibleStep("controller_assign_directory").after(seen)
            case "unclean_restart":
                # The registration of the broker has changed it.
                return Observation(seen)
        elections = ("controller_elect", "controller_elect_uncleanly", "controller_elect_last_known")
        steps = [PossibleStep(action, replica=found["leader"]).after(seen) for action in elections]
        if found["cause"] == "unknown":
            steps.append(PossibleStep("controller_handle_alter_partition").after(seen))
            steps.append(PossibleStep("controller_fence").after(seen))
        return steps

    @event("fenced")
    def fenced(self, found: Found) -> PossibleStep:
        """The controller has fenced a broker that was not in the ISR."""
        return PossibleStep("controller_fence", broker=found["broker"])

    @event("unfenced")
    def unfenced(self, found: Found) -> PossibleStep:
        """The controller has unfenced a broker."""
        return PossibleStep("broker_reconnect", broker=found["broker"])

    # Failures.

    @event("killed")
    def killed(self, found: Found) -> PossibleStep:
        """A broker's process has died."""
        return PossibleStep("broker_crash", broker=found["broker"])

    @event("stopped")
    def stopped(self, found: Found) -> PossibleStep:
        """A broker has shut down cleanly."""
        return PossibleStep("broker_shut_down", broker=found["broker"])

    @event("lost_disk")
    def lost_disk(self, found: Found) -> PossibleStep:
        """The log of a stopped broker was removed, or its disk was replaced."""
        return PossibleStep("broker_lose_disk", broker=found["broker"]).after({f"len(log[{found['broker']}])": 0})

    @event("started")
    def started(self, found: Found) -> PossibleStep:
        """A broker's process has started again."""
        return PossibleStep("broker_restart", broker=found["broker"])

    @event("registered")
    def registered(self, found: Found) -> PossibleStep:
        """The controller has registered a broker again."""
        return PossibleStep("broker_register", broker=found["broker"])

    @event("checkpointed")
    def checkpointed(self, found: Found) -> PossibleStep:
        """A broker has written its high watermark to disk; the recording infers it from what a restart has loaded."""
        step = PossibleStep("broker_checkpoint", broker=found["broker"])
        return step.after({f"checkpoint[{found['broker']}]": found["high_watermark"]})


def _bound(values: Iterable[int]) -> int:
    """Return a bound for values: a power of two, so that many recordings share the spec's machine code."""
    return 1 << max(3, max(values, default=0) - 1).bit_length()


def _high_watermark(found: Found) -> Expectations:
    return {f"high_watermark[{found['broker']}]": found["high_watermark"]}


def _replica_state(found: Found) -> Expectations:
    """Return what is known of a replica after its step: log end, high watermark, and an epoch that has started."""
    broker = found["broker"]
    seen: Expectations = {f"len(log[{broker}])": found["end"], **_high_watermark(found)}
    if "epoch_start" in found:
        seen[_STARTS_EPOCH.format(broker)] = found["epoch_start"]
    return seen
