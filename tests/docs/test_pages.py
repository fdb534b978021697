"""The collector of commands, and the comparison of documented outputs with printed ones."""

import pytest

from tests.docs import pages
from tests.docs.pages import Block, DocumentedCommand, difference, inline_commands, save, steps_of, without_times

PAGE = """# A page

```sh
python -m checker list            # a comment
python -m checker run a \\
    --set b=1
```

Then `python -m checker run c` and `python -m checker
show d`.

```python title="specs/one.py"
x = 1
```

- In a list:

  ```console
  $ python -m checker run e

  one
  ...
  two

  $ pytest
  ```
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    monkeypatch.setitem(pages.PAGES, "page.md", path)
    return "page.md"


def test_the_steps_of_a_page(page):
    assert steps_of(page) == [
        DocumentedCommand(page, 4, "python -m checker list            # a comment"),
        DocumentedCommand(page, 6, "python -m checker run a --set b=1"),
        Block(page, 12, "python", "specs/one.py", "x = 1\n"),
        DocumentedCommand(page, 19, "python -m checker run e", ("one", "...", "two")),
        DocumentedCommand(page, 25, "pytest"),
    ]


def test_commands_in_sentences(page):
    assert inline_commands(page) == [
        DocumentedCommand(page, 9, "python -m checker run c"),
        DocumentedCommand(page, 9, "python -m checker show d"),
    ]


def test_a_console_block_begins_with_a_command(page, monkeypatch):
    pages.PAGES[page].write_text("```console\nno command\n```\n")
    with pytest.raises(AssertionError, match=r"page.md:2: a console block begins"):
        steps_of(page)


def test_a_file_is_saved_and_its_scenarios_are_replaced(tmp_path):
    save(Block("page", 1, "python", "specs/a.py", "class A: ...\nscenarios = [1]\n"), tmp_path)
    save(Block("page", 5, "python", "specs/a.py", "scenarios = [2]\n"), tmp_path)
    assert (tmp_path / "specs" / "a.py").read_text() == "class A: ...\nscenarios = [2]\n"


@pytest.mark.parametrize(
    ("documented", "printed"),
    [
        ("a\nb", "a\nb\n"),
        ("a\nb", "\na  \nb\n\n"),
        ("a\n...", "a\nb\nc"),
        ("...\nc", "a\nb\nc"),
        ("a\n  ...\nc\n...\ne", "a\nb\nc\nc\nd\ne"),
        ("...", "anything"),
        ("b\n...\nb", "b\na\nb"),
        ("done in 0.5 s", "done in 1,234.56 s"),
        ("x  1  0.01  ok", "x  1  12.34  ok"),
        ("7 walks (1,000 per second)", "7 walks (5 per second)"),
    ],
)
def test_outputs_that_agree(documented, printed):
    assert difference(tuple(documented.split("\n")), printed) == ""


@pytest.mark.parametrize(
    ("documented", "printed", "says"),
    [
        ("a\nb", "a\nc", "documented: 'b'\nprinted:    'c'"),
        ("a", "a\nb", "not documented: 'b'"),
        ("a\nb", "a", "documented: 'b'\nprinted:    the end of the output"),
        ("b\n...", "a\nb", "documented: 'b'"),
        ("...\nb", "a\nb\nc", "documented: 'b'\nprinted:    'c'"),
        ("a\n...\nb\nc", "a\nb\nd", "documented: 'c'\nprinted:    'd'"),
        ("a\n...\na", "a", "documented: 'a'"),
        ("7 states", "8 states", "documented: '7 states'"),
        ("26.4% of walks", "26.5% of walks", "documented"),
        ("Kafka 3.7.0", "Kafka 3.7.1", "documented"),
        ("52 queries, 0.1 s", "53 queries, 0.1 s", "documented"),
    ],
)
def test_outputs_that_differ(documented, printed, says):
    assert difference(tuple(documented.split("\n")), printed).startswith(says)


def test_nothing_but_times_and_rates_is_replaced():
    line = "replication/kip320 3.7.0 2.16.0 b1 r0@0 12 states, 1,234 steps, 26.39%, depth 7, [34%], 5 s"
    assert without_times(line) == line.replace("5 s", "N s")
