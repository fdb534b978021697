"""The old place of `kafka_tools.lab.recording`: until the next release, mappings are also named by it."""

from pathlib import Path

__path__ = [str(Path(__file__).parents[1] / "lab" / "recording")]
