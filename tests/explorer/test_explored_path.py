"""`spec.explore()`: the path in Python, and its page in a notebook."""

import re
from html import unescape

import pytest

from checker.errors import InputError
from tests.explorer.explorer_specs import Nasty, Network, Several


def test_steps_are_taken_by_text_or_by_arguments():
    path = Network().explore()
    assert path.enabled() == ["send(n1)", "send(n2)"]
    one, two = path.take("send(n1)"), path.take("send", "n1")
    assert one.state == two.state and str(one.steps[-1]) == "send(n1)"
    assert one.undo().state == path.state and repr(one) == "<ExploredPath of network: 1 step>"
    assert [step.call for step in one.take("send", "n2").disabled("send")] == ["send(n1)", "send(n2)"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["send", "n3"], "network has no send with these arguments"),
        (["send(n3)"], "network has no action send(n3)"),
        (["nothing"], "network has no action nothing"),
        (["send"], "send takes to, and 0 were given"),
    ],
)
def test_wrong_steps(words, says):
    with pytest.raises(InputError, match=re.escape(says)):
        Network().explore().take(*words)


def test_searches():
    path = Network().explore()
    assert len(path.violate("at_most_one").steps) == 5
    assert path.violate("total_never_falls") is None
    with pytest.raises(InputError, match=r"undecided after .* states: the search stopped because it reached the limit"):
        path.violate("total_never_falls", states=2)
    with pytest.raises(InputError, match="undecided: send leaves the bounds of a type after"):
        Network(loud=True).explore().violate("total_never_falls")
    with pytest.raises(InputError, match="nothing is not a property of states or steps: choose from at_most_one"):
        path.violate("nothing")
    with pytest.raises(InputError, match="no step to undo"):
        path.undo()
    with pytest.raises(InputError, match="unknown format exe"):
        path.export("exe")


def test_the_first_initial_state():
    assert Several().explore().state.value == 1


def test_the_page_in_a_notebook_has_no_script_and_no_link():
    shown = Network().explore().take("send", "n1")._repr_html_()
    page = unescape(re.fullmatch(r'<iframe srcdoc="([^"]*)" style="[^"<>]*" title="[^"]*"></iframe>', shown)[1])
    assert "<style>" in page and "default-src 'none'; style-src 'unsafe-inline'" in page
    assert "<script" not in page and '<a href="?' not in page and "data-go" not in page and "<button" not in page
    assert "receive" in page and "at_most_one" in page
    assert "<script>alert" not in unescape(Nasty().explore()._repr_html_())
