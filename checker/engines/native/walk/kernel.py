"""The kernel of random walks: many walks in one call, defined in the module of a compiled spec.

A walk starts in a random initial state and takes, in each state, one of the enabled action instances:

    for number in range(count):
        generator = seeds[number]
        state = old = initial_states[random below initial_count]
        forever:
            sample the hash of the state
            check the state, and the step from `old` to it    -> ends the walk as "violation" or "bounds";
                                                                 with `beyond`, a violation is recorded instead
            if `depth` steps are taken: end as "depth"
            if the state is outside the constraint: end as "constraint"
            list the successors of the state                  -> ends the walk as "bounds"
            if there is none: end as "deadlock"
            choose one, uniformly or by weight
            old, state = state, the chosen successor
            record its action instance and the branches that it took
        write the length, the ending and the findings of the walk

The only source of randomness of a walk is its seed. A walk is therefore the same on every machine and in every batch.
The generator is splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).

A listed successor is an entry of `entry_words` words:

    +-----------------------+------------------+-------------------------------------------------+
    | state, `words` words  | action instance  | branches taken, 2 bits per condition, see       |
    |                       |                  | `lowering.branches`                             |
    +-----------------------+------------------+-------------------------------------------------+
"""

from __future__ import annotations

from dataclasses import dataclass

from checker.engines.native.explore.shard_record import state_hash
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import (
    I8,
    I16,
    I32,
    I64,
    WORD_POINTER,
    LocalVariable,
    Loop,
    each_bit,
    endless_loop,
    for_loop,
    word,
)
from checker.engines.native.llvm.words import item, read_words, struct_field, write_words
from checker.engines.native.lowering.native_spec import NativeSpec

WALK = "walk.batch"

GAMMA, FIRST_MULTIPLIER, SECOND_MULTIPLIER = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""The constants of splitmix64: the increment of its state, and the multipliers of its output function."""

ENDINGS = ("depth", "deadlock", "violation", "bounds", "constraint")
"""Why a walk ended. A walk's item of `endings` is a position in this tuple."""

NO_INSTANCE = NO_PROPERTY = -1
CONSTRAINT = 63
"""Special values of `failed_instance` and `failed_property`: none left its bounds, or a constraint did."""

INPUTS = ("count", "depth", "initial_count", "limit", "invariants", "reachables", "step_invariants", "beyond")
ADDRESSES = (
    *("seeds", "initial_states", "weights", "listed"),
    *("initial", "lengths", "endings", "violated", "reached", "failed_instance", "failed_property"),
    *("actions", "coverage", "branches", "sampled", "sampled_ends", "last_states", "hashes", "enabled"),
    *("event_ends", "event_steps", "event_masks", "event_states"),
)
FIELDS = {name: number for number, name in enumerate((*INPUTS, *ADDRESSES))}
"""The fields of the record that a call takes, by position. A field is one word: a number, or the address of an array.

Numbers:
- `count`: the number of walks. `depth`: the greatest number of steps of a walk. `initial_count`: initial states.
- `limit`: a state is sampled if its hash is at most this.
- `invariants`, `reachables`, `step_invariants`: the property bits to check.
- `beyond`: 1 if a walk goes on after a violation, else 0.

Arrays to read, u64 unless a type is given:
- `seeds` (count,). `initial_states` (initial_count, words).
- `weights` (instances,): the weight of each action instance; address 0: the choice is uniform.
- `listed` (instances + 1, entry_words): memory for the successors of one state.

Arrays to write, one item per walk:
- `initial` i32, `lengths` i32 in steps, `endings` i8, `violated`, `reached`, `failed_instance` i32,
  `failed_property` i32: (count,).
- `coverage` (count, coverage_words) and `branches` (count, branch words): bit sets.
- `sampled_ends` (count,): the end of each walk's hashes in `sampled`.
- `last_states` (count, 2, words): the state in which the walk ends, and the state before it.

Arrays to write, one item per step or sampled state, of all walks one after the other:
- `actions` i16: the action instance of each step. `sampled`: the hashes of sampled states.
- `hashes`: the hash of the state to which each step led. `enabled` i32: the number of enabled action instances before
  each step. Address 0: not recorded.

Arrays to write with `beyond`, one item per event of all walks. An event is a state in which a walk violates properties
that it has not violated before:
- `event_ends` (count,): the end of each walk's events. `event_steps` i32: the number of steps before.
- `event_masks`: the bits of these properties. `event_states` (words * 2 each): the state, and the one before it.
"""

_SINK = ir.LiteralStructType([WORD_POINTER, I64, I64])
"""The struct to which `emit` and `fail` report: the next entry's address, the number of failures, the first one."""

_NEXT, _FAILURES, _FAILED = range(3)


def add_walk_kernel(native: NativeSpec) -> None:
    """Give `emit` and `fail` their bodies and define `void walk.batch(i64* record)`; FIELDS documents the record."""
    _define_emit(native)
    _define_fail(native)
    _WalkKernel(native).define()


def entry_words(native: NativeSpec) -> int:
    """Return the number of words of a listed successor: the state, the action instance, the branches taken."""
    return native.layout.words + 1 + _branch_words(native)


def _branch_words(native: NativeSpec) -> int:
    return native.branches.words if native.branches is not None else 0


def coverage_words(instances: int) -> int:
    """Return the number of words of a walk's coverage: one bit per action instance."""
    return max(1, -(-instances // 64))


def _define_emit(native: NativeSpec) -> None:
    """Give `emit` its body: append the successor, its action instance and its branches to the list."""
    native.emit.attributes.add("alwaysinline")
    builder = ir.IRBuilder(native.emit.append_basic_block("entry"))
    words = native.layout.words
    next_field = struct_field(builder, builder.bitcast(native.emit.args[0], _SINK.as_pointer()), _NEXT)
    entry = builder.load(next_field)
    successor, instance = read_words(builder, native.emit.args[1], words), builder.zext(native.emit.args[2], I64)
    branches = native.branches.taken(builder) if native.branches is not None else []
    write_words(builder, entry, [*successor, instance, *branches])
    builder.store(item(builder, entry, word(1), entry_words(native)), next_field)
    builder.ret_void()


def _define_fail(native: NativeSpec) -> None:
    """Give `fail` its body: count the failure, and keep the instance of the first one."""
    native.fail.attributes.add("alwaysinline")
    builder = ir.IRBuilder(native.fail.append_basic_block("entry"))
    sink = builder.bitcast(native.fail.args[0], _SINK.as_pointer())
    failures = builder.load(struct_field(builder, sink, _FAILURES))
    # `expand_state` visits instances in a fixed order, so the first failure is the same on every machine.
    with builder.if_then(builder.icmp_unsigned("==", failures, word(0))):
        builder.store(builder.zext(native.fail.args[1], I64), struct_field(builder, sink, _FAILED))
    builder.store(builder.add(failures, word(1)), struct_field(builder, sink, _FAILURES))
    builder.ret_void()


@dataclass
class _WalkVariables:
    """The variables of one walk; all are reset at its start. `failed_*` start as NO_INSTANCE and NO_PROPERTY."""

    generator: LocalVariable
    step: LocalVariable
    ending: LocalVariable
    violated: LocalVariable
    reached: LocalVariable
    failed_instance: LocalVariable
    failed_property: LocalVariable


class _WalkKernel:
    """Emits the kernel.

    `_state` and `_old` are stack memory for the current and the previous state. `_steps`, `_samples` and `_events`
    count those of all walks so far: the positions of the next ones in the arrays.
    """

    def __init__(self, native: NativeSpec):
        self._native, self._words, self._entry = native, native.layout.words, entry_words(native)
        function = ir.IrFunction(native.module, ir.FunctionType(ir.VoidType(), [WORD_POINTER]), WALK)
        self._builder = builder = ir.IRBuilder(function.append_basic_block("entry"))
        # Read once: LLVM cannot know that the arrays that a walk writes do not overlap the record.
        self._fields = {name: builder.load(builder.gep(function.args[0], [word(at)])) for name, at in FIELDS.items()}
        self._sink = builder.alloca(_SINK)
        self._state = builder.alloca(I64, max(2, self._words))
        self._old = builder.alloca(I64, max(2, self._words))
        self._steps = LocalVariable(builder, word(0), "all_steps")
        self._samples = LocalVariable(builder, word(0), "all_samples")
        self._events = LocalVariable(builder, word(0), "all_events")

    def define(self) -> None:
        """Emit the loop over walks."""
        builder = self._builder
        with for_loop(builder, word(0), self._fields["count"], name="walks") as number:
            walk = self._begin(number)
            with endless_loop(builder, "steps") as loop:
                self._step(walk, number, loop)
            self._end(walk, number)
        builder.ret_void()

    # Access to the arrays of the record.

    def _array(self, name: str, kind: ir.IrType = I64) -> ir.Value:
        return self._builder.inttoptr(self._fields[name], kind.as_pointer())

    def _at(self, name: str, index: ir.Value, kind: ir.IrType = I64) -> ir.Value:
        return self._builder.gep(self._array(name, kind), [index], inbounds=True)

    def _write(self, name: str, index: ir.Value, value: ir.Value, kind: ir.IrType = I64) -> None:
        narrow = value if value.type == kind else self._builder.trunc(value, kind)
        self._builder.store(narrow, self._at(name, index, kind))

    def _is_wanted(self, name: str) -> ir.Value:
        return self._builder.icmp_unsigned("!=", self._fields[name], word(0))

    # Random numbers.

    def _number_below(self, walk: _WalkVariables, end: ir.Value) -> ir.Value:
        """Emit one step of splitmix64 and return a random number (i64) from 0 to `end` - 1.

        The number is the high word of a 128-bit product (Lemire, "Fast Random Integer Generation in an Interval",
        2019), without the rejection step: the bias is below `end` / 2**64.
        """
        builder = self._builder
        walk.generator.set(builder.add(walk.generator.get(), word(GAMMA)))
        value = walk.generator.get()
        for shift, multiplier in ((30, FIRST_MULTIPLIER), (27, SECOND_MULTIPLIER)):
            value = builder.mul(builder.xor(value, builder.lshr(value, word(shift))), word(multiplier))
        value = builder.xor(value, builder.lshr(value, word(31)))
        # A remainder would need a division per number, which is slower than the wide product.
        wide = ir.IntegerType(128)
        product = builder.mul(builder.zext(value, wide), builder.zext(end, wide))
        return builder.trunc(builder.lshr(product, ir.ConstantValue(wide, 64)), I64)

    # One walk.

    def _begin(self, number: ir.Value) -> _WalkVariables:
        """Emit the start of walk `number` in a random initial state."""
        builder = self._builder
        walk = _WalkVariables(
            generator=LocalVariable(builder, builder.load(self._at("seeds", number)), "generator"),
            step=LocalVariable(builder, word(0), "step"),
            # 0 is "depth", which is overwritten before it is read: every exit of the loop sets the ending first.
            ending=LocalVariable(builder, word(0), "ending"),
            violated=LocalVariable(builder, word(0), "violated"),
            reached=LocalVariable(builder, word(0), "reached"),
            failed_instance=LocalVariable(builder, word(NO_INSTANCE), "failed_instance"),
            failed_property=LocalVariable(builder, word(NO_PROPERTY), "failed_property"),
        )
        initial = self._number_below(walk, self._fields["initial_count"])
        self._write("initial", number, initial, I32)
        first = read_words(builder, item(builder, self._array("initial_states"), initial, self._words), self._words)
        write_words(builder, self._state, first)
        # No step leads to the first state. It is its own predecessor, so `last_states` of a walk without steps is
        # defined.
        write_words(builder, self._old, first)
        return walk

    def _end(self, walk: _WalkVariables, number: ir.Value) -> None:
        """Emit the record of walk `number`, which has ended."""
        builder = self._builder
        self._write("lengths", number, walk.step.get(), I32)
        self._write("endings", number, walk.ending.get(), I8)
        self._write("violated", number, walk.violated.get())
        self._write("reached", number, walk.reached.get())
        self._write("failed_instance", number, walk.failed_instance.get(), I32)
        self._write("failed_property", number, walk.failed_property.get(), I32)
        self._write("sampled_ends", number, self._samples.get())
        with builder.if_then(self._is_wanted("beyond"), likely=False):
            self._write("event_ends", number, self._events.get())
        self._keep_states("last_states", number)

    def _keep_states(self, name: str, position: ir.Value) -> None:
        """Emit the write of the current and the previous state to an item of an array."""
        builder = self._builder
        kept = item(builder, self._array(name), position, 2 * self._words)
        both = [*read_words(builder, self._state, self._words), *read_words(builder, self._old, self._words)]
        write_words(builder, kept, both)

    def _leave_as(self, walk: _WalkVariables, loop: Loop, condition: ir.Value, ending: str) -> None:
        """Emit the end of the walk, with one of ENDINGS, for the case that a condition (i1) is true."""
        number = word(ENDINGS.index(ending))
        # The variable keeps its value if the condition is false, so a later exit of the same step may set it.
        walk.ending.set(self._builder.select(condition, number, walk.ending.get()))
        loop.leave_if(condition)

    def _step(self, walk: _WalkVariables, number: ir.Value, loop: Loop) -> None:
        """Emit the check of the current state and the step to the next one."""
        builder = self._builder
        self._sample(walk)
        # The check comes before the depth, so the last state of a full walk is checked too. The constraint comes after
        # the check: as in exploration, a state outside it is checked but not expanded.
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
        """Emit the record of the current state's hash: in `sampled` if it is sampled, in `hashes` if that is wanted."""
        builder = self._builder
        hashed = state_hash(builder, read_words(builder, self._state, self._words))
        with builder.if_then(builder.icmp_unsigned("<=", hashed, self._fields["limit"])):
            self._write("sampled", self._samples.get(), hashed)
            self._samples.add(1)
        has_step = builder.icmp_unsigned("!=", walk.step.get(), word(0))
        # The hash belongs to the step that was counted in the previous iteration, hence the position minus 1. The
        # initial state has no step, so its hash is not recorded.
        with builder.if_then(builder.and_(self._is_wanted("hashes"), has_step), likely=False):
            self._write("hashes", builder.sub(self._steps.get(), word(1)), hashed)

    def _check(self, walk: _WalkVariables, loop: Loop) -> None:
        """Emit the check of the state and of the step to it.

        A failed evaluation ends the walk, and without `beyond` a violation too.
        """
        builder, fields = self._builder, self._fields
        mask = builder.or_(fields["invariants"], fields["reachables"])
        violated = LocalVariable(builder, builder.call(self._native.check_state, [self._state, mask]))
        if self._native.check_step is not None:
            # In the first state `_old` is a copy of it and not a predecessor: there is no step to check.
            with builder.if_then(builder.icmp_unsigned("!=", walk.step.get(), word(0))):
                of_step = builder.call(self._native.check_step, [self._old, self._state, fields["step_invariants"]])
                violated.set(builder.or_(violated.get(), of_step))
        walk.reached.set(builder.or_(walk.reached.get(), builder.and_(violated.get(), fields["reachables"])))
        # Findings of reachables do not end a walk. All other bits do, and a failed evaluation has precedence over a
        # violation.
        bad = builder.and_(violated.get(), builder.not_(fields["reachables"]))
        # The bit of a failed evaluation is the sign bit.
        failed = builder.icmp_signed("<", bad, word(0))
        with builder.if_then(failed, likely=False):
            self._find_failed_property(walk)
        self._leave_as(walk, loop, failed, "bounds")
        new = builder.and_(bad, builder.not_(walk.violated.get()))
        walk.violated.set(builder.or_(walk.violated.get(), new))
        is_violated = builder.icmp_unsigned("!=", new, word(0))
        is_last = builder.and_(is_violated, builder.not_(self._is_wanted("beyond")))
        self._leave_as(walk, loop, is_last, "violation")
        # Only a walk with `beyond` comes here with a violation.
        with builder.if_then(is_violated, likely=False):
            self._write("event_steps", self._events.get(), walk.step.get(), I32)
            self._write("event_masks", self._events.get(), new)
            self._keep_states("event_states", self._events.get())
            self._events.add(1)

    def _find_failed_property(self, walk: _WalkVariables) -> None:
        """Emit the search for the first property that leaves its bounds when it is checked alone.

        `check_state` evaluates the constraints whatever the mask is: if it fails for no property, a constraint failed.
        """
        builder, fields = self._builder, self._fields
        walk.failed_property.set(word(CONSTRAINT))
        of_constraints = builder.call(self._native.check_state, [self._state, word(0)])
        constraints_hold = builder.icmp_signed(">=", of_constraints, word(0))
        with builder.if_then(constraints_hold):
            of_states = builder.or_(fields["invariants"], fields["reachables"])
            self._keep_lowest(walk, of_states, self._native.check_state, [self._state])
            if self._native.check_step is not None:
                has_step = builder.icmp_unsigned("!=", walk.step.get(), word(0))
                with builder.if_then(has_step):
                    steps = fields["step_invariants"]
                    self._keep_lowest(walk, steps, self._native.check_step, [self._old, self._state])

    def _keep_lowest(self, walk: _WalkVariables, mask: ir.Value, check: ir.IrFunction, states: list[ir.Value]) -> None:
        """Emit a loop over properties that lowers `failed_property` to the first one that fails when checked alone."""
        builder = self._builder
        with each_bit(builder, mask) as bit:
            answer = builder.call(check, [*states, builder.shl(word(1), bit)])
            fails = builder.icmp_signed("<", answer, word(0))
            # CONSTRAINT, the initial value, is above every property bit, so the first failing property replaces it.
            lower = builder.and_(fails, builder.icmp_unsigned("<", bit, walk.failed_property.get()))
            walk.failed_property.set(builder.select(lower, bit, walk.failed_property.get()))

    def _list_successors(self, walk: _WalkVariables, loop: Loop) -> ir.Value:
        """Emit the listing of successors and return their number; an instance out of bounds ends the walk."""
        builder = self._builder
        first = self._array("listed")
        # The list is reused for every state of every walk: only the chosen successor is copied out of it.
        builder.store(first, struct_field(builder, self._sink, _NEXT))
        builder.store(word(0), struct_field(builder, self._sink, _FAILURES))
        builder.call(self._native.expand_state, [self._state, builder.bitcast(self._sink, I8.as_pointer())])
        failed = builder.icmp_unsigned("!=", builder.load(struct_field(builder, self._sink, _FAILURES)), word(0))
        with builder.if_then(failed, likely=False):
            walk.failed_instance.set(builder.load(struct_field(builder, self._sink, _FAILED)))
        self._leave_as(walk, loop, failed, "bounds")
        end = builder.load(struct_field(builder, self._sink, _NEXT))
        size = builder.sub(builder.ptrtoint(end, I64), builder.ptrtoint(first, I64))
        return builder.udiv(size, word(8 * self._entry))

    def _take(self, walk: _WalkVariables, number: ir.Value, enabled: ir.Value) -> None:
        """Emit the choice of one of the `enabled` listed successors, the step to it, and the record of the step."""
        builder = self._builder
        chosen = item(builder, self._array("listed"), self._choose(walk, enabled), self._entry)
        *successor, instance = read_words(builder, chosen, self._words + 1)
        # In this order: `_state` is saved as the predecessor before it is overwritten.
        write_words(builder, self._old, read_words(builder, self._state, self._words))
        write_words(builder, self._state, successor)
        self._write("actions", self._steps.get(), instance, I16)
        with builder.if_then(self._is_wanted("enabled"), likely=False):
            self._write("enabled", self._steps.get(), enabled, I32)
        self._cover(number, instance)
        self._take_branches(number, chosen)
        self._steps.add(1)
        walk.step.add(1)

    def _cover(self, number: ir.Value, instance: ir.Value) -> None:
        """Emit the mark of an action instance as taken: bit i % 64 of word i // 64 of the walk's coverage."""
        builder = self._builder
        words_per_walk = word(coverage_words(self._native.instances))
        position = builder.add(builder.mul(number, words_per_walk), builder.lshr(instance, word(6)))
        covered = self._at("coverage", position)
        bit = builder.shl(word(1), builder.and_(instance, word(63)))
        builder.store(builder.or_(builder.load(covered), bit), covered)

    def _take_branches(self, number: ir.Value, chosen: ir.Value) -> None:
        """Emit the union of a walk's branches and those of the chosen successor."""
        builder, count = self._builder, _branch_words(self._native)
        taken = builder.gep(chosen, [word(self._words + 1)], inbounds=True)
        walked = item(builder, self._array("branches"), number, count)
        both = zip(read_words(builder, walked, count), read_words(builder, taken, count), strict=True)
        write_words(builder, walked, [builder.or_(before, new) for before, new in both])

    def _choose(self, walk: _WalkVariables, enabled: ir.Value) -> ir.Value:
        """Emit the choice of a successor and return its position in the list: uniform, or by the instances' weights."""
        builder = self._builder
        position = LocalVariable(builder, word(0), "position")
        with builder.if_else(self._is_wanted("weights"), likely=False) as (weighted, uniform):
            with weighted:
                self._choose_weighted(walk, enabled, position)
            with uniform:
                position.set(self._number_below(walk, enabled))
        return position.get()

    def _choose_weighted(self, walk: _WalkVariables, enabled: ir.Value, position: LocalVariable) -> None:
        """Emit a weighted choice: the first position at which the sum of weights exceeds a random number below it."""
        builder = self._builder
        total = LocalVariable(builder, word(0), "total")
        with for_loop(builder, word(0), enabled, name="weights") as index:
            total.set(builder.add(total.get(), self._weight(index)))
        left = LocalVariable(builder, self._number_below(walk, total.get()), "left")
        with endless_loop(builder, "choose") as search:
            weight = self._weight(position.get())
            # Ends inside the list: `left` is below the sum of all weights, each of which is at least 1.
            search.leave_if(builder.icmp_unsigned("<", left.get(), weight))
            left.set(builder.sub(left.get(), weight))
            position.add(1)

    def _weight(self, position: ir.Value) -> ir.Value:
        """Return the weight of the action instance of a listed successor."""
        builder = self._builder
        entry = item(builder, self._array("listed"), position, self._entry)
        instance = builder.load(builder.gep(entry, [word(self._words)], inbounds=True))
        return builder.load(self._at("weights", instance))
