"""From real configuration files to answers: which guarantees hold under which failures, and what would change that."""
