"""The documentation keeps to plain English: no line is too long, and phrases of the old dialect do not come back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("bench/*.md")])
SOURCES = sorted(
    path
    for folder in ("bench", "checker", "examples", "kafka_tools", "spark_analysis", "specs", "tests", "traces")
    for pattern in ("*.py", "*.j2")
    for path in (ROOT / folder).rglob(pattern)
    if path != Path(__file__)
)
LONGEST = 120

PHRASES = [
    r"unless said",
    r"held against",
    r"gone on with",
    r"what (it|they) comes? to",
    r"so far as",
    r"for good\b",
    r"retold",
    r"mended",
    r"say whether",
    r"in so many words",
    r"is nobody's",
]
"""Phrases that a reader of this field stumbles over, as regular expressions."""


def prose_lines(page):
    """Yield the number and text of each line of prose: no table, no code block, no command alone on its line."""
    is_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.lstrip().startswith("|") and not re.fullmatch(r"\s*`[^`]+`", line):
            yield number, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_of_prose_are_short(page):
    longest_word = {number: max(map(len, line.split()), default=0) for number, line in prose_lines(page)}
    too_long = [
        number for number, line in prose_lines(page) if len(line) > LONGEST and longest_word[number] < LONGEST - 40
    ]
    assert too_long == []


def test_no_phrase_of_the_list_is_used():
    pattern = re.compile(rf"\b({'|'.join(PHRASES)})", re.IGNORECASE)
    uses = [
        f"{path.relative_to(ROOT)}:{number}: {line}"
        for path in [*PAGES, *SOURCES]
        if pattern.search(text := path.read_text())
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert uses == []
