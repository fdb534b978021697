"""Boxes of collections: items that a step replaced, also if they are printed alike."""

from checker.language import Range, Struct
from checker.output.page.boxes import boxes_of


class Batch(Struct):
    """A batch that is printed without its epoch."""

    shows = "{record}"
    record: Range(0, 9)
    epoch: Range(0, 9)


def texts(before, after):
    return [(box.text, box.change) for box in boxes_of(before, after)]


def test_a_struct_that_is_printed_alike_names_its_changed_fields():
    assert texts([Batch(record=1, epoch=2)], [Batch(record=1, epoch=3)]) == [("1, epoch 3", "added")]


def test_a_tuple_that_is_printed_alike_is_shown_before_and_after():
    before, after = (0, Batch(record=1, epoch=2)), (0, Batch(record=1, epoch=3))
    (removed, added) = texts([before], [after])
    assert removed[1] == "removed" and added[1] == "added" and removed[0] == added[0]
