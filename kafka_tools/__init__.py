"""Tools that know Kafka and are not specs: advice on configuration files, recorded clients."""
