"""A replicated log in memory, its spec, and a test that drives the implementation along the spec: docs/python.md."""
