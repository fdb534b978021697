"""Every kind of page in a browser: width, sizes of text, contrast, links, the current step, bytes, scripts."""

import html
import re
import shutil
from pathlib import Path

import pytest

from checker.api import Trace, explore
from checker.cli.app import main
from checker.engines.python.explorer import explore as explore_in_python
from checker.output.formats import FORMATS, Counterexample
from checker.output.page.render import MOST_BYTES
from checker.run.plan import Plan
from specs.examples.two_phase import TwoPhaseHasty
from specs.producer.plain.producer import PlainProducer
from specs.replication.kip101 import Kip101
from tests.output.conftest import violation_of
from tests.output.test_lassos import page_of as lasso_page
from tests.output.test_page import evil_page, page_of
from tests.support.page_checks import problems_of
from tests.toy import Log, Overflow
from traces.trace_file import origin_of

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parent.parent.parent
ADVISE = ROOT / "tests" / "kafka_tools" / "advise" / "fixtures" / "misconfigured-acks-1.toml"

MAPPING = """
from traces.validate import Mapping, PossibleStep, event

class Retrying(Mapping):
    @event("sent")
    def sent(self, found):
        return PossibleStep("send").after({"log": found["log"]})
"""

WEAK = """
from checker.language import Range, Scenario, Spec, action, invariant

class Weak(Spec):
    value = Range(0, 5)

    @action
    def add_two(self):
        self.value = 0 if self.value == 4 else self.value + 2

    @invariant
    def is_not_three(self):
        return self.value != 3
"""


def counterexample(folder):
    spec, violation = violation_of(Kip101, "strong_isr", max_leader_epoch=1)
    return page_of(spec, violation)


def comparison(folder):
    spec, violation = violation_of(Kip101, "strong_isr", max_leader_epoch=1)
    origin = origin_of(spec, "replication/kip101", None, "replication/kip101", "python -m checker run")
    trace, page = folder / "trace.json", folder / "compare.html"
    trace.write_text(FORMATS["json"].write(Counterexample(spec, violation, origin)), encoding="utf-8")
    others = [word for name in ("kip279", "kip320") for word in ("--against", f"replication/{name}")]
    assert main(["show", str(trace), *others, "--format", "html", "--out", str(page)]) == 0
    return page.read_text()


def comparison_with_long_names(folder):
    """Return the second page of a demo, which names a scenario that is longer than a line of a small screen."""
    assert main(["demo", "KAFKA-9449", "--out", str(folder), "--no-browser"]) == 0
    return (folder / "KAFKA-9449-repaired.html").read_text()


def long_comparison(folder):
    """Return a comparison with so many steps and lanes that the page leaves some out."""
    assert main(["demo", "R18", "--out", str(folder), "--no-browser"]) == 0
    return (folder / "R18-repaired.html").read_text()


def bounds_error(folder):
    spec = Overflow()
    (violation,) = explore_in_python(spec, Plan(("never_falls",))).violations
    return page_of(spec, violation)


def induction(folder):
    (folder / "weak.py").write_text(WEAK)
    assert main(["prove", str(folder / "weak.py"), "--out", str(folder / "pages")]) == 1
    return next((folder / "pages").glob("*.html")).read_text()


def index(folder):
    shutil.copy(ROOT / "tests" / "toy.py", folder / "mine.py")
    assert main(["run", str(folder / "mine.py"), "--engine", "python", "--html", str(folder / "index.html")]) == 0
    return (folder / "index.html").read_text()


def validation(folder):
    (folder / "mapping.py").write_text(MAPPING)
    (folder / "log.jsonl").write_text('{"event": "sent", "log": [0]}\n{"event": "sent", "log": [3]}\n')
    files = [ROOT / "examples" / "retry.py", folder / "log.jsonl", "--mapping", folder / "mapping.py"]
    assert main(["validate", *map(str, files), "--out", str(folder / "pages")]) == 1
    return (folder / "pages" / "report.html").read_text()


def advice(folder):
    quick = ["--failure", "crash", "--changes", "0"]
    assert main(["advise", str(ADVISE), "--kafka", "3.7", *quick, "--out", str(folder / "pages")]) == 0
    return (folder / "pages" / "index.html").read_text()


def notebook(folder):
    spec, violation = violation_of(Kip101, "strong_isr", max_leader_epoch=1)
    result = explore(Overflow)
    trace = Trace(spec, violation, "replication/kip101")
    drawn = "".join(f"<div>{cell._repr_html_()}</div>" for cell in (result, trace[-1].state, result.trace[0].state))
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>notebook</title><body>{drawn}</body></html>'


def explorer(folder):
    path = TwoPhaseHasty(managers=2).explore().take("prepare(m1)")
    return html.unescape(re.search('srcdoc="([^"]*)"', path._repr_html_())[1])


KINDS = {
    "counterexample": counterexample,
    "messages": lambda folder: page_of(*violation_of(PlainProducer, "no_reorder", max_in_flight=2, refusals=1)),
    "without_drawing": lambda folder: page_of(*violation_of(Log, "logs_agree")),
    "lasso": lambda folder: lasso_page("is_done"),
    "hostile_names": lambda folder: evil_page(),
    "bounds_error": bounds_error,
    "comparison": comparison,
    "comparison_with_long_names": comparison_with_long_names,
    "long_comparison": long_comparison,
    "induction": induction,
    "index": index,
    "validation": validation,
    "advice": advice,
    "notebook": notebook,
    "explorer": explorer,
}


QUICK = ("hostile_names", "index", "validation", "without_drawing", "notebook")


@pytest.fixture(params=[pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow) for kind in KINDS])
def shown(request, browser, tmp_path, monkeypatch):
    """Return a page of each kind, its text, and the errors of its scripts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    content = KINDS[request.param](tmp_path)
    file = tmp_path / "page.html"
    file.write_text(content, encoding="utf-8")
    page, errors = browser.new_page(), []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(file.as_uri())
    yield request.param, page, content, errors
    page.close()


def test_every_kind_of_page_is_readable(shown):
    kind, page, content, errors = shown
    assert errors == []
    if kind not in ("notebook", "explorer"):
        check_page(page, content)
    assert problems_of(page) == []


def check_page(page, content):
    """Check the size of a page, the link that skips to its content, and the mark of the current step."""
    assert len(content.encode()) <= MOST_BYTES
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    assert skip.text_content() == "Skip to the content" and skip.is_visible()
    steps = page.locator(".step:visible")
    number = steps.first.get_attribute("data-step") if steps.count() else None
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    if number is not None:
        assert page.locator("[aria-current=step]:visible").first.get_attribute("href") == f"#step={number}"
        assert steps.first.get_attribute("data-step") == number


BROKEN = """<!doctype html><html><meta name="color-scheme" content="light dark"><body>
<p style="color: #999; background: #fff">grey</p><p style="font-size: 11px">tiny</p>
<svg viewBox="0 0 100 50" width="100"><rect width="100" height="50" fill="#333"/>
<text y="20" fill="#000" font-size="14">dark</text></svg>
<details><summary>more</summary><p style="width: 1700px">wide</p></details></body></html>"""


def test_the_checks_find_what_is_wrong(browser, tmp_path):
    (tmp_path / "broken.html").write_text(BROKEN)
    page = browser.new_page()
    page.goto((tmp_path / "broken.html").as_uri())
    problems = "\n".join(problems_of(page))
    page.close()
    assert "contrast 2.85: p.: grey" in problems
    assert "text of 11 px: p.: tiny" in problems
    assert "text.: dark" in problems and "summary" not in problems
    assert "1708 px wide at 390 px, everything open: ['P.null: wide']" in problems
    assert "wide at 390 px: " not in problems
