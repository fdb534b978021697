"""Functions that look at LANES states at once, and find out which action instances and properties need a closer look.

- `candidates(states, masks)` finds the action instances that may be enabled: `expand_state` tries only those. Branches
  on guards are hard to predict, and most instances are disabled in most states.
- `suspects(states, bits)` finds the properties that may be violated: `check_state` is called only for those.

Both are exact where they exclude something: an instance that is not a candidate is disabled, and cannot leave a type's
bounds; a property that is not suspect holds (a reachable: is not reached), and cannot leave a type's bounds either.
Whatever `lanes` does not support, or what would take too much code, stays a candidate or a suspect in every state.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.emitter import I64, WORD_POINTER, Number, Truth
from checker.engines.native.lowering.lane_emitter import LANES, LaneEmitter
from checker.engines.native.lowering.lanes import LaneEvaluator, UnsupportedError
from checker.engines.native.lowering.module import SpecModule
from checker.engines.native.lowering.predicates import PREMISE_ROLES, STEP_ROLES
from checker.ir import nodes

MOST_NODES_OF_INSTANCE, MOST_NODES_OF_ACTION = 200, 1500
"""The guard of an instance is evaluated up to this many nodes; an action with more in all its instances has none."""

MOST_NODES_OF_PROPERTY = 1500

MOST_INSTANCES = 64
"""The bits of an action's instances are in one word."""


@dataclass(frozen=True)
class Guarded:
    """The candidates of an action are bits of a word: that of the first instance is at `shift`, the others follow."""

    word: int
    shift: int


@dataclass(frozen=True)
class Candidates:
    """`void candidates(i64* states, i64* masks)`: writes `words` words for each of LANES states.

    The states follow one another. A set bit is a candidate; `guarded` has the place of the bits of each action. The
    instances of other actions are always candidates. `function`: None if no guard can be evaluated on lanes.
    """

    function: ir.IrFunction | None
    words: int
    guarded: dict[nodes.Action, Guarded]


@dataclass(frozen=True)
class Suspects:
    """`i64 suspects(i64* states, i64* bits)`: writes a word for each state, the property bits that need `check_state`.

    It returns the bits that are set in some state. `function`: None if no property can be evaluated on lanes, or if the
    spec has constraints, for which `check_state` is called in any case. `has_all`: it evaluates every property of
    states.
    """

    function: ir.IrFunction | None
    has_all: bool = False


@dataclass(frozen=True)
class LaneFunctions:
    """The functions of a module that look at LANES states at once."""

    candidates: Candidates
    suspects: Suspects


def define_candidates(module: SpecModule) -> Candidates:
    """Define `candidates`, as far as the spec has guards to evaluate."""
    evaluated = _Function(module, "candidates", ir.VoidType())
    guarded: dict[nodes.Action, Guarded] = {}
    guards: list[Number] = []
    used = MOST_INSTANCES
    for action in module.program.actions:
        truths = _candidates(module, evaluated.evaluator, action)
        if truths is None:
            continue
        if used + action.instances > MOST_INSTANCES:
            guards.append(0)
            used = 0
        for number, truth in enumerate(truths):
            guards[-1] = evaluated.with_bit(guards[-1], truth, used + number)
        guarded[action] = Guarded(len(guards) - 1, used)
        used += action.instances
    if guarded:
        evaluated.finish(guards, None)
    else:
        evaluated.discard()
    return Candidates(evaluated.function if guarded else None, len(guards), guarded)


class _Function:
    """A function `(i64* states, i64* result)` under construction, which evaluates LANES states."""

    def __init__(self, module: SpecModule, name: str, result: ir.IrType):
        kind = ir.FunctionType(result, [WORD_POINTER, WORD_POINTER])
        self.function = ir.IrFunction(module.module, kind, f"{module.prefix}{name}")
        self.function.linkage = "internal"
        self._emit = LaneEmitter(self.function)
        self._module = module
        self.evaluator = LaneEvaluator(
            self._emit, module.layout, self.function.args[0], module.constants, module.unordered_folds
        )

    def with_bit(self, word: Number, truth: Truth, bit: int) -> Number:
        """Return a word with a bit set in the lanes in which `truth` is true."""
        return self._emit.bit_or(word, self._emit.select(truth, 1 << bit, 0))

    def finish(self, words: list[Number], returned: Number | None) -> None:
        """Emit the words of each lane, one lane after the other, and the return of the bits that some lane has."""
        for lane, position in itertools.product(range(LANES), range(len(words))):
            lane_word = self._emit.builder.extract_element(
                self._emit.value(words[position]), ir.ConstantValue(I64, lane)
            )
            place = ir.ConstantValue(I64, lane * len(words) + position)
            self._emit.builder.store(lane_word, self._emit.word_pointer(self.function.args[1], place))
        if returned is None:
            self._emit.builder.ret_void()
        else:
            self._emit.builder.ret(self._emit.any_lane(returned))
        self._emit.finish()

    def discard(self) -> None:
        """Remove the function from its module."""
        del self._module.module.globals[self.function.name]


def _candidates(module: SpecModule, evaluator: LaneEvaluator, action: nodes.Action) -> list[Truth] | None:
    """Return for each instance of an action the lanes in which it is a candidate; None if it always is."""
    is_small = action.instances * module.outliner.counts.size(action.body) <= MOST_NODES_OF_ACTION
    if (
        not is_small
        or action.instances > MOST_INSTANCES
        or any(parameter.collection for parameter in action.parameters)
    ):
        return None
    # The last parameter varies fastest, as in the numbers of instances.
    choices = itertools.product(*(parameter.local.type.values() for parameter in action.parameters))
    truths = [_candidate(evaluator, action, values) for values in choices]
    return None if all(truth is True for truth in truths) else truths


def _candidate(evaluator: LaneEvaluator, action: nodes.Action, values: tuple[object, ...]) -> Truth:
    """Return the lanes in which an instance may be enabled: no `require` before the first write is false."""
    evaluator.failed = False
    enabled: Truth = True
    try:
        with evaluator.evaluation(MOST_NODES_OF_INSTANCE):
            for parameter, value in zip(action.parameters, values, strict=True):
                evaluator.assign_constant(parameter.local, value)
        for statement in action.body:
            with evaluator.evaluation(MOST_NODES_OF_INSTANCE):
                if isinstance(statement, nodes.AssignLocal):
                    evaluator.assign(statement.local, statement.value, enabled)
                elif isinstance(statement, nodes.Require):
                    enabled = evaluator.emit.both(enabled, evaluator.truth(statement.test, enabled))
                else:
                    break
    except UnsupportedError:
        pass
    # A lane in which the evaluation left its bounds is a candidate: `expand_state` reports it.
    return evaluator.emit.either(enabled, evaluator.failed)


def define_suspects(module: SpecModule) -> Suspects:
    """Define `suspects`, if it excludes anything."""
    if module.program.constraints:
        return Suspects(None)
    evaluated = _Function(module, "suspects", I64)
    suspicious: Number = 0
    truths: list[Truth] = []
    for bit, predicate in enumerate(module.program.properties):
        if predicate.role not in STEP_ROLES:
            truths.append(_suspect(evaluated.evaluator, predicate))
            suspicious = evaluated.with_bit(suspicious, truths[-1], bit)
    if all(truth is True for truth in truths):
        evaluated.discard()
        return Suspects(None)
    evaluated.finish([suspicious], suspicious)
    return Suspects(evaluated.function, has_all=not any(truth is True for truth in truths))


def _suspect(evaluator: LaneEvaluator, predicate: nodes.Predicate) -> Truth:
    """Return the lanes in which `check_state` may have to report a property."""
    evaluator.failed = False
    try:
        with evaluator.evaluation(MOST_NODES_OF_PROPERTY):
            holds = evaluator.result_of(predicate.function)
    except UnsupportedError:
        return True
    is_found_true = predicate.role == "reachable" or predicate.role in PREMISE_ROLES
    is_suspect = holds if is_found_true else evaluator.emit.negate(holds)
    return evaluator.emit.either(is_suspect, evaluator.failed)
