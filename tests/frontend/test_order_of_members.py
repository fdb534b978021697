"""Members of domains and enums have no order, on either side of a comparison."""

import pytest

from checker.errors import SpecError
from checker.frontend import compile_spec
from checker.language import Domain, Enum, Range, Spec, action, require


class Node(Domain):
    size, prefix = 2, "n"


class Mode(Enum):
    IDLE = "idle"
    BUSY = "busy"


class MemberFirst(Spec):
    at = Node
    number = Range(0, 3)

    @action
    def go(self):
        require(self.at < self.number)


class MemberSecond(Spec):
    mode = Mode
    number = Range(0, 3)

    @action
    def go(self):
        require(self.number >= self.mode)


@pytest.mark.parametrize(("spec", "domain"), [(MemberFirst, "Node"), (MemberSecond, "Mode")])
def test_a_comparison_with_a_member_is_refused(spec, domain):
    with pytest.raises(SpecError, match=f"the members of {domain} have no order: compare with == and !="):
        compile_spec(spec())
