"""Random walks as Parquet tables: their format, their parts, and statistics that need no Spark."""
