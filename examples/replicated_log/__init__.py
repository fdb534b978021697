"""A replicated log in memory, its spec, and a test that drives the one along the other; see docs/testing.md."""
