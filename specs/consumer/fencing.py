"""Sinks that check generations: a refused commit does not undo the effects of a zombie, a fenced sink prevents them.

Scenarios: entry C3 of docs/consumer.md with its remedies.
"""

from checker.language import Bug, Scenario, step_invariant
from specs.consumer.group import ALWAYS, LARGER, REACHED, ConsumerGroup, Effect, Generation


class FencedSink(ConsumerGroup):
    """The sink stores the highest generation that wrote to it and refuses earlier ones: a fencing token."""

    fence = Generation

    def take_effect(self, member, record):
        """Write, or learn that another consumer owns the partition."""
        if self.generation_of[member] >= self.fence:
            self.fence = self.generation_of[member]
            super().take_effect(member, record)
        else:
            self.lose(member)


class TransactionalSink(ConsumerGroup):
    """One transaction writes effect and offset; its offset commit carries member and generation (KIP-447).

    In the consumer protocol the transaction carries the member epoch instead of the generation, and the fence is that
    of `specs.consumer.protocol_commits`: ConsumerGroup.validateOffsetCommit does not distinguish transactions.
    Source: KafkaProducer.sendOffsetsToTransaction, GroupMetadataManager and ClassicGroup.validateOffsetCommit (with
    isTransactional), KIP-447.
    """

    commit_position = None

    def take_effect(self, member, record):
        """Write effect and offset, or neither if the offset commit is refused."""
        if self.accepts_commit_of(member):
            super().take_effect(member, record)
            self.committed = record + 1
        else:
            self.lose(member)

    @step_invariant(says="committed {self.committed} by {self.effects}; the generation is {old.generation}")
    def only_members_commit(self, old):
        """A commit is atomic with the effect of a record, in the current generation."""
        return self.committed == old.committed or (
            len(self.effects) == len(old.effects) + 1
            and self.effects[len(old.effects)] == Effect(record=self.committed - 1, generation=old.generation)
        )


scenarios = [
    Bug("c3_zombie", ConsumerGroup, violates={"no_zombie_effect": 9}, size=dict(session_timeouts=1),
        faulty=dict(session_timeouts=0), fixed_spec=FencedSink, larger=LARGER,
        promises=["no_zombie_effect", *ALWAYS, *REACHED], fixed_name="c3_fixed_fenced_sink",
        description="C3: a consumer polls, pauses and is evicted; after another has taken over, the first one resumes.",
        remedy="C3 with a sink that refuses earlier generations: zombies have no effect; duplicates remain."),
    Scenario(TransactionalSink, "c3_fixed_transactions", dict(session_timeouts=1),
        description="C3 with effect and offset in one transaction, fenced by generation (KIP-447)."),
    Scenario(TransactionalSink, "c3_fixed_transactions_larger",
        dict(LARGER, evictions=2, session_timeouts=1, records=3),
        description="C3 with transactions, three members, three records, two rebalances."),
]  # fmt: skip
