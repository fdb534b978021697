"""Real producers recorded: librdkafka, from the package confluent-kafka, against the mock cluster that it carries."""
