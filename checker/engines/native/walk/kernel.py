"""The kernel of random walks: many walks in one call, built into the module of a compiled spec.

A walk begins in an initial state and takes, at each state, one of the enabled action instances. Its only source of
chance is its own seed (splitmix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014),
so that it is the same wherever and with whichever others it is walked.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from checker.engines.native.explore.shard_record import state_hash
from checker.engines.native.llvm.control_flow import (
    I8,
    I16,
    I32,
    I64,
    WORD_POINTER,
    LocalVariable,
    Loop,
    counted_loop,
    each_bit,
    endless_loop,
    word,
)
from checker.engines.native.llvm.words import item, read_words, write_words
from checker.engines.native.lowering.program import FAILED_BIT, NativeSpec

WALK = "walk.batch"

GAMMA, FIRST_MULTIPLIER, SECOND_MULTIPLIER = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""The constants of splitmix64: what is added for each number, and the multipliers of its mixing."""

ENDINGS = ("depth", "deadlock", "violation", "bounds", "constraint")
"""Why a walk ended; a walk's `endings` is the number of one of these."""

NO_INSTANCE = NO_PROPERTY = -1
CONSTRAINT = 63
"""`failed_instance` and `failed_property` where none left its bounds, and `failed_property` where a constraint did."""

INPUTS = ("count", "depth", "initial_count", "limit", "invariants", "reachables", "step_invariants")
ADDRESSES = (
    *("seeds", "initial_states", "weights", "listed"),
    *("initial", "lengths", "endings", "violated", "reached", "failed_instance", "failed_property"),
    *("actions", "coverage", "branches", "sampled", "sampled_ends", "last_states", "hashes", "enabled"),
)
FIELDS = {name: number for number, name in enumerate((*INPUTS, *ADDRESSES))}
"""The words of the record that a call takes: numbers, and addresses of arrays (0 for one that is not wanted).

`limit`: the hashes up to it are sampled. `weights` (instances,): of each action instance; 0: all alike. `listed`: room
for a state's successors, each of `entry_words`. What is written, for each walk or one after the other for all:
`actions` (uint16) of all steps; `coverage` and `branches`, whole words a walk; `sampled` hashes, `sampled_ends` where
each walk's end in them; `last_states` (2, words) a walk: the last state and the one before; `hashes` and `enabled`
(uint32) of all steps.
"""

_SINK = ir.LiteralStructType([WORD_POINTER, I64, I64])
_NEXT, _FAILURES, _FAILED = range(3)


def add_walk_kernel(native: NativeSpec) -> None:
    """Give `emit` and `fail` their bodies and add `void walk.batch(i64* record)`, a record as FIELDS says."""
    _define_emit(native)
    _define_fail(native)
    _WalkKernel(native).define()


def entry_words(native: NativeSpec) -> int:
    """Return how many words a listed successor takes: the state, the action instance, the branches taken."""
    return native.layout.words + 1 + _branch_words(native)


def _branch_words(native: NativeSpec) -> int:
    return native.branches.words if native.branches is not None else 0


def coverage_words(instances: int) -> int:
    """Return how many words of coverage a walk has."""
    return max(1, -(-instances // 64))


def _slot(builder: ir.IRBuilder, sink: ir.Value, index: int) -> ir.Value:
    return builder.gep(sink, [ir.Constant(I32, 0), ir.Constant(I32, index)], inbounds=True)


def _define_emit(native: NativeSpec) -> None:
    """Append the successor and its action instance to the list."""
    native.emit.attributes.add("alwaysinline")
    builder = ir.IRBuilder(native.emit.append_basic_block("entry"))
    words = native.layout.words
    next_slot = _slot(builder, builder.bitcast(native.emit.args[0], _SINK.as_pointer()), _NEXT)
    entry = builder.load(next_slot)
    successor, instance = read_words(builder, native.emit.args[1], words), builder.zext(native.emit.args[2], I64)
    branches = native.branches.taken(builder) if native.branches is not None else []
    write_words(builder, entry, [*successor, instance, *branches])
    builder.store(item(builder, entry, word(1), entry_words(native)), next_slot)
    builder.ret_void()


def _define_fail(native: NativeSpec) -> None:
    """Count the failure and remember the first instance."""
    native.fail.attributes.add("alwaysinline")
    builder = ir.IRBuilder(native.fail.append_basic_block("entry"))
    sink = builder.bitcast(native.fail.args[0], _SINK.as_pointer())
    failures = builder.load(_slot(builder, sink, _FAILURES))
    with builder.if_then(builder.icmp_unsigned("==", failures, word(0))):
        builder.store(builder.zext(native.fail.args[1], I64), _slot(builder, sink, _FAILED))
    builder.store(builder.add(failures, word(1)), _slot(builder, sink, _FAILURES))
    builder.ret_void()


@dataclass
class _WalkVariables:
    """The variables of the walk under construction."""

    generator: LocalVariable
    step: LocalVariable
    ending: LocalVariable
    violated: LocalVariable
    reached: LocalVariable
    failed_instance: LocalVariable
    failed_property: LocalVariable


class _WalkKernel:
    """Builds the kernel."""

    def __init__(self, native: NativeSpec):
        self._native, self._words, self._entry = native, native.layout.words, entry_words(native)
        function = ir.Function(native.module, ir.FunctionType(ir.VoidType(), [WORD_POINTER]), WALK)
        self._builder = builder = ir.IRBuilder(function.append_basic_block("entry"))
        # Read once: LLVM cannot know that what a walk writes is not the record.
        self._fields = {name: builder.load(builder.gep(function.args[0], [word(at)])) for name, at in FIELDS.items()}
        self._sink = builder.alloca(_SINK)
        self._state = builder.alloca(I64, max(2, self._words))
        self._old = builder.alloca(I64, max(2, self._words))
        self._steps = LocalVariable(builder, word(0))
        self._samples = LocalVariable(builder, word(0))

    def define(self) -> None:
        builder = self._builder
        with counted_loop(builder, word(0), self._fields["count"]) as number:
            walk = self._begin(number)
            with endless_loop(builder) as loop:
                self._step(walk, number, loop)
            self._end(walk, number)
        builder.ret_void()

    # Access to arrays.

    def _array(self, name: str, kind: ir.Type = I64) -> ir.Value:
        return self._builder.inttoptr(self._fields[name], kind.as_pointer())

    def _at(self, name: str, index: ir.Value, kind: ir.Type = I64) -> ir.Value:
        return self._builder.gep(self._array(name, kind), [index], inbounds=True)

    def _write(self, name: str, index: ir.Value, value: ir.Value, kind: ir.Type = I64) -> None:
        narrow = value if value.type == kind else self._builder.trunc(value, kind)
        self._builder.store(narrow, self._at(name, index, kind))

    def _is_wanted(self, name: str) -> ir.Value:
        return self._builder.icmp_unsigned("!=", self._fields[name], word(0))

    # Chance.

    def _number_below(self, walk: _WalkVariables, end: ir.Value) -> ir.Value:
        """Return a random number (i64) from 0 to `end` - 1: the high word of a product (Lemire, 2019)."""
        builder = self._builder
        walk.generator.set(builder.add(walk.generator.get(), word(GAMMA)))
        value = walk.generator.get()
        for shift, multiplier in ((30, FIRST_MULTIPLIER), (27, SECOND_MULTIPLIER)):
            value = builder.mul(builder.xor(value, builder.lshr(value, word(shift))), word(multiplier))
        value = builder.xor(value, builder.lshr(value, word(31)))
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(value, wide), builder.zext(end, wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), I64)

    # A walk.

    def _begin(self, number: ir.Value) -> _WalkVariables:
        builder = self._builder
        walk = _WalkVariables(
            generator=LocalVariable(builder, builder.load(self._at("seeds", number))),
            step=LocalVariable(builder, word(0)),
            ending=LocalVariable(builder, word(0)),
            violated=LocalVariable(builder, word(0)),
            reached=LocalVariable(builder, word(0)),
            failed_instance=LocalVariable(builder, word(NO_INSTANCE)),
            failed_property=LocalVariable(builder, word(NO_PROPERTY)),
        )
        initial = self._number_below(walk, self._fields["initial_count"])
        self._write("initial", number, initial, I32)
        first = read_words(builder, item(builder, self._array("initial_states"), initial, self._words), self._words)
        write_words(builder, self._state, first)
        write_words(builder, self._old, first)
        return walk

    def _end(self, walk: _WalkVariables, number: ir.Value) -> None:
        builder = self._builder
        self._write("lengths", number, walk.step.get(), I32)
        self._write("endings", number, walk.ending.get(), I8)
        self._write("violated", number, walk.violated.get())
        self._write("reached", number, walk.reached.get())
        self._write("failed_instance", number, walk.failed_instance.get(), I32)
        self._write("failed_property", number, walk.failed_property.get(), I32)
        self._write("sampled_ends", number, self._samples.get())
        kept = item(builder, self._array("last_states"), number, 2 * self._words)
        both = [*read_words(builder, self._state, self._words), *read_words(builder, self._old, self._words)]
        write_words(builder, kept, both)

    def _leave_as(self, walk: _WalkVariables, loop: Loop, condition: ir.Value, ending: str) -> None:
        """End the walk where a condition (i1) is true."""
        number = word(ENDINGS.index(ending))
        walk.ending.set(self._builder.select(condition, number, walk.ending.get()))
        loop.leave_if(condition)

    def _step(self, walk: _WalkVariables, number: ir.Value, loop: Loop) -> None:
        """Look at the state that the walk is in, and go on to the next one."""
        builder = self._builder
        self._sample(walk)
        self._check(walk, loop)
        at_end = builder.icmp_unsigned("==", walk.step.get(), self._fields["depth"])
        self._leave_as(walk, loop, at_end, "depth")
        if self._native.within_constraint is not None:
            within = builder.call(self._native.within_constraint, [self._state])
            self._leave_as(walk, loop, builder.not_(within), "constraint")
        enabled = self._list_successors(walk, loop)
        self._leave_as(walk, loop, builder.icmp_unsigned("==", enabled, word(0)), "deadlock")
        self._take(walk, number, enabled)

    def _sample(self, walk: _WalkVariables) -> None:
        """Keep the hash of the state if it is in the sampled part, and of the step that led to it if it is wanted."""
        builder = self._builder
        hashed = state_hash(builder, read_words(builder, self._state, self._words))
        with builder.if_then(builder.icmp_unsigned("<=", hashed, self._fields["limit"])):
            self._write("sampled", self._samples.get(), hashed)
            self._samples.add(1)
        was_taken = builder.icmp_unsigned("!=", walk.step.get(), word(0))
        with builder.if_then(builder.and_(self._is_wanted("hashes"), was_taken), likely=False):
            self._write("hashes", builder.sub(self._steps.get(), word(1)), hashed)

    def _check(self, walk: _WalkVariables, loop: Loop) -> None:
        """Check the state, and the step to it; end the walk where something is violated or leaves its bounds."""
        builder, fields = self._builder, self._fields
        mask = builder.or_(fields["invariants"], fields["reachables"])
        found = LocalVariable(builder, builder.call(self._native.check_state, [self._state, mask]))
        if self._native.check_step is not None:
            with builder.if_then(builder.icmp_unsigned("!=", walk.step.get(), word(0))):
                of_step = builder.call(self._native.check_step, [self._old, self._state, fields["step_invariants"]])
                found.set(builder.or_(found.get(), of_step))
        walk.reached.set(builder.or_(walk.reached.get(), builder.and_(found.get(), fields["reachables"])))
        bad = builder.and_(found.get(), builder.not_(fields["reachables"]))
        walk.violated.set(builder.and_(bad, word(~(1 << FAILED_BIT))))
        failed = builder.icmp_signed("<", bad, word(0))
        with builder.if_then(failed, likely=False):
            self._blame(walk)
        self._leave_as(walk, loop, failed, "bounds")
        self._leave_as(walk, loop, builder.icmp_unsigned("!=", bad, word(0)), "violation")

    def _blame(self, walk: _WalkVariables) -> None:
        """Find the first property that leaves its bounds, evaluated alone; a constraint is evaluated with any."""
        builder, fields = self._builder, self._fields
        walk.failed_property.set(word(CONSTRAINT))
        is_clean = builder.icmp_signed(">=", builder.call(self._native.check_state, [self._state, word(0)]), word(0))
        with builder.if_then(is_clean):
            of_states = builder.or_(fields["invariants"], fields["reachables"])
            self._keep_lowest(walk, of_states, self._native.check_state, [self._state])
            if self._native.check_step is not None:
                was_taken = builder.icmp_unsigned("!=", walk.step.get(), word(0))
                with builder.if_then(was_taken):
                    steps = fields["step_invariants"]
                    self._keep_lowest(walk, steps, self._native.check_step, [self._old, self._state])

    def _keep_lowest(self, walk: _WalkVariables, mask: ir.Value, check: ir.Function, states: list[ir.Value]) -> None:
        """Lower `failed_property` to the first of some properties that, checked alone, leaves its bounds."""
        builder = self._builder
        with each_bit(builder, mask) as bit:
            found = builder.call(check, [*states, builder.shl(word(1), bit)])
            fails = builder.icmp_signed("<", found, word(0))
            lower = builder.and_(fails, builder.icmp_unsigned("<", bit, walk.failed_property.get()))
            walk.failed_property.set(builder.select(lower, bit, walk.failed_property.get()))

    def _list_successors(self, walk: _WalkVariables, loop: Loop) -> ir.Value:
        """List the state's successors and return how many there are; end the walk where an instance fails."""
        builder = self._builder
        first = self._array("listed")
        builder.store(first, _slot(builder, self._sink, _NEXT))
        builder.store(word(0), _slot(builder, self._sink, _FAILURES))
        builder.call(self._native.expand_state, [self._state, builder.bitcast(self._sink, I8.as_pointer())])
        failed = builder.icmp_unsigned("!=", builder.load(_slot(builder, self._sink, _FAILURES)), word(0))
        with builder.if_then(failed, likely=False):
            walk.failed_instance.set(builder.load(_slot(builder, self._sink, _FAILED)))
        self._leave_as(walk, loop, failed, "bounds")
        end = builder.load(_slot(builder, self._sink, _NEXT))
        size = builder.sub(builder.ptrtoint(end, I64), builder.ptrtoint(first, I64))
        return builder.udiv(size, word(8 * self._entry))

    def _take(self, walk: _WalkVariables, number: ir.Value, enabled: ir.Value) -> None:
        """Go to one of the listed successors."""
        builder = self._builder
        chosen = item(builder, self._array("listed"), self._choose(walk, enabled), self._entry)
        *successor, instance = read_words(builder, chosen, self._words + 1)
        write_words(builder, self._old, read_words(builder, self._state, self._words))
        write_words(builder, self._state, successor)
        self._write("actions", self._steps.get(), instance, I16)
        with builder.if_then(self._is_wanted("enabled"), likely=False):
            self._write("enabled", self._steps.get(), enabled, I32)
        per_walk = word(coverage_words(self._native.instances))
        place = builder.add(builder.mul(number, per_walk), builder.lshr(instance, word(6)))
        covered = self._at("coverage", place)
        bit = builder.shl(word(1), builder.and_(instance, word(63)))
        builder.store(builder.or_(builder.load(covered), bit), covered)
        self._take_branches(number, chosen)
        self._steps.add(1)
        walk.step.add(1)

    def _take_branches(self, number: ir.Value, chosen: ir.Value) -> None:
        """Add the branches of a listed successor to those of the walk."""
        builder, count = self._builder, _branch_words(self._native)
        taken = builder.gep(chosen, [word(self._words + 1)], inbounds=True)
        walked = item(builder, self._array("branches"), number, count)
        both = zip(read_words(builder, walked, count), read_words(builder, taken, count), strict=True)
        write_words(builder, walked, [builder.or_(before, new) for before, new in both])

    def _choose(self, walk: _WalkVariables, enabled: ir.Value) -> ir.Value:
        """Return the position of the successor to take: each alike, or as often as its instance's weight says."""
        builder = self._builder
        position = LocalVariable(builder, word(0))
        with builder.if_else(self._is_wanted("weights"), likely=False) as (weighted, alike):
            with weighted:
                self._choose_weighted(walk, enabled, position)
            with alike:
                position.set(self._number_below(walk, enabled))
        return position.get()

    def _choose_weighted(self, walk: _WalkVariables, enabled: ir.Value, position: LocalVariable) -> None:
        builder = self._builder
        total = LocalVariable(builder, word(0))
        with counted_loop(builder, word(0), enabled) as index:
            total.set(builder.add(total.get(), self._weight(index)))
        left = LocalVariable(builder, self._number_below(walk, total.get()))
        with endless_loop(builder) as search:
            weight = self._weight(position.get())
            search.leave_if(builder.icmp_unsigned("<", left.get(), weight))
            left.set(builder.sub(left.get(), weight))
            position.add(1)

    def _weight(self, position: ir.Value) -> ir.Value:
        builder = self._builder
        entry = item(builder, self._array("listed"), position, self._entry)
        instance = builder.load(builder.gep(entry, [word(self._words)], inbounds=True))
        return builder.load(self._at("weights", instance))
