"""From a story to the text of its page: a Jinja2 template, with its style and its script put inside."""

from __future__ import annotations

import base64
import functools
import hashlib
import inspect
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from checker.language.spec import Spec
from checker.language.values import show
from checker.output.page.story import Story, legend_of, tell
from checker.output.page.timeline import timeline
from checker.output.text import constants_text
from checker.run.result import Kind, Violation

if TYPE_CHECKING:
    from jinja2 import Environment

_VERDICTS: dict[Kind, str] = {
    "invariant": "is false",
    "step_invariant": "is violated by the last step,",
    "reachable": "is never reached",
    "deadlock": "is reached: no action is enabled",
    "bounds_error": "leaves the bounds of a type",
    "explanation": "explains the recorded trace and ends",
    "walk": "ends without a violation",
}


MOST_BYTES = 300_000
"""What a page should not be larger than: it is an artifact of many CI runs."""

_FEWER_FUNCTIONS = (12, 3, 1, 0)
"""Of how many functions each step shows the source: what fits."""


@dataclass(frozen=True)
class PageContext:
    """What a page says of where its counterexample comes from.

    `name` is the scenario's or the spec's, `description` the scenario's own sentence, `command` what finds it again,
    `notes` are sentences about the trace, such as that the spec has changed since.

    Of a counterexample to induction there is more: a `verdict` instead of the usual one, a `label` that says whether it
    is a real violation (`is_real`), and what its `first` state is if not an initial one.
    """

    name: str
    command: str
    description: str = ""
    notes: tuple[str, ...] = ()
    verdict: str = ""
    label: str = ""
    is_real: bool = True
    first: str = "Initial state"
    begins: str = "The trace starts in this state."


def counterexample_page(spec: Spec, violation: Violation, occasion: PageContext) -> str:
    """Return the page of a violation that has a trace.

    Where a long trace would make it larger than `MOST_BYTES`, less of the source is shown in each step.
    """
    return page_of(spec, violation, occasion, tell(spec, violation))


def page_of(spec: Spec, violation: Violation, occasion: PageContext, story: Story) -> str:
    """Return the page of a violation with its story as it was told."""
    for functions in _FEWER_FUNCTIONS:
        page = _page(spec, violation, occasion, story.with_listings(functions))
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


def _page(spec: Spec, violation: Violation, occasion: PageContext, story: Story) -> str:
    sentence, _, reason = violation.explanation.partition("\n")
    return render(
        "counterexample.html.j2",
        title=f"{violation.property}: {occasion.name}",
        about=_paragraphs(type(spec).__doc__ or ""),
        violation=violation,
        verdict=occasion.verdict or _VERDICTS[violation.kind],
        sentence=sentence,
        reason=reason,
        promise=_promise(spec, violation.property),
        constants=constants_text(spec.constants),
        chosen=constants_text(chosen_constants(spec)),
        occasion=occasion,
        story=story,
        legend=legend_of(spec.draws) if spec.draws is not None else None,
        timeline=timeline(story),
    )


def render(template: str, **content: Any) -> str:
    """Return a template of this package filled in: whatever is put in is text, never markup."""
    style, script = _resource("page.css"), _resource("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _environment().get_template(template).render(style=style, script=script, script_hash=digest, **content)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("checker.output", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = show
    return environment


def _resource(name: str) -> str:
    return resources.files("checker.output.page").joinpath(name).read_text(encoding="utf-8").strip()


def chosen_constants(spec: Spec) -> dict[str, int | bool | str]:
    """Return the constants of a spec that are not at their defaults."""
    declared = spec.declared_constants
    return {name: value for name, value in spec.constants.items() if value != declared[name].default}


def _paragraphs(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n") if paragraph.strip()]


def _promise(spec: Spec, name: str) -> str:
    """Return what the docstring of a property says that it promises."""
    method = getattr(type(spec), name, None) if name in spec.roles else None
    return " ".join(_paragraphs(method.__doc__ or "")) if method is not None else ""
