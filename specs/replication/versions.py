"""The rules of replication by release: values for the constants of `switches`.

They are computed from the table of `specs.kafka_versions`.
"""

from specs import kafka_versions as kafka


def truncation(version):
    """Return the value of `truncation`: how a follower finds the offset to truncate to."""
    if kafka.TRUNCATES_ON_FETCH.applies_to(version):
        return "on_fetch"
    if kafka.ANSWER_NAMES_EPOCH.applies_to(version):
        return "kip279"
    return "kip101" if kafka.TRUNCATES_BY_EPOCH.applies_to(version) else "high_watermark"


def replication_rules(version, controller=None):
    """Return the constants of `Switches` that are rules of a release such as "2.8.0" in a controller mode.

    The mode is "zookeeper" or "kraft"; by default it is that of `default_controller`.

    Rules that no release has changed are included: a leader sends the bytes that its file has then, keeps what it knows
    of its followers when it is elected again, and answers appends of its earlier epochs. A log that moves to another
    directory loses the epochs without records. Eligible leader replicas are those of a new cluster.

    Raises:
        ValueError: the release does not run in this controller mode.
    """
    controller = controller or kafka.default_controller(version)
    if controller not in kafka.controller_modes(version):
        raise ValueError(
            f"Kafka {version} runs with {' or '.join(kafka.controller_modes(version))}, not with {controller}"
        )

    def has(change):
        """Return whether the release has a change in this controller mode."""
        return change.applies_to(version, controller)

    def fault(cause, repair):
        """Return whether a release has a fault that one change introduced and another one repaired."""
        return has(cause) and not has(repair)

    return dict(
        truncation=truncation(version),
        epoch_on_election=has(kafka.EPOCH_BEGINS_AT_ELECTION),
        truncates_cache_at_end=has(kafka.TRUNCATES_CACHE_AT_END),
        caches_epochs_of_old_formats=fault(kafka.EPOCH_BEGINS_AT_ELECTION, kafka.IGNORES_EPOCH_0_IN_RECOVERY),
        moves_epochs_without_records=False,
        forgets_first_epoch=fault(kafka.IGNORES_EPOCH_0_IN_RECOVERY, kafka.RECOVERS_EPOCH_0),
        forgets_last_epoch=fault(kafka.TRUNCATES_ON_FETCH, kafka.REMEMBERS_LAST_FETCHED_EPOCH),
        strict_min_isr=has(kafka.HIGH_WATERMARK_WAITS_FOR_MIN_ISR),
        joins_at_epoch_start=has(kafka.JOINS_AT_EPOCH_START),
        fenced_may_join=not has(kafka.FENCED_MAY_NOT_JOIN),
        checks_broker_epochs=has(kafka.CHECKS_BROKER_EPOCHS),
        fences_fetches=has(kafka.REQUESTS_CARRY_EPOCH),
        fences_questions=has(kafka.REQUESTS_CARRY_EPOCH),
        counts_diverging_fetch=fault(kafka.TRUNCATES_ON_FETCH, kafka.IGNORES_DIVERGING_FETCH),
        high_watermark_before_truncation=fault(kafka.TRUNCATES_ON_FETCH, kafka.TRUNCATES_BEFORE_HIGH_WATERMARK),
        sends_lazily=True,
        refuses_newer_records=has(kafka.REJECTS_NEWER_RECORDS),
        drops_answers_of_other_epochs=has(kafka.REJECTS_NEWER_RECORDS),
        follows_by_leader_id=not has(kafka.TRUNCATES_IN_EVERY_EPOCH),
        keeps_followers="same_leader",
        answers_across_epochs=True,
        eligible_leader_replicas=has(kafka.ELIGIBLE_LEADER_REPLICAS_BY_DEFAULT),
        elects_fenced_last_leader=fault(kafka.ELIGIBLE_LEADER_REPLICAS, kafka.LAST_KNOWN_LEADER_MUST_LIVE),
        clears_eligible=has(kafka.CLEARS_ELR_WITH_MIN_ISR),
        controller=controller,
        registration_leaves_isr=has(kafka.REGISTRATION_LEAVES_ISR),
    )
