"""Executable specs of Kafka's protocols, one package per family; a spec is named `family/name`."""
