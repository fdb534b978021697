"""The files that `witness_check.py` reads: the packed states, the values of their variables, and the spec.

This module imports nothing of this project but a public name of `checker.language`. It reads the types of variables by
the names of their classes.
"""

from __future__ import annotations

import bisect
import enum
import hashlib
import importlib
import importlib.util
import itertools
import sys
from pathlib import Path

from checker.language import State


class RefutedError(Exception):
    """The witness does not show what it claims."""


class WrongInputError(Exception):
    """The arguments or the files are not a spec and a witness."""


def require(condition, *message):
    """Raise RefutedError without a condition; the parts of the message become text only then."""
    if not condition:
        raise RefutedError(" ".join(map(str, message)))


class StoredStates:
    """The packed states of a witness, sorted, and the tables of the values of its variables.

    With symmetry there is a table for each permutation of the members, the first of which changes nothing.
    """

    def __init__(self, folder, manifest, spec):
        self.width, self.kinds = manifest["state_bytes"], spec.variables
        require([entry["name"] for entry in manifest["variables"]] == list(self.kinds), "the spec has other variables")
        self.fields, shift = {}, sum(entry["bits"] for entry in manifest["variables"])
        require(shift <= 8 * self.width, "a state has too few bytes")
        for entry in manifest["variables"]:
            shift -= entry["bits"]
            self.fields[entry["name"]] = shift, (1 << entry["bits"]) - 1
        self.content = b"".join(content_of(folder, chunk, self.width) for chunk in manifest["chunks"])
        self.count = len(self.content) // self.width
        require(self.count == manifest["states"], f"{self.count} states are stored, not {manifest['states']}")
        require(all(self.row(at) < self.row(at + 1) for at in range(self.count - 1)), "the states are not sorted")
        self.tables, self.numbers = [], []
        for rename in renamings(self.kinds.values(), manifest["symmetry"]):
            with spec.bound():
                table = {
                    entry["name"]: [decoded(self.kinds[entry["name"]], value, rename) for value in entry["values"]]
                    for entry in manifest["variables"]
                }
            self.tables.append(table)
            self.numbers.append({name: dict(zip(each, range(len(each)), strict=True)) for name, each in table.items()})
            is_once = all(len(table[name]) == len(each) for name, each in self.numbers[-1].items())
            require(is_once, "a value is in a table twice")

    def row(self, at):
        """Return the bytes of a state."""
        return self.content[at * self.width : (at + 1) * self.width]

    def packed(self, at):
        """Return a state as a number of the bits of its row."""
        packed, used = int.from_bytes(self.row(at), "big"), 0
        for name, (shift, mask) in self.fields.items():
            require(packed >> shift & mask < len(self.tables[0][name]), "a state has a value that no table has")
            used |= mask << shift
        require(not packed & ~used, "a state has bits of no variable")
        return packed

    def state(self, packed, table=0):
        """Return a state, with the members permuted as in one of the tables."""
        return State(
            {name: self.tables[table][name][packed >> shift & mask] for name, (shift, mask) in self.fields.items()}
        )

    def position(self, packed):
        """Return the position of a packed state, or None."""
        row = packed.to_bytes(self.width, "big")
        at = bisect.bisect_left(range(self.count), row, key=self.row)
        return at if at < self.count and self.row(at) == row else None

    def find(self, state):
        """Return the position of a state or of one that differs in names of members, or None."""
        for numbers in self.numbers:
            given = [(numbers[name].get(value), self.fields[name][0]) for name, value in state.values.items()]
            if all(number is not None for number, _ in given):
                at = self.position(sum(number << shift for number, shift in given))
                if at is not None:
                    return at
        return None


def content_of(folder, entry, width):
    """Return the content of a file with its digest, of which each state has some bytes."""
    path = folder / Path(entry["file"]).name
    # Before the read: a device or a pipe may have no end.
    is_whole = path.is_file() and path.stat().st_size == entry["states"] * width
    require(is_whole, f"{entry['file']} is no file, or has another length")
    content = path.read_bytes()
    require(hashlib.sha256(content).hexdigest() == entry["sha256"], f"{entry['file']} has another digest")
    return content


def decoded(kind, plain, rename):
    """Return the value of a type that plain JSON describes, with members renamed."""
    match type(kind).__name__:
        case "OptionType":
            return None if plain is None else decoded(kind.item, plain, rename)
        case "UnionType":
            ((name, plain),) = plain.items()
            return decoded(the(kind.alternatives, str, name), plain, rename)
        case "TupleType":
            items = zip(kind.items, plain, strict=True)
            return kind.coerce(tuple(decoded(part, item, rename) for part, item in items))
        case "StructType":
            fields = {name: decoded(part, plain[name], rename) for name, part in kind.fields}
            return kind.coerce(kind.declared(**fields))
        case "MapType" | "PartialMapType":
            keys = list(kind.key.values())
            items = {rename.get(key, key): decoded(kind.value, plain[text(key)], rename) for key in keys}
            return kind.made(tuple(items[key] for key in keys))
        case "SetType":
            return kind.coerce({decoded(kind.item, item, rename) for item in plain})
        case "SeqType" | "BagType":
            return kind.coerce([decoded(kind.item, item, rename) for item in plain])
        case "DomainType" | "EnumType":
            member = the(kind.values(), text, plain)
            return rename.get(member, member)
    return kind.coerce(plain)


def the(items, shown, wanted):
    """Return the item that is shown as the wanted text."""
    for item in items:
        if shown(item) == wanted:
            return item
    raise RefutedError(f"{wanted!r} names nothing")


def text(value):
    """Return the text of a member or a key."""
    if isinstance(value, enum.Enum):
        return value.value if isinstance(value.value, str) else value.name.lower()
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def renamings(kinds, names):
    """Return every renaming of the members of the named domains, as dicts; the first one renames nothing."""
    known = {str(kind): kind.members for kind in parts_of(kinds) if type(kind).__name__ == "DomainType"}
    orders = itertools.product(*(itertools.permutations(known[name]) for name in names))
    members = [member for name in names for member in known[name]]
    return [dict(zip(members, itertools.chain(*images), strict=True)) for images in orders]


def parts_of(kinds):
    """Iterate over types and those of which they consist."""
    for kind in kinds:
        yield kind
        yield from parts_of(getattr(kind, name) for name in ("key", "value", "item") if hasattr(kind, name))
        yield from parts_of([*getattr(kind, "alternatives", ()), *(part for _, part in getattr(kind, "fields", ()))])


def load_module(path):
    """Import a file, by its full name if it is in a package, so that its imports find the same classes."""
    root, parts = path.resolve().parent, [path.stem]
    while (root / "__init__.py").exists():
        root, parts = root.parent, [root.name, *parts]
    sys.path.insert(0, str(root))
    if len(parts) > 1:
        return importlib.import_module(".".join(parts).removesuffix(".__init__"))
    name = f"witnessed_{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise ImportError("it is not a Python file")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module
