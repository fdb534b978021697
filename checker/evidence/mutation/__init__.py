"""Mutation of specs: changes that a property should notice, one at a time, and which of them it does."""
