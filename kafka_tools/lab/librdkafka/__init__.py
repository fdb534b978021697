"""Recordings of a real producer: librdkafka, from the package confluent-kafka, with its mock cluster."""
