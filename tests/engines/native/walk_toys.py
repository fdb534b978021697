"""Small specs with random walks that can be calculated by hand."""

from checker.language import (
    Constant,
    Range,
    Seq,
    Spec,
    action,
    constraint,
    invariant,
    reachable,
    require,
    step_invariant,
)


class Choice(Spec):
    """One step to one of eight values: three by `low`, five by `high`."""

    starts = Constant(1, at_least=1, at_most=4)
    start = Range(0, 3)
    chosen = Range(0, 8)

    def init(self, at: Range(1, "starts")):
        self.start = at - 1

    @action
    def low(self, value: Range(1, 3)):
        """Choose one of the lower values."""
        require(self.chosen == 0)
        self.chosen = value

    @action
    def high(self, value: Range(4, 8)):
        """Choose one of the higher values."""
        require(self.chosen == 0)
        self.chosen = value

    @reachable
    def is_eight(self):
        return self.chosen == 8


class Ladder(Spec):
    """Climbs step by step; a second action is enabled at the top only."""

    top = Constant(6)
    height = Range(0, 20)
    jumped = bool

    @action
    def climb(self):
        """One up."""
        require(self.height < self.top)
        self.height += 1

    @action
    def fall(self):
        """Back to the ground."""
        require(self.height > 0 and self.height < self.top)
        self.height = 0

    @action
    def jump(self):
        """From the top."""
        require(self.height == self.top)
        self.jumped = True

    @invariant
    def stays_low(self):
        low = self.height < 2 or not self.jumped
        return self.height >= 0 and (low or self.height < 9) and not self.jumped and 10 // (self.height + 1) >= 0

    @step_invariant
    def moves_little(self, old):
        return self.height <= old.height + 1 and old.height <= self.height + 4


class Broken(Spec):
    """Leaves its bounds in an action, a property or a constraint, as its constants say."""

    where = Constant("action", one_of=("action", "invariant", "step", "both", "constraint"))
    items = Seq(Range(0, 3), 3)
    count = Range(0, 9)

    @action
    def push(self):
        """Append: once too often where the capacity is to be left."""
        require(self.where == "action" or len(self.items) < 3)
        self.items.append(len(self.items))

    @action
    def count_up(self):
        """Something that is always enabled but at the end."""
        require(self.count < 9)
        self.count += 1

    @invariant
    def first(self):
        return self.count <= 9

    @invariant
    def has_item(self):
        is_fine = self.where != "invariant" and self.where != "both"
        return is_fine or len(self.items) < 3 or self.items[3] == 0

    @step_invariant
    def keeps_item(self, old):
        is_fine = self.where != "step" and self.where != "both"
        return is_fine or len(self.items) < 3 or len(old.items) == 3 or self.items[3] == 0

    @constraint
    def one(self):
        return self.count < 5

    @constraint
    def other(self):
        return self.where != "constraint" or len(self.items) < 3 or self.items[3] == 0


class Nowhere(Spec):
    """`init` is disabled for every choice."""

    at = Range(0, 1)

    def init(self, at: Range(0, 1)):
        require(at > 1)
        self.at = at


class Forks(Spec):
    """Branches of every kind: nested, in a helper, in an expression, and before the action turns out to be disabled."""

    mode = Range(0, 2)
    count = Range(0, 8)

    @action
    def go(self, by: Range(0, 2)):
        """Count on."""
        require(self.count < 6)
        if by == 0:
            self.mode = 0
        elif self.is_odd():
            self.mode = 1
        self.count += 1 if by < 2 else 2

    @action
    def stop(self):
        """Enabled at the start only, where it takes the false side."""
        if self.count > 0:
            require(self.mode > 2)
        self.mode = 2

    @invariant
    def is_sane(self):
        return self.mode < 3 if self.count > 4 else self.is_odd() or not self.is_odd()

    def is_odd(self):
        if self.count % 2 == 1:
            return self.mode < 3
        return False
