"""A lowered module is freed by its last reference: collections of garbage would take a tenth of many small runs."""

import gc
import weakref

import pytest

from checker.engines.native.explore.lowered_spec import lower_with_kernels
from checker.frontend import compile_spec
from checker.language import Constant, Domain, Map, Range, Refinement, Spec, action, invariant, require, view


class Shelf(Domain):
    size, prefix = "shelves", "s"


class Shelves(Spec):
    """Items on shelves; a helper, a loop, a local that changes, a quantifier."""

    shelves = Constant(3)
    items = Map(Shelf, Range(0, 3))

    @action
    def put(self, shelf: Shelf):
        require(self.total() < 5 and self.items[shelf] < 3)
        before = 0
        for other in Shelf:
            if other != shelf:
                before = before + self.items[other]
        require(before < 4)
        self.items[shelf] += 1

    def total(self):
        return sum(self.items[shelf] for shelf in Shelf)

    @invariant
    def few(self):
        return self.total() <= 5 and all(self.items[shelf] <= 3 for shelf in Shelf)


class Counted(Spec):
    """The number of items."""

    count = Range(0, 5)

    @action
    def add(self):
        self.count += 1


class RefiningShelves(Shelves):
    """Shelves that refine their number of items."""

    counts = Refinement(Counted, count=lambda self: self.total())


class ViewedShelves(Shelves):
    """Shelves of which the view is computed."""

    @view(unchecked=True)
    def number(self):
        return self.total()


@pytest.mark.parametrize("spec", [Shelves, RefiningShelves, ViewedShelves])
@pytest.mark.parametrize("with_lanes", [False, True])
def test_a_module_is_freed_without_a_collection(spec, with_lanes):
    shelves = spec()
    names = list(shelves.safety_properties)
    program = compile_spec(shelves, names)
    gc.collect()
    gc.disable()
    try:
        native = lower_with_kernels(shelves, program, names, with_lanes=with_lanes)
        assert "expand_state" in str(native.module)
        module, action = weakref.ref(native.module), weakref.ref(program.actions[0])
        del native
        assert module() is None
        del program
        assert action() is None
    finally:
        gc.enable()
