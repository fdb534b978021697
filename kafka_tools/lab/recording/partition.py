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
        created = next(fields for fields in events if fields["event"] == "created")
        counts = Counter(fields["event"] for fields in events)
        return {
            **replication_rules(created["kafka"], "kraft"),
            **AS_RECORDED,
            "sends_lazily": False,
            "remembered_changes": 4,
            "replicas": len(created["replicas"]),
            "log_size": _power_of_two(fields.get("end", 0) for fields in events),
            "max_records": _power_of_two([counts["appended"]]),
            "max_leader_epoch": _power_of_two(fields.get("leader_epoch", 0) for fields in events),
            "max_partition_epoch": _power_of_two(fields.get("partition_epoch", 0) + 1 for fields in events),
            "acks": created.get("acks", "all"),
            "min_insync_replicas": created.get("min_insync_replicas", 1),
            "unclean_elections": True,
            "preferred_elections": True,
            "session_timeouts": True,
            "late_metadata": True,
            "late_checkpoints": True,
            "crashes": _power_of_two([counts["killed"]]),
            "shutdowns": _power_of_two([counts["stopped"]]),
            "disk_losses": _power_of_two([counts["lost_disk"]]),
        }

    def consistency(self) -> Consistency:
        """Return what compares the leader and the ISR of the creation with what the first leader learns."""
        created: Found = {}

        def compared(fields: Found) -> str | None:
            if fields["event"] == "created":
                created.update(fields)
            elif fields["event"] == "leading" and fields.get("initial") and created:
                learned = {"leader": fields["broker"], "isr": fields["isr"]}
                if any(created[name] != learned[name] for name in learned):
                    return f"the partition began with {created['leader']} and {created['isr']}"
            return None

        return compared

    # Leader and followers.

    @event("appended")
    def appended(self, fields: Found) -> PossibleStep:
        """A leader has appended a batch."""
        return PossibleStep("leader_append", leader=fields["broker"]).after(_replica_state(fields))

    @event("fetch")
    def fetch(self, fields: Found) -> PossibleStep:
        """A follower has sent a fetch that differs from the one that its leader has parked."""
        request = {name: fields[name] for name in ("leader", "leader_epoch", "offset", "last_epoch")}
        return PossibleStep("follower_fetch", follower=fields["broker"]).after({"fetches[follower]": request})

    @event("handled_fetch")
    def handled_fetch(self, fields: Found) -> list[PossibleStep]:
        """A leader has counted a fetch, and answers or parks it."""
        leader, follower = fields["broker"], fields["follower"]
        counted = {f"remote_end[{leader}][{follower}]": fields["end"], **_high_watermark(fields)}
        steps = [
            PossibleStep(action, follower=follower).before({f"fetches[{follower}]": {"leader": leader}}).after(counted)
            for action in ("leader_handle_fetch", "leader_park_fetch", "leader_answer_as_read")
        ]
        former = PossibleStep("leader_handle_former_fetch", follower=follower)
        return [*steps, former.before({f"former_fetches[{follower}][0]": {"leader": leader}}).after(counted)]

    @event("diverged")
    def diverged(self, fields: Found) -> PossibleStep:
        """A leader has answered a fetch with the offset at which the logs diverge, or that it is out of range."""
        step = PossibleStep("leader_handle_fetch", follower=fields["follower"])
        return step.before({f"fetches[{fields['follower']}]": {"leader": fields["broker"]}})

    @event("received")
    def received(self, fields: Found) -> PossibleStep:
        """A follower has appended what an answer to its fetch brought, and has adopted the high watermark."""
        step = PossibleStep("follower_receive", follower=fields["broker"])
        length = f"len(log[{fields['broker']}])"
        return step.before({length: fields["end"] - fields["records"]}).after(_replica_state(fields))

    @event("truncated")
    def truncated(self, fields: Found) -> PossibleStep:
        """A follower has truncated its log, because its leader's answer shows that the logs diverge."""
        step = PossibleStep("follower_receive", follower=fields["broker"])
        answer: Expectations = {f"answers[{fields['broker']}]": {"diverging": fields["diverging"]}}
        return step.before(answer).after(_replica_state(fields))

    @event("reset")
    def reset(self, fields: Found) -> PossibleStep:
        """A follower whose fetch was out of range has truncated its log to the end of its leader's."""
        step = PossibleStep("follower_receive", follower=fields["broker"])
        return step.before({f"answers[{fields['broker']}]": {"diverging": {"epoch": -1}}}).after(_replica_state(fields))

    @event("leading")
    def leading(self, fields: Found) -> PossibleStep | list[PossibleStep]:
        """A broker has learned that it leads."""
        broker = fields["broker"]
        seen: Expectations = _replica_state(fields) | {
            f"leader_epoch[{broker}]": fields["epoch"],
            f"isr[{broker}]": fields["isr"],
            f"known_partition_epoch[{broker}]": fields["partition_epoch"],
        }
        # The model begins when every broker has learned of the first leader epoch.
        if fields.get("initial"):
            return Observation(seen)
        epoch, version = fields["epoch"], fields["partition_epoch"]
        steps = (
            PossibleStep("become_leader", epoch=epoch),
            PossibleStep("become_leader_with_earlier_isr", epoch=epoch, version=version),
        )
        return [step.after({**seen, f"leader[{broker}]": broker}) for step in steps]

    @event("following")
    def following(self, fields: Found) -> PossibleStep:
        """A broker has learned which leader it follows, or that there is none."""
        broker = fields["broker"]
        seen = _replica_state(fields) | {
            f"leader[{broker}]": fields["leader"],
            f"leader_epoch[{broker}]": fields["epoch"],
        }
        if fields["leader"] is None:
            return PossibleStep("become_leaderless", replica=broker, epoch=fields["epoch"]).after(seen)
        step = PossibleStep("become_follower", follower=broker, epoch=fields["epoch"]).after(seen)
        return Observation(seen) if fields.get("initial") else step

    # The ISR.

    @event("asked_to_shrink")
    def asked_to_shrink(self, fields: Found) -> PossibleStep:
        """A leader asks the controller to remove a follower from the ISR."""
        broker, followers = fields["broker"], fields["followers"]
        if len(followers) > 1:
            return PossibleStep("leader_ask_to_be_alone", leader=broker).after(
                {f"pending[{broker}]": {"isr": [broker]}}
            )
        return PossibleStep("leader_ask_to_shrink_isr", leader=broker, follower=followers[0])

    @event("asked_to_expand")
    def asked_to_expand(self, fields: Found) -> PossibleStep:
        """A leader asks the controller to add a follower to the ISR."""
        return PossibleStep("leader_ask_to_expand_isr", leader=fields["broker"], follower=fields["follower"])

    @event("rejected_isr")
    def rejected_isr(self, fields: Found) -> PossibleStep:
        """The controller refuses to add a follower."""
        action = (
            "controller_handle_alter_partition" if fields["error"] == "INELIGIBLE_REPLICA" else "leader_drop_request"
        )
        return PossibleStep(action, leader=fields["broker"]).after({f"pending[{fields['broker']}]": None})

    @event("learnt_isr")
    def learnt_isr(self, fields: Found) -> list[PossibleStep]:
        """A leader has learned the ISR of a partition epoch, from the answer to its request or from the metadata."""
        broker = fields["broker"]
        seen: Expectations = {
            f"isr[{broker}]": fields["isr"],
            f"known_partition_epoch[{broker}]": fields["partition_epoch"],
        }
        steps = [PossibleStep("leader_get_answer", leader=broker)]
        if not fields.get("answered"):
            steps = [
                PossibleStep("leader_learn_isr", leader=broker),
                PossibleStep("leader_learn_earlier_isr", leader=broker, version=fields["partition_epoch"]),
            ]
        return [step.after(_high_watermark(fields) | seen) for step in steps]

    @event("learnt_isr_again")
    def learnt_isr_again(self, fields: Found) -> PossibleStep:
        """A leader has read the metadata of an ISR that it knows from the answer to its request."""
        step = PossibleStep("leader_learn_isr_again", leader=fields["broker"])
        return step.after({**_high_watermark(fields), f"pending[{fields['broker']}]": None})

    # The controller.

    @event("changed")
    def changed(self, fields: Found) -> PossibleStep | list[PossibleStep]:
        """The controller has changed leader or ISR."""
        seen = {
            "quorum.isr": fields["isr"],
            "quorum.leader": fields["leader"],
            "len(requests) - 1": fields["leader_epoch"],
            "partition_epoch": fields["partition_epoch"],
        }
        match fields["cause"]:
            case "alter_partition":
                actions = ("controller_handle_alter_partition", "controller_handle_request_of_dead_leader")
                return [PossibleStep(action, leader=fields["broker"]).after(seen) for action in actions]
            case "fenced":
                return PossibleStep("controller_fence", broker=fields["broker"]).after(seen)
            case "new_directory":
                return PossibleStep("controller_assign_directory").after(seen)
            case "unclean_restart":
                # The registration of the broker has changed it.
                return Observation(seen)
        elections = ("controller_elect", "controller_elect_uncleanly", "controller_elect_last_known")
        steps = [PossibleStep(action, replica=fields["leader"]).after(seen) for action in elections]
        if fields["cause"] == "unknown":
            steps.append(PossibleStep("controller_handle_alter_partition").after(seen))
            steps.append(PossibleStep("controller_fence").after(seen))
        return steps

    @event("fenced")
    def fenced(self, fields: Found) -> PossibleStep:
        """The controller has fenced a broker that was not in the ISR."""
        return PossibleStep("controller_fence", broker=fields["broker"])

    @event("unfenced")
    def unfenced(self, fields: Found) -> PossibleStep:
        """The controller has unfenced a broker."""
        return PossibleStep("broker_reconnect", broker=fields["broker"])

    # Failures.

    @event("killed")
    def killed(self, fields: Found) -> PossibleStep:
        """A broker's process has died."""
        return PossibleStep("broker_crash", broker=fields["broker"])

    @event("stopped")
    def stopped(self, fields: Found) -> PossibleStep:
        """A broker has shut down cleanly."""
        return PossibleStep("broker_shut_down", broker=fields["broker"])

    @event("lost_disk")
    def lost_disk(self, fields: Found) -> PossibleStep:
        """The log of a stopped broker was removed, or its disk was replaced."""
        return PossibleStep("broker_lose_disk", broker=fields["broker"]).after({f"len(log[{fields['broker']}])": 0})

    @event("started")
    def started(self, fields: Found) -> PossibleStep:
        """A broker's process has started again."""
        return PossibleStep("broker_restart", broker=fields["broker"])

    @event("registered")
    def registered(self, fields: Found) -> PossibleStep:
        """The controller has registered a broker again."""
        return PossibleStep("broker_register", broker=fields["broker"])

    @event("checkpointed")
    def checkpointed(self, fields: Found) -> PossibleStep:
        """A broker has written its high watermark to disk; the recording infers it from what a restart has loaded."""
        step = PossibleStep("broker_checkpoint", broker=fields["broker"])
        return step.after({f"checkpoint[{fields['broker']}]": fields["high_watermark"]})


def _power_of_two(values: Iterable[int]) -> int:
    """Return a bound for values: a power of two, so that many recordings share the spec's machine code."""
    return 1 << max(3, max(values, default=0) - 1).bit_length()


def _high_watermark(fields: Found) -> Expectations:
    return {f"high_watermark[{fields['broker']}]": fields["high_watermark"]}


def _replica_state(fields: Found) -> Expectations:
    """Return what is known of a replica after its step: log end, high watermark, and an epoch that has started."""
    broker = fields["broker"]
    seen: Expectations = {f"len(log[{broker}])": fields["end"], **_high_watermark(fields)}
    if "epoch_start" in fields:
        seen[_STARTS_EPOCH.format(broker)] = fields["epoch_start"]
    return seen
