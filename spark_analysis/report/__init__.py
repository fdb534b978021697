"""The report on random walks: counts by Spark, violations grouped by cause, one HTML page."""
