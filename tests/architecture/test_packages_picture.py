"""The picture in docs/architecture.md has the packages and the imports of today."""

import re

import pytest

from tests.docs.pages import ROOT

pytest.importorskip("grimp", reason="grimp comes with import-linter")

from bench.architecture import arrows, imports_between_packages

PICTURE = ROOT / "docs" / "pictures" / "packages.svg"


def test_the_picture_has_the_arrows_of_today():
    drawn = re.findall(r"<title>([\w.]+)&#45;&gt;([\w.]+)</title>", PICTURE.read_text(encoding="utf-8"))
    assert set(drawn) == arrows(imports_between_packages(ROOT)), (
        f"run python -m bench.architecture --svg {PICTURE.relative_to(ROOT)}"
    )
