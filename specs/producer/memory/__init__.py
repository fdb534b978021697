"""The bounded memory of the producer: buffer pool, append, close and flush, reuse of buffers."""
