"""Reports on random walks: counts computed by Spark, violations grouped by cause, one HTML page."""
