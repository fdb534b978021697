"""The fixtures of the command line."""

from tests.cli.conftest import checker, outside_of_github  # noqa: F401 - fixtures
