"""The producer: accumulator, requests in flight, retries, idempotent sequences, memory."""
