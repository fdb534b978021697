"""Kafka's transactions: the coordinator, the partition leader, the producer, and all of them together."""
