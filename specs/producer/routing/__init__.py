"""The choice of a partition for a record, and the order of a key when the topic grows."""
