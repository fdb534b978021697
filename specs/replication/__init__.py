"""Kafka's replication of one partition, proposal by proposal; docs/replication.md describes the family."""
