"""Sinks that know generations: what a zombie's effects take that a refused commit does not take back.

Scenarios: the repairs of entry C3 of docs/consumer.md.
"""

from checker.language import Scenario, step_invariant
from specs.consumer.group import ALWAYS, LARGER, REACHED, ConsumerGroup, Effect, Generation


class FencedSink(ConsumerGroup):
    """The sink remembers the highest generation that wrote to it, and refuses earlier ones: a fencing token."""

    fence = Generation

    def take_effect(self, member, record):
        """Write, or find out that somebody else has the partition."""
        if self.generation_of[member] >= self.fence:
            self.fence = self.generation_of[member]
            super().take_effect(member, record)
        else:
            self.lose(member)


class TransactionalSink(ConsumerGroup):
    """Effect and offset are one transaction, whose offset commit carries member and generation (KIP-447).

    Source: KafkaProducer.sendOffsetsToTransaction, GroupMetadataManager and ClassicGroup.validateOffsetCommit (with
    isTransactional), KIP-447.
    """

    commit_position = None

    def take_effect(self, member, record):
        """Write effect and offset, or, where the offset commit is refused, neither."""
        if self.takes_commit_of(member):
            super().take_effect(member, record)
            self.committed = record + 1
        else:
            self.lose(member)

    @step_invariant(says="committed {self.committed} by {self.effects}; the generation is {old.generation}")
    def only_members_commit(self, old):
        """What is committed goes with the effect of a record, in the generation that the coordinator is in."""
        return self.committed == old.committed or (
            len(self.effects) == len(old.effects) + 1
            and self.effects[len(old.effects)] == Effect(record=self.committed - 1, generation=old.generation)
        )


scenarios = [
    Scenario(
        FencedSink,
        "c3_fixed_fenced_sink",
        dict(session_timeouts=1),
        properties=["no_zombie_effect", *ALWAYS, *REACHED],
        description="C3 with a sink that refuses earlier generations: no zombie has an effect; records may come twice.",
    ),
    Scenario(
        FencedSink,
        "c3_fixed_fenced_sink_larger",
        LARGER,
        properties=["no_zombie_effect", *ALWAYS, *REACHED],
        description="C3 with such a sink, three members and two rebalances.",
    ),
    Scenario(
        TransactionalSink,
        "c3_fixed_transactions",
        dict(session_timeouts=1),
        description="C3 with effect and offset in one transaction, fenced by generation (KIP-447): nothing goes wrong.",
    ),
    Scenario(
        TransactionalSink,
        "c3_fixed_transactions_larger",
        dict(LARGER, evictions=2, session_timeouts=1, records=3),
        description="C3 with transactions, three members, three records, two rebalances.",
    ),
]
