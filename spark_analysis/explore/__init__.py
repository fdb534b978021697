"""Breadth-first exploration on Spark, with the states on disk."""
