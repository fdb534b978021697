"""The rules of replication by release: values for the constants of `switches`.

They are computed from the table of `specs.kafka_versions`.
"""

from specs.kafka_versions import (
    ANSWER_NAMES_EPOCH,
    CHECKS_BROKER_EPOCHS,
    CLEARS_ELR_WITH_MIN_ISR,
    ELIGIBLE_LEADER_REPLICAS,
    ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT,
    EPOCH_BEGINS_AT_ELECTION,
    FENCED_MAY_NOT_JOIN,
    HIGH_WATERMARK_WAITS_FOR_MIN_ISR,
    IGNORES_DIVERGING_FETCH,
    IGNORES_EPOCH_0_IN_RECOVERY,
    JOINS_AT_EPOCH_START,
    LAST_KNOWN_LEADER_MUST_LIVE,
    RECOVERS_EPOCH_0,
    REGISTRATION_LEAVES_ISR,
    REJECTS_NEWER_RECORDS,
    REMEMBERS_LAST_FETCHED_EPOCH,
    REQUESTS_CARRY_EPOCH,
    TRUNCATES_BEFORE_HIGH_WATERMARK,
    TRUNCATES_BY_EPOCH,
    TRUNCATES_CACHE_AT_END,
    TRUNCATES_IN_EVERY_EPOCH,
    TRUNCATES_ON_FETCH,
    controller_modes,
    default_controller,
)


def truncation(version):
    """Return the value of `truncation`: how a follower finds the offset to truncate to."""
    if TRUNCATES_ON_FETCH.applies_to(version):
        return "on_fetch"
    if ANSWER_NAMES_EPOCH.applies_to(version):
        return "kip279"
    return "kip101" if TRUNCATES_BY_EPOCH.applies_to(version) else "high_watermark"


def replication_rules(version, controller=None):
    """Return the constants of `Switches` that are rules of a release such as "2.8.0" in a controller mode.

    The mode is "zookeeper" or "kraft"; by default it is that of `default_controller`.

    Rules that no release has changed are included: a leader sends the bytes that its file has then, keeps what it knows
    of its followers when it is elected again, and answers appends of its earlier epochs. A log that moves to another
    directory loses the epochs without records. Eligible leader replicas are those of a new cluster.

    Raises:
        ValueError: the release does not run in this controller mode.
    """
    controller = controller or default_controller(version)
    if controller not in controller_modes(version):
        raise ValueError(f"Kafka {version} runs with {' or '.join(controller_modes(version))}, not with {controller}")

    def has(change):
        """Return whether the release has a change in this controller mode."""
        return change.applies_to(version, controller)

    def fault(cause, repair):
        """Return whether a release has a fault that one change introduced and another one repaired."""
        return has(cause) and not has(repair)

    return dict(
        truncation=truncation(version),
        epoch_on_election=has(EPOCH_BEGINS_AT_ELECTION),
        truncates_cache_at_end=has(TRUNCATES_CACHE_AT_END),
        caches_epochs_of_old_formats=fault(EPOCH_BEGINS_AT_ELECTION, IGNORES_EPOCH_0_IN_RECOVERY),
        moves_epochs_without_records=False,
        forgets_first_epoch=fault(IGNORES_EPOCH_0_IN_RECOVERY, RECOVERS_EPOCH_0),
        forgets_last_epoch=fault(TRUNCATES_ON_FETCH, REMEMBERS_LAST_FETCHED_EPOCH),
        strict_min_isr=has(HIGH_WATERMARK_WAITS_FOR_MIN_ISR),
        joins_at_epoch_start=has(JOINS_AT_EPOCH_START),
        fenced_may_join=not has(FENCED_MAY_NOT_JOIN),
        checks_broker_epochs=has(CHECKS_BROKER_EPOCHS),
        fences_fetches=has(REQUESTS_CARRY_EPOCH),
        fences_questions=has(REQUESTS_CARRY_EPOCH),
        counts_diverging_fetch=fault(TRUNCATES_ON_FETCH, IGNORES_DIVERGING_FETCH),
        high_watermark_before_truncation=fault(TRUNCATES_ON_FETCH, TRUNCATES_BEFORE_HIGH_WATERMARK),
        sends_lazily=True,
        refuses_newer_records=has(REJECTS_NEWER_RECORDS),
        drops_answers_of_other_epochs=has(REJECTS_NEWER_RECORDS),
        follows_by_leader_id=not has(TRUNCATES_IN_EVERY_EPOCH),
        keeps_followers="same_leader",
        answers_across_epochs=True,
        eligible_leader_replicas=has(ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT),
        elects_fenced_last_leader=fault(ELIGIBLE_LEADER_REPLICAS, LAST_KNOWN_LEADER_MUST_LIVE),
        clears_eligible=has(CLEARS_ELR_WITH_MIN_ISR),
        controller=controller,
        registration_leaves_isr=has(REGISTRATION_LEAVES_ISR),
    )
