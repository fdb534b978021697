"""The loop by which workers share the shards of a round half."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from checker.engines.native.explore.memory_layout import SHARDS
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import endless_loop, word


@contextmanager
def shards_taken(builder: ir.IRBuilder, next_shard: ir.Value) -> Iterator[ir.Value]:
    """Emit a loop over the shards (i64) that no other worker has taken."""
    with endless_loop(builder, "shards") as loop:
        # Monotonic is enough: the number must be unique, but it publishes no data. The counter ends above SHARDS, by
        # one per worker, and `SearchStore.offer_shards` resets it.
        shard = builder.atomic_rmw("add", next_shard, word(1), "monotonic")
        loop.leave_if(builder.icmp_unsigned(">=", shard, word(SHARDS)))
        yield shard
