"""Real brokers and producers: clusters, experiments and recordings. No other room of the project imports this one."""
