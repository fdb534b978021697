"""Clusters of real brokers on this machine, and experiments that break them."""
