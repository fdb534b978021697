"""Addresses of tickets: KIPs, tickets of Apache Kafka, issues of other projects."""

from __future__ import annotations

import re

from specs.tickets import ALL_PROPOSALS, ISSUE, PROPOSAL, PROPOSALS

_PATTERN = re.compile(r"(?P<kip>KIP-\d+)|(?P<kafka>KAFKA-\d+)|(?P<project>[\w.-]+/[\w.-]+)#(?P<issue>\d+)")


def ticket_url(ticket: str) -> str:
    """Return the address of a ticket such as KIP-101, KAFKA-1211 or confluentinc/librdkafka#1092.

    The address of a KIP with an unknown title is that of the list of all KIPs.

    Raises:
        ValueError: the text has none of these forms.
    """
    match = _PATTERN.fullmatch(ticket)
    if match is None:
        raise ValueError(f"{ticket} is not a KIP, a ticket of Apache Kafka, or owner/project#number")
    if match["kip"]:
        return PROPOSAL.format(PROPOSALS[ticket]) if ticket in PROPOSALS else ALL_PROPOSALS
    if match["kafka"]:
        return ISSUE.format(ticket)
    return f"https://github.com/{match['project']}/issues/{match['issue']}"
