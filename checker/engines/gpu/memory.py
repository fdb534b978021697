"""The arrays on the card, and the words that the host reads after each piece of a level.

A piece is a number of states of the frontier, which are expanded together. The unit is the 64-bit word, except for
states.

    states     (capacity, units), 32 bits   all states, in the order in which threads stored them (`card_states`)
    entries    (REGIONS, room, words)       the successors of a piece
    origins    (REGIONS, room)              the index of the state from which each is a step
    won        (REGIONS, room)              the slot that each won, or NOT_WON
    table      (slots,)                     the hash table
    generated  (instances, COPIES)          the successors of each action instance, in parts

Every block of threads appends to one region of the entries, so that not all of them change one counter.

    table slot     63                40 39  38                                                0
    (0: empty)    +--------------------+---+---------------------------------------------------+
                  |        tag         |new|                     index + 1                     |
                  +--------------------+---+---------------------------------------------------+

    new: the index is that of an entry of this piece, else that of a state. An earlier kernel wrote either, so a thread
    compares whole states without waiting for another thread.
"""

from __future__ import annotations

REGIONS = 64

COPIES = 1024
"""The copies of each counter of successors: threads that run together change different ones."""

NOT_WON = 2**64 - 1

TAG_SHIFT = 40
NEW = 1 << (TAG_SHIFT - 1)
INDEX_MASK = NEW - 1

COUNT, WITHIN, SEEN, DEADLOCK, FAILURE = range(5)
"""The words of the status: the states, those within the constraint; the property bits that were seen in states and
steps; whether a state had no successor, and whether an action left its bounds."""

FILLS, FILL_STRIDE = 16, 16
"""The first word of the status that counts the entries of a region, and the distance of these words: a cache line."""


def status_words(regions: int) -> int:
    """Return the number of words of the status."""
    return FILLS + regions * FILL_STRIDE
