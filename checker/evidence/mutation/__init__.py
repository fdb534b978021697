"""Mutation of specs: small changes, one at a time, and the properties that detect them."""
