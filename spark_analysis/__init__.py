"""What outgrows one machine, on Spark: exploration, random walks and their reports, validation of many logs."""
