"""The museum: the entries of the catalogue of Kafka's bugs, and the site that shows them."""
