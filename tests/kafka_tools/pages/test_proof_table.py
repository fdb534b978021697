"""The table of proofs in docs/proving.md is made from the certificates."""

import dataclasses
from pathlib import Path

import pytest

from checker.errors import InputError
from kafka_tools.pages import proof_table
from kafka_tools.pages.markdown import BEGIN, END

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_has_the_table_of_the_certificates():
    assert proof_table.render() == (DOCS / "proving.md").read_text(), "run python -m checker pages"


def test_the_table_has_what_the_certificates_say():
    found = proof_table.certificates()
    assert len(found) > 2
    file, certificate = found[0]
    changed = dataclasses.replace(certificate, properties=("is_blue",))
    row = proof_table.table([(file, changed)]).splitlines()[-1]
    assert f"`{file.stem}`" in row and "`is_blue`" in row
    assert (DOCS.parent / file).exists()


@pytest.mark.parametrize("lines", ["", BEGIN, END])
def test_a_page_without_a_computed_part_is_an_error(monkeypatch, tmp_path, lines):
    (tmp_path / "proving.md").write_text(f"# Proving\n\n{lines}\n")
    monkeypatch.setattr(proof_table, "_PAGE", tmp_path / "proving.md")
    with pytest.raises(InputError, match="has no computed part"):
        proof_table.render()
