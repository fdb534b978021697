"""How Kafka replicates one partition, proposal by proposal. `docs/replication.md` tells the whole story."""
