"""Addresses of Kafka's tickets: improvement proposals and issues."""

_WIKI = "https://cwiki.apache.org/confluence/display/KAFKA/"

PROPOSALS = {"KIP-91": "KIP-91+Provide+Intuitive+User+Timeouts+in+The+Producer",
    "KIP-98": "KIP-98+-+Exactly+Once+Delivery+and+Transactional+Messaging",
    "KIP-101": "KIP-101+-+Alter+Replication+Protocol+to+use+Leader+Epoch+rather+than+High+Watermark+for+Truncation",
    "KIP-279": "KIP-279%3A+Fix+log+divergence+between+leader+and+follower+after+fast+leader+fail+over",
    "KIP-320": "KIP-320%3A+Allow+fetchers+to+detect+and+handle+log+truncation",
    "KIP-360": "KIP-360%3A+Improve+reliability+of+idempotent%2Ftransactional+producer",
    "KIP-392": "KIP-392%3A+Allow+consumers+to+fetch+from+closest+replica",
    "KIP-429": "KIP-429%3A+Kafka+Consumer+Incremental+Rebalance+Protocol",
    "KIP-447": "KIP-447%3A+Producer+scalability+for+exactly+once+semantics",
    "KIP-497": "KIP-497%3A+Add+inter-broker+API+to+alter+ISR",
    "KIP-679": "KIP-679%3A+Producer+will+enable+the+strongest+delivery+guarantee+by+default",
    "KIP-841": "KIP-841%3A+Fenced+replicas+should+not+be+allowed+to+join+the+ISR+in+KRaft",
    "KIP-848": "KIP-848%3A+The+Next+Generation+of+the+Consumer+Rebalance+Protocol",
    "KIP-890": "KIP-890%3A+Transactions+Server-Side+Defense",
    "KIP-903": "KIP-903%3A+Replicas+with+stale+broker+epoch+should+not+be+allowed+to+join+the+ISR",
    "KIP-939": "KIP-939%3A+Support+Participation+in+2PC", "KIP-966": "KIP-966%3A+Eligible+Leader+Replicas"}  # fmt: skip
"""Titles of KIPs as Apache Kafka's documentation links them; the wiki has no address without the title."""

PROPOSAL = _WIKI + "{}"
"""The address of a KIP, with `{}` for its title."""

ALL_PROPOSALS = _WIKI + "Kafka+Improvement+Proposals"
"""The address of the list of all KIPs: for a KIP with an unknown title."""

ISSUE = "https://issues.apache.org/jira/browse/{}"
"""The address of an issue such as KAFKA-7128, with `{}` for its name."""
