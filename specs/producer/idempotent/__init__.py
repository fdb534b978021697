"""The idempotent producer: sequence numbers, epoch bumps, and the bugs of both with their remedies."""
