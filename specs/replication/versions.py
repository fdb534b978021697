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
    KRAFT_ONLY,
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
)


def truncation(version):
    """Return the value of `truncation`: how a follower finds the offset to truncate to."""
    if TRUNCATES_ON_FETCH.applies_to(version):
        return "on_fetch"
    if ANSWER_NAMES_EPOCH.applies_to(version):
        return "kip279"
    return "kip101" if TRUNCATES_BY_EPOCH.applies_to(version) else "high_watermark"


def replication_rules(version):
    """Return the constants of `Switches` that are rules of a release such as "2.8.0".

    Rules that no release has changed are included: a leader sends the bytes that its file has then, keeps what it knows
    of its followers when it is elected again, and answers appends of its earlier epochs. A log that moves to another
    directory loses the epochs without records. Eligible leader replicas are those of a new cluster. From 4.0 on the
    controller is KRaft's; before, ZooKeeper's.
    """

    def fault(cause, repair):
        """Return whether a release has a fault that one change introduced and another one repaired."""
        return cause.applies_to(version) and not repair.applies_to(version)

    return dict(
        truncation=truncation(version),
        epoch_on_election=EPOCH_BEGINS_AT_ELECTION.applies_to(version),
        truncates_cache_at_end=TRUNCATES_CACHE_AT_END.applies_to(version),
        caches_epochs_of_old_formats=fault(EPOCH_BEGINS_AT_ELECTION, IGNORES_EPOCH_0_IN_RECOVERY),
        moves_epochs_without_records=False,
        forgets_first_epoch=fault(IGNORES_EPOCH_0_IN_RECOVERY, RECOVERS_EPOCH_0),
        forgets_last_epoch=fault(TRUNCATES_ON_FETCH, REMEMBERS_LAST_FETCHED_EPOCH),
        strict_min_isr=HIGH_WATERMARK_WAITS_FOR_MIN_ISR.applies_to(version),
        joins_at_epoch_start=JOINS_AT_EPOCH_START.applies_to(version),
        fenced_may_join=not FENCED_MAY_NOT_JOIN.applies_to(version),
        checks_broker_epochs=CHECKS_BROKER_EPOCHS.applies_to(version),
        fences_fetches=REQUESTS_CARRY_EPOCH.applies_to(version),
        fences_questions=REQUESTS_CARRY_EPOCH.applies_to(version),
        counts_diverging_fetch=fault(TRUNCATES_ON_FETCH, IGNORES_DIVERGING_FETCH),
        high_watermark_before_truncation=fault(TRUNCATES_ON_FETCH, TRUNCATES_BEFORE_HIGH_WATERMARK),
        sends_lazily=True,
        refuses_newer_records=REJECTS_NEWER_RECORDS.applies_to(version),
        drops_answers_of_other_epochs=REJECTS_NEWER_RECORDS.applies_to(version),
        follows_by_leader_id=not TRUNCATES_IN_EVERY_EPOCH.applies_to(version),
        keeps_followers="same_leader",
        answers_across_epochs=True,
        eligible_leader_replicas=ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT.applies_to(version),
        elects_fenced_last_leader=fault(ELIGIBLE_LEADER_REPLICAS, LAST_KNOWN_LEADER_MUST_LIVE),
        clears_eligible=CLEARS_ELR_WITH_MIN_ISR.applies_to(version),
        controller="kraft" if KRAFT_ONLY.applies_to(version) else "zookeeper",
        registration_leaves_isr=REGISTRATION_LEAVES_ISR.applies_to(version),
    )
