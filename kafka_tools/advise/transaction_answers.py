"""What may happen to the transactions of a producer, by its release and settings: the specs of transactions answer."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from checker.language.spec import Spec
from checker.run.account import account_of
from checker.run.plan import Plan
from checker.run.result import Violation
from kafka_tools.advise.answer_cache import AnswerCache
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.configuration_keys import TRANSACTION_VERSION
from kafka_tools.advise.effective_config import EffectiveConfig
from kafka_tools.advise.survey import Explored, replayed
from specs.kafka_versions import EPOCH_PER_TRANSACTION, VERIFIES_TRANSACTIONS
from specs.transactions.guarantees import ENTRIES, PROPERTIES, RULES, SIZES
from specs.transactions.transactional_producer import Transactions
from specs.transactions.two_phase_commit import TwoPhaseCommit

if TYPE_CHECKING:
    from checker.engines.native.cache.shared_lowering import SharedLowered
    from checker.engines.native.engine import Lowering
    from checker.engines.native.explore.lowered_spec import LoweredSpec
    from checker.engines.native.shared_code import SharedCode

Verdict = Literal["yes", "no", "undecided"]
Constants = Mapping[str, Any]
Explore = Callable[[Spec, Sequence[str]], Explored]
"""Explores a spec for some properties."""

DEFAULT_TIMEOUT, LARGEST_TIMEOUT = 60_000, 900_000
"""The defaults of transaction.timeout.ms and of the broker's transaction.max.timeout.ms, in ms."""

_RESTARTED = dict(instances=2, max_epoch=8, max_late=0, max_arrivals=3, log_size=10)


@dataclass(frozen=True)
class TransactionQuestion:
    """A question about transactions: the spec, its size and the properties that answer it.

    `of`: the guarantee of `--require` that a yes violates. `events`: the events after which it asks, of `EVENTS`.
    `entry`: the entry of the catalogue that it is about, "" if none. `name` is part of the names of pages.
    """

    name: str
    text: str
    spec: type[Spec]
    size: Constants
    properties: tuple[str, ...]
    of: str
    events: tuple[str, ...]
    entry: str = ""

    @property
    def accepted_as(self) -> str:
        """The name of a yes in `--accept`."""
        return self.entry or self.name


def _of_column(column: str, text: str, of: str, *events: str) -> TransactionQuestion:
    """Return the question of a column of the table of docs/transactions.md."""
    spec, size = SIZES[column]
    room = dict(log_size=10) if spec is Transactions else {}
    name, entry = column.replace("_", "-"), ENTRIES[column]
    return TransactionQuestion(name, text, spec, {**size, **room}, PROPERTIES[column], of, events, entry)


_ROOM = ("max_arrivals", "max_epoch", "max_late", "max_marker_copies", "transactions")
"""The constants of `Transactions` that types use for sizes only: code for larger values serves smaller ones too."""

_LATE_RECORD = ("network-delay", "delivery-timeout")
"""A client gives up a record after a delivery timeout, and the request may still arrive."""

_COORDINATOR_MOVES = (
    "coordinator-change",
    "leader-change",
    "crash",
    "power-loss",
    "empty-disk",
    "disk-lost",
    "blackout",
    "retries-exhausted",
)
"""The coordinator leads a partition, and moves with its leadership: also after a broker stops."""

_TIMEOUT, _RESTART = "transaction-timeout", "producer-restart"


QUESTIONS = (
    _of_column("late_hang", "a transaction stays open for ever after a late record (T1)", "stuck", *_LATE_RECORD),
    _of_column("late_read", "an aborted record is committed by a late request (T2)", "duplicates", *_LATE_RECORD),
    _of_column("late_torn", "half of a transaction is committed after a late EndTxn (T3)", "loss", "network-delay"),
    _of_column(
        "coordinator",
        "a transaction never completes after the coordinator has moved (T4)",
        "stuck",
        *_COORDINATOR_MOVES,
    ),
    _of_column("exhausted", "a transaction stays open for ever because no epoch is left (T6)", "stuck", _TIMEOUT),
    _of_column("late_marker", "a committed record is lost by a late marker", "loss", "network-delay"),
    _of_column(
        "timeout",
        "half of a transaction is committed after transaction.timeout.ms (one way of T8)",
        "loss",
        _TIMEOUT,
        _RESTART,
    ),
    TransactionQuestion(
        "restart",
        "a producer restarts, and the unfinished transaction of the former instance is committed",
        Transactions,
        _RESTARTED,
        ("fenced_is_never_committed", "all_or_nothing"),
        "duplicates",
        (_RESTART,),
    ),
    TransactionQuestion(
        "repeated",
        "a producer restarts, repeats a transaction of which it does not know the end, and both are committed",
        Transactions,
        {**_RESTARTED, "transactions": 1, "max_late": 1, "gives_up": False, "commit_timeout": "repeated"},
        ("committed_once",),
        "duplicates",
        (_RESTART,),
    ),
)

TWO_PHASE_QUESTIONS = (
    TransactionQuestion(
        "prepared-timeout",
        "a prepared transaction is aborted after transaction.timeout.ms, although an external store has committed",
        TwoPhaseCommit,
        dict(instances=1),
        ("store_and_kafka_agree",),
        "loss",
        (_TIMEOUT,),
    ),
    TransactionQuestion(
        "prepared-restart",
        "a prepared transaction is aborted by a restart of the producer, although an external store has committed",
        TwoPhaseCommit,
        dict(instances=2, times_out=False),
        ("store_and_kafka_agree",),
        "loss",
        (_RESTART,),
    ),
)
"""Questions about a producer with transaction.two.phase.commit.enable=true (KIP-939)."""


@dataclass(frozen=True)
class TransactionAnswer:
    """An answer with one transaction version: a yes has the counterexample `violation`, a trace of `spec`."""

    question: TransactionQuestion
    transaction_version: int
    spec: Spec
    verdict: Verdict
    distinct_states: int
    violation: Violation | None = None

    @property
    def length(self) -> int | None:
        """The number of states of the counterexample of a yes."""
        return None if self.violation is None else self.violation.length

    @property
    def page(self) -> str:
        """The name of the page of the counterexample."""
        return f"transactions-{self.question.name}-version-{self.transaction_version}.html"


def transaction_versions(cluster: ClusterConfig) -> tuple[int, ...]:
    """Return the versions that the transactions may have, 1 for those before 2.

    From 4.0 on a new cluster has version 2, and an upgraded one may have an older one. Both are explored, unless the
    release has only the older one or a file names the feature.
    """
    given = cluster.get("broker", TRANSACTION_VERSION)
    if not EPOCH_PER_TRANSACTION.applies_to(cluster.version) or given in ("0", "1"):
        return (1,)
    return (2,) if given == "2" else (2, 1)


def verifies(cluster: ClusterConfig) -> bool:
    """Return whether the leaders verify transactions: the release has it, and the broker's file does not disable it."""
    is_disabled = cluster.get("broker", "transaction.partition.verification.enable") == "false"
    return VERIFIES_TRANSACTIONS.applies_to(cluster.version) and not is_disabled


def transaction_answers(
    cluster: ClusterConfig, config: EffectiveConfig, explore: Explore, cancelled: threading.Event
) -> Iterator[TransactionAnswer]:
    """Yield the answers for a transactional producer; none for another one and for a client that is not modelled."""
    if not is_answered(cluster, config):
        return
    yield from answers_to(questions_about(cluster), cluster, transaction_versions(cluster), explore, cancelled)


def answers_to(
    questions: Sequence[TransactionQuestion],
    cluster: ClusterConfig,
    versions: Sequence[int],
    explore: Explore,
    cancelled: threading.Event,
) -> Iterator[TransactionAnswer]:
    """Yield the answers to some questions with each transaction version, until `cancelled` is set."""
    for version in versions:
        for question in questions:
            if cancelled.is_set():
                return
            spec = question.spec(**{**_rules(question.spec, cluster, version), **question.size})
            yield _answer(question, version, spec, explore(spec, question.properties))


def is_answered(cluster: ClusterConfig, config: EffectiveConfig) -> bool:
    """Return whether the specs answer: for Java producers with a transactional.id."""
    return config.is_transactional and cluster.client == "java"


def questions_about(cluster: ClusterConfig) -> tuple[TransactionQuestion, ...]:
    """Return the questions about the transactions of a cluster's producer."""
    return QUESTIONS + TWO_PHASE_QUESTIONS if has_two_phase_commit(cluster) else QUESTIONS


def has_two_phase_commit(cluster: ClusterConfig) -> bool:
    """Return whether the producer is meant to take part in a two-phase commit (KIP-939)."""
    return cluster.get("producer", "transaction.two.phase.commit.enable") == "true"


def _rules(spec: type[Spec], cluster: ClusterConfig, version: int) -> Constants:
    """Return the constants of the release with a transaction version and the broker's setting of verification."""
    rules: dict[str, Any] = {**RULES[spec](cluster.version), "transaction_version": version}
    return {**rules, "verification": verifies(cluster)} if spec is Transactions else rules


def _answer(question: TransactionQuestion, version: int, spec: Spec, explored: Explored) -> TransactionAnswer:
    violations = [violation for violation in explored.violations if violation.property in question.properties]
    if violations:
        shortest = min(violations, key=lambda violation: violation.length)
        return TransactionAnswer(question, version, spec, "yes", explored.distinct_states, shortest)
    verdict: Verdict = "no" if explored.ended == "complete" else "undecided"
    return TransactionAnswer(question, version, spec, verdict, explored.distinct_states)


def explorer(max_states: int | None, cancelled: threading.Event, cache: AnswerCache | None = None) -> Explore:
    """Return a function that explores with compiled code, up to a number of states, unless the cache has the result.

    The two versions of transactions share the code of a question: it reads the version at run time.
    """
    codes: list[SharedLowered] = []

    def lowering(spec: Spec, properties: list[str]) -> LoweredSpec:
        from checker.engines.native.cache.shared_lowering import lower_shared

        code = next((code for code in codes if code.serves(spec, properties)), None)
        if code is None:
            code = lower_shared(spec, properties)
            codes.append(code)
        return code.lowered

    def explore(spec: Spec, properties: Sequence[str]) -> Explored:
        explored = None if cache is None else cache.load_checked(spec, properties, max_states)
        if explored is None:
            plan = Plan(tuple(properties), max_states=max_states, cancelled=cancelled, quick=True)
            explored = _explore(spec, plan, lowering)
            if cache is not None:
                cache.store_checked(spec, properties, max_states, explored)
        return explored

    return explore


def _explore(spec: Spec, plan: Plan, lowering: Lowering) -> Explored:
    """Return the result of an exploration; one that leaves a property undecided counts as one that met a limit."""
    from checker.engines.native.engine import explore, explore_compiled

    if isinstance(spec, Transactions):
        compiled = _code_of(*_domains_of(spec)).loaded(spec)
        result, _ = explore_compiled(compiled, plan, compiled.spec.initial_states(), 0.0)
        # The states of the traces have the room of the code.
        (initial,) = spec.initial_states()
        result.violations = [replayed(spec, initial, each.trace, each.property) or each for each in result.violations]
    else:
        result = explore(spec, plan, lowering)
    account_of(spec, plan.properties, result)
    ended = "max_states" if result.undecided and result.ended == "complete" else result.ended
    return Explored(ended, result.distinct_states, tuple(result.violations))


@functools.cache
def _code_of(partitions: int, instances: int) -> SharedCode:
    """Return the code of all questions with these numbers of partitions and instances."""
    from checker.engines.native.shared_code import compile_shared_code

    asked = [(Transactions(**each.size), each.properties) for each in QUESTIONS if each.spec is Transactions]
    asked = [each for each in asked if _domains_of(each[0]) == (partitions, instances)]
    largest = {name: max(spec.constants[name] for spec, _ in asked) for name in _ROOM}
    roomy = Transactions(**{**asked[0][0].constants, **largest})
    return compile_shared_code(roomy, list(dict.fromkeys(itertools.chain(*(names for _, names in asked)))), room=_ROOM)


def _domains_of(spec: Spec) -> tuple[Any, Any]:
    return spec.constants["partitions"], spec.constants["instances"]


def transaction_notes(cluster: ClusterConfig, config: EffectiveConfig) -> Iterator[str]:
    """Yield what the answers about transactions leave out, and settings that the coordinator refuses."""
    if not config.is_transactional:
        return
    if cluster.client != "java":
        yield "transactions: not answered. The specs have the transactional producer of the Java client."
        return
    if has_two_phase_commit(cluster):
        yield _TWO_PHASE_NOTE
    timeout = int(cluster.get("producer", "transaction.timeout.ms") or DEFAULT_TIMEOUT)
    largest = int(cluster.get("broker", "transaction.max.timeout.ms") or LARGEST_TIMEOUT)
    if timeout > largest:
        yield (
            f"initTransactions fails: transaction.timeout.ms={timeout} is above the broker's "
            f"transaction.max.timeout.ms={largest} (InvalidTxnTimeoutException)"
        )
    if not config.hides_aborted_records:
        yield (
            "consumers with isolation.level=read_uncommitted also read the records of open and of aborted "
            "transactions: the answers about transactions are for read_committed"
        )
    yield (
        "the answers about transactions have one producer, or two instances with one transactional.id. A consumer "
        "group, the expiry of transactional ids, clients of another release and an upgrade are not explored. "
        "docs/transactions.md has the table by release."
    )


_TWO_PHASE_NOTE = (
    "transaction.two.phase.commit.enable=true has one effect up to Kafka 4.4: the producer refuses "
    f"transaction.timeout.ms, and its transactions have the default of {DEFAULT_TIMEOUT} ms. It sends "
    "InitProducerId without Enable2Pc, KafkaProducer has no prepareTransaction, and the coordinator answers "
    "keepPreparedTxn with UNSUPPORTED_VERSION (KIP-939)"
)
