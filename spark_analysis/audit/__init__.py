"""The audit of partition folders as they are on a broker's disk: damaged files and broken rules of the log."""
