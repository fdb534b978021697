"""The digest of everything that a spec's meaning depends on, found without reading the syntax of its methods.

It covers the constants of the spec, the modules of its classes, and the modules from which these have anything: their
text, and the values of their names. A name may have another value than its text suggests, because it was computed from
the environment or replaced. Modules of Python and of `checker` are covered by their names: the user of the digest adds
their version.

The digest is unknown where it might be wrong: for a value that this module cannot read whole, for code without a file,
and for a file that changed after this process began, of which the process may have loaded the older text.
"""

from __future__ import annotations

import enum
import functools
import os
import re
import struct
import sys
import time
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from checker.language.spec import Spec

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented)})

_MODULE_ATTRIBUTES = frozenset(vars(types.ModuleType("m"))) | {"__file__", "__cached__", "__builtins__", "__path__"}
"""The names that Python gives every module."""

_CLASS_ATTRIBUTES = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__static_attributes__", "__firstlineno__", "_abc_impl"}
    # Caches: `pickle` adds the first one.
    | {"__slotnames__", "__annotations_cache__"}
)
"""The attributes of classes that nothing reads, or that other parts of the digest cover."""


class UnknownSourceError(Exception):
    """The digest of a value, module or file is unknown."""


_Identity = tuple[int, int, int, int, int]
"""The parts of a file's status of which one differs if the file was written or replaced."""


@dataclass(frozen=True)
class _ModuleDigest:
    """The digest of a module's text and values, the modules that its values come from, and the files of their code."""

    own: bytes
    uses: frozenset[str]
    files: Mapping[str, _Identity]


_kept: dict[str, _ModuleDigest] | None = None
"""The digests of modules, while they are kept."""

_of_codes: dict[int, tuple[types.CodeType, bytes]] = {}
"""The digests of code objects by their ids. Code objects do not change, and the ids stay valid with their objects."""


def source_digest(spec: Spec) -> str | None:
    """Return the digest of a spec with its constants, 64 hexadecimal digits; None if it is unknown."""
    try:
        return _digest_and_files(spec)[0]
    except (UnknownSourceError, RecursionError):
        return None


def is_current(digest: str, spec: Spec) -> bool:
    """Return whether a spec still has a digest. Values of modules that are kept count as unchanged, files do not."""
    try:
        now, files = _digest_and_files(spec)
        return now == digest and all(_identity(os.stat(path)) == identity for path, identity in files.items())
    except (UnknownSourceError, RecursionError, OSError):
        return False


def _digest_and_files(spec: Spec) -> tuple[str, dict[str, _Identity]]:
    """Return the digest of a spec and the files that it covers; raise UnknownSourceError or RecursionError."""
    digests = {} if _kept is None else _kept
    walk = _ValueWalk("")
    walk.write(type(spec))
    walk.write(dict(spec.constants))
    open_names, closed = set(walk.uses), set()
    while open_names:
        name = open_names.pop()
        closed.add(name)
        if name not in digests:
            digests[name] = _module_digest(name)
        open_names |= digests[name].uses - closed
    for name in sorted(closed):
        walk.text(name)
        walk.digest.update(digests[name].own)
        walk.files.update(digests[name].files)
    return walk.digest.hexdigest(), walk.files


@contextmanager
def digests_kept() -> Iterator[None]:
    """While this holds, the digest of a module is computed once: the caller knows that no value of one is replaced."""
    global _kept
    before = _kept
    _kept = {} if before is None else before
    try:
        yield
    finally:
        _kept = before


def _text_if_unchanged(path: str) -> tuple[bytes, _Identity]:
    """Return a file's content and identity; raise UnknownSourceError if it changed after this process began."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            content = file.read()
    except OSError:
        raise UnknownSourceError(f"{path} cannot be read") from None
    # The time of a change of the inode cannot be set by a program, as that of the content can.
    if max(status.st_mtime_ns, status.st_ctime_ns) >= PROCESS_START:
        raise UnknownSourceError(f"{path} changed after the process began")
    return content, _identity(status)


def _identity(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


_CLOCK_STEP = 50_000_000
"""More nanoseconds than a step of the clock of files, which may show an earlier time than that of a change."""


def _process_start() -> int:
    """Return a time shortly before this process began, in nanoseconds of the clock of files; 0 if it is unknown."""
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            # The name of the program, in parentheses, may contain spaces. The start is field 22, in ticks since boot.
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0
    return time.time_ns() - int(age * 1e9) - _CLOCK_STEP


PROCESS_START = _process_start()
"""In a forked process the start of the process that loaded the specs: the constant is inherited."""


def _is_foreign(module: str) -> bool:
    """Return whether a module belongs to Python or to `checker`."""
    top = module.partition(".")[0]
    if top not in sys.stdlib_module_names:
        return top == "checker"
    # A module beside a spec may have the name of one of Python's.
    file = getattr(sys.modules.get(top), "__file__", None)
    return file is None or file.startswith(_PYTHON_FOLDER)


_PYTHON_FOLDER = os.path.dirname(os.__file__) + os.sep


def _module_digest(name: str) -> _ModuleDigest:
    import hashlib

    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or file is None or not file.endswith(".py"):
        raise UnknownSourceError(f"the module {name} has no source")
    walk = _ValueWalk(name)
    walk.digest.update(hashlib.blake2b(walk.content(file)).digest())
    # Without the names of Python. A copy: a value may import a module when it is read.
    walk.write({key: value for key, value in list(vars(module).items()) if key not in _MODULE_ATTRIBUTES})
    return _ModuleDigest(walk.digest.digest(), frozenset(walk.uses - {name}), walk.files)


class _ValueWalk:
    """Feeds values to a hash function, and collects the modules that they come from, and the files that it read.

    Classes and functions of other modules are represented by their names if these lead to them. All others, such as
    those that a function has made, are fed with all their parts. Every text is preceded by its length, and an object
    that was fed is represented by its number.
    """

    def __init__(self, module: str):
        import hashlib

        self.digest = hashlib.blake2b(digest_size=32)
        self.uses: set[str] = set()
        self.files: dict[str, _Identity] = {}
        self._module = module
        self._numbers: dict[int, int] = {}
        # Keeps the ids valid.
        self._fed: list[Any] = []

    def text(self, text: str) -> None:
        """Feed a text."""
        content = text.encode(errors="surrogatepass")
        self.digest.update(len(content).to_bytes(8, "big") + content)

    def content(self, path: str) -> bytes:
        """Return the content of a file, which the digest covers then."""
        content, self.files[path] = _text_if_unchanged(path)
        return content

    def write(self, value: Any) -> None:
        """Feed a value; raise UnknownSourceError if it cannot be read whole."""
        kind = type(value)
        if kind in _ATOMS:
            self.text(f"{kind.__name__} {value!r}")
            return
        if id(value) in self._numbers:
            self.text(f"again {self._numbers[id(value)]}")
            return
        self._numbers[id(value)] = len(self._numbers)
        self._fed.append(value)
        if isinstance(value, type):
            self._class(value)
        elif isinstance(value, types.ModuleType):
            self._name("module", value.__name__, "")
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, (types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType)):
            self.text(f"builtin {value.__qualname__}")
            if not isinstance(getattr(value, "__self__", None), (types.ModuleType, type(None))):
                self.write(value.__self__)  # type: ignore[union-attr]
        elif kind in (tuple, list):
            self._items(kind.__name__, value)
        elif kind in (dict, types.MappingProxyType):
            self._items("dict", [part for pair in value.items() for part in pair])
        elif kind in (set, frozenset):
            self._items(kind.__name__, sorted(map(self._apart, value)))
        elif isinstance(value, enum.Enum):
            self._items("member", [kind, value.name])
        else:
            self._object(value)

    def _apart(self, value: Any) -> bytes:
        """Return the digest of a value alone: the items of a set have no order."""
        walk = _ValueWalk(self._module)
        walk.write(value)
        self.uses |= walk.uses
        self.files |= walk.files
        return walk.digest.digest()

    def _items(self, what: str, items: Any) -> None:
        self.text(f"{what} of {len(items)}")
        for item in items:
            self.write(item)

    def _name(self, what: str, module: str, name: str) -> None:
        self.text(f"{what} {module} {name}")
        if not _is_foreign(module):
            self.uses.add(module)

    def _is_named(self, value: Any) -> bool:
        """Feed the name of a class or function of another module; return whether that represents it."""
        module, name = value.__module__, value.__qualname__
        if not isinstance(module, str):
            raise UnknownSourceError(f"{name} has no module")
        self._name("name", module, name)
        if module == self._module:
            return False
        holder: Any = sys.modules.get(module)
        for part in name.split("."):
            holder = getattr(holder, part, None)
        # A function that is made in another one may hold anything in its closure.
        return holder is value or (_is_foreign(module) and "<locals>" not in name)

    def _class(self, value: type) -> None:
        if self._is_named(value):
            return
        self._items("class", [type(value), *value.__bases__])
        self.write({key: part for key, part in vars(value).items() if key not in _CLASS_ATTRIBUTES})

    def _function(self, value: types.FunctionType) -> None:
        if self._is_named(value):
            return
        home = value.__globals__.get("__name__")
        module = sys.modules.get(home) if isinstance(home, str) else None
        if module is None or vars(module) is not value.__globals__:
            raise UnknownSourceError(f"the globals of {value.__qualname__} are not those of a module")
        self._name("globals", module.__name__, "")
        if not value.__code__.co_filename.startswith("<") and value.__code__.co_filename != module.__file__:
            self.digest.update(self.content(value.__code__.co_filename))
        self.digest.update(_code_digest(value.__code__))
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        self._items("function", [value.__defaults__, value.__kwdefaults__, value.__annotations__, cells, vars(value)])

    def _object(self, value: Any) -> None:
        """Feed an object with its class and its attributes."""
        kind = type(value)
        if kind in _READ:
            self._items(kind.__name__, _READ[kind](value))
            return
        if isinstance(value, PurePath):
            self.text(f"path {value}")
            return
        self._items("object", [kind, *_attributes(value)])


_READ: Mapping[type, Any] = {
    property: lambda value: [value.fget, value.fset, value.fdel],
    staticmethod: lambda value: [value.__func__],
    classmethod: lambda value: [value.__func__],
    types.MethodType: lambda value: [value.__func__, value.__self__],
    types.GenericAlias: lambda value: [value.__origin__, value.__args__],
    types.UnionType: lambda value: [value.__args__],
    functools.partial: lambda value: [value.func, value.args, value.keywords],
    functools.cached_property: lambda value: [value.func, value.attrname],
    functools._lru_cache_wrapper: lambda value: [value.__wrapped__],
    types.GetSetDescriptorType: lambda value: [value.__qualname__],
    types.MemberDescriptorType: lambda value: [value.__qualname__],
    re.Pattern: lambda value: [value.pattern, value.flags],
}
"""The parts of objects that do not have them as attributes."""


def _attributes(value: Any) -> list[Any]:
    """Return the attributes of an object, as names and values; raise UnknownSourceError if there may be others."""
    slots = [
        name
        for base in type(value).__mro__
        for name, part in vars(base).items()
        if isinstance(part, types.MemberDescriptorType)
    ]
    if not hasattr(value, "__dict__") and not slots:
        raise UnknownSourceError(f"a value of {type(value).__module__}.{type(value).__qualname__} cannot be read")
    if not _has_only(type(value), len(slots)):
        raise UnknownSourceError(f"a value of {type(value).__qualname__} has parts that are no attributes")
    return [{name: getattr(value, name, None) for name in slots}, dict(getattr(value, "__dict__", {}))]


def _has_only(kind: type, slots: int) -> bool:
    """Return whether the objects of a class hold nothing but attributes, some of them in slots.

    An object with a part that is no attribute, such as the items of a list or the content of a class written in C, is
    larger.
    """
    pointers = slots + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    return kind.__itemsize__ == 0 and kind.__basicsize__ == object.__basicsize__ + pointers * _POINTER_BYTES


_POINTER_BYTES = struct.calcsize("P")


def _code_digest(code: types.CodeType) -> bytes:
    """Return the digest of a code object and those inside it, with their line numbers."""
    known = _of_codes.get(id(code))
    if known is not None:
        return known[1]
    walk = _ValueWalk("")
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_firstlineno)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_qualname)
    walk.write((code.co_code, counts, names, code.co_exceptiontable, code.co_linetable))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            walk.digest.update(_code_digest(constant))
        else:
            walk.write(constant)
    _of_codes[id(code)] = (code, walk.digest.digest())
    return _of_codes[id(code)][1]
