"""The code on the pages: every Python block is Python, and every quotation is a part of the file that it quotes."""

import ast
import re
import textwrap

import pytest

from checker.frontend import compile_spec
from checker.run import registry
from tests.docs.pages import PAGES, PROGRAM, ROOT, blocks_of, save

COMING_FROM, TUTORIAL, CI = "docs/coming-from.md", "docs/tutorial.md", "docs/ci.md"
START = ROOT / "checker" / "execution" / "starting_point"


def is_python(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize("page", PAGES)
def test_every_python_block_is_python(page):
    for block in blocks_of(page):
        if block.language == "python" and ">>>" not in block.text:
            text = textwrap.dedent(block.text)
            # Some blocks are arguments of a call.
            assert is_python(text) or is_python(f"f(\n{text}\n)"), f"{page}:{block.line}"


def without_spaces(text):
    return "".join(text.split())


def test_the_first_excerpts_of_the_tutorial_are_parts_of_the_spec_that_init_writes():
    written = (START / "lease.py.txt").read_text()
    excerpts = [block for block in blocks_of(TUTORIAL) if block.language == "python" and not block.title]
    assert len(excerpts) == 4
    for block in excerpts:
        assert block.text in written, f"{TUTORIAL}:{block.line}"


def test_the_workflow_and_the_settings_are_those_that_init_writes():
    (workflow,) = (block for block in blocks_of(CI) if block.language == "yaml")
    (settings,) = (block for block in blocks_of(CI) if block.language == "toml")
    assert workflow.text == (START / "specs.yml.txt").read_text()
    assert settings.text == (START / "pyproject.toml.txt").read_text()


def cells_of_the_last_column():
    table, _, _ = PAGES[COMING_FROM].read_text().partition("## The spec of the table")
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    return [re.split(r"(?<!\\)\|", row)[-2].strip() for row in rows]


def test_every_construct_of_the_comparison_is_in_the_spec_below_the_table():
    (block,) = (block for block in blocks_of(COMING_FROM) if block.title)
    known = without_spaces(block.text)
    quoted = [text for cell in cells_of_the_last_column() for text in re.findall(r"`([^`]+)`", cell)]
    missing = [text for text in quoted if without_spaces(text) not in known and not text.startswith(PROGRAM)]
    assert len(quoted) > 25
    assert missing == []


def test_every_spec_of_the_comparison_compiles(tmp_path):
    (block,) = (block for block in blocks_of(COMING_FROM) if block.title)
    save(block, tmp_path)
    entries = registry.load_file(tmp_path / block.title).entries
    assert [entry.spec.name for entry in entries] == ["counter", "ring", "short_ring", "viewed_ring"]
    for entry in entries:
        compile_spec(entry.spec())
