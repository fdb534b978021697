"""Recordings of a cluster of real brokers: their log lines as events, and what the events mean to the specs."""
