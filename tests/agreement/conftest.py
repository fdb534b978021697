"""Random specs are compiled once: their machine code does not belong in the cache."""

import pytest

from checker.engines.native.llvm import code_cache


@pytest.fixture(autouse=True)
def without_code_cache(monkeypatch):
    monkeypatch.setenv(code_cache.VARIABLE, code_cache.OFF)
