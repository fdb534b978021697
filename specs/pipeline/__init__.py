"""The whole pipeline, as the application sees it: a producer, a replicated partition and a consumer."""
