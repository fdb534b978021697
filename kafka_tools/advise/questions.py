"""What is asked of a configuration, under which failures, and how both are put to the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checker.language.interpreter import State
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.configuration_keys import BY_DURATION
from kafka_tools.advise.effective_config import EffectiveConfig
from specs.kafka_versions import HIGH_WATERMARK_WAITS_FOR_MIN_ISR

Constants = Mapping[str, int | bool | str]
"""Of the pipeline, by name."""


Left = tuple[tuple[str, int], ...]
"""How often something may still go wrong, by the variable of the pipeline that counts it."""


@dataclass(frozen=True)
class GuaranteeQuestion:
    """Whether something bad may happen: `property` of the pipeline is violated if it may.

    `name`: what `--require no-NAME` calls it. `verb`: "a record may be VERB". `of_consumer`: it needs one.
    """

    name: str
    property: str
    verb: str
    of_consumer: bool = False


QUESTIONS = (
    GuaranteeQuestion("loss", "no_acked_loss", "lost"),
    GuaranteeQuestion("duplicates", "no_duplicate", "written twice"),
    GuaranteeQuestion("reorder", "no_reorder", "written out of order"),
    GuaranteeQuestion("vanishing-reads", "reads_are_stable", "read and then vanish", of_consumer=True),
    GuaranteeQuestion("gaps", "no_gap", "skipped by the consumer", of_consumer=True),
    GuaranteeQuestion("reprocessing", "no_reprocessing", "processed twice by the consumer", of_consumer=True),
)
"""LOSS, DUP, REORDER, UNSTABLE, GAP, and DUP as the consumer makes it."""


@dataclass(frozen=True)
class FailureMode:
    """What goes wrong: `left` has how often, by the variable of the pipeline that counts it.

    `slug`: what `--failure` calls it. `is_unclean`: asked where unclean elections are allowed, as they then are after
    every failure.
    """

    slug: str
    name: str
    left: Left = ()
    is_unclean: bool = False

    def happens_to(self, who: str) -> bool:
        """Return whether something befalls the `producer`, the `consumer` or a `broker`."""
        return any(_VICTIMS[variable] == who for variable, _ in self.left)


_VICTIMS = {
    "broker_crashes_left": "broker",
    "power_failures_left": "broker",
    "blackouts_left": "broker",
    "lost_responses_left": "producer",
    "producer_restarts_left": "producer",
    "consumer_crashes_left": "consumer",
}

_CRASH, _POWER_LOSS = ("broker_crashes_left", 1), ("power_failures_left", 1)
_TWO_CRASHES = ("broker_crashes_left", 2)

RESTART = FailureMode("producer-restart", "a producer restart", (("producer_restarts_left", 1),))

FAILURES = (
    FailureMode("slow-follower", "a follower that falls behind"),
    FailureMode("crash", "a broker crash", (_CRASH,)),
    FailureMode("two-crashes", "two broker crashes", (_TWO_CRASHES,)),
    FailureMode("unclean-election", "an unclean election", (_TWO_CRASHES,), is_unclean=True),
    FailureMode("power-loss", "power loss of one broker", (_POWER_LOSS,)),
    FailureMode("crash-and-power-loss", "a broker crash and a power loss", (_CRASH, _POWER_LOSS)),
    FailureMode("blackout", "power loss of all brokers", (("blackouts_left", 1),)),
    FailureMode("lost-response", "a lost response", (("lost_responses_left", 1),)),
    RESTART,
    FailureMode("consumer-crash", "a consumer crash", (("consumer_crashes_left", 1),)),
)
"""Each is explored at every moment, with followers that may fall behind."""

RECORDS, RECORDS_WITH_CONSUMER = 3, 2
"""How many records are sent: enough for every counterexample of the catalogue, and to end in seconds."""


def is_possible(failure: FailureMode, settled: EffectiveConfig) -> bool:
    """Return whether a failure can happen with these settings, and can be explored.

    An unclean election has to be allowed; what transactions do for a producer that starts again is not explored.
    """
    if failure.is_unclean:
        return settled["unclean.leader.election.enable"] == "true"
    return not (settled.is_transactional and failure == RESTART)


def has_bearing(question: GuaranteeQuestion, failure: FailureMode) -> bool:
    """Return whether a failure is asked about: what befalls the producer cannot make the consumer fail, and reverse."""
    if failure.happens_to("consumer"):
        return question.name in ("gaps", "reprocessing")
    return not (question.of_consumer and failure.happens_to("producer"))


def constants_of(cluster: ClusterConfig, settled: EffectiveConfig, *, with_consumer: bool) -> Constants:
    """Return the constants of the pipeline for settings in effect; `start_of` says which failures there are."""
    replicas = int(settled["replication.factor"])
    return {
        "records": RECORDS_WITH_CONSUMER if with_consumer else RECORDS,
        "replication_factor": replicas,
        # Above the number of replicas one value is as good as another.
        "min_insync_replicas": min(int(settled["min.insync.replicas"]), replicas + 1),
        "unclean_elections": settled["unclean.leader.election.enable"] == "true",
        "strict_min_isr": HIGH_WATERMARK_WAITS_FOR_MIN_ISR.applies_to(cluster.version),
        "eligible_leader_replicas": settled["eligible.leader.replicas.version"] == "1",
        "flushes": settled["flush.messages"] == "1",
        "max_in_flight": min(int(settled["max.in.flight.requests.per.connection"]), 3),
        # All of them: the leader may be left alone in the ISR, whatever the replication factor.
        "slow_followers": replicas - 1,
        "acks": settled["acks"],
        "idempotent": settled["enable.idempotence"] == "true",
        "retries": settled["retries"] != "0",
        "consumer": _CONSUMERS[settled["commits"]] if with_consumer else "none",
        "auto_offset_reset": _reset(settled["auto.offset.reset"]),
        "late_requests": True,
        "broker_crashes": 2,
        "power_failures": 1,
        "blackouts": 1,
        "lost_responses": 1,
        "producer_restarts": 1,
        "consumer_crashes": 1,
    }


_CONSUMERS = {"auto": "auto_commit", "first": "commits_first", "last": "commits_last", "background": "background"}


def _reset(value: str) -> str:
    """Return the pipeline's auto_offset_reset: a consumer that is away for longer than a duration skips as `latest`."""
    return "latest" if value.startswith(BY_DURATION) else value


def only(constants: Constants, left: Left) -> Constants:
    """Return constants with room for no other failure: what `start_of` leaves of a pipeline with room for all."""
    return {**constants, **{variable.removesuffix("_left"): number for variable, number in _counts(left).items()}}


def start_of(initial: State, left: Left) -> State:
    """Return the initial state of a pipeline in which nothing else may go wrong."""
    return State({**initial.values, **_counts(left)})


def _counts(left: Left) -> dict[str, int]:
    return dict.fromkeys(_VICTIMS, 0) | dict(left)
