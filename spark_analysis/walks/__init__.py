"""Random walks: their format, their statistics, and their generation, also on Spark."""
