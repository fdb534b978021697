"""Executable specs of Kafka's protocols, one package per family; a spec is named `family/name`."""

TICKETS = {
    r"\bKAFKA-\d+\b": "https://issues.apache.org/jira/browse/{}",
    # An address of a KIP has its whole title; the list of all KIPs links them.
    r"\bKIP-\d+\b": "https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals",
}
"""Patterns of tickets in the descriptions of scenarios, with the address of a ticket."""
