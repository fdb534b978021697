"""Experiments with real brokers, as their files describe them; `kafka_tools.lab` runs them."""
