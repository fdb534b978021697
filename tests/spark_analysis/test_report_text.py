"""What a report says of its data, and which causes count as one: of data that is made here, without walks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from spark_analysis.report import causes, report_page, run_comparison, walk_queries
from spark_analysis.report.shrunk_walks import Stratum
from spark_analysis.report.violation_causes import ViolationCause
from spark_analysis.report.walk_counts import WalkFailure


def failure(name, walks=0, *, is_error=False, **more):
    return {"property": name, "walks": walks, "is_error": is_error, **more}


@pytest.mark.parametrize(
    ("failures", "text"),
    [
        ([failure("a")], "No walk violates a"),
        ([failure("a"), failure("b")], "No walk violates a property"),
        ([failure("a", 1), failure("b")], "a is violated"),
        ([failure("a", 1), failure("b", 2), failure("c", 3)], "a, b and c are violated"),
        ([failure("a", 1), failure("go", 2, is_error=True)], "a is violated; go leaves the bounds of a type"),
        (
            [failure("a"), failure("go", 1, is_error=True), failure("up", 1, is_error=True)],
            "go and up leave the bounds of a type",
        ),
    ],
)
def test_the_headline(failures, text):
    assert report_page.headline({"failures": failures}) == text


HOLDS, VIOLATED, LIMITED = (
    {"states": states, "violations": violations, "reason": reason}
    for states, violations, reason in ((7, {}, ""), (9, {"a": 4}, ""), (None, {}, "it has more than 5 states"))
)


@pytest.mark.parametrize(
    ("known", "text", "is_violated"),
    [
        ([HOLDS], "holds in all 7 states", False),
        ([HOLDS, HOLDS], "holds in all 14 states", False),
        ([VIOLATED], "violated; shortest trace: 4 states", True),
        (
            [VIOLATED, {**VIOLATED, "violations": {"a": 3}}],
            "violated in 2 of 2 configurations; shortest trace: 3 states",
            True,
        ),
        (
            [VIOLATED, HOLDS, None],
            "violated in 1 of 3 configurations; not decided in 1; shortest trace: 4 states",
            True,
        ),
        ([HOLDS, LIMITED], "holds in 1 of 2 configurations; not decided in 1", False),
        ([LIMITED], "not decided", False),
        ([None], "not decided", False),
    ],
)
def test_what_explorations_say_of_a_property(known, text, is_violated):
    data = {"configurations": [{"known": one} for one in known]}
    assert report_page._exploration(data, "a") == (text, is_violated)


def test_settings_without_a_violation_have_the_result_of_their_exploration():
    configurations = [
        {"swept": {"size": number}, "walks": 5, "known": known, "any": {"walks": number == 1}}
        for number, known in enumerate((None, None, HOLDS, VIOLATED, LIMITED))
    ]
    found = report_page.settings_without_violation({"configurations": configurations})
    assert [(row["name"], row["walks"], row["explored"], row["status"]) for row in found] == [
        ("size=0", 5, "not decided", "warn"),
        ("size=2", 5, "holds in all 7 states", "ok"),
        ("size=3", 5, "violated: a in 4 states", "bad"),
        ("size=4", 5, "not decided: it has more than 5 states", "warn"),
    ]


def test_the_rate_of_a_sweep_is_that_of_the_worst_setting():
    data = {
        "configurations": [
            {
                "number": number,
                "swept": {"size": number},
                "failures": [failure("a", number), failure("a", 9, is_error=True)],
            }
            for number in (0, 1)
        ]
    }
    assert report_page.rate_of(data, failure("a", 1, most_in=1)) == (failure("a", 1), "size=1")
    share, where = report_page.rate_of(data, failure("a", 0, most_in=None))
    assert (share["walks"], share["exact"], share["split"], where) == (0, None, None, "")
    one = {"configurations": data["configurations"][:1]}
    assert report_page.rate_of(one, failure("a", 0, most_in=None)) == (failure("a", 0), "")


def test_the_counts_of_all_settings_are_added():
    def branch(line, true, false):
        return {"file": "s.py", "line": line, "text": "x > 1", "true_walks": true, "false_walks": false}

    def setting(takes, taken, broken_by, *branches):
        action = {"action": "go", "takes": takes, "instances": 2, "instances_taken": taken}
        idle = {"action": "idle", "takes": 0, "instances": 1, "instances_taken": 0}
        return {
            "actions": [action, idle],
            "branches": branches,
            "failures": [{"broken_by": broken_by}],
            "reached": {"full": takes},
        }

    data = {
        "failures": [failure("a", 4)],
        "configurations": [
            setting(3, 1, {"go": 1}, branch(1, 2, 0), branch(2, 0, 1)),
            setting(5, 2, {"go": 2, "up": 1}, branch(1, 1, 0)),
        ],
    }
    go, idle = report_page._actions(data)
    assert (go["takes"], go["taken"], go["instances"], go["share"], go["bar"]) == (8, 3, 4, 1.0, 1.0)
    assert (idle["takes"], idle["instances"], idle["share"], idle["bar"]) == (0, 2, 0.0, 0.0)
    idle_sides = [(one["place"], one["side"]) for one in report_page._branches(data)["idle"]]
    assert report_page._branches(data)["sides"] == 4 and idle_sides == [("s.py:1", "false"), ("s.py:2", "true")]
    assert report_page._reachables(data) == [("full", 8)]
    ((_, broken),) = report_page._actions_that_broke(data)
    assert broken == [("go", 3, 0.75), ("up", 1, 0.25)]


def test_siblings_are_compared_by_setting():
    def compared(name, before, after, setting="size=1"):
        return {
            "property": name,
            "is_error": False,
            "setting": setting,
            "before": {"walks": before},
            "after": {"walks": after},
            "change": "more",
        }

    data = {
        "spec": "s/q",
        "scenario": "",
        "sweep": ["size"],
        "configurations": [
            {"swept": {"size": 1}, "failures": [failure("a", 1), failure("b", 2)], "constants": {"size": 1, "most": 2}}
        ],
        "siblings": [
            {
                "failures": [
                    compared("b", 1, 0),
                    compared("a", 0, 0),
                    compared("c", 0, 1),
                    compared("b", 1, 0, "size=2"),
                ],
                "after": {"spec": "s/q", "scenario": "large"},
                "constants": {"most": 3},
            }
        ],
    }
    assert report_page._sibling_properties(data) == [("b", False), ("c", False)]
    own, first, second = report_page._sibling_rows(data)
    assert (own["name"], own["is_this"], own["setting"]) == ("s/q", True, "size=1")
    assert own["shares"] == [(failure("b", 2), ""), None]
    assert (first["name"], first["is_this"], first["setting"]) == ("s/q/large (most=3)", False, "size=1")
    assert first["shares"] == [({"walks": 0}, "more"), ({"walks": 1}, "more")]
    assert second["setting"] == "size=2" and second["shares"] == [({"walks": 0}, "more"), None]
    assert report_page._sibling_rows({**data, "siblings": []}) == []


def test_the_constants_of_a_sibling_that_differ():
    def report(sweep=("size",), **constants):
        return {"configurations": [{"constants": constants}], "sweep": list(sweep)}

    beside = run_comparison._constants_beside(report(size=1, most=2, mode="a"), report(size=5, most=3, mode="a"), ["n"])
    assert beside == {"constants": {"most": 3}, "notes": ["n"]}
    other = run_comparison._constants_beside(report(size=1, most=2), report(size=1, least=0), [])
    assert other == {"constants": {}, "notes": ["Only one of the two specs has the constants least, most."]}


@pytest.mark.parametrize(
    ("value", "of_page", "of_query"),
    [
        (None, "none", "null"),
        (True, "true", "true"),
        (3, "3", "3"),
        ([1, [None]], "[1, [none]]", None),
        ({"a": [False]}, "(a [false])", None),
        (b"\x01\xff", None, "01ff"),
    ],
)
def test_values_as_text(value, of_page, of_query):
    assert of_page is None or report_page._text(value) == of_page
    assert of_query is None or walk_queries._text(value) == of_query


# Causes.


def group(*actions, length=5, walks=(0,), breaker="go", shortest=True, name="a", configuration=0):
    cause = ViolationCause(name, "invariant", None, actions)
    stratum = Stratum(WalkFailure(name, False), configuration)
    made = tuple(
        SimpleNamespace(walk=number, length=length, breaker=breaker, stratum=stratum, cause=cause) for number in walks
    )
    shrunk = SimpleNamespace(violation=SimpleNamespace(length=length), is_shortest=shortest)
    return causes._Group(cause, made, made[0], shrunk)


def absorbed(found, rest):
    return {one.cause.actions: [walk.walk for walk in one.walks] for one in causes._absorb(found, [rest])}


@pytest.mark.parametrize(
    ("changed", "is_one_cause"),
    [
        ({}, True),
        ({"length": 5}, True),
        ({"length": 4}, False),
        ({"breaker": "other"}, False),
        ({"name": "b"}, False),
        ({"configuration": 1}, False),
    ],
)
def test_walks_of_a_rarer_cause_count_for_one_that_its_actions_include(changed, is_one_cause):
    rest = group("go", "other", "up", **{"length": 6, "walks": (7, 8), **changed})
    joined = absorbed([group("go", "up")], rest)
    assert joined == ({("go", "up"): [0, 7, 8]} if is_one_cause else {("go", "up"): [0], ("go", "other", "up"): [7, 8]})
    assert absorbed([group("go", "down")], rest)["go", "down"] == [0]


def test_of_several_causes_the_one_with_the_shortest_trace_counts():
    rest = group("go", "other", "up", length=6, walks=(7,))
    assert absorbed([group("go", "up"), group("go", length=4)], rest) == {("go", "up"): [0], ("go",): [0, 7]}
    same = [group("go", "up", shortest=False), group("go", walks=(1,))]
    assert absorbed(same, rest) == {("go", "up"): [0], ("go",): [1, 7]}
    (merged,) = causes._merge([group("go", length=6, walks=(1,)), group("go", length=4, walks=(2,))])
    assert merged.shrunk.violation.length == 4 and sorted(walk.walk for walk in merged.walks) == [1, 2]


def test_frequent_causes_come_first(monkeypatch):
    counts = {"a": 1, "b": 5, "c": 5}
    monkeypatch.setattr(causes, "_estimate", lambda one, _: SimpleNamespace(count=counts[one.cause.property]))
    ordered = causes._by_frequency([group("go", name=name) for name in "acb"], None)
    assert [one.cause.property for one in ordered] == ["b", "c", "a"]
