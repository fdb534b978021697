"""Consumers: position and committed offset, commit policies, groups and generations, truncation, worker threads."""
