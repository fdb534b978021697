"""Exhaustive breadth-first exploration: kernels in LLVM, an exact store of states, and the search that drives both.

Read in this order: `memory_layout` (shards, records, entries), `shard_record`, `hash_table`, `expansion` and
`insertion` (the two halves of a round), `kernel_definitions` (the entry points), `kernels` (their calls), `store` (the
memory, from Python), `search`.
"""
