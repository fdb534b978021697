"""The site: the pages of docs/ and the museum of Kafka's bugs as HTML without network access."""
