"""Validation of many recorded traces on Spark."""
