"""Addresses of tickets: KIPs, tickets of Apache Kafka, issues of other projects."""

from __future__ import annotations

import re

_WIKI = "https://cwiki.apache.org/confluence/display/KAFKA/"

_PROPOSALS = {
    "KIP-91": "KIP-91+Provide+Intuitive+User+Timeouts+in+The+Producer",
    "KIP-98": "KIP-98+-+Exactly+Once+Delivery+and+Transactional+Messaging",
    "KIP-101": "KIP-101+-+Alter+Replication+Protocol+to+use+Leader+Epoch+rather+than+High+Watermark+for+Truncation",
    "KIP-279": "KIP-279%3A+Fix+log+divergence+between+leader+and+follower+after+fast+leader+fail+over",
    "KIP-429": "KIP-429%3A+Kafka+Consumer+Incremental+Rebalance+Protocol",
    "KIP-447": "KIP-447%3A+Producer+scalability+for+exactly+once+semantics",
    "KIP-679": "KIP-679%3A+Producer+will+enable+the+strongest+delivery+guarantee+by+default",
    "KIP-848": "KIP-848%3A+The+Next+Generation+of+the+Consumer+Rebalance+Protocol",
    "KIP-890": "KIP-890%3A+Transactions+Server-Side+Defense",
}
"""Titles of KIPs as Apache Kafka's documentation links them; the wiki has no address without the title."""

_ALL_PROPOSALS = "Kafka+Improvement+Proposals"

_PATTERN = re.compile(r"(?P<kip>KIP-\d+)|(?P<kafka>KAFKA-\d+)|(?P<project>[\w.-]+/[\w.-]+)#(?P<issue>\d+)")


def ticket_url(ticket: str) -> str:
    """Return the address of a ticket such as KIP-101, KAFKA-1211 or confluentinc/librdkafka#1092.

    The address of a KIP with an unknown title is that of the list of all KIPs.

    Raises:
        ValueError: the text has none of these forms.
    """
    found = _PATTERN.fullmatch(ticket)
    if found is None:
        raise ValueError(f"{ticket} is not a KIP, a ticket of Apache Kafka, or owner/project#number")
    if found["kip"]:
        return _WIKI + _PROPOSALS.get(ticket, _ALL_PROPOSALS)
    if found["kafka"]:
        return f"https://issues.apache.org/jira/browse/{ticket}"
    return f"https://github.com/{found['project']}/issues/{found['issue']}"
