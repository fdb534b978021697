"""Pages of docs/ that are computed from the specs and from the table of rules by release."""
