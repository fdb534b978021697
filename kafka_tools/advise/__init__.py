"""Advice on real configuration files: which guarantees hold under which failures, and which changes would help."""
