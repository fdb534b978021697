"""The page of a place: lanes, enabled steps, properties and the visited paths, as plain data for the template."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from checker.explorer.address import Address, parts_of_code
from checker.explorer.pane_view import PaneView, pane_views
from checker.explorer.session import ExplorerSession, Place
from checker.explorer.step_offers import MOST_OPEN, PAGE_OF_STEPS, action_offers, further_offers, pane_names
from checker.explorer.steps import disabled_steps
from checker.explorer.violation_search import ViolationSearch
from checker.explorer.visited_tree import VisitedNode
from checker.language.constant_values import constant_text
from checker.language.declarations import Constant
from checker.language.default_drawing import drawing_of
from checker.language.roles import Role
from checker.output.page.render import render, script_hash
from checker.output.page.story import legend_of
from checker.printable import quantity

_WALK_ENDS = {
    "depth": "The random walk has reached its depth.",
    "violation": "The random walk ended at its first violation.",
    "deadlock": "The random walk ended because no action is enabled.",
    "constraint": "The random walk ended because a constraint is false: the checker explores no step from here.",
    "seconds": "The random walk ended after its time limit.",
    "steps": "The random walk ended because the address has as many steps as it may have.",
}


@dataclass(frozen=True)
class BranchLink:
    """A branch that leaves the shown path: its first call, the number of its steps, and its codes as JSON."""

    call: str
    steps: int
    codes: str


@dataclass(frozen=True)
class PathRow:
    """A state of the path, or of the steps that were undone: its call and the branches that leave it.

    `skipped_by` are the panes that cannot take the step.
    """

    number: int
    call: str
    is_current: bool
    is_undone: bool
    is_parting: bool
    skipped_by: tuple[str, ...]
    branches: tuple[BranchLink, ...]


@dataclass(frozen=True)
class ConstantField:
    """A constant in the form: its value, its default, and the names that it may have."""

    name: str
    value: str
    default: str
    kind: str
    choices: tuple[str, ...]


def explorer_page(
    session: ExplorerSession,
    place: Place,
    *,
    problem: str = "",
    walk: str = "",
    given: Address | None = None,
    inlined: bool = False,
    stored: str = "",
    links: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the page of a place. `problem` is a sentence about a wrong address, of which `given` has the constants.

    With `inlined` the page is a document without a server: it has its style sheet, and its links lead nowhere. With a
    `stored` graph (see `stored_graph`) its script answers the links. `links` are addresses with their texts.
    """
    code = f"{asset('stored.js')}\n{asset('explorer.js')}".strip() if stored else ""
    nodes = session.tree(place.address).visit(place.address.codes)
    groups = action_offers(session, place)
    shown = [offer for group in groups for offer in group.offers]
    count = sum(group.count for group in groups)
    panes = pane_views(session, place, shown if count <= MOST_OPEN else [])
    problems = [text for text in (problem, place.refused.text if place.refused else "") if text]
    address = place.address
    last = nodes[-1]
    first = place.panes[0]
    drawing = drawing_of(first.spec)
    return render(
        "explorer.html.j2",
        package="checker.explorer",
        inlined=inlined,
        stored=stored,
        links=links,
        explorer_style=asset("explorer.css") if inlined or stored else "",
        code=code,
        code_hash=script_hash(code),
        title=f"{first.variant.name}: step {len(address.codes) + 1}",
        name=first.variant.name,
        description=first.variant.description,
        summary=first.variant.spec.summary(),
        panes=panes,
        groups=groups,
        step_count=count,
        is_long=count > MOST_OPEN,
        problems=problems,
        walk=_WALK_ENDS.get(walk, ""),
        rows=tuple(_rows(place, nodes)),
        address=address,
        initial_states=place.initial_states,
        constants=tuple(_constant_fields(session, place, given or address)),
        trunk=json.dumps([*address.codes, *last.end]),
        base=address.until(0).query(),
        undo=address.until(len(address.codes) - 1).query() if address.codes else "",
        redo=address.then(last.last).query() if last.last else "",
        start=session.start.query() if session.start.codes else "",
        announcement=_announcement(place, panes, count),
        disabled_actions=tuple(_disabled_actions(place)),
        legend=legend_of(drawing) if drawing is not None else None,
        parted=place.parted,
    )


def more_offers(session: ExplorerSession, place: Place, action: str, first: int, wanted: str) -> str:
    """Return the next enabled steps of an action as a fragment of the page; `wanted` is a text that they contain."""
    shown, left = further_offers(session, place, action, first, wanted)
    more = ""
    if left > 0:
        after = first + len(shown)
        more = f"enabled{place.address.query(action=action, first=after, **({'with': wanted} if wanted else {}))}"
    return _fragment("offers", offers=shown, more=more, left=left)


def fragment_of_disabled_steps(place: Place, action: str, first: int) -> str:
    """Return disabled steps of an action, with the `require` that is false, as a fragment of the page."""
    panes = []
    for pane, name in zip(place.panes, pane_names(place), strict=True):
        if action in pane.spec.actions:
            steps, count = disabled_steps(pane.spec, pane.state, action, first, PAGE_OF_STEPS // 2)
            panes.append((name if len(place.panes) > 1 else "", steps, count - first - len(steps)))
    if not panes:
        disabled_steps(place.panes[0].spec, place.panes[0].state, action, first, 0)
    more = f"disabled{place.address.query(action=action, first=first + PAGE_OF_STEPS // 2)}"
    return _fragment("disabled", panes=panes, more=more)


def search_fragment(
    place: Place, number: int, name: str, result: ViolationSearch, codes: tuple[str, ...], retry: str
) -> str:
    """Return the result of a search in a pane as a fragment; `codes` are the steps of the continuation."""
    spec = place.panes[number].spec
    is_reachable = spec.roles.get(name) is Role.REACHABLE
    calls = [str(step) for step in result.trace[1:]]
    return _fragment(
        "search",
        name=name,
        found=result,
        is_reachable=is_reachable,
        has_constraints=bool(spec.names_of(Role.CONSTRAINT)),
        steps=[(call, place.address.then(*codes[: index + 1]).query()) for index, call in enumerate(calls)],
        end=place.address.then(*codes).query(),
        retry=retry,
    )


def problem_page(title: str, problem: str) -> str:
    """Return a page that has only a sentence."""
    return render("problem.html.j2", package="checker.explorer", title=title, problem=problem)


def asset(name: str) -> str:
    """Return a script or style sheet; those of all pages begin with `page`."""
    package, folder = ("checker.output", "page") if name.startswith("page.") else ("checker.explorer", "static")
    return resources.files(package).joinpath(folder, name).read_text(encoding="utf-8")


def _fragment(kind: str, **content: Any) -> str:
    return render("fragment.html.j2", package="checker.explorer", kind=kind, inlined=False, **content)


def _rows(place: Place, nodes: list[VisitedNode]) -> Iterator[PathRow]:
    """Iterate over the states of the path, and of the steps that were undone at its end."""
    codes = [*place.address.codes, *nodes[-1].end]
    node = nodes[0]
    names = pane_names(place)
    for position in range(len(codes) + 1):
        following = codes[position] if position < len(codes) else ""
        branches = [(code, branch) for code, branch in node.branches.items() if code != following]
        here = [pane.steps[position] for pane in place.panes if position < len(pane.steps)]
        yield PathRow(
            number=position,
            call="initial state" if position == 0 else call_of_code(codes[position - 1]),
            is_current=position == len(place.address.codes),
            is_undone=position > len(place.address.codes),
            is_parting=position == place.parted,
            skipped_by=tuple(name for name, step in zip(names, here, strict=False) if step.outcome != "taken"),
            branches=tuple(
                BranchLink(call_of_code(code), 1 + len(branch.end), json.dumps([code, *branch.end]))
                for code, branch in branches
            ),
        )
        if following:
            node = node.branches[following]


def call_of_code(code: str) -> str:
    """Return the step of a code as text."""
    action, *texts = parts_of_code(code)
    return f"{action}({', '.join(texts)})"


def _disabled_actions(place: Place) -> Iterator[tuple[str, str]]:
    """Iterate over the actions, each with the address of its disabled steps."""
    names = dict.fromkeys(name for pane in place.panes for name in pane.spec.actions)
    for name in names:
        yield name, f"disabled{place.address.query(action=name, first=0)}"


def _constant_fields(session: ExplorerSession, place: Place, address: Address) -> Iterator[ConstantField]:
    texts = dict(address.settings)
    seen: set[str] = set()
    for pane in place.panes:
        for name, declared in pane.spec.declared_constants.items():
            if name not in seen:
                seen.add(name)
                value = texts.get(name, constant_text(pane.spec.constants[name]))
                base = constant_text(pane.variant.constants.get(name, declared.default))
                yield ConstantField(name, value, base, _kind(declared), _choices(declared))


def _kind(constant: Constant) -> str:
    return "number" if type(constant.default) is int and constant.one_of is None else "text"


def _choices(constant: Constant) -> tuple[str, ...]:
    if constant.one_of is not None:
        return tuple(constant_text(value) for value in constant.one_of)
    return ("true", "false") if isinstance(constant.default, bool) else ()


def _announcement(place: Place, panes: tuple[PaneView, ...], count: int) -> str:
    """Return the sentence that screen readers speak after a step."""
    codes = place.address.codes
    where = f"Step {len(codes) + 1}, {call_of_code(codes[-1])}." if codes else "Step 1, initial state."
    false = [
        f"{each.name} is false." for pane in panes for each in pane.properties if each.is_false and each.is_checked
    ]
    return " ".join([where, *dict.fromkeys(false), f"{quantity(count, 'enabled step')}."])
