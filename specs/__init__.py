"""Executable specs of Kafka's protocols, one package per family; a spec is named `family/name`."""

from specs.tickets import ALL_PROPOSALS, ISSUE, PROPOSAL, PROPOSALS

TICKETS = {
    r"\bKAFKA-\d+\b": ISSUE,
    r"\bKIP-\d+\b": ALL_PROPOSALS,
    **{rf"\b{name}\b": PROPOSAL.format(title) for name, title in PROPOSALS.items()},
}
"""Patterns of tickets in the texts of specs, with the address of a ticket; a later pattern replaces an earlier one."""
