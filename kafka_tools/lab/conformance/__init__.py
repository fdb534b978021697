"""Kafka's own classes beside the specs: their answers compared with a rule's, or as the steps of a search."""
