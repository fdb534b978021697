"""Releases that specs and docs name beside a ticket agree with the table of rules by release."""

import re
from pathlib import Path

from specs.kafka_releases import release_number
from specs.kafka_versions import CHANGES

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("specs/**/*.py"), *ROOT.glob("kafka_tools/**/*.py"), *ROOT.glob("docs/**/*.md")])

MENTION = re.compile(r"((?:KAFKA|KIP)-\d+) \((?:fixed in )?(\d+\.\d+(?:\.\d+)*(?:,\s+\d+\.\d+(?:\.\d+)*)*)")
"""A ticket with releases behind it: "KAFKA-18723 (3.9.1, 4.0.1)"."""


def mentions(text):
    """Yield each ticket of a text with the releases behind it."""
    for found in MENTION.finditer(text):
        yield found.group(1), re.split(r",\s+", found.group(2))


def first_releases(ticket):
    """Return the numbers of the releases in which the changes of a ticket begin."""
    return {
        release_number(release)
        for change in CHANGES.values()
        if change.ticket.split(",")[0] == ticket
        for release in (change.since, *change.backports)
    }


def test_mentions_are_found():
    text = "KAFKA-18723 (3.9.1,\n4.0.1) and KIP-101, 0.11; KAFKA-4840 (fixed in 0.11), KIP-1 (see 2.0)"
    assert list(mentions(text)) == [("KAFKA-18723", ["3.9.1", "4.0.1"]), ("KAFKA-4840", ["0.11"])]


def test_releases_beside_a_ticket_are_those_of_the_table():
    found = [(path, *mention) for path in FILES for mention in mentions(path.read_text())]
    assert len(found) > 20
    for path, ticket, releases in found:
        known = first_releases(ticket)
        assert known, f"{path}: {ticket} ({', '.join(releases)}) is not in specs/kafka_versions.py"
        wrong = [release for release in releases if release_number(release) not in known]
        assert not wrong, f"{path}: {ticket} does not begin with {', '.join(wrong)}"
