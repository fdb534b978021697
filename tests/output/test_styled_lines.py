"""Lines of text for a terminal: their width, and where they are broken."""

import io
import os

import pytest

from checker.output.styled_lines import break_text, broken, line, plain, width_of, write
from checker.printable import quantity


class Terminal(io.StringIO):
    """A terminal without a file descriptor, so that its width is unknown."""

    def isatty(self):
        return True


def shown(text, width):
    return plain(broken(line((text, "bold")), width)).splitlines()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("  short", ["  short"]),
        ("exactly twenty chars", ["exactly twenty chars"]),
        ("twenty chars and a bit", ["twenty chars and a", "    bit"]),
        ("  indented words of a line", ["  indented words of", "      a line"]),
        ("name                      value", ["name", "    value"]),
        ("ab  words in two columns", ["ab  words in two", "    columns"]),
        ("  a  three columns  in one", ["  a  three columns", "     in one"]),
        (
            "a-word-that-is-longer-than-the-width and another",
            ["a-word-that-is-longer-than-the-width", "    and another"],
        ),
        ("a-word-that-is-longer-than-the-width", ["a-word-that-is-longer-than-the-width"]),
    ],
)
def test_a_line_is_broken_between_words(text, lines):
    assert shown(text, 20) == lines


def test_the_parts_of_a_broken_line_keep_their_styles():
    spans = line(("red words ", "red"), ("and green ones", "green"))
    first, second = broken(spans, 20)
    assert [span for span in first if span[0]] == [("red words ", "red"), ("and green", "green")]
    assert [span for span in second if span[0].strip()] == [("ones", "green")]


def test_only_a_terminal_has_a_width(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert width_of(io.StringIO()) is None
    assert width_of(Terminal()) == 80
    monkeypatch.setenv("COLUMNS", "44")
    assert width_of(io.StringIO()) == width_of(Terminal()) == 44


def test_the_width_of_a_pseudo_terminal(monkeypatch):
    import fcntl
    import struct
    import termios

    monkeypatch.delenv("COLUMNS", raising=False)
    master, slave = os.openpty()
    with open(slave, "w") as stream:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 57, 0, 0))
        assert width_of(stream) == 57
        write([line("word " * 20)], stream)
        text = ""
        while text.count("word") < 20:
            text += os.read(master, 4096).decode().replace("\r\n", "\n")
    os.close(master)
    assert max(map(len, text.splitlines())) <= 57
    assert text.split() == ["word"] * 20


def test_an_escaped_character_counts_with_its_escape(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = io.StringIO()
    write([line("one \x1b\x1b\x1b\x1b two")], stream)
    assert stream.getvalue() == "one \\x1b\\x1b\\x1b\\x1b\n    two\n"


def test_the_source_line_of_an_error_keeps_its_carets_below_it(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    text = "mine.py:3: y is neither a variable nor a constant\n    self.y = some_long_name\n    ^^^^^^"
    assert break_text(text, io.StringIO()).splitlines()[-2:] == text.splitlines()[-2:]


def test_a_quantity_has_the_number_of_its_noun():
    counts = [(0, "state"), (1, "distinct state"), (2000, "state"), (2, "copy"), (3, "delay")]
    texts = ["0 states", "1 distinct state", "2,000 states", "2 copies", "3 delays"]
    assert [quantity(*count) for count in counts] == texts
