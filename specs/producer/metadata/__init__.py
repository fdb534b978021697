"""The wait for metadata: application threads, the sender thread and their wake-ups."""
