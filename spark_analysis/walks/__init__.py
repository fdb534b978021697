"""Random walks on Spark."""
