"""One representative for all states that differ only in the names of domains' members, for every state layout.

The representative of a state is the least of some of its *images*, the states with the members renamed, by the order of
their words. It is found in two steps, separately for each domain:

1. The members are sorted by keys. The key of a member is a number that does not change when members are renamed: bits
   of the member's entries in maps, and whether, or how often, variables name the member.
2. Members with equal keys are tied. All orders of tied members are tried, and the least image is kept. The tied members
   of one key are neighbours, and the exchanges of neighbours reach every order of them: `_walk` returns these exchanges
   for each pattern of ties.

    exchange(d, i)         the LLVM function that exchanges the members i and i + 1 of domain d in a state
    representative(state)  sorts by exchanges, then walks through the ties of all domains in nested loops

An exchange moves the bits of a state in place:

    the entries of a map      two bit fields change places
    a bit set                 pairs of bits change places, all pairs of one distance by one delta swap
    the name of a member      i becomes i + 1, and i + 1 becomes i
    a set with a capacity, or a bag    the items change, and are sorted again

Parts that are not in use (items past the length of a sequence, alternatives of a union) must keep their bits, so the
changes of such parts are masked by a guard.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I1, I8, I32, I64, WORD_POINTER, for_loop, word
from checker.engines.native.llvm.words import read_words, write_words
from checker.engines.native.lowering.sorted_members import SortedMembers
from checker.engines.native.lowering.state_layout import (
    WORD,
    StateLayout,
    ValueLayout,
    ValuePart,
    bit_items,
    bits_as_number,
    item_place,
)
from checker.errors import SpecError
from checker.language.permutations import domains_in, generators, permute
from checker.language.types import (
    BagType,
    DomainType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    Type,
    UnionType,
)


def define_representative(module: ir.Module, layout: StateLayout, domains: Sequence[DomainType]) -> ir.IrFunction:
    """Define `void representative(i64* state)`, and return it: replace a state by its representative.

    The members of each of the domains are interchangeable. Raises SpecError if the state, or a domain, is too large.
    """
    if len(domains) == 1 and SortedMembers.suits(layout, domains[0]):
        return SortedMembers(layout, domains[0]).define(module)
    return PermutedStates(layout, domains).define(module)


MOST_MEMBERS = 8
"""A domain with more members has too many orders to try all of them in a state in which all members are tied."""

MOST_SORTED_ITEMS = 40
"""A set with a capacity, or a bag, of more items would be sorted by too much code."""


class PermutedStates:
    """The representatives of states in a layout; members of `domains` are interchangeable.

    Raises SpecError if a domain or a set is too large.
    """

    def __init__(self, layout: StateLayout, domains: Sequence[DomainType]):
        self._layout, self._domains = layout, domains
        for domain in domains:
            if domain.cardinality() > MOST_MEMBERS:
                message = f"{domain} has {domain.cardinality()} members: symmetry tries all orders of at most"
                raise SpecError(f"{message} {MOST_MEMBERS}, unless the state has only sets and maps of members")
        for name, place in layout.places.items():
            self._check_size(name, place.layout)

    def _check_size(self, name: str, layout: ValueLayout) -> None:
        for part in layout.parts:
            self._check_size(name, part.layout)
        if layout.items is not None:
            self._check_size(name, layout.items.layout)
        kind = layout.type
        if not isinstance(kind, (SetType, BagType)) or kind.capacity is None or not self._mentions(kind):
            return
        if kind.capacity > MOST_SORTED_ITEMS:
            raise SpecError(f"{name}: {kind} has over {MOST_SORTED_ITEMS} items, too many to sort with symmetry")

    def _mentions(self, kind: Type) -> bool:
        return any(domain in self._domains for domain in domains_in(kind))

    def define(self, module: ir.Module) -> ir.IrFunction:
        """Define `void representative(i64* state)`: replace a state by its representative."""
        exchanges = [
            [_Exchange(self._layout, domain, first).define(module, number) for first in range(len(domain.members) - 1)]
            for number, domain in enumerate(self._domains)
        ]
        function = ir.IrFunction(module, ir.FunctionType(ir.VoidType(), [WORD_POINTER]), "representative")
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        state, words = function.args[0], self._layout.words
        keys = _Keys(self._layout, self._domains)
        ties = []
        for domain, swaps in zip(self._domains, exchanges, strict=True):
            ties.append(self._sort(builder, state, keys.emit(builder, state, domain), swaps))
        # Without a domain of several members no state has another order.
        any_tie: ir.Value = word(0)
        for more in ties:
            any_tie = builder.or_(any_tie, more)
        with builder.if_then(builder.icmp_unsigned("!=", any_tie, word(0))):
            best = builder.alloca(I64, words)
            write_words(builder, best, read_words(builder, state, words))
            walks = [
                _TieWalk(module, number, domain.cardinality(), pattern, swaps)
                for number, (domain, pattern, swaps) in enumerate(zip(self._domains, ties, exchanges, strict=True))
            ]
            _walk_all(builder, state, walks, lambda: _keep_least(builder, best, state, words))
            write_words(builder, state, read_words(builder, best, words))
        builder.ret_void()
        return function

    @staticmethod
    def _sort(builder: ir.IRBuilder, state: ir.Value, keys: list[ir.Value], swaps: Sequence[ir.IrFunction]) -> ir.Value:
        """Emit a bubble sort of the members by their keys; return the ties: bit i if i and i + 1 are tied."""
        for end in range(len(keys) - 1, 0, -1):
            for position in range(end):
                one, other = keys[position], keys[position + 1]
                is_greater = builder.icmp_unsigned(">", one, other)
                with builder.if_then(is_greater):
                    builder.call(swaps[position], [state])
                keys[position] = builder.select(is_greater, other, one)
                keys[position + 1] = builder.select(is_greater, one, other)
        pattern: ir.Value = word(0)
        for position, (one, other) in enumerate(itertools.pairwise(keys)):
            is_tied = builder.zext(builder.icmp_unsigned("==", one, other), I64)
            pattern = builder.or_(pattern, builder.shl(is_tied, word(position)))
        return pattern


# Walks through the orders of tied members.


def _walk(sizes: Sequence[int]) -> list[int]:
    """Return exchanges that lead through all orders of groups of neighbours: i exchanges the members i and i + 1.

    `sizes` are the sizes of the groups, from member 0 on. The exchanges visit every order once, from any order.
    """
    if not sizes:
        return []
    first, *rest = sizes
    inner = [first + exchange for exchange in _walk(rest)]
    walk = list(inner)
    for exchange in _all_orders(first):
        walk += [exchange, *inner]
    return walk


def _all_orders(count: int) -> list[int]:
    """Return the exchanges of neighbours that visit all orders of `count` items: the Steinhaus-Johnson-Trotter walk."""
    if count < 2:
        return []
    # The last item moves through every order of the others, down and up in turn.
    exchanges: list[int] = []
    for number, exchange in enumerate([*_all_orders(count - 1), None]):
        moves = range(count - 1)
        is_down = number % 2 == 0
        exchanges += reversed(moves) if is_down else moves
        if exchange is not None:
            # After a move down, the other items are one place further up.
            exchanges.append(exchange + 1 if is_down else exchange)
    return exchanges


def _sizes(pattern: int, count: int) -> list[int]:
    """Return the sizes of the groups of tied members of a pattern."""
    sizes = [1]
    for position in range(count - 1):
        if pattern >> position & 1:
            sizes[-1] += 1
        else:
            sizes.append(1)
    return sizes


class _TieWalk:
    """The walk through the ties of one domain: a table of exchanges for each pattern of ties."""

    def __init__(
        self, module: ir.Module, number: int, count: int, pattern: ir.Value, swaps: Sequence[ir.IrFunction]
    ) -> None:
        walks = [_walk(_sizes(ties, count)) for ties in range(1 << (count - 1))]
        starts = list(itertools.accumulate((len(walk) for walk in walks), initial=0))
        self._swaps, self._pattern = swaps, pattern
        self._starts = _table(module, f"walk_starts.{number}", I32, starts)
        self._exchanges = _table(module, f"walk.{number}", I8, [*itertools.chain(*walks), 0])

    def emit(self, builder: ir.IRBuilder, state: ir.Value, visit: Callable[[], None]) -> None:
        """Emit a loop that calls `visit()` in every order of the tied members, the present one first."""
        first = _entry(builder, self._starts, self._pattern)
        # One more than the exchanges: the present order is visited too.
        end = builder.add(_entry(builder, self._starts, builder.add(self._pattern, word(1))), word(1))
        with for_loop(builder, first, end, name="walk") as position:
            with builder.if_then(builder.icmp_unsigned("!=", position, first)):
                self._exchange(builder, state, _entry(builder, self._exchanges, builder.sub(position, word(1))))
            visit()

    def _exchange(self, builder: ir.IRBuilder, state: ir.Value, number: ir.Value) -> None:
        end = builder.append_basic_block("exchanged")
        switch = builder.switch(number, end)
        for index, swap in enumerate(self._swaps):
            block = builder.append_basic_block("exchange")
            switch.add_case(word(index), block)
            builder.position_at_end(block)
            builder.call(swap, [state])
            builder.branch(end)
        builder.position_at_end(end)


def _walk_all(builder: ir.IRBuilder, state: ir.Value, walks: Sequence[_TieWalk], visit: Callable[[], None]) -> None:
    """Emit nested loops through the orders of all domains."""
    if not walks:
        visit()
        return
    walks[0].emit(builder, state, lambda: _walk_all(builder, state, walks[1:], visit))


def _table(module: ir.Module, name: str, kind: ir.IntegerType, values: Sequence[int]) -> ir.GlobalVariable:
    table = ir.GlobalVariable(module, ir.ArrayType(kind, len(values)), f"representative.{name}")
    table.linkage, table.global_constant = "internal", True
    table.initializer = ir.ConstantValue(table.value_type, [ir.ConstantValue(kind, value) for value in values])
    return table


def _entry(builder: ir.IRBuilder, table: ir.GlobalVariable, index: ir.Value) -> ir.Value:
    return builder.zext(builder.load(builder.gep(table, [word(0), index], inbounds=True)), I64)


def _keep_least(builder: ir.IRBuilder, best: ir.Value, state: ir.Value, words: int) -> None:
    """Emit `if state < best: best = state`, by the order of the words."""
    one, other = read_words(builder, state, words), read_words(builder, best, words)
    is_less: ir.Value = ir.ConstantValue(I1, 0)
    for a, b in reversed(list(zip(one, other, strict=True))):
        is_less = builder.select(builder.icmp_unsigned("==", a, b), is_less, builder.icmp_unsigned("<", a, b))
    with builder.if_then(is_less):
        write_words(builder, best, one)


# The bits of values.


class _StateBits:
    """The words of a state as values in registers, with access to bit fields."""

    def __init__(self, builder: ir.IRBuilder, words: list[ir.Value]):
        self.builder, self.words = builder, words

    def get(self, at: int, shift: int, bits: int) -> ir.Value:
        """Return `bits` bits of a word from a position on."""
        if bits == 0:
            return word(0)
        value = self.words[at] if shift == 0 else self.builder.lshr(self.words[at], word(shift))
        return value if shift + bits == WORD else self.builder.and_(value, word((1 << bits) - 1))

    def flip(self, at: int, shift: int, changes: ir.Value) -> None:
        """Invert some bits: those of `changes`, moved up by `shift`."""
        moved = changes if shift == 0 else self.builder.shl(changes, word(shift))
        self.words[at] = self.builder.xor(self.words[at], moved)

    def both(self, guard: ir.Value | None, test: ir.Value) -> ir.Value:
        """Return the conjunction of a guard (None: true) and a test."""
        return test if guard is None else self.builder.and_(guard, test)

    def mask(self, guard: ir.Value) -> ir.Value:
        """Return 64 bits that are all 1 if a guard is true, else 0."""
        return self.builder.sext(guard, I64)

    # The guards of a value's parts: whether the part is in use. All are read from the words as they are now.

    def is_used(self, layout: ValueLayout, at: int, shift: int, index: int) -> ir.Value:
        """Return whether a sequence, set or bag has an item at an index."""
        length = self.length(layout, at, shift)
        return self.builder.icmp_unsigned("<", word(index), length)

    def length(self, layout: ValueLayout, at: int, shift: int) -> ir.Value:
        """Return the part 0 of a composite: a length, a tag or a presence."""
        part = layout.parts[0]
        return self.get(at + part.word, shift + part.shift, part.layout.bits)


def _is_name(kind: Type, domain: DomainType) -> bool:
    return kind == domain or (isinstance(kind, OptionType) and kind.item == domain)


def _is_bit_set(kind: Type) -> bool:
    return isinstance(kind, SetType) and kind.capacity is None


def _parts_with_guards(
    bits: _StateBits, layout: ValueLayout, at: int, shift: int, guard: ir.Value | None
) -> list[tuple[ValuePart, ir.Value | None]]:
    """Return the parts of a struct, union or option of a composite, each with the guard that it is in use."""
    kind = layout.type
    if isinstance(kind, StructType):
        return [(part, guard) for part in layout.parts]
    tag = bits.length(layout, at, shift)
    first = 1 if isinstance(kind, OptionType) else 0
    return [
        (part, bits.both(guard, bits.builder.icmp_unsigned("==", tag, word(first + number))))
        for number, part in enumerate(layout.parts[1:])
    ]


# Exchanges of two members.


class _Exchange:
    """Emits the exchange of two neighbours of a domain in all variables."""

    def __init__(self, layout: StateLayout, domain: DomainType, first: int):
        self._layout, self._domain, self._first = layout, domain, first
        self._by = generators(domain)[first]
        # The pairs of bits to exchange in each word by their distance, as a mask of the lower bits. They are exchanged
        # last: a guard, and the name of a member, are read where they were before.
        self._deltas: dict[tuple[int, int], int] = {}
        self._rows: list[tuple[int, int, int, int, int]] = []

    def define(self, module: ir.Module, number: int) -> ir.IrFunction:
        """Define `void exchange(i64* state)`."""
        name = f"exchange.{number}.{self._first}"
        function = ir.IrFunction(module, ir.FunctionType(ir.VoidType(), [WORD_POINTER]), name)
        function.linkage = "internal"
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._bits = _StateBits(builder, read_words(builder, function.args[0], self._layout.words))
        for place in self._layout.places.values():
            self._change(place.layout, place.word, place.shift, None)
        self._move()
        write_words(builder, function.args[0], self._bits.words)
        builder.ret_void()
        return function

    def _mentions(self, kind: Type) -> bool:
        return self._domain in domains_in(kind)

    def _change(self, layout: ValueLayout, at: int, shift: int, guard: ir.Value | None) -> None:
        """Emit the exchange in a value at a place, if the guard is true (None: always)."""
        kind = layout.type
        if not self._mentions(kind):
            return
        if _is_name(kind, self._domain):
            self._rename(layout, at, shift, guard)
        elif _is_bit_set(kind):
            self._exchange_bits(layout, at, shift, guard)
        elif isinstance(kind, (StructType, UnionType, OptionType)):
            for part, is_used in _parts_with_guards(self._bits, layout, at, shift, guard):
                self._change(part.layout, at + part.word, shift + part.shift, is_used)
        elif isinstance(kind, MapType):
            self._exchange_in_map(layout, at, shift, guard)
        else:
            self._change_items(layout, at, shift, guard)

    def _rename(self, layout: ValueLayout, at: int, shift: int, guard: ir.Value | None) -> None:
        builder = self._bits.builder
        lower = self._first + (0 if layout.type == self._domain else 1)
        value = self._bits.get(at, shift, layout.bits)
        is_one = builder.icmp_unsigned("<", builder.sub(value, word(lower)), word(2))
        changes = builder.select(self._bits.both(guard, is_one), word(lower ^ (lower + 1)), word(0))
        self._bits.flip(at, shift, changes)

    def _exchange_bits(self, layout: ValueLayout, at: int, shift: int, guard: ir.Value | None) -> None:
        kind = layout.type
        assert isinstance(kind, SetType)
        for index, item in bit_items(kind):
            other = bits_as_number(kind.item, permute(kind.item, item, self._by))
            if index < other:
                self._exchange_fields(at, shift + index, at, shift + other, 1, guard)

    def _exchange_fields(self, at: int, low: int, to: int, high: int, count: int, guard: ir.Value | None) -> None:
        """Emit the exchange of two bit fields, or note it if it has no guard."""
        if guard is not None:
            self._swap_fields(at, low, to, high, count, guard)
        elif at == to:
            low, high = min(low, high), max(low, high)
            key = (at, high - low)
            self._deltas[key] = self._deltas.get(key, 0) | ((1 << count) - 1) << low
        else:
            self._rows.append((at, low, to, high, count))

    def _swap_fields(self, at: int, low: int, to: int, high: int, count: int, guard: ir.Value | None) -> None:
        bits = self._bits
        changes = bits.builder.xor(bits.get(at, low, count), bits.get(to, high, count))
        if guard is not None:
            changes = bits.builder.and_(changes, bits.mask(guard))
        bits.flip(at, low, changes)
        bits.flip(to, high, changes)

    def _exchange_in_map(self, layout: ValueLayout, at: int, shift: int, guard: ir.Value | None) -> None:
        kind, items = layout.type, layout.items
        assert isinstance(kind, MapType) and items is not None
        places = [item_place(items, index) for index in range(items.count)]
        for word_of_item, shift_of_item in places:
            self._change(items.layout, at + word_of_item, shift + shift_of_item, guard)
        if kind.key != self._domain:
            return
        (one, low), (other, high) = places[self._first], places[self._first + 1]
        if items.layout.is_wide:
            for part in range(items.layout.words):
                self._exchange_fields(at + one + part, 0, at + other + part, 0, WORD, guard)
        elif items.layout.bits:
            self._exchange_fields(at + one, shift + low, at + other, shift + high, items.layout.bits, guard)

    def _change_items(self, layout: ValueLayout, at: int, shift: int, guard: ir.Value | None) -> None:
        items = layout.items
        assert items is not None
        for index in range(items.count):
            is_used = self._bits.both(guard, self._bits.is_used(layout, at, shift, index))
            word_of_item, shift_of_item = item_place(items, index)
            self._change(items.layout, at + word_of_item, shift + shift_of_item, is_used)
        if not isinstance(layout.type, SeqType):
            self._sort_items(layout, at, shift, guard)

    def _sort_items(self, layout: ValueLayout, at: int, shift: int, guard: ir.Value | None) -> None:
        """Emit a sort of the items of a set or bag. Items that are not in use stay last, and 0."""
        bits, builder, items = self._bits, self._bits.builder, layout.items
        assert items is not None
        size = items.layout.bits
        places = [item_place(items, index) for index in range(items.count)]
        old = [bits.get(at + place, shift + by, size) for place, by in places]
        used = [bits.is_used(layout, at, shift, index) for index in range(items.count)]
        keys = [builder.select(test, item, word(-1)) for item, test in zip(old, used, strict=True)]
        for end in range(len(keys) - 1, 0, -1):
            for position in range(end):
                one, other = keys[position], keys[position + 1]
                is_greater = builder.icmp_unsigned(">", one, other)
                keys[position] = builder.select(is_greater, other, one)
                keys[position + 1] = builder.select(is_greater, one, other)
        for index, (place, by) in enumerate(places):
            changed = builder.select(bits.both(guard, used[index]), builder.xor(keys[index], old[index]), word(0))
            bits.flip(at + place, shift + by, changed)

    def _move(self) -> None:
        """Emit the exchanges of bits that were noted."""
        bits, builder = self._bits, self._bits.builder
        for (at, distance), lower in self._deltas.items():
            old = bits.words[at]
            changes = builder.and_(builder.xor(old, builder.lshr(old, word(distance))), word(lower))
            bits.words[at] = builder.xor(old, builder.or_(changes, builder.shl(changes, word(distance))))
        for row in self._rows:
            self._swap_fields(*row, None)


# Keys.


class _Keys:
    """Emits the keys of members: numbers of at most 64 bits that renaming the members does not change.

    A key consists of pieces with a width. Not all that is known of a member fits, and not all is cheap: the bits of its
    entries in maps come first, then the variables that name it.
    """

    def __init__(self, layout: StateLayout, domains: Sequence[DomainType]):
        self._layout, self._domains = layout, domains

    def emit(self, builder: ir.IRBuilder, state: ir.Value, domain: DomainType) -> list[ir.Value]:
        """Return the key of each member of a domain."""
        self._bits = _StateBits(builder, read_words(builder, state, self._layout.words))
        self._domain = domain
        return [self._pack(self._pieces_of(member)) for member in range(domain.cardinality())]

    def _mentions(self, kind: Type) -> bool:
        return any(domain in self._domains for domain in domains_in(kind))

    def _pack(self, pieces: list[tuple[int, Callable[[], ir.Value]]]) -> ir.Value:
        """Return the pieces in one number, those that fit."""
        key, free = word(0), WORD
        for size, piece in pieces:
            if size <= free:
                key = self._bits.builder.or_(key, self._bits.builder.shl(piece(), word(WORD - free)))
                free -= size
            if free == 0:
                break
        return key

    def _pieces_of(self, member: int) -> list[tuple[int, Callable[[], ir.Value]]]:
        entries: list[tuple[int, Callable[[], ir.Value]]] = []
        names: list[tuple[int, Callable[[], ir.Value]]] = []
        for place in self._layout.places.values():
            self._gather(place.layout, place.word, place.shift, member, entries, names)
        return [*entries, *names]

    def _gather(
        self,
        layout: ValueLayout,
        at: int,
        shift: int,
        member: int,
        entries: list[tuple[int, Callable[[], ir.Value]]],
        names: list[tuple[int, Callable[[], ir.Value]]],
    ) -> None:
        """Add what a value at a fixed place says of a member."""
        kind = layout.type
        if self._domain not in domains_in(kind):
            return
        if isinstance(kind, MapType) and kind.key == self._domain:
            assert layout.items is not None
            place, by = item_place(layout.items, member)
            self._add_entry(layout.items.layout, at + place, shift + by, member, entries)
        elif isinstance(kind, StructType):
            for part in layout.parts:
                self._gather(part.layout, at + part.word, shift + part.shift, member, entries, names)
        elif isinstance(kind, (SeqType, MapType)) and not self._is_keyed_by_members(kind):
            assert layout.items is not None
            for index in range(layout.items.count):
                place, by = item_place(layout.items, index)
                if isinstance(kind, SeqType):
                    self._add_named_in_item(layout, at, shift, index, member, names)
                else:
                    self._gather(layout.items.layout, at + place, shift + by, member, entries, names)
        else:
            self._add_named(layout, at, shift, None, member, names)

    def _is_keyed_by_members(self, kind: Type) -> bool:
        return isinstance(kind, MapType) and self._mentions(kind.key)

    def _add_named_in_item(
        self,
        layout: ValueLayout,
        at: int,
        shift: int,
        index: int,
        member: int,
        names: list[tuple[int, Callable[[], ir.Value]]],
    ) -> None:
        items = layout.items
        assert items is not None
        place, by = item_place(items, index)
        parts = [(items.layout, 0, 0)]
        if isinstance(items.layout.type, StructType):
            parts = [(part.layout, part.word, part.shift) for part in items.layout.parts]
        for part, word_of_part, shift_of_part in parts:
            guard = (
                (lambda: self._bits.is_used(layout, at, shift, index)) if _is_name(part.type, self._domain) else None
            )
            self._add_named(part, at + place + word_of_part, shift + by + shift_of_part, guard, member, names)

    def _add_named(
        self,
        layout: ValueLayout,
        at: int,
        shift: int,
        guard: Callable[[], ir.Value] | None,
        member: int,
        names: list[tuple[int, Callable[[], ir.Value]]],
    ) -> None:
        """Add whether a scalar names a member, or a set contains it. A set that is not in use has no bits."""
        kind = layout.type
        if _is_name(kind, self._domain):
            number = member + (0 if kind == self._domain else 1)

            def named() -> ir.Value:
                builder = self._bits.builder
                test = builder.icmp_unsigned("==", self._bits.get(at, shift, layout.bits), word(number))
                return builder.zext(test if guard is None else builder.and_(guard(), test), I64)

            names.append((1, named))
        elif isinstance(kind, SetType) and kind.capacity is None and kind.item == self._domain:
            names.append((1, lambda: self._bits.get(at, shift + member, 1)))

    def _add_entry(
        self,
        layout: ValueLayout,
        at: int,
        shift: int,
        member: int,
        entries: list[tuple[int, Callable[[], ir.Value]]],
    ) -> None:
        """Add what a member's entry in a map contains besides other members."""
        kind = layout.type
        if not self._mentions(kind):
            if layout.is_wide:
                entries += [(WORD, self._getter(at + part, 0, WORD)) for part in range(layout.words)]
            else:
                entries.append((layout.bits, self._getter(at, shift, layout.bits)))
        elif _is_name(kind, self._domain):
            self._add_named(layout, at, shift, None, member, entries)
            if isinstance(kind, OptionType):
                entries.append((1, lambda: self._is_zero(at, shift, layout.bits)))
        elif isinstance(kind, SetType) and kind.capacity is None and isinstance(kind.item, DomainType):
            size = kind.item.cardinality().bit_length()
            entries.append((size, lambda: self._bits.builder.ctpop(self._bits.get(at, shift, layout.bits))))
            self._add_named(layout, at, shift, None, member, entries)
        elif isinstance(kind, StructType):
            for part in layout.parts:
                self._add_entry(part.layout, at + part.word, shift + part.shift, member, entries)
        elif layout.parts:
            # The length of a sequence, set or bag, the tag of a union, the presence of an option.
            part = layout.parts[0]
            entries.append((part.layout.bits, self._getter(at + part.word, shift + part.shift, part.layout.bits)))

    def _getter(self, at: int, shift: int, bits: int) -> Callable[[], ir.Value]:
        return lambda: self._bits.get(at, shift, bits)

    def _is_zero(self, at: int, shift: int, bits: int) -> ir.Value:
        test = self._bits.builder.icmp_unsigned("==", self._bits.get(at, shift, bits), word(0))
        return self._bits.builder.zext(test, I64)
