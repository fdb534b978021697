"""Pyodide, which is Python for browsers: the npm package of one version, checked by its digest and kept in a cache."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from checker.errors import MissingExtraError

VERSION = "314.0.7"

INTEGRITY = "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
"""The digest of the package, in the form of npm's lock files."""

_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")

_SECONDS = 300
"""The longest time of a download."""


def pyodide_files(cache: Path) -> Mapping[str, bytes]:
    """Return the files of Pyodide that a page loads, by their names; npm downloads them if the cache has none.

    Raises MissingExtraError if they cannot be had, with the reason.
    """
    path = cache / f"pyodide-{VERSION}.tgz"
    package = path.read_bytes() if path.is_file() else b""
    if _integrity(package) != INTEGRITY:
        package = _download(path.name)
        if _integrity(package) != INTEGRITY:
            raise MissingExtraError(
                f"the npm package pyodide@{VERSION} does not have the digest of {Path(__file__).name}"
            )
        cache.mkdir(parents=True, exist_ok=True)
        path.write_bytes(package)
    with tarfile.open(fileobj=BytesIO(package)) as archive:
        members = {name: archive.extractfile(f"package/{name}") for name in _FILES}
        return {name: member.read() for name, member in members.items() if member is not None}


def _integrity(package: bytes) -> str:
    return f"sha512-{base64.b64encode(hashlib.sha512(package).digest()).decode()}"


def _download(name: str) -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        raise MissingExtraError("npm is not installed, which downloads Pyodide")
    with tempfile.TemporaryDirectory() as folder:
        options = ["--pack-destination", folder, "--ignore-scripts", "--silent", "--fetch-retries=1"]
        command = [npm, "pack", f"pyodide@{VERSION}", *options]
        try:
            subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=_SECONDS)
            return (Path(folder) / name).read_bytes()
        except (OSError, subprocess.SubprocessError):
            raise MissingExtraError(f"npm cannot download pyodide@{VERSION}: is its registry reached?") from None
