"""Requests of librdkafka's AdminClient to a cluster, which are sent again if the client loses their answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from checker.errors import InputError, MissingExtraError
from checker.run.endings import StoppedError

_SECONDS = 120
_OFFSET_SECONDS = 5
_PAUSE = 0.2


def admin_client() -> Any:
    """Return librdkafka's AdminClient; raise MissingExtraError if a package of the extra `cluster` is not installed."""
    try:
        import crc32c  # noqa: F401
        from confluent_kafka.admin import AdminClient
    except ModuleNotFoundError as error:
        package = "crc32c" if error.name == "crc32c" else "confluent-kafka"
        raise MissingExtraError(
            f"experiments need {package}, which is not installed: pip install 'tidemark[cluster]', "
            "or pip install -e '.[cluster]' in a checkout"
        ) from None
    return AdminClient


def create_topic(bootstrap: str, topic: str, assignment: Sequence[Sequence[int]], settings: Mapping[str, str]) -> None:
    """Create a topic with these replicas of each partition; raise InputError if the cluster refuses."""
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

    replicas = [list(each) for each in assignment]
    wanted = NewTopic(topic, num_partitions=len(replicas), replica_assignment=replicas, config=dict(settings))
    _request(
        bootstrap,
        lambda admin: admin.create_topics([wanted])[topic],
        f"the topic {topic} cannot be created",
        # The answer to an earlier request may have been lost.
        done=KafkaError.TOPIC_ALREADY_EXISTS,
    )


def elect_preferred_leaders(bootstrap: str, topic: str, partitions: Sequence[int]) -> None:
    """Elect the preferred leader of partitions; raise InputError if the cluster refuses, also for one of them."""
    from confluent_kafka import ElectionType, KafkaError, TopicPartition

    wanted = [TopicPartition(topic, each) for each in partitions]
    refusal = f"the preferred leader of {topic} cannot be elected"
    answer = _request(bootstrap, lambda admin: admin.elect_leaders(ElectionType.PREFERRED, wanted), refusal)
    for partition, error in sorted(answer.items(), key=lambda pair: pair[0].partition):
        if error is not None and error.args[0].code() != KafkaError.ELECTION_NOT_NEEDED:
            raise InputError(f"{refusal}: partition {partition.partition}: {error.args[0].str()}")


def consumable_end(bootstrap: str, topic: str, partition: int, *, read_committed: bool) -> int | None:
    """Return the end of a partition for consumers, or None if its leader does not answer.

    It is the high watermark, or with `read_committed` the last stable offset, before the first open transaction.
    """
    from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

    level = IsolationLevel.READ_COMMITTED if read_committed else IsolationLevel.READ_UNCOMMITTED
    admin = admin_client()({"bootstrap.servers": bootstrap, "log_level": 0})
    wanted = TopicPartition(topic, partition)
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    answers = admin.list_offsets({wanted: latest}, isolation_level=level, request_timeout=_OFFSET_SECONDS)
    try:
        return int(answers[wanted].result(2 * _OFFSET_SECONDS).offset)
    except (KafkaException, TimeoutError):
        return None


def _request(bootstrap: str, send: Callable[[Any], Any], refusal: str, done: int | None = None) -> Any:
    """Send a request until it is answered, and return the answer.

    `done` is the error of a second request if the first one was executed: then the answer is None. Raises InputError,
    with `refusal` as the beginning of its message, if the answer is an error, and StoppedError if there is no answer in
    time.
    """
    from confluent_kafka import KafkaError, KafkaException

    # librdkafka drops the request if it replaces the bootstrap broker by the one that it has learned.
    lost = (KafkaError._DESTROY_BROKER, KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT)
    # The client must outlive the request.
    admin = admin_client()({"bootstrap.servers": bootstrap, "log_level": 0})
    end = time.monotonic() + _SECONDS
    accepted: tuple[int, ...] = ()
    while True:
        try:
            return send(admin).result(max(end - time.monotonic(), _PAUSE))
        except TimeoutError:
            raise StoppedError(f"{refusal}: no broker answers within {_SECONDS} s") from None
        except KafkaException as error:
            code = error.args[0].code()
            if code in accepted:
                return None
            if code not in lost:
                raise InputError(f"{refusal}: {error.args[0].str()}") from None
            if time.monotonic() > end:
                raise StoppedError(f"{refusal}: {error.args[0].str()}") from None
        accepted = () if done is None else (done,)
        time.sleep(_PAUSE)
