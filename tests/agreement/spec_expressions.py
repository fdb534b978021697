"""Random well-typed expressions over the state variables, locals and helpers of a random spec."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.agreement.spec_types import (
    BOOL,
    Bool,
    Either,
    Group,
    Heap,
    Int,
    Kind,
    Line,
    Member,
    Opt,
    Partial,
    Rec,
    Table,
    Tup,
    Types,
    integers,
    most_items,
    tup,
)

LIMIT = 10**6
Number = tuple[str, int | None, int | None]
"""The text of an integer expression and its bounds; None if the front end does not know them."""


@dataclass(frozen=True)
class Name:
    """A local. `grows`: an integer that loops add to, without known bounds; `fixed`: it is assigned only once."""

    text: str
    kind: Kind
    grows: bool = False
    fixed: bool = True


@dataclass(frozen=True)
class Helper:
    name: str
    parameters: tuple[Kind, ...]
    result: Kind | None
    writes: bool = False
    is_function: bool = False
    has_default: bool = False


class StuckError(Exception):
    """No value of the kind is available: bags come only from the state, which plain functions do not see."""


@dataclass
class Path:
    """A part of the state or of a local: its text, with kinds in place of indices; `fixed`: it cannot be assigned."""

    parts: list[str | Kind]
    kind: Kind
    unwraps: bool = False
    indexes: bool = False
    fixed: bool = False


@dataclass
class World:
    """The declarations that all methods of a spec share. `names_members`: `Node[0]` and the like are usual values."""

    types: Types
    variables: dict[str, Kind]
    careful: bool
    helpers: list[Helper] = field(default_factory=list)
    names_members: bool = True


class Expressions:
    """Writes expressions. `careful`: most expressions that could leave a type's bounds are clamped or guarded."""

    def __init__(self, world: World, root: str = "self", roots: tuple[str, ...] = ("self",)):
        self.world = world
        self.below = world.types.below
        self.roots = roots
        self.root = root
        self.names: list[Name] = []
        self.counter = 0
        self.pattern_name = ""
        """The name that a pattern binds while its guard is written, in which nothing may hide it."""

    # Choices.

    def pick(self, options: list):  # type: ignore[no-untyped-def, type-arg]
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def careless(self) -> bool:
        """Return whether to write something that may leave its bounds."""
        return self.chance(1 if self.world.careful else 50)

    def fresh(self, prefix: str = "_v") -> str:
        """Return a new name; a local that is never read needs one that begins with an underscore."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    @contextmanager
    def scope(self) -> Iterator[None]:
        before = list(self.names)
        yield
        self.names = before

    # Paths.

    def paths(self) -> Iterator[Path]:
        """Iterate over all parts of the state and of locals; a sequence is indexed after a test of its length."""
        for root in self.roots:
            for name, kind in self.world.variables.items():
                yield from self._below(Path([f"{root}.{name}"], kind), 0)
        for local in self.names:
            if not local.grows:
                yield from self._below(Path([local.text], local.kind), 0)

    def _below(self, path: Path, depth: int) -> Iterator[Path]:
        yield path
        kind = path.kind
        unwraps = path.unwraps
        if isinstance(kind, Opt):
            kind, unwraps = kind.item, True
        if depth == 3:
            return
        if isinstance(kind, Table):
            yield from self._below(
                replace(path, parts=[*path.parts, "[", kind.key, "]"], kind=kind.value, unwraps=unwraps), depth + 1
            )
        elif isinstance(kind, Rec):
            for name, inner in kind.fields:
                yield from self._below(
                    replace(path, parts=[*path.parts, f".{name}"], kind=inner, unwraps=unwraps), depth + 1
                )
        elif isinstance(kind, Tup):
            for number, inner in enumerate(kind.items):
                part = replace(path, parts=[*path.parts, f"[{number}]"], kind=inner, unwraps=unwraps, fixed=True)
                yield from self._below(part, depth + 1)
        elif isinstance(kind, Partial):
            found = [*path.parts, "[", kind.key, "]"]
            yield from self._below(replace(path, parts=found, kind=kind.value, unwraps=True), depth + 1)
        elif isinstance(kind, Line) and kind.capacity:
            index = integers("", 0, 1)
            yield from self._below(
                replace(path, parts=[*path.parts, "[", index, "]"], kind=kind.item, unwraps=unwraps, indexes=True),
                depth + 1,
            )

    def some_path(self, accepts, depth: int) -> Path | None:  # type: ignore[no-untyped-def]
        risky = self.careless()
        found = [path for path in self.paths() if accepts(path.kind) and (risky or not (path.unwraps or path.indexes))]
        return self.pick(found) if found else None

    def path_text(self, path: Path, depth: int) -> str:
        texts = []
        for part in path.parts:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, Int) and not part.text:
                texts.append(str(self.below(2)) if self.chance(70) else self.index(depth - 1))
            else:
                texts.append(self.value(part, min(depth - 1, 1)))
        return "".join(texts)

    def index(self, depth: int) -> str:
        text, low, _ = self.integer(min(depth, 1))
        return text if low is not None and low >= 0 else f"abs({text})" if low is not None else "0"

    # Values of any kind.

    def value(self, kind: Kind, depth: int, *, direct: bool = False) -> str:
        """Return an expression of a kind; `direct`: its context wants a value of the kind."""
        if isinstance(kind, Bool):
            return self.truth(depth)
        if isinstance(kind, Int):
            return self.ranged(kind, depth)
        if depth > 0 and self.chance(12):
            then, otherwise = self.value(kind, depth - 1), self.value(kind, depth - 1)
            if (then, otherwise) != ("None", "None"):
                return f"({then} if {self.truth(depth - 1)} else {otherwise})"
        if depth > 0 and self.chance(12):
            call = self.call(kind, depth)
            if call:
                return call
        if depth > 0 and self.chance(8):
            chosen = self.chosen(kind, depth)
            if chosen:
                return chosen
        if self.chance(50):
            path = self.some_path(lambda found: found == kind, depth)
            if path is not None:
                return self.path_text(path, depth)
        return self.made(kind, depth, direct)

    def chosen(self, kind: Kind, depth: int) -> str | None:
        """Return the item of a collection with the least or greatest key, or None if no collection has such items."""
        paths = [path for path in self.paths() if isinstance(path.kind, (Group, Line, Heap)) and path.kind.item == kind]
        # Outside the state it may be one of Python's own sets, which have no defined order.
        paths = [path for path in paths if isinstance(path.parts[0], str) and "." in path.parts[0]]
        if not self.careless():
            paths = [path for path in paths if not (path.unwraps or path.indexes)]
        if not paths or kind.count > 10**9:
            return None
        over = self.path_text(self.pick(paths), depth)
        with self.scope():
            name = self.bound_name(kind, hides=False)
            # Plus 0, because a key cannot be None.
            keys = [f"{self.integer(depth - 1)[0]} + 0" for _ in range(1 + self.below(2))]
        key = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
        default = "" if self.careless() else f", default={self.made(kind, 0, False)}"
        return f"{self.pick(['min', 'max'])}({over}, key=lambda {name}: {key}{default})"

    def made(self, kind: Kind, depth: int, direct: bool) -> str:
        if isinstance(kind, Member):
            # Without indices, which would be further members.
            plain = [] if self.may_name(kind) else [path for path in self.paths() if path.kind == kind]
            texts = [
                "".join(map(str, path.parts)) for path in plain if all(isinstance(part, str) for part in path.parts)
            ]
            return self.pick(texts or list(kind.members))
        if isinstance(kind, Opt):
            return "None" if self.chance(30) else self.value(kind.item, depth, direct=direct)
        if isinstance(kind, Rec):
            return self.struct(kind, depth)
        if isinstance(kind, Either):
            # Without a wanted type, all structs of a display need to be the same.
            return self.struct(self.pick(list(kind.alternatives)) if direct else kind.alternatives[0], depth)
        if isinstance(kind, Tup):
            items = [self.value(inner, depth - 1) for inner in kind.items]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if isinstance(kind, Partial):
            return self.partial(kind, depth, direct)
        if isinstance(kind, Table):
            return self.table(kind, depth, direct)
        if isinstance(kind, Group):
            return self.group(kind, depth)
        if isinstance(kind, Line):
            return self.line(kind, depth)
        assert isinstance(kind, Heap)
        return self.heap(kind, depth, direct)

    def may_name(self, kind: Kind) -> bool:
        """Return whether values of a kind may be written as literals."""
        return self.world.names_members or kind.text not in ("Node", "Peer")

    def stored(self, kind: Kind, depth: int, direct: bool = True) -> str:
        """Return an expression for a place of a kind."""
        if isinstance(kind, Line) and not self.careless():
            text = self.value(kind, depth, direct=direct)
            return f"({text})[:{kind.capacity}]"
        if isinstance(kind, Group) and kind.capacity is not None and not self.careless():
            path = self.some_path(lambda found: found == kind, depth)
            if path is not None:
                text = self.path_text(path, depth)
                return text if self.chance(50) else f"{text} {self.pick(['-', '&'])} {self.group(kind, depth - 1)}"
            return "set()" if kind.capacity == 0 else f"{{{self.value(kind.item, depth)}}}"
        if isinstance(kind, Opt):
            return "None" if self.chance(25) else self.stored(kind.item, depth, direct)
        return self.value(kind, depth, direct=direct)

    def struct(self, kind: Rec, depth: int) -> str:
        if depth > 0 and self.chance(30):
            base = self.value(kind, depth - 1)
            changed = [f"{name}={self.stored(inner, depth - 1)}" for name, inner in kind.fields if self.chance(50)]
            return f"replace({', '.join([base, *changed])})"
        values = [self.stored(inner, depth - 1) for _, inner in kind.fields]
        positional = self.below(len(values) + 1)
        named = [f"{name}={text}" for (name, _), text in zip(kind.fields, values, strict=True)][positional:]
        return f"{kind.text}({', '.join([*values[:positional], *named])})"

    def table(self, kind: Table, depth: int, direct: bool) -> str:
        inner = {"direct": direct}
        is_display = direct and kind.key.count <= 4 and self.may_name(kind.key) and self.chance(30)
        if isinstance(kind.key, Bool) or is_display:
            if not direct:
                path = self.some_path(lambda found: found == kind, depth)
                if path is None:
                    raise StuckError
                return self.path_text(path, depth)
            entries = [f"{key}: {self.stored(kind.value, depth - 1, **inner)}" for key in self.literals(kind.key)]
            return f"{{{', '.join(entries)}}}"
        with self.scope():
            name = self.bound_name(kind.key)
            return f"{{{name}: {self.stored(kind.value, depth - 1, **inner)} for {name} in {kind.key.text}}}"

    def partial(self, kind: Partial, depth: int, direct: bool) -> str:
        if not direct:
            return self.any_path(kind, depth)
        if self.may_name(kind.key) and self.chance(30):
            keys = [key for key in ([] if isinstance(kind.key, Bool) else self.literals(kind.key)) if self.chance(40)]
            return f"{{{', '.join(f'{key}: {self.stored(kind.value, depth - 1)}' for key in keys)}}}"
        if isinstance(kind.key, Bool):
            return "{}"
        with self.scope():
            name = self.bound_name(kind.key)
            test = f" if {self.truth(depth - 1)}" if self.chance(60) else ""
            return f"{{{name}: {self.stored(kind.value, depth - 1)} for {name} in {kind.key.text}{test}}}"

    def literals(self, kind: Kind) -> list[str]:
        if isinstance(kind, Bool):
            return ["False", "True"]
        if isinstance(kind, Member):
            return list(kind.members)
        assert isinstance(kind, Int)
        return [str(number) for number in range(kind.low, kind.high + 1)]

    def bound_name(self, kind: Kind, hides: bool = True) -> str:
        """Return the name of a comprehension's variable; sometimes the name of a local, which it hides."""
        # Without a state, a bag is available only under a name, so the name must stay visible.
        hidden = [
            name.text
            for name in self.names
            if (self.root or "Bag" not in name.kind.text) and name.text != self.pattern_name
        ]
        text = self.pick(hidden) if hides and hidden and self.chance(15) else self.fresh("c")
        self.names = [name for name in self.names if name.text != text]
        self.names.append(Name(text, kind))
        return text

    # Sets, sequences, bags.

    def group(self, kind: Group, depth: int) -> str:
        choice = self.below(8)
        item = self.near(kind.item)
        if depth <= 0 or choice < 2:
            items = [self.value(item, depth - 1) for _ in range(self.below(min(most_items(kind), 3) + 1))]
            return f"{{{', '.join(items)}}}" if items else "set()"
        if choice < 5:
            other = Group("", 0, 0, self.near(kind.item), kind.capacity)
            sides = [self.value(kind, depth - 1), self.group(other, depth - 1)]
            if self.chance(50):
                sides.reverse()
            return f"({sides[0]} {self.pick(['|', '&', '-', '^'])} {sides[1]})"
        if choice == 5 and kind.item.text in self.classes_to_go_over():
            return f"set({kind.item.text})"
        with self.scope():
            clauses = self.clauses(depth - 1, most=12)
            element = self.value(item, depth - 1)
        if choice == 6:
            return f"{{{element} {clauses}}}"
        return f"set({element} {clauses})"

    def near(self, kind: Kind) -> Kind:
        """Return a kind, or another kind with values that may be equal to its values."""
        if isinstance(kind, Int) and self.chance(30):
            return self.world.types.signed if self.careless() else kind
        if isinstance(kind, (Int, Member)) and self.chance(10) and self.careless():
            return Opt(f"Option({kind.text})", kind.count + 1, kind.bits + 1, kind)
        return kind

    def classes_to_go_over(self) -> list[str]:
        types = self.world.types
        kinds = [types.node, types.peer, types.role, types.mode, types.small, types.limited, types.signed, types.single]
        return [kind.text for kind in kinds]

    def line(self, kind: Line, depth: int) -> str:
        choice = self.below(8)
        if depth <= 0 or choice < 2:
            items = [self.value(kind.item, depth - 1) for _ in range(self.below(min(kind.capacity, 3) + 1))]
            return f"[{', '.join(items)}]"
        if choice < 4:
            return f"({self.value(kind, depth - 1)} + {self.value(kind, depth - 1)})"
        if choice < 6:
            base = self.value(kind, depth - 1)
            low = self.index(depth - 1) if self.chance(60) else ""
            high = self.index(depth - 1) if self.chance(60) else ""
            return f"({base})[{low}:{high}]"
        if choice == 6 and isinstance(kind.item, Int):
            return f"sorted({self.value(kind, depth - 1)})"
        with self.scope():
            clauses = self.clauses(depth - 1, most=12)
            return f"[{self.value(kind.item, depth - 1)} {clauses}]"

    def heap(self, kind: Heap, depth: int, direct: bool) -> str:
        if direct:
            items = [self.value(kind.item, depth - 1) for _ in range(self.below(kind.capacity + 1))]
            return f"[{', '.join(items)}]"
        path = self.some_path(lambda found: found == kind, depth)
        return self.path_text(path, depth) if path is not None else self.any_path(kind, depth)

    def any_path(self, kind: Kind, depth: int) -> str:
        """Return a part of the state, for a kind with values only in the state."""
        path = next((path for path in self.paths() if path.kind == kind), None)
        if path is None:
            raise StuckError
        return self.path_text(path, depth)

    # Iteration.

    def clauses(self, depth: int, most: int = 60, any_order: bool = False) -> str:
        """Return `for ... in ...` clauses with tests, and leave their names in scope; at most `most` iterations."""
        texts = []
        for _ in range(1 + (self.below(4) == 0)):
            over, kind, size = self.iterable(depth, most, any_order)
            if texts and size > most:
                break
            most = max(most // max(size, 1), 1)
            if over.startswith("enumerate("):
                counter, name = self.bound_name(integers("", 0, 9), not texts), self.bound_name(kind, hides=False)
                texts.append(f"for {counter}, {name} in {over}")
            elif isinstance(kind, Tup) and self.chance(60):
                names = [self.bound_name(inner, hides=False) for inner in kind.items]
                texts.append(f"for {', '.join(names)}{',' if len(names) == 1 else ''} in {over}")
            else:
                texts.append(f"for {self.bound_name(kind, not texts)} in {over}")
            if self.chance(35):
                texts.append(f"if {self.truth(max(depth - 1, 0))}")
        return " ".join(texts)

    def iterable(self, depth: int, most: int, any_order: bool) -> tuple[str, Kind, int]:
        """Return the text of an iterable, the kind of its items, and their greatest number."""
        choice = self.below(10)
        types = self.world.types
        if choice >= 4:
            path = self.some_path(
                lambda kind: isinstance(kind, (Group, Line, Heap)) and most_items(kind) <= most, depth
            )
            # Outside the state it may be one of Python's own sets, which have no defined order.
            if path is not None and (any_order or "." in path.parts[0] or not isinstance(path.kind, Group)):
                kind = path.kind
                assert isinstance(kind, (Group, Line, Heap))
                text = self.path_text(path, depth)
                if isinstance(kind, Line) and self.chance(30):
                    text = f"enumerate({text})"
                elif isinstance(kind, Line) and self.chance(15) and isinstance(kind.item, Int):
                    text = f"sorted({text})"
                elif isinstance(kind, Group) and any_order and self.chance(30):
                    text = f"{text} | {self.group(kind, 0)}"
                return text, kind.item, most_items(kind) + 3
        if choice in (2, 3):
            high = self.below(4)
            low, low_text = 0, ""
            if self.chance(40):
                low = self.below(3) - 1
                low_text = f"{low}, "
            high = max(high, low + 1)
            text = str(high)
            path = self.some_path(lambda kind: isinstance(kind, Int) and kind.high - low <= most, depth)
            if path is not None and self.chance(60):
                assert isinstance(path.kind, Int)
                high, text = path.kind.high, self.path_text(path, depth)
            return f"range({low_text}{text})", integers("", low, max(high - 1, low)), max(high - low, 0)
        if choice == 1:
            kind = self.pick([types.small, types.signed, types.single, types.limited])
            constants: list[tuple[str, Kind, int]] = [("PAIRS", tup((integers("", 0, 3), BOOL)), 2)]
            if self.root:
                constants.append((f"{self.root}.some", integers("", -1, 5), 3))
            return self.pick([*constants, *3 * [(kind.text, kind, kind.count)]])
        kind = self.pick([types.node, types.peer, types.role, types.mode])
        return kind.text, kind, kind.count

    # Integers.

    def ranged(self, kind: Int, depth: int) -> str:
        """Return an integer for a place of a kind."""
        if self.careless():
            return self.integer(depth)[0]
        if self.chance(40):
            path = self.some_path(
                lambda found: isinstance(found, Int) and kind.low <= found.low <= found.high <= kind.high, depth
            )
            if path is not None:
                return self.path_text(path, depth)
        if self.chance(40):
            return str(kind.low + self.below(kind.high - kind.low + 1))
        text, low, high = self.integer(depth, grows=True)
        if low is not None and high is not None and kind.low <= low and high <= kind.high:
            return text
        if self.chance(30) and low is not None and high is not None:
            return f"{kind.low} + ({text}) % {kind.high - kind.low + 1}"
        return f"min(max({text}, {kind.low}), {kind.high})"

    def integer(self, depth: int, grows: bool = False) -> Number:
        """Return an integer expression; `grows`: it may have no bounds."""
        if depth <= 0 or self.chance(25):
            return self.leaf(grows)
        choice = self.below(16)
        if choice < 5:
            return self.arithmetic(depth, grows)
        if choice == 5:
            text, low, high = self.integer(depth - 1, grows)
            return f"(-{text})", None if high is None else -high, None if low is None else -low
        if choice == 6:
            text, low, high = self.integer(depth - 1)
            assert low is not None and high is not None
            return f"abs({text})", 0, max(abs(low), abs(high))
        if choice == 7:
            return self.extremum(depth, grows)
        if choice == 8:
            (one, *first), (two, *second) = self.integer(depth - 1), self.integer(depth - 1)
            low, high = min(first[0], second[0]), max(first[1], second[1])  # type: ignore[type-var]
            return f"({one} if {self.truth(depth - 1)} else {two})", low, high
        if choice < 11:
            found = self.asked(depth)
            return found if found else self.leaf(grows)
        if choice < 14:
            return self.folded(depth)
        kind = self.pick([self.world.types.small, self.world.types.signed])
        call = self.call(kind, depth)
        return (call, -LIMIT, LIMIT) if call else self.leaf(grows)

    def leaf(self, grows: bool = False) -> Number:
        if grows:
            growing = [name for name in self.names if name.grows]
            if growing and self.chance(50):
                return self.pick(growing).text, None, None
        choice = self.below(8)
        if choice < 5:
            path = self.some_path(lambda kind: isinstance(kind, Int), 0)
            if path is not None:
                assert isinstance(path.kind, Int)
                return self.path_text(path, 0), path.kind.low, path.kind.high
        if choice == 5 and self.careless():
            path = self.some_path(lambda kind: isinstance(kind, Opt) and isinstance(kind.item, Int), 0)
            if path is not None:
                assert isinstance(path.kind, Opt) and isinstance(path.kind.item, Int)
                return self.path_text(path, 0), path.kind.item.low, path.kind.item.high
        if choice == 6 and self.root:
            return self.pick([(f"{self.root}.limit", 0, 9), (f"{self.root}.pair[1]", 2, 2)])
        number = self.below(9) - 2
        return (str(number) if number >= 0 else f"({number})"), number, number

    def arithmetic(self, depth: int, grows: bool) -> Number:
        left, low, high = self.integer(depth - 1, grows)
        right, low2, high2 = self.integer(depth - 1, grows)
        known = None not in (low, high, low2, high2)
        operator = self.pick(["+", "-", "*", "//", "%"]) if known else self.pick(["+", "-"])
        if operator == "+":
            return f"({left} + {right})", _plus(low, low2), _plus(high, high2)
        if operator == "-":
            return f"({left} - {right})", _plus(low, _minus(high2)), _plus(high, _minus(low2))
        assert low is not None and high is not None and low2 is not None and high2 is not None
        size, size2 = max(abs(low), abs(high)), max(abs(low2), abs(high2))
        if operator == "*":
            if size * size2 > LIMIT:
                return left, low, high
            return f"({left} * {right})", -size * size2, size * size2
        if low2 <= 0 <= high2 and not self.careless():
            divisor = self.pick([-3, -2, -1, 1, 2, 3, 5])
            right, size2 = f"({divisor})", abs(divisor)
        if operator == "//":
            return f"({left} // {right})", -size, size
        return f"({left} % {right})", -size2, size2

    def extremum(self, depth: int, grows: bool) -> Number:
        operands = [self.integer(depth - 1, grows) for _ in range(2 + self.below(2))]
        function = self.pick(["min", "max"])
        lows, highs = [low for _, low, _ in operands], [high for _, _, high in operands]
        text = f"{function}({', '.join(text for text, _, _ in operands)})"
        if None in lows or None in highs:
            return (text, None, None) if grows else self.leaf()
        return text, min(lows), max(highs)  # type: ignore[type-var]

    def asked(self, depth: int) -> Number | None:
        """Return the length of a collection, or the count or index of an item in it."""
        path = self.some_path(lambda kind: isinstance(kind, (Group, Line, Heap)), depth)
        if path is None:
            return None
        kind = path.kind
        assert isinstance(kind, (Group, Line, Heap))
        text, most = self.path_text(path, depth), most_items(kind)
        if isinstance(kind, Group):
            return f"len({text})", 0, most
        if self.chance(40):
            return f"{text}.count({self.value(self.near(kind.item), depth - 1)})", 0, most
        if isinstance(kind, Line) and self.careless():
            return f"{text}.index({self.value(kind.item, depth - 1)})", 0, most
        return f"len({text})", 0, most

    def folded(self, depth: int) -> Number:
        choice = self.below(4)
        with self.scope():
            clauses = self.clauses(depth - 1, any_order=choice < 2)
            element, low, high = self.integer(depth - 1)
        assert low is not None and high is not None
        if choice == 0:
            brackets = self.pick(["()", "()", "[]"])
            size = 100 * max(abs(low), abs(high))
            return f"sum({_inside(brackets, f'{element} {clauses}')})", -size, size
        if choice == 1:
            return f"len({{{element} {clauses}}})", 0, 100
        function = self.pick(["min", "max"])
        # Not an option: the language refuses items that may be None.
        if self.careless():
            return f"{function}({element} + 0 {clauses})", low, high
        default, low2, high2 = self.integer(depth - 1)
        assert low2 is not None and high2 is not None
        return f"{function}(({element} + 0 {clauses}), default={default} + 0)", min(low, low2), max(high, high2)

    # Bools.

    def truth(self, depth: int) -> str:
        if depth <= 0:
            return self.test(0)
        choice = self.below(12)
        if choice < 5:
            return self.test(depth)
        if choice < 7:
            joined = f" {self.pick(['and', 'or'])} ".join(self.truth(depth - 1) for _ in range(2 + self.below(2)))
            return f"({joined})"
        if choice == 7:
            return f"(not {self.truth(depth - 1)})"
        if choice == 8:
            return f"implies({self.truth(depth - 1)}, {self.truth(depth - 1)})"
        if choice == 9:
            return f"({self.truth(depth - 1)} if {self.truth(depth - 1)} else {self.truth(depth - 1)})"
        if choice == 10:
            call = self.call(BOOL, depth)
            if call:
                return call
        with self.scope():
            clauses = self.clauses(depth - 1)
            brackets = self.pick(["()", "()", "()", "[]"])
            return f"{self.pick(['all', 'any'])}({_inside(brackets, f'{self.truth(depth - 1)} {clauses}')})"

    def test(self, depth: int) -> str:
        choice = self.below(14)
        if choice == 13:
            path = self.some_path(lambda kind: isinstance(kind, Partial), depth)
            if path is None:
                return "True"
            assert isinstance(path.kind, Partial)
            text = self.path_text(path, depth)
            key = self.value(path.kind.key, 0)
            tests = [f"({key} {self.pick(['in', 'not in'])} {text})", f"({text}.get({key}) is None)"]
            if "." in text:
                tests.append(f"all({self.truth(0)} for {self.fresh('k')}, {self.fresh('w')} in {text}.items())")
            return self.pick([*tests, f"(len({text}) > 1)"])
        if choice == 12:
            return self.alternative(depth)
        if choice < 3:
            texts = [self.integer(depth, grows=True)[0] for _ in range(2 + (self.below(4) == 0))]
            operators = [self.pick(["<", "<=", ">", ">=", "==", "!="]) for _ in texts[1:]]
            return (
                "(" + texts[0] + "".join(f" {op} {text}" for op, text in zip(operators, texts[1:], strict=True)) + ")"
            )
        if choice < 5:
            return self.equality(depth)
        if choice == 5:
            path = self.some_path(lambda kind: isinstance(kind, Opt), depth)
            if path is not None:
                return f"({self.path_text(path, depth)} {self.pick(['is', 'is not', '==', '!='])} None)"
        if choice < 8:
            return self.membership(depth)
        if choice == 8:
            path = self.some_path(lambda kind: isinstance(kind, Group), depth)
            if path is not None:
                assert isinstance(path.kind, Group)
                sides = [self.path_text(path, depth), self.group(path.kind, depth - 1)]
                if self.chance(50):
                    sides.reverse()
                return f"({sides[0]} {self.pick(['<', '<=', '>', '>='])} {sides[1]})"
        if choice == 9 and self.root:
            return f"{self.root}.flag" if self.chance(50) else f'({self.root}.mode_name == "{self.pick(["x", "y"])}")'
        if choice == 10:
            return self.pick(["True", "False"])
        if choice == 11 and self.chance(50):
            return self.subset_test(depth)
        path = self.some_path(lambda kind: isinstance(kind, Bool), depth)
        return self.path_text(path, depth) if path is not None else "True"

    def subset_test(self, depth: int) -> str:
        """Return a test over the subsets of a type or of a set; no subset is iterated over in an order."""
        whole, kind = self.subsets_of(depth)
        subset = self.fresh("subset")
        item = self.value(kind, 0)
        tests = [f"len({subset}) {self.pick(['<', '==', '>'])} {self.below(3)}", f"{item} in {subset}"]
        tests += [f"{subset} in subsets({kind.text}, size={self.below(3)})", f"{subset} == {{{item}}}"]
        return f"{self.pick(['all', 'any'])}({self.pick(tests)} for {subset} in {whole})"

    def subsets_of(self, depth: int) -> tuple[str, Kind]:
        """Return a call of `subsets`, and the kind of the items."""
        size = f", size={self.below(3)}" if self.chance(60) else ""
        kinds = (self.world.types.node, self.world.types.small, self.world.types.role)
        path = self.some_path(lambda kind: isinstance(kind, Group) and kind.item in kinds, depth)
        if path is not None and self.chance(50) and str(path.parts[0]).startswith(("self.", "old.")):
            assert isinstance(path.kind, Group)
            return f"subsets({self.path_text(path, depth)}{size})", path.kind.item
        kind = self.pick(list(kinds))
        return f"subsets({kind.text}{size})", kind

    def alternative(self, depth: int) -> str:
        """Return a test of the alternative of a union, with a test of a field where it has that alternative."""
        path = self.some_path(lambda kind: isinstance(kind, Either), depth)
        if path is None:
            return "True"
        assert isinstance(path.kind, Either)
        text, struct = self.path_text(path, depth), self.pick(list(path.kind.alternatives))
        test = f"isinstance({text}, {struct.text})"
        if len(path.parts) > 1 or "." in text:
            return test
        name, kind = self.pick(list(struct.fields))
        field_test = f"{text}.{name} == {self.value(kind, 0)}"
        return self.pick([f"({test} and {field_test})", f"(not {test} or {field_test})", f"(not {test})"])

    def equality(self, depth: int) -> str:
        path = self.some_path(lambda kind: True, depth)
        if path is None:
            return "True"
        other = self.value(path.kind, depth) if not isinstance(path.kind, Bool) else self.truth(depth - 1)
        return f"({self.path_text(path, depth)} {self.pick(['==', '!='])} {other})"

    def membership(self, depth: int) -> str:
        word = self.pick(["in", "not in"])
        choice = self.below(5)
        if choice == 4:
            named = [f"({self.integer(depth)[0]} {word} SOME)", f"(({self.integer(0)[0]}, True) {word} PAIRS)"]
            return self.pick([*named, f"({self.integer(depth)[0]} {word} self.some)"] if self.root else named)
        if choice == 0:
            kind = self.pick(
                [self.world.types.small, self.world.types.signed, self.world.types.node, self.world.types.role]
            )
            item = self.integer(depth)[0] if isinstance(kind, Int) else self.value(self.near(kind), depth)
            return "True" if item == "None" else f"({item} {word} {kind.text})"
        if choice == 1:
            # A range that is known to be empty is refused.
            first = self.below(5) - 2
            low, high = str(first), str(first + 1 + self.below(3))
            path = self.some_path(lambda found: isinstance(found, Int), depth)
            if path is not None:
                low, high = self.pick([(self.path_text(path, depth), high), (low, self.path_text(path, depth))])
            return f"({self.integer(depth)[0]} {word} range({low}, {high}))"
        if choice == 2:
            kind = self.pick([self.world.types.small, self.world.types.node, self.world.types.role])
            items = ", ".join(self.value(kind, 0) for _ in range(2))
            return f"({self.value(kind, depth)} {word} {_inside(self.pick(['()', '[]', '{}']), items)})"
        path = self.some_path(lambda kind: isinstance(kind, (Group, Line, Heap)), depth)
        if path is None:
            return "True"
        assert isinstance(path.kind, (Group, Line, Heap))
        item_kind = self.near(path.kind.item)
        item = self.value(item_kind, depth - 1)
        if item == "None" and not isinstance(path.kind.item, Opt):
            return "True"
        return f"({item} {word} {self.path_text(path, depth)})"

    # Helpers.

    def call(self, kind: Kind, depth: int) -> str | None:
        """Return a call of a helper that returns a kind, or None if none does."""
        found = [helper for helper in self.world.helpers if helper.result == kind and not helper.writes]
        found = [helper for helper in found if self.root or helper.is_function]
        if not found:
            return None
        helper = self.pick(found)
        return self.call_text(helper, depth)

    def call_text(self, helper: Helper, depth: int) -> str:
        given = helper.parameters[: len(helper.parameters) - (helper.has_default and self.chance(50))]
        arguments = [self.value(parameter, depth - 1, direct=False) for parameter in given]
        owner = "" if helper.is_function else f"{self.pick(list(self.roots))}."
        return f"{owner}{helper.name}({', '.join(arguments)})"


def _inside(brackets: str, text: str) -> str:
    return f"{brackets[0]}{text}{brackets[1]}"


def _plus(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _minus(number: int | None) -> int | None:
    return None if number is None else -number
