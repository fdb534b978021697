"""The observations of all brokers as the events of one partition.

`PartitionEvents` keeps what the events so far say about each broker. From that it knows which observations repeat what
is known (a fetch that timed out and was sent again), and adds the events that leave no line: a fetch of a session that
did not change, and the checkpoint of a high watermark that a restarted broker has loaded. Brokers have the names of the
model: b1 is the first replica of the partition's assignment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from checker.errors import InputError
from kafka_tools.lab.recording.broker_log import Observed

Event = dict[str, Any]


_SAME_MOMENT_MS = 5
"""How much earlier, by the clock, the count of a fetch may be written than the answer to the fetch before it."""

_QUORUM_TIMEOUT_MS = 2000
"""The default of controller.quorum.fetch.timeout.ms: after that, the quorum elects another controller."""

_NOT_ATTEMPTED = "OPERATION_NOT_ATTEMPTED"
"""The error of a request that a broker does not send, because it has another one of the partition in flight."""

_OF_CONTROLLER = ("created", "changed")
"""Observations of a partition that a controller makes, with or without a replica of it."""

_UNAWARE_MS = 1000
"""How long a controller that was paused may not notice that another one is active."""


@dataclass
class _Broker:
    """What the events so far say about a broker."""

    alive: bool = True
    registered: bool = True
    has_begun: bool = False  # whether it has acted on metadata, or has restarted
    fenced: bool = False
    end: int = 0
    high_watermark: int = 0
    high_watermarks: list[tuple[int, int]] = field(default_factory=list)  # the position of its event, the value
    checkpoint: int = 0
    epoch: int = -1
    leader: int | None = None
    leads: bool = False
    partition_epoch: int = -1
    isr: frozenset[int] = frozenset()  # of a leader, as it knows it
    awaits_metadata: bool = False  # of a leader: it knows its partition epoch from an answer only
    joining: int | None = None  # of a leader: the follower that it asks to add
    requests: list[Event] = field(default_factory=list)  # of a leader: what it has asked for, and has no answer to
    raised: int = 0  # of a leader: a high watermark of which the count has left no line yet
    counted: dict[int, int] = field(default_factory=dict)  # of a leader: the log end of each follower
    fetch: tuple[Any, ...] | None = None  # the fetch that its leader has not answered
    is_handled: bool = False
    was_handled: bool = False  # whether its leader had counted a fetch of its former registration
    last_fetch: Event | None = None
    earlier_offset: int | None = None  # that of the fetch before
    repeat_time: int = -_SAME_MOMENT_MS - 1  # when a count of its fetch last seemed to repeat the one before
    received_time: int = 0

    def has_asked_from(self, offset: int) -> bool:
        """Return whether the broker has sent a fetch from an offset; its session may have that fetch already."""
        return self.last_fetch is not None and bool(self.last_fetch["offset"] == offset)

    def may_commit(self, fields: dict[str, Any]) -> bool:
        """Return whether a log is known to end at the new high watermark of a leader's step, if it has one."""
        reached = fields.get("high_watermark", self.high_watermark)
        ends = {fields["end"], *self.counted.values()} | ({self.end} if "follower" in fields else set())
        return reached <= self.high_watermark or reached in ends


class PartitionEvents:
    """Builds the events of a partition from observations in their order."""

    def __init__(self, partition: str, changes: Mapping[int, Event] | None = None):
        self.partition = partition
        self._changes = changes or {}
        self.events: list[Event] = []
        self.repeated: Counter[str] = Counter()
        self._inserted: list[tuple[int, Event]] = []
        self._unsent: list[Event] = []
        self._names: dict[int, str] = {}
        self._brokers: dict[int, _Broker] = {}
        self._partition_epoch = -1
        self._leader_epoch = -1
        self._isr: list[int] = []
        self._leader: int | None = None
        self._asked: dict[int, bool] = {}
        self._paused: dict[int, int] = {}  # when a node was paused
        self._unaware: dict[int, int] = {}  # until when a node that was paused may believe that it is the controller
        self._time = 0
        self._is_over = False

    def result(self) -> list[Event]:
        """Return the events without requests that were not sent, and with those that were inferred later."""
        events = list(self.events)
        for position, event in sorted(self._inserted, key=lambda pair: -pair[0]):
            events.insert(position, {**event, "time": events[position - 1]["time"]})
        return [event for event in events if not any(event is unsent for unsent in self._unsent)]

    # Causality.

    def is_ready(self, observed: Observed) -> bool:
        """Return whether the events so far have the cause of an observation."""
        if observed.kind == "noted" or observed.partition not in (self.partition, None):
            return True
        if not self._names:
            return observed.kind == "created"
        broker, fields = self._brokers.get(observed.broker), observed.fields
        if observed.kind == "changed":
            # The line of a controller, which may have no replica.
            return fields.get("cause") != "alter_partition" or self._asked.get(fields.get("node") or 0, False)
        if broker is None:
            return True
        match observed.kind:
            case "received":
                leader = self._brokers.get(broker.leader or 0)
                return leader is None or (
                    (broker.is_handled or broker.was_handled or self._seems_counted(broker, fields["offset"]))
                    and leader.end >= fields.get("end", 0)
                    and (not leader.leads or leader.high_watermark >= fields["sent"])
                )
            case "appended":
                has_followed = broker.leads and fields["end"] - fields["records"] <= broker.end
                return not broker.alive or (has_followed and broker.may_commit(fields))
            case "recorded":
                return broker.may_commit(fields) and self._may_count(observed.broker, fields)
            case "leading" | "following":
                return bool(fields["epoch"] <= self._leader_epoch)
            case "refreshed" if self._forgets_granted_request(observed.broker, fields):
                return False
            case "refreshed" | "learnt_isr":
                return bool(fields["partition_epoch"] <= self._partition_epoch)
            case "truncated" if "epoch" in fields:
                leader = self._brokers.get(broker.leader or 0)
                return leader is None or leader.epoch >= broker.epoch
        return True

    def _forgets_granted_request(self, number: int, fields: dict[str, Any]) -> bool:
        """Return whether a leader learns an ISR again while its request is in flight, which the controller will grant.

        The request stays in flight when the leader drops it. In the model it does not, and is granted before.
        """
        broker = self._brokers[number]
        following = self._changes.get(self._partition_epoch + 1, {})
        is_again = broker.awaits_metadata and fields["partition_epoch"] == broker.partition_epoch
        is_open = self._asked.get(number, False) and self._partition_epoch == broker.partition_epoch
        is_granted = following.get("cause") == "alter_partition" and following.get("node") == number
        return broker.leads and is_again and is_open and is_granted

    def _may_count(self, number: int, fields: dict[str, Any]) -> bool:
        """Return whether the follower has sent the fetch, and the ISR has what the count has committed, if anything."""
        leader, follower = self._brokers[number], self._brokers.get(fields["follower"])
        if follower is None or not leader.alive or follower.leader != number:
            return True  # a fetch that was sent before the follower died or turned to another leader
        others = (leader.isr | {leader.joining or number}) - {number, fields["follower"]}
        has_asked = follower.has_asked_from(fields["end"]) or fields["end"] == follower.earlier_offset
        return has_asked and all(leader.counted.get(other, 0) >= fields.get("high_watermark", 0) for other in others)

    # Events.

    def take(self, observed: Observed) -> None:
        """Add the events of an observation; raise InputError if the replicas of the partition are others now."""
        if observed.partition not in (self.partition, None) or self._is_over:
            return
        self._time = observed.time
        if not self._names:
            if observed.kind == "created":
                self._create(observed.fields)
            return
        is_of_replica = observed.partition is not None and observed.kind not in _OF_CONTROLLER
        if is_of_replica and observed.broker not in self._brokers:
            raise InputError(
                f"broker {observed.broker} has lines about {self.partition}, whose replicas are "
                f"{', '.join(map(str, self._brokers))}: a partition that was reassigned cannot be recorded, use one "
                "that keeps its replicas"
            )
        handler = getattr(self, f"_on_{observed.kind}", None)
        if handler is not None:
            handler(observed.broker, observed.fields)

    def _create(self, fields: dict[str, Any]) -> None:
        self._names = {number: f"b{n}" for n, number in enumerate(fields["replicas"], 1)}
        self._brokers = {number: _Broker(high_watermarks=[(0, 0)]) for number in fields["replicas"]}
        self._isr, self._leader = list(fields["isr"]), fields["leader"]
        self._partition_epoch = self._leader_epoch = 0
        self._note(
            "created",
            replicas=fields["replicas"],
            isr=self._names_of(fields["isr"]),
            leader=self._name(fields["leader"]),
        )

    def _on_configured(self, number: int, fields: dict[str, Any]) -> None:
        settings = dict(part.split("=", 1) for part in fields["settings"].split(", ") if "=" in part)
        self.events[0]["min_insync_replicas"] = int(settings.get("min.insync.replicas", 1))

    def _name(self, number: int) -> str | None:
        return self._names.get(number)

    def _names_of(self, numbers: list[int]) -> list[str]:
        return sorted(self._names[number] for number in numbers if number in self._names)

    def _note(self, event: str, **fields: Any) -> None:
        self.events.append({"event": event, **fields, "time": self._time})

    def _repeat(self, event: str) -> None:
        self.repeated[event] += 1

    def _commit(self, broker: _Broker, high_watermark: int) -> None:
        broker.high_watermark = high_watermark
        broker.high_watermarks.append((len(self.events), high_watermark))

    def _leader_fields(self, number: int, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the high watermark after a leader's step, and the epoch that the step started."""
        broker = self._brokers[number]
        if "high_watermark" in fields and fields["high_watermark"] != broker.high_watermark:
            broker.high_watermark = fields["high_watermark"]
            if fields.get("end") != broker.high_watermark:
                self._commit_by_count(number, broker.high_watermark)
        fields_of_leader: dict[str, Any] = {"high_watermark": broker.high_watermark}
        if "epoch_start" in fields:
            fields_of_leader["epoch_start"] = fields["epoch_start"]
        return fields_of_leader

    def _commit_by_count(self, number: int, high_watermark: int, slack: int = 0) -> bool:
        """Give a new high watermark to the count that has raised it, if the line is that of another thread.

        A thread raises the high watermark by what others have counted, before they write their lines. So the line of
        that count is not older than this one, or by `slack` milliseconds at most. Returns whether there is one.
        """
        name, later = self._name(number), []
        for event in reversed(self.events):
            if event.get("time", 0) < self._time - slack or event["event"] not in ("handled_fetch", "appended"):
                continue
            if event["broker"] == name and event["high_watermark"] < high_watermark:
                later.append(event)
                if event["event"] == "handled_fetch" and event["end"] == high_watermark:
                    for each in later:
                        each["high_watermark"] = high_watermark
                    return True
        return False

    def _on_appended(self, number: int, fields: dict[str, Any]) -> None:
        broker = self._brokers[number]
        if not broker.leads:
            return
        broker.end = fields["end"]
        self._note(
            "appended",
            broker=self._name(number),
            records=fields["records"],
            end=broker.end,
            **self._leader_fields(number, fields),
        )
        self._commit(broker, broker.high_watermark)

    def _on_fetching(self, number: int, fields: dict[str, Any]) -> None:
        broker = self._brokers[number]
        leader = self._brokers.get(fields["leader"])
        fetch = (fields["leader"], fields["leader_epoch"], fields["offset"], fields["last_epoch"])
        if leader is None or not leader.alive or not broker.alive or fetch == broker.fetch:
            self._repeat("fetch")
            return
        self._fetch(number, {**fields, "leader": self._name(fields["leader"])}, fetch)

    def _fetch(self, number: int, fields: dict[str, Any], fetch: tuple[Any, ...]) -> None:
        broker = self._brokers[number]
        if broker.last_fetch is not None and broker.last_fetch["offset"] != fields["offset"]:
            earlier = broker.last_fetch["offset"]
            broker.earlier_offset = earlier if earlier < fields["offset"] else None  # else it has truncated
        broker.fetch, broker.is_handled, broker.last_fetch = fetch, False, fields
        broker.was_handled = False
        self._note("fetch", broker=self._name(number), **fields)

    def _on_recorded(self, number: int, fields: dict[str, Any]) -> None:
        leader, follower = self._brokers[number], self._brokers.get(fields["follower"])
        if follower is None or not leader.leads:
            return
        leader.counted[fields["follower"]] = fields["end"]
        is_late = follower.fetch is None and follower.leader == number and follower.end > fields["end"]
        if is_late or (fields["end"] == follower.earlier_offset and not follower.has_asked_from(fields["end"])):
            # A session asks for every partition again when one of them has news. This line is about such a fetch, and
            # is written after its answer, or after the next fetch.
            self._repeat("handled_fetch")
            return
        is_known = follower.fetch is not None and follower.fetch[:2] == (number, leader.epoch)
        last_fetch = follower.last_fetch
        is_asked = last_fetch is not None and last_fetch["offset"] == fields["end"]
        if follower.fetch is None and last_fetch is not None and is_asked and follower.leader == number:
            # The session has this fetch already, so that the follower's line does not name the partition.
            last = {**last_fetch, "inferred": True}
            self._fetch(fields["follower"], last, (number, last["leader_epoch"], last["offset"], last["last_epoch"]))
            is_known = True
        if is_known and follower.is_handled and "high_watermark" not in fields:
            follower.repeat_time = self._time
            self._repeat("handled_fetch")
            return
        follower.is_handled = True
        if leader.raised > leader.high_watermark and self._has_counted(leader, number, leader.raised):
            fields = {"high_watermark": leader.raised} | fields
        shown = self._leader_fields(number, fields)
        self._note(
            "handled_fetch",
            broker=self._name(number),
            follower=self._name(fields["follower"]),
            end=fields["end"],
            **shown,
        )
        self._commit(leader, leader.high_watermark)

    def _has_counted(self, leader: _Broker, number: int, offset: int) -> bool:
        """Return whether every other follower in the ISR is counted up to an offset."""
        return all(leader.counted.get(other, 0) >= offset for other in leader.isr - {number})

    def _on_raised(self, number: int, fields: dict[str, Any]) -> None:
        """Give a high watermark that another thread has raised to its count, which may come after this line."""
        broker, reached = self._brokers[number], fields["high_watermark"]
        if not broker.leads or reached <= broker.high_watermark:
            return
        if self._commit_by_count(number, reached, _SAME_MOMENT_MS):
            self._commit(broker, reached)
        else:
            broker.raised = reached

    def _on_received(self, number: int, fields: dict[str, Any]) -> None:
        broker = self._brokers[number]
        records = fields["end"] - fields["offset"]
        if not records and "high_watermark" not in fields:
            self._repeat("received")
            return
        self._infer_counted_fetch(number, fields["offset"])
        broker.received_time = self._time
        broker.end, broker.fetch, broker.is_handled = fields["end"], None, False
        broker.was_handled = False
        if "high_watermark" in fields:
            broker.high_watermark = fields["high_watermark"]
        started = {"epoch_start": fields["epoch_start"]} if "epoch_start" in fields else {}
        self._note(
            "received",
            broker=self._name(number),
            end=broker.end,
            records=records,
            high_watermark=broker.high_watermark,
            **started,
        )
        self._commit(broker, broker.high_watermark)

    def _infer_counted_fetch(self, number: int, offset: int) -> None:
        """Add the fetch that is answered now, if its session had it, and its count seemed to repeat the one before."""
        broker, last = self._brokers[number], self._brokers[number].last_fetch
        leader = self._brokers.get(broker.leader or 0)
        if last is not None and leader is not None and self._seems_counted(broker, offset):
            fetch = (broker.leader, last["leader_epoch"], offset, last["last_epoch"])
            self._fetch(number, {**last, "inferred": True}, fetch)
            self._note(
                "handled_fetch",
                broker=last["leader"],
                follower=self._name(number),
                end=offset,
                high_watermark=leader.high_watermark,
                inferred=True,
            )

    def _seems_counted(self, broker: _Broker, offset: int) -> bool:
        """Return whether the leader seems to have counted a fetch that left no line, and that is answered now."""
        leader = self._brokers.get(broker.leader or 0)
        is_recent = broker.repeat_time >= broker.received_time - _SAME_MOMENT_MS
        is_open = broker.fetch is None and broker.has_asked_from(offset)
        return leader is not None and leader.alive and is_open and is_recent

    def _on_truncated(self, number: int, fields: dict[str, Any]) -> None:
        broker = self._brokers[number]
        if "epoch" not in fields:
            return
        self._diverge(number)
        broker.end, broker.fetch = min(broker.end, fields["end"]), None
        high_watermark = min(broker.high_watermark, broker.end)
        self._note(
            "truncated",
            broker=self._name(number),
            end=broker.end,
            high_watermark=high_watermark,
            diverging={"epoch": fields["epoch"], "end": fields["epoch_end"]},
        )
        self._commit(broker, high_watermark)

    def _diverge(self, number: int) -> None:
        """Note that the leader has answered a fetch that it does not count, which leaves no line in its log."""
        broker = self._brokers[number]
        if broker.fetch is not None and not broker.is_handled and broker.leader in self._brokers:
            self._note("diverged", broker=self._name(broker.leader or 0), follower=self._name(number), inferred=True)

    def _on_reset(self, number: int, fields: dict[str, Any]) -> None:
        broker = self._brokers[number]
        self._diverge(number)
        broker.end, broker.fetch = min(broker.end, fields["end"]), None
        high_watermark = min(broker.high_watermark, broker.end)
        self._note("reset", broker=self._name(number), end=broker.end, high_watermark=high_watermark)
        self._commit(broker, high_watermark)

    # Roles.

    def _enter(self, number: int, fields: dict[str, Any]) -> dict[str, Any]:
        """Let a broker enter a leader epoch; return whether it is the first one since the partition was created."""
        broker = self._brokers[number]
        is_initial = fields["epoch"] == 0 and not broker.has_begun
        broker.has_begun = True
        broker.epoch, broker.end = fields["epoch"], fields["end"]
        broker.fetch, broker.is_handled, broker.last_fetch, broker.earlier_offset = None, False, None, None
        return {"initial": True} if is_initial else {}

    def _on_leading(self, number: int, fields: dict[str, Any]) -> None:
        initial, broker = self._enter(number, fields), self._brokers[number]
        broker.leads, broker.leader, broker.partition_epoch = True, number, fields["partition_epoch"]
        broker.isr, broker.joining, broker.counted = frozenset(fields["isr"]), None, {}
        broker.awaits_metadata, broker.requests, broker.raised = False, [], 0
        shown = self._leader_fields(number, fields) | initial
        self._note(
            "leading",
            broker=self._name(number),
            epoch=broker.epoch,
            end=broker.end,
            isr=self._names_of(fields["isr"]),
            partition_epoch=fields["partition_epoch"],
            **shown,
        )
        self._commit(broker, broker.high_watermark)

    def _on_following(self, number: int, fields: dict[str, Any]) -> None:
        initial, broker = self._enter(number, fields), self._brokers[number]
        broker.leads, broker.leader = False, fields["leader"]
        self._asked.pop(number, None)
        self._note(
            "following",
            broker=self._name(number),
            epoch=broker.epoch,
            end=broker.end,
            high_watermark=fields["high_watermark"],
            leader=self._name(fields["leader"]),
            **initial,
        )
        self._commit(broker, fields["high_watermark"])

    # The ISR and the controller.

    def _on_asked_to_shrink(self, number: int, fields: dict[str, Any]) -> None:
        self._asked[number] = True
        self._note("asked_to_shrink", broker=self._name(number), followers=self._names_of(fields["followers"]))
        self._brokers[number].requests.append(self.events[-1])

    def _on_asked_to_expand(self, number: int, fields: dict[str, Any]) -> None:
        self._asked[number] = True
        self._brokers[number].joining = fields["follower"]
        self._note("asked_to_expand", broker=self._name(number), follower=self._name(fields["follower"]))
        self._brokers[number].requests.append(self.events[-1])

    def _on_learnt_isr(self, number: int, fields: dict[str, Any]) -> None:
        """Note that a leader has learned a change of the ISR from the answer to its request."""
        if self._learn_isr(number, fields, {"answered": True}):
            self._brokers[number].awaits_metadata = True

    def _on_refreshed(self, number: int, fields: dict[str, Any]) -> None:
        """Note that a leader has read a change of the ISR in the metadata, for the first or the second time."""
        broker = self._brokers[number]
        if broker.leads and broker.awaits_metadata and fields["partition_epoch"] == broker.partition_epoch:
            broker.joining = None
            self._asked.pop(number, None)
            if fields.get("high_watermark", 0) > broker.high_watermark:
                # The ISR is the same, so that a count has raised it, which another thread writes.
                self._commit_by_count(number, fields["high_watermark"], _SAME_MOMENT_MS)
            shown = self._leader_fields(number, fields)
            self._note("learnt_isr_again", broker=self._name(number), **shown)
            self._commit(broker, broker.high_watermark)
            broker.awaits_metadata = False
        elif self._learn_isr(number, fields, {}):
            broker.awaits_metadata = False

    def _learn_isr(self, number: int, fields: dict[str, Any], source: Event) -> bool:
        broker = self._brokers[number]
        if not broker.leads or fields["partition_epoch"] <= broker.partition_epoch:
            self._repeat("learnt_isr")
            return False
        broker.partition_epoch = fields["partition_epoch"]
        broker.isr, broker.joining, broker.requests = frozenset(fields["isr"]), None, []
        self._asked.pop(number, None)
        shown = self._leader_fields(number, fields)
        self._note(
            "learnt_isr",
            broker=self._name(number),
            isr=self._names_of(fields["isr"]),
            partition_epoch=fields["partition_epoch"],
            **shown,
            **source,
        )
        self._commit(broker, broker.high_watermark)
        return True

    def _on_rejected_isr(self, number: int, fields: dict[str, Any]) -> None:
        if "error" not in fields:
            # The leader keeps waiting, for newer metadata.
            self._repeat("rejected_isr")
            return
        broker = self._brokers[number]
        if fields["error"] == _NOT_ATTEMPTED and broker.requests and self._has_request_in_flight(broker):
            # The request was not sent: neither it nor its refusal is a step.
            self._unsent.append(broker.requests.pop())
            self._repeat("rejected_isr")
            return
        self._asked.pop(number, None)
        broker.joining, broker.requests = None, []
        self._note("rejected_isr", broker=self._name(number), error=fields["error"])

    def _has_request_in_flight(self, broker: _Broker) -> bool:
        """Return whether the last request of a leader follows another one that is open, or that was granted."""
        return len(broker.requests) > 1 or self._partition_epoch > broker.partition_epoch

    def _on_changed(self, number: int, fields: dict[str, Any]) -> None:
        valid = self._changes.get(fields["partition_epoch"], fields)
        if fields["partition_epoch"] <= self._partition_epoch or fields is not valid:
            self._repeat("changed")
            return
        following = self._changes.get(fields["partition_epoch"] + 1, {})
        if fields.get("has_new_directory") and _is_offline_directory(following):
            # The controller records the directory and what follows from its failure at once: one step of the model.
            self._repeat("changed")
            return
        self._partition_epoch = fields["partition_epoch"]
        before = set(self._isr), self._leader
        self._isr = fields.get("isr", self._isr)
        self._leader = fields.get("leader", self._leader)
        self._leader_epoch = fields.get("leader_epoch", self._leader_epoch)
        cause = "new_directory" if fields.get("has_new_directory") else _CAUSES.get(fields.get("cause", ""), "unknown")
        broker = self._subject(cause, fields, before)
        if cause == "unfenced" and broker is not None and self._brokers[broker].fenced:
            self._unfence(broker)
        registering = self._brokers.get(broker or -1) if cause == "unclean_restart" else None
        if registering is not None and not registering.registered and not registering.fenced:
            cause = "fenced"
        elif registering is not None:
            self._on_registered(0, {"node": broker})
        if cause == "fenced" and broker is not None:
            self._brokers[broker].fenced = True
        self._note(
            "changed",
            cause=cause,
            **({"broker": self._name(broker)} if broker is not None else {}),
            isr=self._names_of(self._isr),
            leader=self._name(self._leader) if self._leader is not None and self._leader >= 0 else None,
            leader_epoch=self._leader_epoch,
            partition_epoch=self._partition_epoch,
        )
        if registering is not None:
            self._on_registered(0, {"node": broker})

    def _subject(self, cause: str, fields: dict[str, Any], before: tuple[set[int], int | None]) -> int | None:
        """Return the broker that a change is about: the one that asked, was fenced, or is elected."""
        if "node" in fields:
            return int(fields["node"])
        removed = sorted(before[0] - set(self._isr))
        match cause:
            case "fenced" | "unclean_restart":
                return removed[0] if removed else before[1]
            case "unfenced":
                return self._leader
        return None

    def _is_of_former_controller(self, number: int) -> bool:
        """Return whether a line of a controller is that of a former one, which has not noticed that after a pause."""
        is_unaware = self._time <= self._unaware.get(number, self._time - 1)
        if is_unaware:
            self._repeat("fenced")
        return is_unaware

    def _on_fencing(self, number: int, fields: dict[str, Any]) -> None:
        if self._is_of_former_controller(number):
            return
        self._fence(fields)

    def _fence(self, fields: dict[str, Any]) -> None:
        broker = self._brokers.get(fields["node"])
        if broker is not None and not broker.fenced and fields["node"] not in self._isr:
            broker.fenced = True
            self._note("fenced", broker=self._name(fields["node"]))

    def _on_unfencing(self, number: int, fields: dict[str, Any]) -> None:
        if self._is_of_former_controller(number):
            return
        broker = self._brokers.get(fields["node"])
        if broker is not None and broker.fenced:
            self._unfence(fields["node"])

    def _unfence(self, number: int) -> None:
        self._brokers[number].fenced = False
        self._note("unfenced", broker=self._name(number))

    # Failures.

    def _on_registered(self, number: int, fields: dict[str, Any]) -> None:
        """Note a registration. That of an unfenced broker, after its session, fences it and registers it in one step.

        If the broker is in the ISR, the change of the partition follows this line, and notes the registration.
        """
        broker = self._brokers.get(fields["node"])
        if broker is None or broker.registered:
            return
        following = self._changes.get(self._partition_epoch + 1, {})
        if not broker.fenced and fields["node"] in self._isr and following.get("cause") in _ON_REGISTRATION:
            return
        self._fence(fields)
        broker.registered = broker.fenced = True
        # The fetches from now on carry another broker epoch, although their lines do not show it.
        broker.was_handled = broker.is_handled
        broker.fetch, broker.is_handled = None, False
        self._note("registered", broker=self._name(fields["node"]))

    def _on_loaded(self, number: int, fields: dict[str, Any]) -> None:
        """Infer when a restarted broker wrote the checkpoint that it has loaded: when it last had this value."""
        broker = self._brokers[number]
        if broker.epoch < 0 and not broker.high_watermarks:
            return
        # What the checkpoint says about a log that was removed has no effect.
        loaded = fields["high_watermark"] if broker.end else 0
        if loaded != broker.checkpoint:
            position = max((at for at, value in broker.high_watermarks if value == loaded), default=None)
            if position is not None:
                event = {
                    "event": "checkpointed",
                    "broker": self._name(number),
                    "high_watermark": loaded,
                    "inferred": True,
                }
                self._inserted.append((position, event))
                broker.checkpoint = loaded
        self._commit(broker, loaded)

    def _on_noted(self, number: int, fields: dict[str, Any]) -> None:
        topic = self.partition.rpartition("-")[0]
        self._is_over = fields["event"] == "ending" and fields.get("topic", topic) == topic
        if fields["event"] == "paused":
            self._paused[number] = self._time
        elif fields["event"] == "resumed" and self._time - self._paused.pop(number, self._time) > _QUORUM_TIMEOUT_MS:
            self._unaware[number] = self._time + _UNAWARE_MS
        broker = self._brokers.get(number)
        if broker is None:
            return
        if fields["event"] in ("killed", "stopped"):
            broker.alive, broker.leads, broker.leader, broker.epoch = False, False, None, -1
            broker.fetch = broker.last_fetch = None
            for other in self._brokers.values():
                if other.fetch is not None and other.fetch[0] == number:
                    other.fetch, other.is_handled = None, False
            self._note(fields["event"], broker=self._name(number))
        elif fields["event"] == "forgot" and fields.get("partition", self.partition) == self.partition:
            broker.end = broker.high_watermark = broker.checkpoint = 0
            self._note("lost_disk", broker=self._name(number))
        elif fields["event"] == "starting":
            broker.alive, broker.registered, broker.has_begun = True, False, True
            self._note("started", broker=self._name(number))


@dataclass
class _LoggedChange:
    """A change of a partition as a process of a controller has logged it, and whether the process has reverted it."""

    process: tuple[int, int]
    fields: Event
    is_reverted: bool = False


def committed_changes(observed: Iterable[Observed], partition: str) -> dict[int, Event]:
    """Return the change of each partition epoch that the quorum has; an empty one if all that were logged are reverted.

    A controller logs a change before the quorum has it. If the controller fails, another change may take its place: the
    last one is valid. Only the controller that makes a change logs its cause. A former controller, after a pause, may
    log the same change for another cause. It reverts what the quorum does not have, and logs the changes of the quorum
    from there on.
    """
    starts: Counter[int] = Counter()
    changes_by_epoch: dict[int, list[_LoggedChange]] = {}
    for each in sorted(observed, key=lambda each: each.time):
        if each.partition == partition and each.kind == "created":
            starts[each.broker] += 1
        elif each.partition == partition and each.kind == "changed":
            process, epoch = (each.broker, starts[each.broker]), each.fields["partition_epoch"]
            for later in [
                change for other, changes in changes_by_epoch.items() if other >= epoch for change in changes
            ]:
                later.is_reverted |= later.process == process
            changes_by_epoch.setdefault(epoch, []).append(_LoggedChange(process, each.fields))
    return {epoch: _valid(changes) for epoch, changes in changes_by_epoch.items()}


def _valid(changes: Sequence[_LoggedChange]) -> Event:
    """Return the change that the quorum has, of those of one partition epoch; an empty one if all were reverted.

    A process that starts logs every change of the partition, after its creation.
    """
    kept = [change for change in changes if not change.is_reverted]
    if not kept:
        return {}
    same = [change for change in changes if _content(change.fields) == _content(kept[-1].fields)]
    copies = Counter(change.process for change in same)
    made = [change for change in same if "cause" in change.fields]
    return min(made, key=lambda change: (change.is_reverted, copies[change.process]), default=same[0]).fields


def _content(fields: Event) -> Event:
    return {name: fields.get(name) for name in ("isr", "leader", "leader_epoch")}


def _is_offline_directory(fields: Event) -> bool:
    """Return whether a change removes a replica from the ISR because its new directory counts as a failed one."""
    return fields.get("cause") == _OFFLINE_DIRECTORY and not fields.get("has_new_directory")


_OFFLINE_DIRECTORY = "offline-dir-assignment"

_ON_REGISTRATION = ("handleBrokerShutdown", "handleBrokerUncleanShutdown")
_CAUSES = {
    _OFFLINE_DIRECTORY: "new_directory",
    "alter_partition": "alter_partition",
    "handleBrokerFenced": "fenced",
    "handleBrokerUnregistered": "fenced",
    "enterControlledShutdown": "fenced",
    "handleBrokerShutdown": "fenced",
    "handleBrokerUnfenced": "unfenced",
    "handleBrokerUncleanShutdown": "unclean_restart",
}
