"""The rules of eligible leader replicas (ELR, KIP-966) that several specs share.

Source: PartitionChangeBuilder.
"""


def eligible_replicas(eligible, old_isr, isr, min_isr):
    """Return the ELR after a change of the ISR: below min.insync.replicas, whoever left the ISR has every record.

    Source: maybePopulateTargetElr.
    """
    return set() if len(isr) >= min_isr else (eligible | old_isr) - isr


def is_clean_choice(replica, isr, eligible):
    """Return whether a clean election may choose an active replica: of the ISR, or of the ELR if the ISR is empty.

    Source: isValidNewLeader.
    """
    return replica in isr or (len(isr) == 0 and replica in eligible)
