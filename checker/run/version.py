"""The version of this distribution."""

from __future__ import annotations


def tidemark_version() -> str:
    """Return the version of this distribution, or `source` if it is not installed."""
    # Imported here: it takes longer than most of what a command imports.
    import importlib.metadata

    try:
        return importlib.metadata.version("tidemark")
    except importlib.metadata.PackageNotFoundError:
        return "source"
