"""The audit of a log that a real broker wrote: nothing is found but what happened to it."""

from pathlib import Path

import pytest

from kafka_tools.audit import part_audit, record_batches
from kafka_tools.audit.findings import Kind
from tests.audit.real_log import audited, extract


@pytest.fixture(scope="module")
def log_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return extract(tmp_path_factory.mktemp("log"))


@pytest.mark.parametrize("part_bytes", [500, 3000, 1 << 20])
def test_parts_of_any_size_give_the_same_report(log_directory, part_bytes):
    whole, divided = audited(log_directory), audited(log_directory, part_bytes=part_bytes)
    assert divided == whole


@pytest.mark.parametrize("rows", [1, 50, 300])
def test_results_of_any_number_of_rows_give_the_same_report(log_directory, monkeypatch, rows):
    whole = audited(log_directory)
    monkeypatch.setattr(part_audit, "_MOST_ROWS", rows)
    monkeypatch.setattr(record_batches, "_BLOCK", 2_000)
    assert audited(log_directory) == whole


def test_sizes_and_offsets(log_directory):
    found = {report.name: report for report in audited(log_directory).partitions}
    orders, payments, restarted = found["orders-0"], found["payments-0"], found["restarted-0"]
    assert (orders.segments, orders.batches, orders.records, orders.end_offset) == (4, 824, 3000, 3000)
    assert orders.high_watermark == 3000 and orders.producers == 3
    assert (payments.open_transactions, payments.aborted_transactions) == (1, 24)
    assert (restarted.batches, restarted.high_watermark) == (7, 7)


def test_records_that_a_restart_duplicated(log_directory):
    [report] = audited(log_directory / "restarted-0").partitions
    assert {finding.kind for finding in report.findings} == {Kind.DUPLICATE_BATCH}
    pairs = [
        (batch.first_offset, batch.first_epoch, batch.first_sequence, batch.second_offset, batch.second_epoch)
        for batch in report.repeated
    ]
    assert pairs == [(1, 0, 1, 4, 1), (2, 0, 2, 5, 1), (3, 0, 3, 6, 1)]
    assert {(batch.first_leader_epoch, batch.second_leader_epoch) for batch in report.repeated} == {(0, 2)}


def test_healthy_partitions_have_notes_only(log_directory):
    report = audited(log_directory / "orders-0", log_directory / "payments-0")
    assert report.is_sound and report.is_complete
    assert [finding.kind for finding in report.findings] == [Kind.OPEN_TRANSACTION]


def test_headers_alone_give_the_same_report(log_directory):
    assert audited(log_directory, checks_crc=False) == audited(log_directory)
