"""The producer without idempotence: accumulator, requests in flight, retries, sessions, configuration."""
