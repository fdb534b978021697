"""The options of `run --engine spark`. The engine itself is registered by the package `spark_analysis`."""

from __future__ import annotations

from dataclasses import dataclass

from checker.errors import InputError


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """The master (None: this machine), and the number of partitions of the states."""

    master: str | None = None
    partitions: int | None = None

    @property
    def words(self) -> list[str]:
        """The command-line arguments of these options."""
        master = ["--master", self.master] if self.master is not None else []
        return master + (["--partitions", str(self.partitions)] if self.partitions is not None else [])

    def require_unused(self) -> None:
        """Raise InputError if an option is set: only the Spark engine has them."""
        if self != SparkOptions():
            raise InputError("--master and --partitions need --engine spark")
