"""What a report says of its data, and which causes count as one: of data that is made here, without walks."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from checker.language.roles import Role
from checker.output.styled_lines import plain
from spark_analysis.commands import report_walks
from spark_analysis.report import (
    causes,
    make_report,
    report_data,
    report_page,
    run_comparison,
    shrunk_walks,
    walk_queries,
)
from spark_analysis.report.shrunk_walks import Stratum
from spark_analysis.report.violation_causes import ViolationCause
from spark_analysis.report.walk_counts import StateGrowth, ViolationPattern, ViolationTime, WalkFailure, WalkOutcome
from spark_analysis.walks import importance_splitting, local_simulation
from spark_analysis.walks.records import ActionRange
from spark_analysis.walks.statistics import Saturation, wilson
from traces.shrink import ShorteningSearch


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


def cell(walks=0, of=100, **more):
    share = wilson(walks, of)
    return {"rate": share.rate, "low": share.low, "high": share.high, "exact": None, "split": None, **more}


def summary(failures, cells, **more):
    """Return the lines of the summary of a report; `cells` are those of its configurations."""
    configurations = [
        {
            "number": number,
            "swept": {"size": number},
            "failures": [{**failure, **shown} for failure, shown in zip(failures, own, strict=True)],
        }
        for number, own in enumerate(cells)
    ]
    data = {"spec": "s/q", "scenario": "hasty", "walks": 1000, "steps": 2500, "beyond": False, "bias": "uniform"}
    data |= {"weights": {}, "notes": [], "missed": [], "clusters": [], "risks": [], "comparison": None, "siblings": []}
    data |= {"trend": None, "failures": failures, "configurations": configurations}
    return plain(report_walks._summary_lines({**data, **more}, Path("out/report.html"), 1.25)).splitlines()


def test_the_summary_has_a_line_for_each_property():
    split = {"rate": 0.002, "low": 0.001, "high": 0.003}
    failures = [
        failure("in_order", 50, most_in=0),
        failure("few", 0, most_in=None),
        failure("take", 1, is_error=True, most_in=0),
    ]
    cells = [cell(50, exact=0.5), cell(0, split=split), cell(1)]
    missed = [{"property": "few", "length": 7}]
    assert summary(failures, [cells], missed=missed, notes=["a note"], bias="rare") == [
        "s/q/hasty  1,000 walks, 2,500 steps, analysed in 1.2 s",
        "  ✗ in_order       50%  of walks (40.4% to 59.6%); computed without sampling 50%",
        "  ! few              0  of walks (0 to 3.7%), by splitting 0.2% (0.1% to 0.3%)"
        ", but exploration finds it violated: 7 states",
        "  ✗ take            1%  of walks (0.177% to 5.45%), leaves its bounds",
        "",
        "  The choices are biased (rare): the rates are those of biased walks, not of uniform ones.",
        "  a note",
        "  out/report.html",
    ]
    swept = [failure("a", 3, most_in=1, violated_in=1), failure("b", 0, most_in=None, **cell())]
    lines = summary(swept, [[cell(), cell()], [cell(3), cell()]])
    assert lines[1:3] == [
        "  ✗ a        3%  of walks (1.03% to 8.45%) with size=1; in 1 of 2 configurations",
        "  ✓ b         0  of walks (0 to 3.7%)",
    ]


def test_a_possible_violation_has_no_probability_of_exactly_zero():
    failures, missed = [failure("few", 0, most_in=None)], [{"property": "few", "length": 7}]
    split = {"rate": 0.0, "low": 0.0, "high": 1e-10}
    possible = summary(failures, [[cell(0, exact=2.0**-40, split=split)]], missed=missed)[1]
    assert "computed without sampling 9.09e-11%, by splitting below 1.00e-08%, but" in possible
    too_far = summary(failures, [[cell(0, exact=0.0)]], missed=missed, depth=5)[1]
    assert "; exactly 0: no walk of at most 5 steps violates it, but exploration finds" in too_far


def story(number, **more):
    row = {"property": f"p{number}", "walks": 1, "low": 1, "high": 1, "length": 3, "shortest": None, "promise": ""}
    row |= {
        "schedule": [{"action": "go", "fault": "crash"}, {"action": "up", "fault": ""}],
        "sentence": "It fails.",
        "made_possible_by": None,
    }
    return row | {"violated_by": {"step": 3, "sentence": "up breaks it."}, "tickets": []} | more


def test_the_summary_shows_eight_causes():
    full = story(1, shortest={"length": 2}, promise="All is well.", tickets=["KIP-1", "KIP-2"])
    full["made_possible_by"] = {"step": 2, "fault": "crash", "sentence": "go begins " + "very " * 20 + "slowly."}
    begin = summary([], [[]], clusters=[full, *map(story, range(2, 9))])
    assert begin[1:12] == [
        "",
        "  1. p1  1 walk, 3 states, shortest with this cause 2",
        "     Promised: All is well.",
        "     It fails.",
        "     Made possible by step 2 (crash): go begins very very very very very very",
        "       very very very very very very very very very very very very very very",
        "       slowly.",
        "     Violated by step 3: up breaks it.",
        "     Tickets: KIP-1, KIP-2",
        "     go (crash), up",
        "",
    ]
    assert begin[12:16] == [
        "  2. p2  1 walk, 3 states",
        "     It fails.",
        "     Violated by step 3: up breaks it.",
        "     go (crash), up",
    ]
    assert begin[-2:] == ["", "  out/report.html"] and not any("more causes" in text for text in begin)
    lines = summary([], [[]], clusters=list(map(story, range(1, 12))))
    assert (
        "  8. p8  1 walk, 3 states" in lines
        and lines[-3] == "  and 3 more causes"
        and not any("p9" in text for text in lines)
    )


def test_the_summary_shows_the_three_greatest_risks():
    row = {"property": "a", "kind": "action", "walks_with": 2, "walks_without": 2, "low": 1.5, "high": 9.0}
    row |= {"reference": None, "walks": 9}
    named = [
        ("less", 0.5, 0.4),
        ("little", 2, 1.5),
        ("unclear", 7, 0.9),
        ("much", 4, 1.5),
        ("more", 3, 1.5),
        ("most", 5, 1.5),
    ]
    rows = [{**row, "name": name, "ratio": ratio, "low": low} for name, ratio, low in named]
    rows.append({**row, "kind": "setting", "name": "size", "value": 2, "ratio": 2, "property": "b"})
    rows += [
        {**row, "kind": kind, "name": "size", "value": 2, "ratio": 1.5 + (kind == "action"), "property": "b"}
        for kind in ("action", "setting")
    ]
    assert [text.partition(":")[0] for text in plain(report_walks._risk_lines(rows)).splitlines()] == [
        "",
        "  Risk factors (an association, not a proof of a cause)",
        *("    a with most", "    a with much", "    a with more"),
        *("    b with size=2", "    b with size=2", "    b with size"),
    ]
    # What settings exclude comes first, and does not count among the three.
    never = {**row, "kind": "setting", "name": "acks", "value": 1, "walks_with": 0, "low": None}
    lines = plain(report_walks._risk_lines([*rows, never])).splitlines()
    assert lines[2] == "    a never with acks=1 (in 9 walks)" and len(lines) == 9
    assert report_walks._risk_lines(rows[:1]) == [] == report_walks._risk_lines([{**row, "ratio": 1.0, "name": "same"}])


def test_the_summary_shows_what_changed():
    row = {"property": "a", "setting": "", "before": {"rate": 0.1}, "after": {"rate": 0.2}, "change": "more often"}
    cause = {**row, "actions": ["go", "up"], "setting": "size=2", "change": "not shown"}
    compared = {
        "failures": [row],
        "causes": [cause],
        "notes": ["a note"],
        "before": {"spec": "s/q", "scenario": "", "walks": 2000},
    }
    sibling = compared | {"after": {"spec": "s/r", "scenario": "", "walks": 3000}, "constants": {"most": 3}}
    rates = [{"rate": number / 100} for number in range(1, 9)]
    trend = {"runs": 8, "rows": [{**row, "rates": rates}, {**cause, "rates": rates[:1]}]}
    lines = summary([], [[]], comparison=compared, siblings=[sibling], trend=trend)
    changes = [
        "    more often: a  10% → 20%",
        "    no difference shown: a by go, up with size=2  10% → 20%",
        "  a note",
    ]
    assert lines[1:-2] == [
        *("", "  Compared with s/q, 2,000 walks:", *changes, "", "  Beside s/r (most=3), 3,000 walks:", *changes),
        *("", "  Trend over 8 runs, the last one is this:", "    a  3% → 4% → 5% → 6% → 7% → 8%  (more often)"),
        "    a with size=2  1%  (no difference shown)",
    ]


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ((100, 1000), (200, 1000), "more often"),
        ((200, 1000), (100, 1000), "less often"),
        ((100, 1000), (110, 1000), "not shown"),
        ((0, 1000), (1, 1000), "not shown"),
        ((0, 1000), (100, 1000), "new"),
        ((100, 1000), (0, 1000), "gone"),
    ],
)
def test_the_change_of_a_share(before, after, change):
    found = run_comparison._difference(wilson(*before), wilson(*after))
    assert (found["change"], found["before"]["walks"], found["after"]["walks"]) == (change, before[0], after[0])
    assert (found["difference"]["low"] <= 0 <= found["difference"]["high"]) == (change == "not shown")


def test_the_manual_has_the_limits_of_a_report():
    text = " ".join((Path(__file__).parents[2] / "docs/simulate.md").read_text(encoding="utf-8").split())
    millions = f"{local_simulation.MOST_WALKS:,}".removesuffix(",000,000")
    splitting = f"importance splitting over up to {importance_splitting.MOST_STATES:,} states"
    exact = f"{make_report.MOST_EXACT_STATES:,} states (`--exact`: {report_walks.MOST_EXACT_STATES_ASKED:,})"
    for limit in (
        f"make and analyse up to {millions} million walks",
        f"a configuration of at most {exact}",
        f"fewer than {make_report.RARE} walks show, by {splitting}",
        f"the spread of {importance_splitting.REPLICATIONS} independent estimates",
        f"for the {report_walks.MOST_PAGES} most frequent causes",
        f"For the {causes.MOST_SEARCHED} most frequent causes",
        f"{shrunk_walks.SAMPLED_WALKS} to {2 * shrunk_walks.SAMPLED_WALKS} walks, or all",
        f"at least {shrunk_walks.FEWEST} walks of the sample",
    ):
        assert limit in text


# The data of a report.


def outcome(ending, violated=0, walks=1, *, length=3, name=None, configuration=0):
    verdict = {"violation": "violated", "bounds": "error"}.get(ending, "holds")
    return WalkOutcome(configuration, ending, verdict, name, violated, length, walks)


def run_of(*properties, beyond=False, **more):
    actions = (ActionRange("send", 0, 2), ActionRange("take", 2, 1))
    return SimpleNamespace(
        properties=properties, beyond=beyond, configurations=[SimpleNamespace(actions=actions)], **more
    )


def test_a_report_has_every_property_that_walks_can_violate():
    run = run_of("safe", "full", "former", "gone", "deadlock")
    roles = {"safe": Role.INVARIANT, "full": Role.REACHABLE}
    outcomes = [outcome("violation", 1, name="safe"), outcome("violation", 8, name="gone")]
    outcomes += [outcome("bounds", name=name) for name in ("up", "go")]
    found = report_data.walk_failures(run, roles, outcomes)
    assert found == [("safe", False), ("gone", False), ("deadlock", False), ("go", True), ("up", True)]
    assert report_data._reachables(run, {1: 5, 2: 3, 6: 4}, {"safe", "gone", "deadlock"}) == {"full": 7, "former": 4}


def test_walks_that_something_else_ends_stay_in_the_total():
    outcomes = [
        outcome("violation", 1, 10, length=4, name="safe"),
        outcome("violation", 2, 20, length=2, name="other"),
        outcome("violation", 3, 1, length=1, name="safe"),
        outcome("bounds", 0, 30, length=3, name="take"),
        outcome("depth", 0, 100, length=9),
    ]
    patterns = [
        ViolationPattern(0, "violated", "safe", 1, None, 7, instance, walks, 4, 0)
        for instance, walks in ((1, 6), (2, 4), (None, 1))
    ]
    patterns += [patterns[0]._replace(configuration=1), patterns[0]._replace(violated=2, instance=0)]
    counts = SimpleNamespace(walks={0: 161}, patterns=patterns, times=[])
    found = report_data._failure(run_of("safe", "other"), WalkFailure("safe", False), outcomes, counts, 0)
    assert (found["walks"], found["soonest"], found["broken_by"]) == (11, 1, {"send": 6, "take": 4, "init": 1})
    assert found["curve"] == [[1, 1, pytest.approx(1 / 161)], [4, 10, found["rate"]]]
    assert (found["one_in_a_hundred_by"], found["half_by"]) == (4, None)
    # Beyond a violation, only an error ends a walk, and the first violations count.
    times = [ViolationTime(0, 1, 2, 8), ViolationTime(0, 2, 2, 9), ViolationTime(1, 1, 2, 9), ViolationTime(0, 1, 5, 2)]
    counts = SimpleNamespace(walks={0: 161}, patterns=[], times=times)
    found = report_data._failure(run_of("safe", "other", beyond=True), WalkFailure("safe", False), outcomes, counts, 0)
    assert found["curve"] == [[2, 8, pytest.approx(8 / 161)], [5, 2, found["rate"]]]
    error = report_data._failure(run_of("safe", "other", beyond=True), WalkFailure("take", True), outcomes, counts, 0)
    assert error["curve"] == [[3, 30, error["rate"]]]


def test_the_growth_of_states_ends_with_the_last_walk():
    def growth(walks, first_visited):
        states = {0: StateGrowth(Saturation(4, 6, 20, 3, 1), first_visited)}
        return report_data._saturation(SimpleNamespace(states=states, walks={0: walks}), 0, run_of(walks=6, sampling=3))

    assert growth(6, {0: 1, 2: 5})["growth"] == [[1, 4], [2, 4], [4, 24], [6, 24]]
    assert growth(6, {0: 1, 3: 5})["growth"] == [[1, 4], [2, 4], [4, 4], [6, 24]]
    assert growth(6, {}) == {"scale": 4, "sampled": 0}
    nothing = SimpleNamespace(states={}, walks={0: 1})
    assert report_data._saturation(nothing, 0, run_of(sampling=3)) == {"scale": 8, "sampled": 0}


def test_the_setting_with_the_largest_share_is_named():
    rates = [(0, 0.0), (1, 0.2), (2, 0.5), (3, 0.5)]
    configurations = [{"number": number, "failures": [failure("a", 9 * rate, rate=rate)]} for number, rate in rates]
    assert report_data._settings(configurations, WalkFailure("a", False)) == {"violated_in": 3, "most_in": 2}
    assert report_data._settings(configurations[:1], WalkFailure("a", False)) == {"violated_in": 0, "most_in": None}


def test_the_shortest_violation_that_no_walk_shows():
    def explored(**lengths):
        return SimpleNamespace(
            found=[SimpleNamespace(property=name, length=length) for name, length in lengths.items()]
        )

    totals = {WalkFailure("shown", False): 2, WalkFailure("rare", False): 0}
    known = {0: explored(shown=3, rare=5), 2: explored(rare=4, other=9), 3: explored(rare=4)}
    found = report_data.violations_missed_by(totals, known)
    assert [(one.configuration, one.violation.property, one.violation.length) for one in found] == [
        (2, "rare", 4),
        (2, "other", 9),
    ]


def test_causes_that_occur_most_often_are_compared_first():
    def data(**walks):
        clusters = [
            {
                "property": "a",
                "kind": "invariant",
                "false_parts": ["x < y"],
                "last_steps": ["on"],
                "breaker": name,
                "sentence": f"{name}.",
                "by_configuration": {"0": {"walks": count, "low": count, "high": count}},
            }
            for name, count in walks.items()
        ]
        return {"clusters": clusters, "configurations": []}, {"number": 0, "walks": 100}

    before, after = data(go=50, up=10, x=0), data(up=60, x=10, y=10)
    before[0]["clusters"][1]["sentence"] = "An earlier sentence."
    rows = run_comparison._causes("size=1", before, after)
    assert [(*row["actions"][1:], row["change"], row["sentence"], row["setting"]) for row in rows] == [
        ("up", "more often", "up.", "size=1"),
        ("go", "gone", "go.", "size=1"),
        ("x", "new", "x.", "size=1"),
        ("y", "new", "y.", "size=1"),
    ]
    assert (rows[1]["before"]["walks"], rows[1]["after"]["walks"]) == (50, 0)
    (cluster, *_) = after[0]["clusters"]
    other = {"clusters": [cluster | {"false_parts": ["y < z"]}, cluster | {"kind": "deadlock"}]}
    changes = [row["change"] for row in run_comparison._causes("", after, (other, after[1]))]
    assert changes == ["new", "new", "gone", "gone", "gone"]


# Causes.


def group(name):
    cause = ViolationCause(name, "invariant", ("x < y",), ("up",), "go")
    walk = SimpleNamespace(walk=0, length=5, stratum=Stratum(WalkFailure(name, False), 0), cause=cause)
    return causes._Group(cause, (walk,), walk)


def test_frequent_causes_come_first(monkeypatch):
    counts = {"a": 1, "b": 5, "c": 5}
    monkeypatch.setattr(causes, "_estimate", lambda one, _: SimpleNamespace(count=counts[one.cause.property]))
    ordered = causes._by_frequency([group(name) for name in "acb"], None)
    assert [one.cause.property for one in ordered] == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("found_cause", "limit", "expected"),
    [
        (None, "", (None, "")),
        (None, "the limit", (None, "the limit")),
        ("a", "", (4, "")),
        ("b", "", (None, "the shortest one by these actions, of 4 states, has another cause")),
    ],
)
def test_a_shortest_trace_has_the_cause_of_the_walk(monkeypatch, found_cause, limit, expected):
    own = SimpleNamespace(length=6)

    def search(spec, violation, most, actions):
        assert (violation, most, actions) == (own, 9, {"go"})
        return ShorteningSearch(None if found_cause is None else SimpleNamespace(length=4), limit)

    monkeypatch.setattr(causes, "configured_spec", lambda run, number: None)
    monkeypatch.setattr(causes, "violation_from_row", lambda spec, row, name: SimpleNamespace(length=8))
    monkeypatch.setattr(causes, "reduce", lambda spec, violation: own)
    monkeypatch.setattr(causes, "calls_of", lambda violation: [SimpleNamespace(action="go")])
    monkeypatch.setattr(causes, "search_shorter", search)
    monkeypatch.setattr(causes, "cause_of", lambda spec, violation: group(found_cause).cause)
    traces = causes._traces(None, (group("a"), {}, 9))
    assert (traces.walk_length, traces.reduced) == (8, own)
    assert (traces.shortest and traces.shortest.length, traces.limit) == expected
    assert causes._traces(None, (group("a"), {}, 0)).limit == "no search was made"


def test_the_walks_of_a_cause_are_estimated_from_its_failure():
    """Of 100 walks of each setting, 10 are sampled; a walk that is known counts although no sample has it."""
    strata = {number: Stratum(WalkFailure("a", False), number) for number in (0, 1)}
    other = Stratum(WalkFailure("b", False), 0)
    population = {strata[0]: 100, strata[1]: 100, other: 7}
    shrunk = SimpleNamespace(population=population, sampled={strata[0]: 10, strata[1]: 10, other: 7})

    def walks(number, *sampled):
        return tuple(
            SimpleNamespace(walk=10 * number + at, stratum=strata[number], is_sampled=one, length=5 - at)
            for at, one in enumerate(sampled)
        )

    cause = ViolationCause("a", "invariant", (), (), "go")
    made = (*walks(0, True, True, False), *walks(1, False))
    one = causes._Group(cause, made, made[0])
    assert causes._estimate(one, shrunk).count == 20 == causes._estimate(one, shrunk, 0).count
    assert (causes._estimate(one, shrunk, 1).count, causes._estimate(one, shrunk, 1).low) == (1, 1)
    assert causes._estimate(causes._Group(cause, made[3:], made[3]), shrunk).low == 1
    same = [SimpleNamespace(cause=cause, length=length, walk=walk) for length, walk in ((4, 9), (3, 8), (3, 7))]
    (group_of_all,) = causes._group(same)
    assert group_of_all.first.walk == 7 and len(group_of_all.walks) == 3


def test_an_outcome_has_the_least_spacing_of_its_failures():
    run = run_of("safe", "other")
    outcomes = [outcome("violation", 3, name="safe"), outcome("violation", 1, name="safe"), outcome("depth")]
    spacings = {Stratum(WalkFailure("safe", False), 0): 4, Stratum(WalkFailure("other", False), 0): 2}
    assert [(each.violated, each.spacing) for each in shrunk_walks._outcome_spacings(run, outcomes, spacings)] == [
        (1, 4),
        (3, 2),
    ]
