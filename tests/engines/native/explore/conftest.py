"""The compiled toys, which the tests of both stores share."""

import pytest

from checker.engines.native.explore.kernels import Kernels
from tests.engines.native.explore.toys import compile_toy


@pytest.fixture(scope="session")
def kernels() -> dict[str, Kernels]:
    from tests.engines.native.explore.test_breadth_first import TOYS

    return {name: compile_toy(toy) for name, toy in TOYS.items()}
