"""Proxies in front of any cluster: addresses in responses, batches that pass, the events, and a live run."""

import importlib.util
import json
import lzma
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from checker.cli.app import main
from checker.errors import OutputError
from kafka_tools.lab.cluster.broker_connection import answers_as_broker
from kafka_tools.lab.cluster.messages import LARGEST, RequestHeader, request_header
from kafka_tools.lab.cluster.proxy import Link, PassingRequest, ProxyLimits, ProxyNetwork
from kafka_tools.lab.cluster.wire_reader import WireReader
from kafka_tools.lab.recording import bootstrap_command, passing_producers
from kafka_tools.lab.recording.bootstrap_command import address_of
from kafka_tools.lab.recording.broker_addresses import NEWEST, AddressRewriter, unsigned_varint
from kafka_tools.lab.recording.passing_producers import PassingProducers
from kafka_tools.lab.recording.produced_batches import VERSIONS, expects_answer, produce_answers, produced_batches
from tests.kafka_tools.lab.cluster.real_brokers import why_no_brokers_run
from traces.validate.events import RecordedEvent, RecordedTrace
from traces.validate.task import RunningValidation, ValidationTask

KEPT = Path(__file__).parent / "kept"
TASK = ValidationTask("producer/idempotent_producer", "kafka_tools.lab.recording.passed_batches")
KINDS = {"60": "DescribeCluster"}


def kept(*kinds):
    """Return the header of each kept request of a broker of 4.3.1, and both messages."""
    with lzma.open(KEPT / "responses-4.3.1.json.xz", "rt") as file:
        pairs = [(bytes.fromhex(each["request"]), bytes.fromhex(each["response"])) for each in json.load(file)]
    found = [(request_header(request), request, response) for request, response in pairs]
    return [each for each in found if KINDS.get(each[0].kind, each[0].kind) in kinds]


@pytest.mark.parametrize(("kind", "versions"), [("Metadata", 14), ("FindCoordinator", 7), ("DescribeCluster", 2)])
def test_addresses_are_replaced_in_every_version(kind, versions):
    tried, wrong = 0, set()
    for header, _, response in kept(kind):
        if header.version > NEWEST[kind]:
            continue
        tried += 1
        assert AddressRewriter(lambda number, address: address).rewritten(header, response) == response
        seen = {}
        proxies = AddressRewriter(
            lambda number, address, seen=seen: seen.setdefault(number, address) and ("a.proxy", 9000 + number)
        )
        changed = proxies.rewritten(header, response)
        assert seen and all(host == "127.0.0.1" for host, _ in seen.values())
        assert b"127.0.0.1" not in changed and changed.count(b"a.proxy") == len(seen)
        back = AddressRewriter(lambda number, address, seen=seen: seen[number])
        assert back.rewritten(header, changed) == response
        for end in range(5, len(response) - 1):
            try:
                proxies.rewritten(header, response[:end])
            except ValueError as error:
                wrong.add(str(error))
    assert tried == versions and all(text.endswith(" cannot be read") for text in wrong)


def offered(response, version):
    """Return the oldest and newest version of each request in an ApiVersions response."""
    reader, is_flexible = WireReader(response), version >= 3
    reader.number("i"), reader.number("h")
    found = {}
    for _ in range(reader.count(is_flexible)):
        key = reader.number("h")
        found[key] = reader.number("h"), reader.number("h")
        reader.end_of_struct(is_flexible)
    return found


def test_clients_are_offered_the_versions_that_are_read():
    limits = {0: NEWEST["Produce"], 1: NEWEST["Fetch"], 60: NEWEST["DescribeCluster"]}
    for header, _, response in kept("ApiVersions"):
        changed = AddressRewriter(lambda number, address: address).rewritten(header, response)
        before, after = offered(response, header.version), offered(changed, header.version)
        assert len(changed) == len(response) and before.keys() == after.keys()
        assert {key: after[key] for key in before if before[key] != after[key]} == {
            key: (before[key][0], limit) for key, limit in limits.items()
        }


def test_batches_and_answers_of_every_version():
    found = [
        (
            header.version,
            produced_batches(request[header.body :], header.version),
            produce_answers(response, header.version),
        )
        for header, request, response in kept("Produce")
    ]
    assert [version for version, _, _ in found] == [*VERSIONS, 12, 12]
    for position, (_, (batch,), (answer,)) in enumerate(found[: len(VERSIONS)]):
        assert (batch.topic, batch.partition, batch.records, batch.is_transactional) == ("t1", 0, 2, False)
        assert (batch.sequence, batch.epoch, answer.error) == (2 * position, 0, 0)
        assert answer.offset == found[0][2][0].offset + 2 * position
    assert [answer.error for _, _, (answer,) in found[-2:]] == [6, 45]
    # The same records have the same content under another sequence.
    assert len({batch.content for _, (batch,), _ in found}) == 1


def test_addresses_of_new_leaders_are_left_out():
    header, _, response = kept("Produce")[-2]
    assert b"127.0.0.1" in response
    changed = AddressRewriter(lambda number, address: address).rewritten(header, response)
    assert b"127.0.0.1" not in changed and produce_answers(changed, 12) == produce_answers(response, 12)


def test_a_cut_off_message_is_an_error():
    header, request, response = kept("Produce")[9]
    for end in range(len(request) - header.body - 3):
        with pytest.raises(ValueError, match=r"a Produce request|message format"):
            produced_batches(request[header.body :][:end], header.version)
    for end in range(len(response) - 6):
        with pytest.raises(ValueError, match="a Produce response cannot be read"):
            produce_answers(response[:end], header.version)
    with pytest.raises(ValueError, match="version 13"):
        produced_batches(b"", 13)


def old_request(topic, *batches, partition=0, partitions=None):
    """Return the body of a Produce request of version 3 with batches of one topic."""
    count = len(batches) if partitions is None else partitions
    front = struct.pack(">hhiih", -1, 1, 1000, 1, len(topic)) + topic + struct.pack(">i", count)
    return front + b"".join(struct.pack(">ii", partition, len(batch)) + batch for batch in batches)


def old_batch(records=1, producer=7, epoch=0, sequence=0):
    return struct.pack(">qiibIhiqqqhii", 0, 49, 0, 2, 0, 0, 0, 0, 0, producer, epoch, sequence, records)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (old_request(b"t", old_batch()), None),
        (old_request(b"t" * 249, old_batch(producer=-1, epoch=-1, sequence=-1)), None),
        (old_request(b"t", *[old_batch()] * 10_000), None),
        (old_request(b"t", *[old_batch()] * 10_001), "of more than 10000 batches"),
        (old_request(b"", old_batch()), "without the name of a topic"),
        (old_request(b"t" * 250, old_batch()), "without the name of a topic"),
        (old_request(b"a/b", old_batch()), "without the name of a topic"),
        (old_request(b"t"), "without its partitions"),
        (old_request(b"t", old_batch(records=0)), "a batch without records"),
        (old_request(b"t", old_batch(records=-7)), "a batch without records"),
        (old_request(b"t", old_batch(epoch=-1)), "negative partition, epoch or sequence"),
        (old_request(b"t", old_batch(sequence=-1)), "negative partition, epoch or sequence"),
        (old_request(b"t", old_batch(), partition=-1), "negative partition, epoch or sequence"),
    ],
)
def test_a_request_that_no_broker_accepts_is_not_recorded(body, says):
    if says is None:
        assert produced_batches(body, 3)[0].records == 1
    else:
        with pytest.raises(ValueError, match=says):
            produced_batches(body, 3)


def test_numbers_of_variable_length_and_tagged_fields_end():
    for number, encoded in ((127, b"\x7f"), (128, b"\x80\x01"), (2**32 - 1, b"\xff\xff\xff\xff\x0f")):
        assert unsigned_varint(number) == encoded
    assert WireReader(b"\xff\xff\xff\xff\x0f").unsigned() == 2**32 - 1
    with pytest.raises(ValueError, match="more than 5 bytes"):
        WireReader(b"\xff" * 5 + b"\x01").unsigned()
    WireReader(b"\xe8\x07" + b"\0\0" * 1000).end_of_struct(True)
    with pytest.raises(ValueError, match="more than 1000 tagged fields"):
        WireReader(b"\xe9\x07" + b"\0\0" * 1001).end_of_struct(True)
    assert expects_answer(b"\xff" * 6, 9)


def test_a_recording_keeps_so_many_producers(monkeypatch):
    monkeypatch.setattr(passing_producers, "MOST_PRODUCERS", 2)
    client = Client()
    for producer, sequence in ((1, 0), (2, 5), (3, 0), (1, 1), (3, 0)):
        client.send(sequence, producer=producer)
    assert client.producers.traces == 1 and len(client.events) == 2
    assert client.producers.left_out["a batch of a producer after the first 2"] == 2


# Events.


class Client:
    """A client's messages, passed to an observer."""

    def __init__(self, partition=None):
        self.events = []
        self.producers = PassingProducers(self.events.append, partition, "127.0.0.1")
        self.requests = []

    def send(self, sequence, records=1, *, epoch=0, producer=7, connection=1, content=None, attributes=0):
        values = (content or f"{producer} {sequence}").encode()
        header = struct.pack(
            ">q i i b I h i q q q h i i", 0, 0, 0, 2, 0, attributes, 0, 5, 5, producer, epoch, sequence, records
        )
        batch = header + values
        front = b"\0" + struct.pack(">hi", -1, 1000) + b"\2" + b"\2t" + b"\2" + struct.pack(">i", 0)
        data = front + bytes((len(batch) + 1,)) + batch + b"\0\0\0"
        number = len(self.requests) + 1
        request = PassingRequest(connection, 0, 1, number, RequestHeader("Produce", 9, number, "c", 0), data)
        self.requests.append(request)
        self.producers.forwarded(request)
        return number

    def answer(self, number, offset=-1, error=0, is_delivered=True):
        partition = struct.pack(">ihqqq", 0, error, offset, -1, 0) + b"\1\0\0"
        response = (
            struct.pack(">i", number) + b"\0\2" + b"\2t" + b"\2" + partition + b"\0" + struct.pack(">i", 0) + b"\0"
        )
        self.producers.answered(self.requests[number - 1], response)
        if is_delivered:
            self.producers.delivered(self.requests[number - 1])

    def shown(self, *names):
        return [tuple(event.get(name) for name in ("event", *names)) for event in self.events]

    def outcome(self):
        events = tuple(RecordedEvent(line, found) for line, found in enumerate(self.events, 1))
        return RunningValidation(TASK).outcome(RecordedTrace("t", "t.jsonl", events))


def test_batches_of_any_size_are_records_of_the_model():
    client = Client()
    for sequence, records in ((0, 3), (3, 1), (4, 10)):
        client.answer(client.send(sequence, records), offset=100 + sequence)
    assert client.shown("records", "sequence", "before")[::2] == [
        ("request", [1], 0, None),
        ("request", [2], 1, None),
        ("request", [3], 2, None),
    ]
    assert client.shown("before", "after")[1::2] == [
        ("response", None, None),
        ("response", 1, None),
        ("response", 2, None),
    ]
    assert client.outcome().verdict == "conforms"


def test_a_gap_between_sequences_is_rejected():
    client = Client()
    client.answer(client.send(0, 3), offset=0)
    client.send(4)
    assert client.outcome().rejection.line == 3


def test_an_answer_before_an_earlier_batch_in_the_log_is_rejected():
    client = Client()
    client.answer(client.send(0), offset=50)
    client.answer(client.send(1), offset=40)
    outcome = client.outcome()
    assert (outcome.verdict, outcome.rejection.line) == ("rejected", 4)


@pytest.mark.parametrize(
    ("retried", "following", "verdict"), [(0, 1, "conforms"), (1, 2, "rejected"), (0, 0, "rejected")]
)
def test_a_retry_has_the_offset_of_the_first_copy(retried, following, verdict):
    client = Client()
    client.answer(client.send(0), offset=0, is_delivered=False)
    client.producers.closed(1, [client.requests[0]])
    client.answer(client.send(0, connection=2), offset=retried)
    client.answer(client.send(1, connection=2), offset=following)
    assert [event["event"] for event in client.events].count("closed") == 1
    assert client.outcome().verdict == verdict


@pytest.mark.parametrize("epoch", [0, 1])
def test_other_records_under_a_sequence_are_rejected(epoch):
    """The client loses a batch, and gives its sequence to another record: the broker takes it for a duplicate."""
    client = Client()
    client.answer(client.send(0, epoch=epoch), offset=10)
    client.answer(client.send(1, epoch=epoch, content="lost"), offset=11, is_delivered=False)
    client.producers.closed(1, [client.requests[1]])
    client.answer(client.send(1, epoch=epoch, content="other", connection=2), offset=11)
    client.answer(client.send(2, epoch=epoch, connection=2), offset=12)
    outcome = client.outcome()
    assert (outcome.verdict, outcome.rejection.line) == ("rejected", 6)
    assert "batch 2 has other records than before" in outcome.rejection.reasons[0].text


@pytest.mark.parametrize(
    ("offset", "text"), [(51, "batch 1 has offsets 50 to 52, and batch 2 begins at 51"), (49, "batch 2 has offsets 49")]
)
def test_offsets_that_overlap_are_rejected(offset, text):
    client = Client()
    client.answer(client.send(0, 3), offset=50)
    client.answer(client.send(3, 3), offset=offset)
    outcome = client.outcome()
    assert (outcome.verdict, outcome.rejection.line) == ("rejected", 4)
    assert text in outcome.rejection.reasons[0].text


def test_swapped_offsets_are_rejected():
    client = Client()
    for sequence in range(4):
        client.answer(client.send(sequence), offset=10 + sequence)
    first, second = client.events[3], client.events[5]
    first["base_offset"], second["base_offset"] = second["base_offset"], first["base_offset"]
    assert (client.outcome().verdict, client.outcome().rejection.line) == ("rejected", 6)


def test_a_batch_keeps_its_number_under_a_new_epoch():
    client = Client()
    client.answer(client.send(0), offset=0)
    client.answer(client.send(1, content="again"), error=45)
    client.answer(client.send(0, epoch=1, content="again"), offset=1)
    assert client.shown("records", "epoch", "sequence")[::2] == [
        ("request", [1], 0, 0),
        ("request", [2], 0, 1),
        ("request", [2], 1, 0),
    ]


def test_equal_batches_of_one_epoch_are_two():
    client = Client()
    client.answer(client.send(0, content="same"), offset=0)
    client.answer(client.send(1, content="same"), offset=1)
    assert client.shown("records")[::2] == [("request", [1]), ("request", [2])]


def test_what_the_model_does_not_have_is_said_and_not_judged():
    client = Client()
    client.send(0, producer=-1)
    client.send(5, producer=8)
    client.send(6, producer=8)
    # The lowest bits name the compression.
    client.send(0, producer=9, attributes=0x13)
    assert client.events == [] and client.producers.left_out == {
        "a batch of a producer without idempotence": 1,
        "a batch of a producer that began before the recording": 2,
        "a batch of a transaction": 1,
    }
    client.answer(client.send(0, attributes=0x03), offset=0)
    first, _ = client.send(1), client.send(2)
    client.answer(first, offset=1)
    client.send(3, connection=2)
    assert "two connections" in client.outcome().message
    resized = Client()
    resized.answer(resized.send(0, 4), error=10)
    assert resized.outcome().message == (
        "t.jsonl:2: message too large: the spec has no such answer, so that it cannot judge this producer"
    )
    resized.events[-1]["error"] = "not leader or follower"
    resized.send(0, 2)
    assert "a batch was split" in resized.outcome().message


def test_one_partition_alone():
    client = Client("t-1")
    client.send(0)
    assert client.events == [] and client.producers.left_out == {"a batch of another partition than t-1": 1}


@pytest.mark.parametrize("is_end_seen", [True, False])
def test_an_answer_that_the_client_has_not_read(is_end_seen):
    client = Client()
    client.answer(client.send(0), offset=0)
    if is_end_seen:
        client.producers.closed(1, [])
    client.answer(client.send(0, connection=2), offset=0)
    client.answer(client.send(1, connection=2), offset=1)
    if not is_end_seen:
        client.producers.closed(1, [])
    client.producers.closed(2, [])
    assert client.shown("unanswered")[2::5] == [("closed", []), ("closed", [])] and len(client.events) == 8
    assert client.outcome().verdict == "conforms"
    client.events.pop(2)
    assert client.outcome().verdict == "rejected"


def test_batches_with_the_same_content():
    client = Client()
    first, second = client.send(0, content="same"), client.send(1, content="same")
    client.answer(first, offset=0)
    client.answer(second, error=45)
    client.send(0, epoch=1, content="same")
    client.send(1, epoch=1, content="same")
    assert [event["records"] for event in client.events if event["event"] == "request"] == [[1], [2], [2], [3]]
    both = Client()
    both.send(0, content="same"), both.send(1, content="same")
    both.producers.closed(1, both.requests)
    both.send(0, epoch=1, content="same", connection=2)
    assert both.events[-2]["event"] == "ambiguous" and both.events[-2]["records"] == [1, 2]
    assert "several batches have the content of one" in both.outcome().message


def test_requests_without_an_answer_are_not_kept():
    sent = b""
    for number, acks in enumerate((0, 1, 0)):
        body = struct.pack(">hhih", 0, 3, number, 1) + b"c" + struct.pack(">hhii", -1, acks, 1000, 0)
        sent += struct.pack(">i", len(body)) + body
    producers = PassingProducers(lambda event: None, None, "127.0.0.1")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        ProxyNetwork([Link(0, -1, server.getsockname())], producers) as network,
        socket.create_connection(("127.0.0.1", network.ports[0])) as client,
    ):
        client.sendall(sent)
        with server.accept()[0] as broker:
            assert broker.recv(len(sent), socket.MSG_WAITALL) == sent
            (connection,) = network._connections
            ends = time.monotonic() + 10
            while list(connection.unanswered) != [1] and time.monotonic() < ends:
                time.sleep(0.01)
            assert list(connection.unanswered) == list(connection.at_broker) == [1]


def test_a_broker_for_which_no_proxy_can_listen_is_said():
    producers = PassingProducers(lambda event: None, None, "127.0.0.1")
    producers.network = SimpleNamespace(open=Mock(side_effect=OSError(24, "Too many open files")))
    header, _, response = kept("Metadata")[0]
    request = PassingRequest(1, 0, 1, 1, header, b"")
    assert producers.rewritten(request, response) == response
    assert producers.left_out == {"requests to a broker for which no proxy can listen: Too many open files": 1}


def frame(message):
    return struct.pack(">i", len(message)) + message


VOTE = struct.pack(">hhih", 52, 0, 1, -1)
"""The start of a header that ends with tagged fields."""

REQUEST = b"".join(frame(struct.pack(">hhih", 18, 0, number, -1)) for number in range(4))


@pytest.mark.parametrize("is_response", [False, True])
def test_a_message_that_cannot_be_passed_on_is_not_followed_by_others_in_memory(is_response):
    """The receiver reads nothing: the sender waits, and the proxies keep one message of it."""
    size = 16 * 1024 * 1024
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        ProxyNetwork([Link(0, -1, server.getsockname())], limits=ProxyLimits()) as network,
        socket.create_connection(("127.0.0.1", network.ports[0])) as client,
        server.accept()[0] as broker,
    ):
        sender, message = client, frame(struct.pack(">hhih", 3, 0, 1, -1).ljust(size))
        if is_response:
            client.sendall(REQUEST)
            assert len(broker.recv(len(REQUEST), socket.MSG_WAITALL)) == len(REQUEST)
            sender, message = broker, frame(struct.pack(">i", 0).ljust(size))
        sender.settimeout(0.3)
        with pytest.raises(TimeoutError):
            sender.sendall(message * 4)
        assert network._unfinished == size


def closes(sends, limits, connections=1):
    """Return why the proxies end connections that send some bytes."""
    producers = PassingProducers(lambda event: None, None, "127.0.0.1")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        ProxyNetwork([Link(0, -1, server.getsockname())], producers, limits=limits) as network,
        ExitStack() as stack,
    ):
        for _ in range(connections):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", network.ports[0]), 10))
            client.sendall(sends)
        with suppress(ConnectionError):
            assert client.recv(1) == b""
    return set(producers.left_out)


@pytest.mark.parametrize(
    ("sends", "limits", "connections", "reason"),
    [
        (b"", ProxyLimits(seconds=0.1), 1, "a message that is not whole after 0.1 s"),
        (struct.pack(">i", 100), ProxyLimits(seconds=0.1), 1, "a message that is not whole after 0.1 s"),
        (struct.pack(">i", 60), ProxyLimits(unfinished_bytes=100), 2, "unfinished messages of more than 100 bytes"),
        (b"", ProxyLimits(connections=2), 3, "more than 2 connections at a time"),
        (REQUEST * 4, ProxyLimits(unanswered=2), 1, "more than 2 requests without an answer"),
        (frame(VOTE + b"\xff" * 6), ProxyLimits(), 1, "a number of variable length with more than 5 bytes"),
        (frame(VOTE + b"\xe9\x07"), ProxyLimits(), 1, "a message of more than 1000 tagged fields"),
    ],
)
def test_connections_time_and_memory_have_limits(sends, limits, connections, reason):
    assert any(reason in text for text in closes(sends, limits, connections))


def test_the_summary_is_short():
    producers = PassingProducers(lambda event: None, None, "127.0.0.1")
    for number in range(500):
        producers.left_out[f"reason {number}"] += 1
    lines = list(bootstrap_command.summary(Path("log"), producers))
    assert len(lines) == 22 and lines[-1] == "  not recorded: 480 other reasons"


def test_an_error_of_the_recorder_ends_the_recording():
    producers = PassingProducers(Mock(side_effect=OutputError("the disk is full")), None, "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        network = ProxyNetwork([Link(0, -1, server.getsockname())], producers).start()
        producers.forwarded = Mock(side_effect=OutputError("the disk is full"))
        with socket.create_connection(("127.0.0.1", network.ports[0])) as client:
            body = struct.pack(">hhih", 3, 0, 1, 1) + b"c" + struct.pack(">i", 0)
            client.sendall(struct.pack(">i", len(body)) + body)
            assert producers.has_failed.wait(10)
        with pytest.raises(OutputError, match="the disk is full"):
            network.close()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("127.0.0.1:²", "write HOST:PORT"),
        ("a:1,b:2", "name one address; the brokers name the others"),
        ("0.0.0.0:9092", "name the address of this machine by which clients reach it"),
        ("[::]:0", "name the address of this machine by which clients reach it"),
    ],
)
def test_addresses_that_are_refused(text, says, tmp_path, capsys):
    arguments = ["record", str(tmp_path / "log"), "--bootstrap", "127.0.0.1:1", "--listen", text]
    assert main(arguments) == 2
    assert says in capsys.readouterr().err and not (tmp_path / "log").exists()


def test_a_kept_run_with_a_killed_broker_conforms():
    with lzma.open(KEPT / "passed-batches-4.3.1.jsonl.xz", "rt") as file:
        events = [json.loads(line) for line in file]
    for found in events:
        if found["event"] == "request":
            # The recorder of that time did not write the digest of the records, which are all different.
            found["content"] = str(found["records"])
    validation, forgotten = RunningValidation(TASK), 0
    for name in sorted({found["trace"] for found in events}):
        own = [found for found in events if found["trace"] == name]
        trace = RecordedTrace(name, name, tuple(RecordedEvent(line, found) for line, found in enumerate(own, 1)))
        outcome = validation.outcome(trace)
        assert (outcome.verdict, outcome.violated) == ("conforms", {})
        forgotten += outcome.forgotten
        last = max(n for n, found in enumerate(own) if found["event"] == "response" and found["error"] == "none")
        damaged = [*own[:last], {**own[last], "error": "out of order sequence number"}, *own[last + 1 :]]
        trace = RecordedTrace(name, name, tuple(RecordedEvent(line, found) for line, found in enumerate(damaged, 1)))
        outcome = validation.outcome(trace)
        assert (outcome.verdict, outcome.rejection.line) == ("rejected", last + 1)
    assert forgotten > 200


# Runs.


def record_here(log, bootstrap, run, seconds=1):
    """Run a function with the address of the proxy while everything is recorded, and return the events."""
    with open_port() as port:
        address = f"127.0.0.1:{port}"
    arguments = [str(log), "--bootstrap", bootstrap, "--listen", address, "--seconds", str(seconds)]
    recording = threading.Thread(target=main, args=(["record", *arguments],))
    recording.start()
    while not answers_as_broker(address_of(address, ""), 1.0):
        assert recording.is_alive()
    run(address)
    recording.join()
    return [json.loads(line) for line in log.read_text().splitlines()]


@contextmanager
def open_port():
    """Take a port of this machine, and give it back."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def produce(address, records=60):
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 0, "batch.num.messages": 1}
    producer = Producer(settings)
    for number in range(records):
        producer.produce("recorded", value=str(number), partition=0)
        producer.poll(0.005)
    assert producer.flush(10) == 0


def produce_to_new_topic(address):
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": address})
    (created,) = admin.create_topics([NewTopic("recorded", 1, 2)]).values()
    created.result(10)
    produce(address, 300)


@pytest.mark.skipif(importlib.util.find_spec("confluent_kafka") is None, reason="confluent-kafka is not installed")
def test_a_producer_is_recorded_through_the_proxy(tmp_path, capsys):
    from kafka_tools.lab.librdkafka.mock_cluster import MockCluster

    with MockCluster("recorded", 7) as cluster:
        host, port = cluster.address
        events = record_here(tmp_path / "log.jsonl", f"{host}:{port}", produce)
    shown = capsys.readouterr().out
    assert f"{len(events)} events of 1 producers" in shown and "validate producer/idempotent_producer" in shown
    assert {found["event"] for found in events[:-1]} == {"request", "response"} and len(events) > 40
    assert (events[-1]["event"], events[-1]["unanswered"]) == ("closed", [])
    arguments = ["--by", "trace", "--mapping", "kafka_tools.lab.recording.passed_batches"]
    assert main(["validate", "producer/idempotent_producer", str(tmp_path / "log.jsonl"), *arguments]) == 0


@pytest.mark.slow
def test_real_brokers_are_recorded_through_proxies(tmp_path):
    if reason := why_no_brokers_run("4.3.1"):
        pytest.skip(reason)
    from kafka_tools.lab.cluster.cluster import CLIENT, Cluster

    folder = str(tmp_path / "cluster")
    assert main(["cluster", "up", folder, "--brokers", "2"]) == 0
    try:
        bootstrap = f"127.0.0.1:{Cluster.open(Path(folder)).nodes[0].ports[CLIENT]}"
        events = record_here(tmp_path / "log.jsonl", bootstrap, produce_to_new_topic, seconds=10)
    finally:
        main(["cluster", "down", folder])
    assert len(events) > 100
    arguments = ["--by", "trace", "--mapping", "kafka_tools.lab.recording.passed_batches"]
    assert main(["validate", "producer/idempotent_producer", str(tmp_path / "log.jsonl"), *arguments]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bootstrap", "localhost"], "--bootstrap localhost: write HOST:PORT"),
        (["--bootstrap", "h:99999"], "--bootstrap h:99999: write HOST:PORT"),
        (["--bootstrap", "127.0.0.1:1", "--listen", "x"], "--listen x: write HOST:PORT"),
        (["--bootstrap", "127.0.0.1:1"], "--bootstrap 127.0.0.1:1: no broker answers there"),
        (["--bootstrap", "127.0.0.1:1", "--records", "3"], "--records"),
        (["--listen", "127.0.0.1:9"], "--listen belongs to --bootstrap"),
    ],
)
def test_wrong_options_are_errors(arguments, message, tmp_path, capsys):
    assert main(["record", str(tmp_path / "log.jsonl"), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_port_that_is_taken_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap_command, "answers_as_broker", lambda address, seconds: True)
    with open_port() as port:
        arguments = ["--bootstrap", "127.0.0.1:1", "--listen", f"127.0.0.1:{port}"]
        assert main(["record", str(tmp_path / "log.jsonl"), *arguments]) == 2
    assert f"--listen 127.0.0.1:{port}: Address already in use" in capsys.readouterr().err


def test_a_message_of_another_protocol_ends_its_connection_and_is_counted(tmp_path, capsys):
    producers = PassingProducers(list().append, None, "127.0.0.1")
    with (
        # It accepts connections, and says nothing.
        socket.create_server(("127.0.0.1", 0)) as broker,
        ProxyNetwork([Link(0, -1, broker.getsockname())], producers) as network,
        socket.create_connection(("127.0.0.1", network.ports[0]), 5) as client,
    ):
        client.sendall(b"\x16\x03\x01\x02\x00 a TLS handshake")
        # The proxy may close with bytes of the client unread, which resets the connection.
        with suppress(ConnectionResetError):
            assert client.recv(1) == b""
    (reason,) = producers.left_out
    assert reason.startswith("a connection without Kafka's protocol, or with TLS or SASL (a message that is")


def test_a_full_disk_ends_the_recording(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap_command, "answers_as_broker", lambda address, seconds: True)
    monkeypatch.setattr(bootstrap_command, "PassingProducers", FailingProducers)
    assert main(["record", "/dev/full", "--bootstrap", "127.0.0.1:1"]) == 2
    assert "the log /dev/full cannot be written: No space left on device" in capsys.readouterr().err


class FailingProducers(PassingProducers):
    """Writes an event as soon as the proxy of the bootstrap broker listens."""

    def add_proxy(self, broker, port):
        super().add_proxy(broker, port)
        self.network._loop.call_soon_threadsafe(self.network._start, self.write_one())

    async def write_one(self):
        self._write({"event": "request"})


@pytest.mark.parametrize(("length", "is_broker"), [(4, True), (-1, False), (LARGEST + 1, False)])
def test_an_answer_of_no_length_or_of_any_length_is_no_broker(length, is_broker):
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(answers_as_broker, server.getsockname(), 30.0)
        connection, _ = server.accept()
        with connection:
            connection.recv(100)
            connection.sendall(struct.pack(">ii", length, 1))
        assert asked.result() is is_broker
