"""Random specs are compiled once: their machine code does not belong in the cache. That of real specs does."""

import pytest

from checker.engines.native.llvm import code_cache


@pytest.fixture(autouse=True)
def without_code_cache(request, monkeypatch):
    if request.path.name != "test_real_specs.py":
        monkeypatch.setenv(code_cache.VARIABLE, code_cache.OFF)
