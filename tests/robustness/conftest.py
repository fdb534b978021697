"""The fixtures of the command line."""

from tests.cli.conftest import checker, usual_environment  # noqa: F401 - fixtures
