"""Scenarios of the exactly-once loop: what keeps it exactly once, and the mistakes and bugs that do not.

docs/transactions.md describes them. Entry T8 is KAFKA-18019.
"""

from checker.language import Bug, Scenario
from specs.scenario_forms import violates
from specs.transactions.exactly_once import ExactlyOnceLoop

SAFETY = ["refines", "no_duplicate", "no_reorder", "no_gap", "no_result_above_offset", "no_fenced_record_committed",
    "stable_offset_never_goes_back", "reads_are_stable"]  # fmt: skip
LIVENESS = ["every_record_has_a_readable_result", "output_becomes_stable", "offsets_become_stable"]
PROMISES = [*SAFETY, *LIVENESS, "everything_is_processed"]

ONE_REBALANCE = dict(crashes=0)
ONE_CRASH = dict(rebalances=0)
BATCHES = dict(crashes=0, max_poll_records=2)
ID_PER_PARTITION = dict(transactional_id="partition", fences_generations=False, requires_stable=False)
"""An application before KIP-447, with consumers of that time."""

scenarios = [
    Scenario(ExactlyOnceLoop, "rebalance", ONE_REBALANCE,
        description="Two transactions and a rebalance: exactly once."),
    Scenario(ExactlyOnceLoop, "rebalance_version_1", dict(ONE_REBALANCE, transaction_version=1),
        description="The same with transaction version 1: a producer keeps its epoch over its transactions."),
    Scenario(ExactlyOnceLoop, "rebalance_and_timeout", dict(records=1, crashes=0, slow_transactions=1),
        properties=PROMISES,
        description="The coordinator aborts a transaction that its instance, perhaps a zombie, still works on."),
    Scenario(ExactlyOnceLoop, "id_per_partition", dict(ONE_REBALANCE, **ID_PER_PARTITION),
        description="Before KIP-447: one transactional.id per input partition, and initTransactions fences zombies."),
    violates(ExactlyOnceLoop, "late_initialization_fences_the_owner",
        dict(ONE_REBALANCE, **ID_PER_PARTITION, late_initializations=1), {"owner_is_not_fenced": 6},
        "One transactional.id per input partition: the initTransactions of a zombie comes last, and fences the owner."),
    Scenario(ExactlyOnceLoop, "late_initialization_duplicates_nothing",
        dict(ONE_REBALANCE, **ID_PER_PARTITION, late_initializations=1), properties=PROMISES,
        description="The owner that a zombie has fenced starts again: exactly once."),
    Bug("t8_recovered_mapping", ExactlyOnceLoop, violates={"no_duplicate": 19},
        size=dict(ONE_REBALANCE, **ID_PER_PARTITION, records=1, expirations=1, after_abort="transaction_start"),
        larger=dict(ONE_REBALANCE, **ID_PER_PARTITION, expirations=1, late_initializations=1)
        | dict(after_abort="transaction_start"),
        faulty=dict(lost_mapping="recover"), fixed=dict(lost_mapping="fatal"), promises=PROMISES,
        description="T8 (KAFKA-18019): a fenced instance is idle until its transactional.id expires; then it continues "
        "with a new producer id, and processes records that its successor has processed.",
        remedy="T8: INVALID_PRODUCER_ID_MAPPING is fatal (KAFKA-18019, 4.0). The instance starts again, at the "
        "committed offset."),
    Scenario(ExactlyOnceLoop, "recovered_at_the_committed_offset",
        dict(ONE_REBALANCE, **ID_PER_PARTITION, expirations=1, lost_mapping="recover"), properties=PROMISES,
        description="The recovery of KAFKA-18019 repeats no record if the application seeks to the committed offset "
        "after every abort."),
    Scenario(ExactlyOnceLoop, "recovered_with_generations",
        dict(ONE_REBALANCE, records=1, expirations=1, lost_mapping="recover", after_abort="transaction_start"),
        properties=PROMISES,
        description="The recovery of KAFKA-18019 repeats no record if TxnOffsetCommit carries the generation."),
    Scenario(ExactlyOnceLoop, "lost_answers_version_1",
        dict(ONE_REBALANCE, records=1, lost_answers=2, transaction_version=1), properties=PROMISES,
        description="Answers to AddPartitionsToTxn, EndTxn and TxnOffsetCommit are lost, with transaction version 1."),
    Bug("lost_add_assumed", ExactlyOnceLoop, violates={"output_becomes_stable": 11},
        size=dict(rebalances=0, crashes=0, records=1, lost_answers=1),
        larger=dict(rebalances=0, crashes=0, lost_answers=2), faulty=dict(lost_add="assume"),
        fixed=dict(lost_add="repeat"), promises=PROMISES,
        description="A producer takes partitions for added although AddPartitionsToTxn was lost: no marker ends its "
        "transaction. Here no leader verifies it.",
        remedy="The producer sends AddPartitionsToTxn again before anything else of the transaction."),
    Scenario(ExactlyOnceLoop, "lost_add_forgotten", dict(ONE_REBALANCE, records=1, lost_answers=1, lost_add="forget"),
        properties=PROMISES,
        description="A producer takes a transaction for not begun that the coordinator has begun: exactly once. The "
        "partitions get a marker with the next transaction, or after the timeout."),
    Bug("commit_timeout_starts_over", ExactlyOnceLoop, violates={"no_duplicate": 15},
        size=dict(ONE_REBALANCE, records=1, lost_answers=2), larger=dict(ONE_REBALANCE, lost_answers=1),
        faulty=dict(lost_commit="transaction_start"), fixed=dict(lost_commit="repeat"), promises=PROMISES,
        description="The answer to commitTransaction is lost, and the application goes back to the start of the "
        "transaction, which was committed.",
        remedy="The application calls commitTransaction again; the coordinator recognizes the retry."),
    Bug("offsets_outside_the_transaction", ExactlyOnceLoop, violates={"no_duplicate": 14}, size=ONE_CRASH,
        larger=dict(ONE_CRASH, max_poll_records=2), faulty=dict(offsets_in_transaction=False),
        fixed=dict(offsets_in_transaction=True), promises=PROMISES,
        description="commitSync after the transaction: the instance dies in between, and its successor repeats the "
            "record.", remedy="sendOffsetsToTransaction: results and offset are committed together, or not at all."),
    Bug("no_generation_fencing", ExactlyOnceLoop, violates={"no_duplicate": 15}, size=dict(ONE_REBALANCE, records=1),
        larger=dict(records=1, crashes=0, rebalances=2), faulty=dict(fences_generations=False),
        fixed=dict(fences_generations=True), promises=PROMISES,
        description="sendOffsetsToTransaction without group metadata, one transactional.id per instance: a zombie "
        "commits a record that the new owner has processed.",
        remedy="KIP-447: TxnOffsetCommit with member and generation; the zombie's commit is refused."),
    Bug("unstable_offset_is_read", ExactlyOnceLoop, violates={"no_duplicate": 15}, size=dict(ONE_REBALANCE, records=1),
        larger=BATCHES, faulty=dict(requires_stable=False), fixed=dict(requires_stable=True), promises=PROMISES,
        description="The new owner starts at the committed offset while the commit of its predecessor is pending.",
        remedy="KIP-447: UNSTABLE_OFFSET_COMMIT until the pending transaction is decided in the offsets partition."),
    Bug("position_kept_after_abort", ExactlyOnceLoop, violates={"no_gap": 11},
        size=dict(rebalances=0, crashes=0, aborts=1), larger=dict(rebalances=0, crashes=0, aborts=2),
        faulty=dict(after_abort="keep"), fixed=dict(after_abort="committed"), promises=PROMISES,
        description="After an abort the application polls on: the records of the aborted transaction are left out.",
        remedy="After an abort the application seeks to the committed offset."),
    Bug("shared_transactional_id", ExactlyOnceLoop, violates={"owner_is_not_fenced": 4},
        size=dict(ONE_REBALANCE, records=1), faulty=dict(transactional_id="shared"),
        fixed=dict(transactional_id="instance"), promises=["owner_is_not_fenced", *LIVENESS],
        description="Two instances are configured with the same transactional.id: the one that starts fences the "
            "other.", remedy="One transactional.id per instance: only a transaction timeout fences an owner."),
    Bug("random_transactional_id", ExactlyOnceLoop, violates={"no_duplicate": 15},
        size=dict(ONE_REBALANCE, transactional_id="random"),
        larger=dict(records=1, rebalances=0, transactional_id="random"), faulty=dict(fences_generations=False),
        fixed=dict(fences_generations=True), promises=PROMISES,
        description="A new transactional.id at every start, without generations: nothing fences the zombie.",
        remedy="KIP-447: with generations the transactional.id may be new at every start; a transaction that an "
        "instance has left behind ends with transaction.timeout.ms."),
]  # fmt: skip
