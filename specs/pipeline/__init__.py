"""The whole pipeline as an application sees it: a producer, a replicated partition and a consumer."""
