"""The digest of a spec's graph: of its initial states, its states, and its steps with their actions and arguments.

    hash(state)        = absorb the words of the state
    hash(step)         = absorb from hash(source): the label, the words of the target
    label              = absorb from the digest of the action's name: the words of the arguments
    digest             = sums of the hashes of the initial states, of the states, of the steps

Each hash has two lanes of 64 bits with different seeds, and sums are taken modulo 2**64. A sum does not depend on the
order, so graphs are compared without sorting their states. Equal graphs have equal digests. Different graphs have equal
digests with a probability of about 2**-128.

This module holds the reference, which the interpreter computes, and the numbers that the native engine uses too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from checker.language.interpreter import State
from checker.language.parameters import ActionShape
from checker.language.spec import Spec
from checker.language.types import IntType, Type

GAMMA = 0x9E3779B97F4A7C15
FIRST_FACTOR, SECOND_FACTOR = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""The constants of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""

SHIFTS = 30, 27, 31
"""The shifts of SplitMix64, in the order in which they are applied."""

SEEDS = 0x6A09E667F3BCC908, 0xBB67AE8584CAA73B
"""The first value of each lane: the fractional parts of the square roots of 2 and 3, as in SHA-512."""

WORD_MASK = 2**64 - 1

Lanes = tuple[int, ...]
"""The lanes of a hash or of a sum, each below 2**64."""


@dataclass(frozen=True)
class GraphDigest:
    """The digest of a complete graph; equal for equal graphs."""

    states: int
    steps: int
    sums: Lanes

    @property
    def text(self) -> str:
        """The sums as hexadecimal digits."""
        return "".join(f"{part:016x}" for part in self.sums)


def absorb(lanes: Lanes, words: Iterable[int]) -> Lanes:
    """Return the lanes after some words, each a number modulo 2**64."""
    for word in words:
        lanes = tuple(_mix(((lane ^ (word & WORD_MASK)) + GAMMA) & WORD_MASK) for lane in lanes)
    return lanes


def _mix(number: int) -> int:
    number = (number ^ number >> SHIFTS[0]) * FIRST_FACTOR & WORD_MASK
    number = (number ^ number >> SHIFTS[1]) * SECOND_FACTOR & WORD_MASK
    return number ^ number >> SHIFTS[2]


def add(total: Lanes, hashed: Lanes) -> Lanes:
    """Return the sums of the lanes."""
    return tuple((left + right) & WORD_MASK for left, right in zip(total, hashed, strict=True))


def sum_of_states(states: Iterable[Sequence[int]]) -> Lanes:
    """Return the sum of the hashes of some states, given their words."""
    total: Lanes = (0, 0)
    for words in states:
        total = add(total, absorb(SEEDS, words))
    return total


def action_label(name: str, kinds: Sequence[Type]) -> Lanes:
    """Return the label of an action before its arguments are absorbed.

    An integer is absorbed as it is, and any other argument as its packed words, which depend on its type.
    """
    import hashlib

    # The bounds of an integer do not change its word, and a mutant may have other bounds.
    texts = ["int" if isinstance(kind, IntType) else str(kind) for kind in kinds]
    digest = hashlib.blake2b("\0".join([name, *texts]).encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def graph_digest(
    spec: Spec, words_of: Callable[[State], Sequence[int]], argument_words: Callable[[Type, object], Sequence[int]]
) -> GraphDigest:
    """Return the digest of the complete graph of a spec by running its methods.

    `words_of` packs a state, and `argument_words` an argument of a type other than int. States outside the constraints
    belong to the graph, but not their steps. Raises BoundsError if a value leaves the bounds of its type.
    """
    shapes = {shape.name: shape for shape in spec.shapes()}
    initial = spec.initial_states()
    waiting, known = list(initial), set(initial)
    of_states: Lanes = (0, 0)
    of_steps: Lanes = (0, 0)
    steps = 0
    while waiting:
        state = waiting.pop()
        source = absorb(SEEDS, words_of(state))
        of_states = add(of_states, source)
        if not spec.within_constraints(state):
            continue
        for step in spec.successors(state):
            label = _label(shapes[step.action], step.arguments, argument_words)
            labelled = tuple(absorb((lane,), [part])[0] for lane, part in zip(source, label, strict=True))
            of_steps = add(of_steps, absorb(labelled, words_of(step.state)))
            steps += 1
            if step.state not in known:
                known.add(step.state)
                waiting.append(step.state)
    of_initial = sum_of_states(words_of(state) for state in initial)
    return GraphDigest(len(known), steps, (*of_initial, *of_states, *of_steps))


def _label(
    shape: ActionShape, arguments: Sequence[object], argument_words: Callable[[Type, object], Sequence[int]]
) -> Lanes:
    kinds = [parameter.type for parameter in shape.parameters]
    label = action_label(shape.name, kinds)
    for kind, argument in zip(kinds, arguments, strict=True):
        is_integer = isinstance(kind, IntType)
        label = absorb(label, [int(argument)] if is_integer else argument_words(kind, argument))  # type: ignore[call-overload]
    return label
