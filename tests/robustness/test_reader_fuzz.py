"""A few damaged files for each reader; `fuzz_readers.py` takes as many as there is time for."""

import pytest

from tests.robustness.fuzz_readers import READERS, fuzz

EXAMPLES = {
    "trace": 40,
    "log": 10,
    "mapping": 25,
    "properties": 60,
    "walks": 40,
    "checkpoint": 8,
    "segment": 100,
    "audit": 40,
    "experiment": 60,
    "cluster": 60,
    "certificate": 20,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The recursion limit will not be reset")
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_gives_a_sentence(tmp_path, name):
    fuzz(name, tmp_path, examples=EXAMPLES[name])
