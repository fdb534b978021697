"""Random statements: bodies of actions and helpers."""

from __future__ import annotations

from tests.agreement.spec_expressions import Expressions, Helper, Name, World
from tests.agreement.spec_types import Bool, Either, Group, Heap, Int, Kind, Line, Partial, Tup, integers, most_items


class Statements(Expressions):
    """Writes bodies. `result`: the kind that a helper returns; `writes`: whether it may change the state."""

    def __init__(self, world: World, *, writes: bool, result: Kind | None = None, root: str = "self"):
        super().__init__(world, root, (root,) if root else ())
        self.writes = writes
        self.result = result
        self.loops = 0
        self.in_action = False

    def body(self, size: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(1 + self.below(size)):
            lines += self.statement(depth)
        return lines

    def block(self, size: int, depth: int) -> list[str]:
        """Return an indented body; its new locals go out of scope after it."""
        with self.scope():
            lines = self.body(size, depth)
        return ["    " + line for line in lines]

    def statement(self, depth: int) -> list[str]:
        choice = self.below(20)
        if choice < 3:
            return self.local()
        if choice == 3:
            return self.reassigned()
        if choice < 6 and depth > 0:
            return self.branch(depth)
        if choice < 9 and depth > 0:
            return self.loop(depth)
        if choice == 9 and self.loops and self.chance(40):
            return [f"if {self.truth(1)}:", f"    {self.pick(['break', 'continue'])}"]
        if choice == 10 and self.chance(50):
            return self.returned()
        if choice == 11 and self.in_action:
            return [f"require({self.truth(2)})"] if self.chance(30) else ["pass"]
        if self.writes:
            return self.change()
        return self.local()

    def returned(self) -> list[str]:
        text = "return" if self.result is None else f"return {self.result_text()}"
        return [f"if {self.truth(2)}:", f"    {text}"]

    def result_text(self) -> str:
        assert self.result is not None
        return self.value(self.result, 2)

    # Locals.

    def local(self) -> list[str]:
        if self.chance(25):
            name, text = self.fresh("_total"), self.integer(1)[0]
            self.names.append(Name(name, integers("", 0, 0), grows=True))
            # A number that grows cannot start as an option.
            return [f"{name} = {text} + 0"]
        path = self.some_path(lambda kind: True, 1)
        if path is None:
            return ["pass"]
        if isinstance(path.kind, Either) and self.chance(70):
            return self.matched(path.kind, self.path_text(path, 1))
        if isinstance(path.kind, Tup) and self.chance(60):
            return self.unpacked(path.kind, self.path_text(path, 1))
        name = self.fresh()
        text = self.path_text(path, 1)
        self.names.append(Name(name, path.kind, fixed=self.chance(50)))
        return [f"{name} = {text}"]

    def unpacked(self, kind: Tup, text: str) -> list[str]:
        names = [self.fresh() for _ in kind.items]
        self.names += [Name(name, inner) for name, inner in zip(names, kind.items, strict=True)]
        return [f"{', '.join(names)}{',' if len(names) == 1 else ''} = {text}"]

    def matched(self, kind: Either, text: str) -> list[str]:
        lines = [f"match {text}:"]
        for struct in kind.alternatives[self.below(2) :]:
            with self.scope():
                name, field_kind = self.pick(list(struct.fields))
                if self.chance(50):
                    bound = self.fresh()
                    self.names.append(Name(bound, field_kind))
                    pattern = f"{struct.text}({name}={bound})"
                else:
                    bound = self.fresh()
                    self.names.append(Name(bound, struct))
                    pattern = f"{struct.text}() as {bound}"
                self.pattern_name = bound
                guard = f" if {self.truth(1)}" if self.chance(30) else ""
                self.pattern_name = ""
                lines += [f"    case {pattern}{guard}:", *("    " + line for line in self.block(2, 0))]
        return [*lines, "    case _:", "        pass"] if self.chance(30) else lines

    def reassigned(self) -> list[str]:
        growing = [name for name in self.names if name.grows]
        if growing and self.chance(60):
            name = self.pick(growing)
            operator = self.pick(["+=", "-=", "="])
            text = self.integer(1)[0]
            return [f"{name.text} {operator} {text}" if operator != "=" else f"{name.text} = {name.text} + {text}"]
        changeable = [name for name in self.names if not name.fixed and not name.grows]
        if not changeable:
            return self.local()
        name = self.pick(changeable)
        path = self.some_path(lambda kind: kind == name.kind, 1)
        if path is None:
            return ["pass"]
        text = self.path_text(path, 1)
        if isinstance(name.kind, Int):
            text = str(name.kind.low)
        if isinstance(name.kind, Group) and name.kind.capacity is None and self.chance(50):
            return [f"{name.text} {self.pick(['|=', '&=', '-=', '^='])} {text}"]
        return [f"{name.text} = {text}"]

    # Control flow.

    def branch(self, depth: int) -> list[str]:
        lines = [f"if {self.truth(2)}:", *self.block(2, depth - 1)]
        if self.chance(30):
            lines += [f"elif {self.truth(1)}:", *self.block(2, depth - 1)]
        if self.chance(50):
            lines += ["else:", *self.block(2, depth - 1)]
        return lines

    def loop(self, depth: int) -> list[str]:
        over, kind, _ = self.iterable(1, 20, any_order=False)
        with self.scope():
            if over.startswith("enumerate("):
                counter, name = self.fresh("i"), self.fresh("x")
                self.names += [Name(counter, integers("", 0, 9)), Name(name, kind)]
                head = f"for {counter}, {name} in {over}:"
            elif isinstance(kind, Tup) and self.chance(60):
                names = [self.fresh("x") for _ in kind.items]
                self.names += [Name(found, inner) for found, inner in zip(names, kind.items, strict=True)]
                name = ""
                head = f"for {', '.join(names)}{',' if len(names) == 1 else ''} in {over}:"
            else:
                same = [
                    local.text for local in self.names if local.kind == kind and not local.fixed and not local.grows
                ]
                name = self.pick(same) if same and self.chance(20) else self.fresh("x")
                self.names = [local for local in self.names if local.text != name] + [Name(name, kind)]
                head = f"for {name} in {over}:"
            self.loops += 1
            lines = [head, *self.block(2, depth - 1)]
            if self.result is not None and self.chance(30):
                lines += [f"    if {self.truth(1)}:", f"        return {self.result_text()}"]
            self.loops -= 1
        # The loop variable may have been a local before. It keeps the last item, and is not used after the loop.
        self.names = [local for local in self.names if local.text != name]
        return lines

    # Changes of the state.

    def change(self) -> list[str]:
        choice = self.below(12)
        writers = [helper for helper in self.world.helpers if helper.writes]
        if choice == 0 and writers:
            return self.call_writer(self.pick(writers))
        path = self.some_path(lambda kind: True, 1)
        paths = [found for found in self.paths() if found.parts[0].startswith("self.")]  # type: ignore[union-attr]
        paths = [found for found in paths if not found.fixed]
        if not self.careless():
            paths = [found for found in paths if not (found.unwraps or found.indexes)]
        path = self.pick(paths)
        text = self.path_text(path, 1)
        kind = path.kind
        others = [found for found in paths if found.kind == kind and found is not path]
        if others and self.chance(10):
            other = self.path_text(self.pick(others), 1)
            return [f"{text}, {other} = {other}, {text}"]
        if isinstance(kind, (Line, Group, Heap)) and self.chance(70):
            return self.changed_collection(text, kind)
        if isinstance(kind, Partial) and self.chance(70):
            return self.changed_partial(text, kind)
        if isinstance(kind, Int) and self.chance(30):
            return self.augmented(text, kind)
        return [f"{text} = {self.stored(kind, 3)}"]

    def changed_partial(self, text: str, kind: Partial) -> list[str]:
        key, name = self.value(kind.key, 0), self.fresh("k")
        if self.chance(20):
            return self.popped_entry(text, key, kind)
        return self.pick(
            [
                [f"{text}[{key}] = {self.stored(kind.value, 2)}"],
                [f"{text}[{key}] = {self.stored(kind.value, 2)}"],
                [f"if {key} in {text}:", f"    del {text}[{key}]"],
                [f"for {name} in {text}:", f"    if {self.truth(0)}:", f"        del {text}[{name}]", "        break"],
                [f"del {text}[{key}]"] if self.careless() else [f"{text}.clear()"],
            ]
        )

    def popped_entry(self, text: str, key: str, kind: Partial) -> list[str]:
        default = "" if self.careless() else f", {self.stored(kind.value, 1)}"
        call = f"{text}.pop({key}{default})"
        if self.chance(40):
            return [call]
        name = self.fresh()
        self.names.append(Name(name, kind.value, fixed=False))
        return [f"{name} = {call}"]

    def call_writer(self, helper: Helper) -> list[str]:
        call = self.call_text(helper, 2)
        if helper.result is None or self.chance(30):
            return [call]
        if isinstance(helper.result, Bool):
            choice = self.below(3)
            if choice == 0 and self.in_action:
                return [f"require({call})"]
            if choice == 1:
                return [f"if {self.truth(0)} and {call}:", *self.block(1, 0)]
        name = self.fresh()
        self.names.append(Name(name, helper.result))
        return [f"{name} = {call}"]

    def augmented(self, text: str, kind: Int) -> list[str]:
        number, low, high = self.integer(1)
        assert low is not None and high is not None
        operator = self.pick(["+=", "-="])
        lines = [f"{text} {operator} {number}"]
        if self.careless():
            return lines
        fits = f"{kind.low} <= {text} {operator[0]} {number} <= {kind.high}"
        return [f"if {fits}:", f"    {lines[0]}"]

    def changed_collection(self, text: str, kind: Line | Group | Heap) -> list[str]:
        most = most_items(kind)
        careless = self.careless()
        if isinstance(kind, Group):
            item = self.value(self.near(kind.item), 2)
            lines = self.pick(
                [
                    [f"{text}.add({self.value(kind.item, 2)})"],
                    [f"{text}.discard({item})"],
                    [f"{text}.clear()"],
                    [f"{text}.add({self.value(kind.item, 2)})"],
                    [f"{text} {self.pick(['|=', '&=', '-=', '^='])} {self.group(kind, 1)}"],
                    [f"{text}.remove({item})"],
                ]
            )
            if careless or (kind.capacity is None and "remove" not in lines[0]):
                return lines
            if "remove" in lines[0]:
                return [f"for {self.fresh('x')} in {text}:", f"    {text}.remove(x{self.counter})", "    break"]
            return (
                [f"if len({text}) < {most}:", *("    " + found for found in lines)] if "=" not in lines[0] else ["pass"]
            )
        if isinstance(kind, Heap):
            if careless and self.chance(50):
                return [f"{text}.remove({self.value(kind.item, 2)})"]
            if self.chance(50):
                return [f"if len({text}) < {most}:", f"    {text}.add({self.value(kind.item, 2)})"]
            name = self.fresh("x")
            return [f"for {name} in {text}:", f"    if {self.truth(0)}:", f"        {text}.remove({name})"]
        return self.changed_line(text, kind, careless)

    def changed_line(self, text: str, kind: Line, careless: bool) -> list[str]:
        item = self.value(kind.item, 2)
        choice = self.below(8)
        longer, shorter = f"if len({text}) < {kind.capacity}:", f"if len({text}) > 0:"
        guard, change = {
            0: (longer, f"{text}.append({item})"),
            1: (longer, f"{text}.append({item})"),
            2: (longer, f"{text}.insert({self.index(1) if careless else 0}, {item})"),
            3: (shorter, f"{text}.pop({self.index(1) if careless else self.pick(['', '0'])})"),
            4: (shorter, f"del {text}[{self.index(1) if careless else 0}]"),
            5: (
                "",
                f"del {text}[{self.index(1) if self.chance(60) else ''}:{self.index(1) if self.chance(60) else ''}]",
            ),
            6: ("", f"{text}.clear()"),
            7: (shorter, ""),
        }[choice]
        if choice == 7:
            if self.chance(30) and careless:
                change = f"{text}.extend({self.value(kind, 1)})"
            else:
                name = self.fresh()
                change = f"{name} = {text}.pop({self.pick(['', '0'])})"
                if careless:
                    self.names.append(Name(name, kind.item))
        return [change] if careless or not guard else [guard, "    " + change]
