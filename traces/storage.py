"""Files and folders on this machine or in an object store: `Path`, or `RemotePath` for a URL.

Both have the methods of `Path` that the code for walks, reports, logs and checkpoints needs. An object store has no
rename and no locks. Therefore a file is written once, under its final name, and appears as a whole (`new_file`); what
describes other files is written after them. Programs that need a local file, such as readers of Parquet, get a copy in
a cache of this machine (`local_copy`).

Every command imports this module for its options, so modules that only stores need are imported in functions.
"""

from __future__ import annotations

import errno
import fnmatch
import functools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

from checker.data_files import MOST_BYTES, open_data, read_data
from checker.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from pyarrow import Buffer
    from pyarrow.fs import FileInfo, FileSystem

CACHE_BYTES = 8 << 30
"""The size of the cache of this machine above which the files that were not used for the longest time are removed."""

MOST_LOG_BYTES = 4 << 30
"""The bytes of the largest recorded log that is read as a whole."""

_URL = re.compile(r"[a-z][a-z0-9+.-]*:/.*", re.DOTALL)
_SECRET_OPTION = re.compile(r"secret|password|token|_key$|^sig$")
"""The names of options of a store whose values are credentials; `sig` is the signature of Azure's shared access."""

_AWS_REASON = re.compile(r"AWS Error (\w+) during (\w+) operation(?:: )?(.*?)(?: \(Request ID: .*)?$", re.DOTALL)


class StorageError(InputError, OSError):
    """An operation in a store failed. Its message names the location; `strerror` is the reason alone."""

    def __init__(self, message: str, *, reason: str = "", **place: Any) -> None:
        InputError.__init__(self, message, **place)
        self.errno, self.strerror = errno.EIO, reason or message


@dataclass(frozen=True)
class RemotePath:
    """A file or folder in an object store or a distributed file system.

    `root` is the URL of the store up to the bucket or host, `path` the path below it, without a slash at either end.
    `query` has the options of the store, such as `region=eu-west-1`. Its methods have the names and the meaning of
    those of `Path`; they raise FileNotFoundError, or StorageError with a short reason.
    """

    root: str
    path: str
    query: str = ""

    def __str__(self) -> str:
        url = f"{self.root}/{self.path}" if self.path else self.root
        return f"{url}?{self.query}" if self.query else url

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(self.root, f"{self.path}/{name}".strip("/"), self.query)

    def __lt__(self, other: RemotePath) -> bool:
        return str(self) < str(other)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return PurePosixPath(self.path).stem

    @property
    def suffix(self) -> str:
        """The ending of the name, with its dot."""
        return PurePosixPath(self.path).suffix

    @property
    def parent(self) -> RemotePath:
        """The folder of the file."""
        return RemotePath(self.root, self.path.rpartition("/")[0], self.query)

    def with_name(self, name: str) -> RemotePath:
        """Return the path of another file in the same folder."""
        return self.parent / name

    def absolute(self) -> RemotePath:
        """Return this path: a URL has no working directory."""
        return self

    def resolve(self) -> RemotePath:
        """Return this path: a store has no links."""
        return self

    def exists(self) -> bool:
        """Return whether there is a file or a folder."""
        return self._info() is not None

    def is_file(self) -> bool:
        """Return whether there is a file."""
        info = self._info()
        return info is not None and bool(info.is_file)

    def is_dir(self) -> bool:
        """Return whether there is a folder; in an object store, a folder exists as long as it has files."""
        info = self._info()
        return info is not None and not info.is_file

    def iterdir(self) -> Iterator[RemotePath]:
        """Yield the files and folders in this folder; none if it does not exist."""
        from pyarrow.fs import FileSelector

        filesystem, path = _open(self)
        with _short_reasons(self):
            infos = filesystem.get_file_info(FileSelector(path, allow_not_found=True))
        yield from (self / name for name in sorted(info.base_name for info in infos) if name)

    def names_below(self) -> list[str]:
        """Return the names of the files in this folder and in the folders in it, relative to it."""
        from pyarrow.fs import FileSelector

        filesystem, path = _open(self)
        with _short_reasons(self):
            infos = filesystem.get_file_info(FileSelector(path, allow_not_found=True, recursive=True))
        start = path.rstrip("/") + "/"
        return [info.path.removeprefix(start) for info in infos if info.is_file]

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """Yield the files whose names match a pattern, of which the folders before the last slash are plain names."""
        folder, _, names = pattern.rpartition("/")
        place = self / folder if folder else self
        yield from (entry for entry in place.iterdir() if fnmatch.fnmatchcase(entry.name, names))

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Create the folder if the store has folders. Object stores have none."""
        filesystem, path = _open(self)
        if filesystem.type_name in ("hdfs", "local"):
            with _short_reasons(self):
                filesystem.create_dir(path, recursive=parents)

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove the file."""
        filesystem, path = _open(self)
        try:
            with _short_reasons(self):
                filesystem.delete_file(path)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        filesystem, path = _open(self)
        with _short_reasons(self), filesystem.open_input_stream(path) as stream:
            return bytes(stream.read())

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return the text of the file."""
        return self.read_bytes().decode(encoding)

    def read_range(self, position: int, size: int) -> bytes:
        """Return some bytes of the file, without reading the others; fewer at its end."""
        filesystem, path = _open(self)
        with _short_reasons(self), filesystem.open_input_file(path) as file:
            available = max(0, min(size, file.size() - position))
            return bytes(file.read_at(available, position)) if available else b""

    def chunks(self, size: int) -> Iterator[bytes]:
        """Yield the content of the file, at most so many bytes at once."""
        filesystem, path = _open(self)
        with _short_reasons(self), filesystem.open_input_stream(path) as stream:
            while part := stream.read(size):
                yield bytes(part)

    def write_bytes(self, content: bytes | Buffer) -> None:
        """Write the file; it appears as a whole, and replaces one of the same name."""
        filesystem, path = _open(self)
        with _interrupts_delayed(), _short_reasons(self), filesystem.open_output_stream(path) as stream:
            stream.write(content)

    def write_text(self, text: str, encoding: str = "utf-8", errors: str = "strict") -> None:
        """Write a text file like `write_bytes`."""
        self.write_bytes(text.encode(encoding, errors))

    def upload(self, file: Path) -> None:
        """Write the content of a local file like `write_bytes`."""
        from pyarrow import memory_map

        with memory_map(str(file)) as content:
            self.write_bytes(content.read_buffer())

    def download(self, file: Path) -> None:
        """Copy the content to a local file."""
        import shutil

        filesystem, path = _open(self)
        with file.open("wb") as content, _short_reasons(self), filesystem.open_input_stream(path) as stream:
            shutil.copyfileobj(stream, content, 1 << 20)

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        info = self._info()
        return int(info.size or 0) if info is not None else 0

    @property
    def version(self) -> str:
        """A text that differs after the file was written again: its ETag, or else its size and its time."""
        filesystem, path = _open(self)
        with _short_reasons(self), filesystem.open_input_file(path) as file:
            known = file.metadata()
        if known and "ETag" in known:
            return str(known["ETag"])
        info = self._info()
        if info is None:
            raise FileNotFoundError(errno.ENOENT, "there is no such file")
        return f"{info.size} {info.mtime_ns}"

    def _info(self) -> FileInfo | None:
        filesystem, path = _open(self)
        with _short_reasons(self):
            info = filesystem.get_file_info(path)
        return None if info.type.name == "NotFound" else info


@contextmanager
def _interrupts_delayed() -> Iterator[None]:
    """Let Ctrl-C take effect after a file was written.

    An interrupt would close the stream, and the store would show the part that was written as the whole file.
    """
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            signal.raise_signal(signal.SIGINT)


Location: TypeAlias = Path | RemotePath
"""A file or folder on this machine or elsewhere."""


def location_of(text: str) -> Location:
    """Return the location that a path or a URL names; `file:` URLs are paths.

    Raises InputError if a URL is wrong, contains credentials or names an unknown kind of store, and MissingExtraError
    if a package for it is missing.
    """
    if not _URL.fullmatch(text):
        return Path(text)
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(text)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise InputError(f"{text} names another host: write file:///PATH")
        return Path(unquote(parts.path))
    if not parts.netloc and parts.scheme != "hdfs":
        raise InputError(f"{text} names no bucket: write {parts.scheme}://BUCKET/FOLDER")
    shown = _without_credentials(parts)
    if shown != parts.geturl():
        raise InputError(
            f"a URL with credentials would appear in files and messages: write {shown}, and give the credentials by "
            "the environment or the configuration of the store"
        )
    if parts.fragment:
        raise InputError(f"{text}: the part after # would be ignored: choose a name without #")
    location = RemotePath(f"{parts.scheme}://{parts.netloc}", parts.path.strip("/"), parts.query)
    _open(location)
    return location


def _without_credentials(parts: SplitResult) -> str:
    """Return a URL without users, passwords, keys and tokens."""
    user, _, host = parts.netloc.rpartition("@")
    # A URL of Azure has the container in front of the account: `CONTAINER@ACCOUNT`, or `CONTAINER:KEY@ACCOUNT`.
    container = user.partition(":")[0] if parts.scheme.startswith("abfs") else ""
    options = [option for option in parts.query.split("&") if not _SECRET_OPTION.search(option.partition("=")[0])]
    return parts._replace(netloc=f"{container}@{host}" if container else host, query="&".join(options)).geturl()


def matching(folder: Location, pattern: str) -> list[Location]:
    """Return the files of a folder whose names match a pattern, by name; none if the folder does not exist."""
    places: list[Location] = [*folder.glob(pattern)]
    return sorted(places, key=str)


def files_below(folder: Location, pattern: str) -> list[Location]:
    """Return the files of a folder and of the folders in it whose names match a pattern, by path.

    As for Spark, names that begin with a dot do not count, nor those with an underscore that have no `=`.
    """
    if isinstance(folder, RemotePath):
        names = folder.names_below()
    else:
        names = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    shown = (name for name in names if not any(_is_hidden(part) for part in name.split("/")))
    return [folder / name for name in sorted(shown) if fnmatch.fnmatchcase(name.rpartition("/")[2], pattern)]


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


@contextmanager
def new_file(target: Location, *, is_immutable: bool = False) -> Iterator[Path]:
    """Yield the path of a new local file, which appears at `target` as a whole if the block ends without an error.

    It replaces a file of the same name. A file that `is_immutable` is never written again: `local_copy` gets it from
    the cache of this machine. Raises OSError if it cannot be written.
    """
    if isinstance(target, RemotePath):
        from checker.run.scratch_folders import scratch_folder

        with scratch_folder("upload") as folder:
            written = folder / target.name
            yield written
            target.upload(written)
            if is_immutable:
                os.replace(written, _copy_of(target, ""))
                _shrink_cache()
        return
    # Each attempt uses a unique name: two of them may write the same file at the same time.
    hidden = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        yield hidden
        # Atomic within one folder.
        os.replace(hidden, target)
    finally:
        hidden.unlink(missing_ok=True)


def read_location(location: Location, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a data file; raise OSError if there is none, or if it is too large or no regular file."""
    if isinstance(location, Path):
        return read_data(location, most_bytes)
    if location.size > most_bytes:
        raise OSError(errno.EFBIG, f"it has more than {most_bytes:,} bytes")
    return location.read_bytes()


def local_copy(location: Location, *, is_immutable: bool = False) -> Path:
    """Return a local file with the content of a file: itself, or a copy in the cache of this machine.

    A copy is used again as long as the file was not written again; if the file `is_immutable`, without asking the
    store. Raises OSError if the file does not exist or cannot be read.
    """
    if isinstance(location, Path):
        open_data(location).close()
        return location
    version = "" if is_immutable else location.version
    copy = _copy_of(location, version)
    try:
        os.utime(copy)
    except FileNotFoundError:
        with new_file(copy) as written:
            location.download(written)
        _shrink_cache()
    return copy


def _copy_of(location: RemotePath, version: str) -> Path:
    """Return the path of the copy of a file in the cache; `version` is empty for an immutable file."""
    import hashlib

    return _cache_folder() / hashlib.sha256(f"{location} {version}".encode()).hexdigest()


def _cache_folder() -> Path:
    import tempfile

    folder = Path(tempfile.gettempdir()) / f"tidemark-fetched-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.is_symlink():
        raise PermissionError(errno.EPERM, f"the cache {folder} belongs to another user")
    return folder


def _shrink_cache() -> None:
    """Remove the files that were not used for the longest time. An open or mapped file stays readable."""
    files = []
    for path in _cache_folder().iterdir():
        with suppress(FileNotFoundError):
            files.append((path.stat().st_mtime, path.stat().st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= CACHE_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= size


def _open(location: RemotePath) -> tuple[FileSystem, str]:
    """Return the file system of a location, and the path in it."""
    filesystem, prefix = _filesystem(location.root, location.query)
    return filesystem, "/".join(part for part in (prefix, location.path) if part) or "/"


@functools.cache
def _filesystem(root: str, query: str) -> tuple[FileSystem, str]:
    """Return the file system of a URL and the path of its root; raise InputError if there is none."""
    try:
        from pyarrow import ArrowException, fs
    except ModuleNotFoundError:
        raise MissingExtraError(
            f"{root} needs pyarrow, which is not installed: pip install 'tidemark[spark]'"
        ) from None
    # Without the first, Arrow writes even a small file to S3 by three requests.
    options = [*(["allow_delayed_open=true"] if root.startswith("s3:") else []), *filter(None, [query])]
    url = f"{root}?{'&'.join(options)}" if options else root
    try:
        filesystem, path = fs.FileSystem.from_uri(url)
        return filesystem, path.rstrip("/")
    except (ArrowException, OSError, ValueError) as error:
        reason = str(error)
    if "Unrecognized filesystem type" not in reason and "not built" not in reason:
        raise InputError(f"{root} cannot be used: {_short(reason)}")
    return _filesystem_of_fsspec(root, query)


def _filesystem_of_fsspec(root: str, query: str) -> tuple[FileSystem, str]:
    """Return a file system of fsspec, for the stores that pyarrow does not know."""
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    scheme, _, host = root.partition("://")
    known = "s3, gs, abfs, hdfs and file"
    try:
        import fsspec
    except ModuleNotFoundError:
        raise InputError(f"{root}: {scheme} is not one of {known}; other stores need the package fsspec") from None
    try:
        filesystem = fsspec.filesystem(scheme)
    except (ImportError, ValueError) as error:
        raise InputError(f"{root}: {scheme} is not one of {known}, and fsspec cannot open it: {error}") from None
    return PyFileSystem(FSSpecHandler(filesystem)), host


@contextmanager
def _short_reasons(location: RemotePath) -> Iterator[None]:
    """Raise errors of a store as FileNotFoundError, or as StorageError with a short reason."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "there is no such file") from None
    except (OSError, ValueError) as error:
        reason = _short(str(error))
        raise StorageError(f"{location} cannot be used: {reason}", reason=reason) from None


def _short(reason: str) -> str:
    """Return the cause in an error text of pyarrow as one line."""
    match = _AWS_REASON.search(reason)
    if match is not None:
        code, operation, text = match.groups()
        reason = f"{text.strip().rstrip('.') or 'no reason'} ({code} of {operation})"
    return " ".join(reason.split("\n")[0].split())[:300]
