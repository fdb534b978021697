"""What the catalogue knows beyond the explorations: the entries that say yes for settings, a release and a failure."""

from __future__ import annotations

import functools

from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.effective_config import EffectiveConfig
from kafka_tools.advise.facts import facts_of
from kafka_tools.advise.models import acknowledges_implicitly, includes
from kafka_tools.advise.questions import FAILURES, FailureMode, GuaranteeQuestion, refuses_every_write
from specs.hazards import EVENTS, Hazard, hazards, known_hazards

_BY_SLUG = {failure.slug: failure for failure in FAILURES}


def hazards_of(
    cluster: ClusterConfig, config: EffectiveConfig, question: GuaranteeQuestion, failure: FailureMode
) -> tuple[Hazard, ...]:
    """Return the entries that say yes to a question for a failure, or for one that it includes.

    None does where every write is refused: the partition stays empty.
    """
    if refuses_every_write(cluster, config):
        return ()
    return tuple(known_hazards(cluster.version, facts_of(cluster, config), question.name, events_within(failure)))


def causes_of(
    cluster: ClusterConfig, config: EffectiveConfig, question: GuaranteeQuestion, failure: FailureMode
) -> tuple[Hazard, ...]:
    """Return the entries that can be the cause of a yes, also by an outcome that has further conditions.

    A record that is left out counts as acknowledged only for a client that acknowledges earlier records implicitly.
    """
    facts, events = facts_of(cluster, config), events_within(failure)
    left_out_is_lost = acknowledges_implicitly(cluster, config)
    return tuple(
        hazard
        for hazard in hazards().values()
        if question.name in (*hazard.outcomes, *hazard.also)
        if hazard.can_happen(cluster.version, facts, events, question.name)
        if question.name != "loss" or hazard.outcomes != ("stuck",) or left_out_is_lost
    )


@functools.cache
def events_within(failure: FailureMode) -> frozenset[str]:
    """Return the events that may happen with a failure: itself, and those that need less."""
    if failure.left and not failure.overrides:
        return frozenset(
            slug
            for slug, other in _BY_SLUG.items()
            if other == failure or (other.left and not other.overrides and includes(failure.left, other.left))
        )
    return frozenset({failure.slug})


def hazards_after(cluster: ClusterConfig, config: EffectiveConfig, failure: FailureMode) -> tuple[Hazard, ...]:
    """Return the entries that a failure may cause with these settings, whatever their outcome."""
    facts = facts_of(cluster, config)
    return tuple(hazard for hazard in hazards().values() if failure.slug in hazard.events(cluster.version, facts))


def unexplored(cluster: ClusterConfig, config: EffectiveConfig) -> dict[str, tuple[Hazard, ...]]:
    """Return every event that no model of advice has, with the entries that it may cause with these settings."""
    facts = facts_of(cluster, config)
    # A consumer without client.rack reads from the leader.
    impossible = [] if "client.rack" in config.choices else ["follower-reads"]
    impossible += [] if "compact" in config["cleanup.policy"] else ["compaction"]
    return {
        event: tuple(hazard for hazard in hazards().values() if event in hazard.events(cluster.version, facts))
        for event in EVENTS
        if event not in _BY_SLUG
        and event not in ("none", *impossible, "abort", "coordinator-change", "transaction-timeout")
    }


def of_transactions(
    cluster: ClusterConfig, config: EffectiveConfig, events: frozenset[str] | None = None
) -> tuple[Hazard, ...]:
    """Return the entries about the transactions of a transactional producer after some events (None: any)."""
    if not config.is_transactional:
        return ()
    return tuple(known_hazards(cluster.version, facts_of(cluster, config), "transactions", events))
