"""The version of this distribution."""

from __future__ import annotations

import importlib.metadata


def tidemark_version() -> str:
    """Return the version of this distribution, or `source` if it is not installed."""
    try:
        return importlib.metadata.version("tidemark")
    except importlib.metadata.PackageNotFoundError:
        return "source"
