"""The broker: what a partition leader and its network layer keep and answer."""
