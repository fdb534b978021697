"""Generation of random walks on Spark; the format of walks and their statistics are in `traces.walks`."""
