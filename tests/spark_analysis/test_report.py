"""Reports: independence of partitions, comparison with walks and explorer, notes about missing data."""

import contextlib
import html
import json
import re
from html.parser import HTMLParser

import pytest

from checker.cli.app import main
from checker.engines.python.explorer import explore
from checker.errors import UserError
from checker.output.page.render import MOST_BYTES
from checker.run.plan import Plan
from spark_analysis.report import exhaustive_baseline, make_report
from spark_analysis.report.local_source import LocalWalkSource
from spark_analysis.report.make_report import _explore, _rare_failures, dot_of, report_on
from spark_analysis.report.readable_parts import readable_parts
from spark_analysis.report.report_page import rate_of, walk_report_page
from spark_analysis.report.walk_counts import count_walks
from spark_analysis.walks.records import WALKS, part_path, read_walk, spec_of
from spark_analysis.walks.walk_request import run_of_request
from tests.spark_analysis.walks.walked import SOURCE, request, simulated, spec_file, spec_of_walks, walks_in
from tests.support.page_checks import problems_of
from traces import trace_file
from traces.replay import replay

pytestmark = pytest.mark.usefixtures("one_process")

TWO_CAUSES = SOURCE.replace(
    "    @invariant\n",
    '''    @action
    def swap(self):
        """Swap the first two."""
        require(not self.careful and len(self.queue) == 3)
        first = self.queue.pop(0)
        self.queue.insert(1, first)

    @invariant
    def not_two_behind(self):
        return len(self.queue) < 3 or self.queue[0] <= self.queue[2]

    @invariant
''',
    1,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    run = run_of_request(request(spec_file(folder, TWO_CAUSES), walks=2500))
    walks = simulated(folder / "walks", run)
    return run, walks, report_on(walks, spec=spec_of_walks(walks))


def test_rates_equal_those_of_the_rows(made):
    _, _, found = made
    entry = found.data["configurations"][0]
    for failure in entry["failures"]:
        assert failure["low"] <= failure["rate"] <= failure["high"]
        assert failure["rate"] == pytest.approx(failure["walks"] / 2500)
        assert sum(point[1] for point in failure["curve"]) == failure["walks"] == sum(failure["broken_by"].values())
        assert failure["curve"][-1][2] == failure["rate"]
    assert sum(entry["endings"].values()) == 2500 and found.data["is_complete"]
    # The curve of states has a point for each power of two of walks until it does not grow, and one for all walks.
    *growing, (walks, states) = entry["saturation"]["growth"]
    assert [point[0] for point in growing] == [1 << power for power in range(len(growing))] and walks == 2500
    assert states == growing[-1][1] > growing[-2][1]
    assert entry["saturation"]["distinct"] <= entry["known"]["states"]
    assert set(entry["reached"]) == {"is_full"}


def test_small_specs_have_exact_probabilities(made):
    _, _, found = made
    for failure in found.data["configurations"][0]["failures"]:
        assert failure["exact"] == pytest.approx(failure["rate"], abs=0.05)
    text = walk_report_page(found.data, [None] * len(found.clusters), {}, "report")
    assert '<th class="figure">exactly</th>' in text


def test_the_limits_of_exact_probabilities_and_of_splitting(made, monkeypatch):
    run, walks, found = made
    entry = found.data["configurations"][0]
    states = entry["known"]["states"]
    limits = (states - 1, states)
    assert [_explore(run, 10_000, limit, 0, {}, 0).exact is not None for limit in limits] == [False, True]
    counts = count_walks(LocalWalkSource(walks, run, readable_parts(walks, run).numbers))
    (number,) = [each["walks"] for each in entry["failures"] if each["property"] == "in_order"]
    for limit in (number, number + 1):
        monkeypatch.setattr("spark_analysis.report.make_report.RARE", limit)
        assert ("in_order" in _rare_failures(run, counts, 0)) == (number < limit)


def test_rare_violations_are_estimated_by_splitting(tmp_path):
    """Of few walks, fewer than 100 violate the property; the exact probability is known."""
    run = run_of_request(request(spec_file(tmp_path), walks=100))
    walks = simulated(tmp_path / "walks", run)
    found = report_on(walks, spec=spec_of_walks(walks), splitting=2400)
    [entry] = found.data["configurations"][0]["failures"]
    assert entry["walks"] < 100 and entry["split"]["low"] <= entry["exact"] <= entry["split"]["high"]
    assert '<th class="figure">by splitting</th>' in walk_report_page(found.data, [None] * len(found.clusters), {}, "")


def test_report_has_the_shortest_trace_of_every_violated_property(made):
    run, _, found = made
    spec = spec_of(run, 0)
    names = [name for name in run.properties if name != "is_full"]
    explored = {v.property: v.length for v in explore(spec, Plan(tuple(names), stop="all")).violations}
    assert set(explored) == {"in_order", "not_two_behind"}
    assert {entry["property"] for entry in found.data["failures"] if entry["walks"]} == set(explored)
    for name, length in explored.items():
        own = [cluster for cluster in found.data["clusters"] if cluster["property"] == name]
        assert min((cluster["shortest"] or cluster)["length"] for cluster in own) == length


def test_causes_differ_by_their_last_steps_and_are_counted_once(made):
    _, _, found = made
    own = [cluster for cluster in found.data["clusters"] if cluster["property"] == "in_order"]
    assert {cluster["breaker"] for cluster in own} == {"overtake", "swap"}
    assert {tuple(cluster["false_parts"]) for cluster in own} == {("self.queue[at] <= self.queue[at + 1]",)}
    total = next(entry["walks"] for entry in found.data["failures"] if entry["property"] == "in_order")
    assert sum(cluster["walks"] for cluster in own) == total
    for spec, violation in found.violations:
        replay(spec, violation)


def test_a_rarer_cause_has_a_trace_that_no_search_made_shorter(made, monkeypatch):
    monkeypatch.setattr("spark_analysis.report.causes.MOST_SEARCHED", 1)
    found = report_on(made[1], spec=spec_of_walks(made[1]))
    limits = [cluster.limit for _, cluster in found.clusters]
    # The first cause of each of the two properties is searched, and no cause is lost.
    assert limits.count("no search was made") == len(limits) - 2 > 0
    assert [cluster.cause for _, cluster in found.clusters] == [cluster.cause for _, cluster in made[2].clusters]


@pytest.mark.parametrize(
    ("bytes_a_partition", "shuffles"), [pytest.param("16k", "1", marks=pytest.mark.slow), ("1g", "7")]
)
def test_spark_reports_the_same_bytes_for_any_partitions(spark, made, bytes_a_partition, shuffles):
    settings = {"spark.sql.files.maxPartitionBytes": bytes_a_partition, "spark.sql.shuffle.partitions": shuffles}
    before = {name: spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        again = report_on(made[1], spec=spec_of_walks(made[1]), spark=spark)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    assert json.dumps(again.data) == json.dumps(made[2].data)


def test_a_report_with_a_master_opens_a_session_of_its_own(tmp_path, monkeypatch):
    """Files are read in its place: a second session cannot exist in this process."""
    requests = []

    def opened(*master, **options):
        requests.append((master, options))
        return contextlib.nullcontext("session")

    def source(session, *walks):
        requests.append(session)
        return LocalWalkSource(*walks)

    monkeypatch.setattr(make_report, "opened", opened)
    monkeypatch.setattr(make_report, "SparkWalkSource", source)
    _, walks = walks_in(tmp_path, scenario="careful", walks=50)
    report_on(walks, spec=spec_of_walks(walks), master="local[2]")
    assert requests == [(("local[2]",), {"settings": make_report.session_settings("local[2]")}), "session"]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        self.links += [given[name] for name in ("href", "src") if given.get(name)]
        assert tag not in ("script", "iframe")


def test_page_is_self_contained_and_its_links_are_valid(made):
    _, _, found = made
    pages = [f"counterexamples/{number}.html" for number in range(len(found.clusters))]
    text = walk_report_page(found.data, pages, {}, "python -m checker report DIR")
    page = _Page()
    page.feed(text)
    shortest = {
        link.replace(".html", "-shortest.html")
        for link, cause in zip(pages, found.data["clusters"], strict=True)
        if cause["shortest"]
    }
    assert shortest <= set(page.links)
    for link in set(page.links) - shortest:
        assert link in pages or link == "data:," or (link.startswith("#") and link[1:] in page.ids)
    assert set(pages) <= set(page.links)
    assert not re.search(r"https?://", text)
    assert "are violated" in text and "not_two_behind" in text
    assert "<h2>First bad step</h2>" in text and "<h2>Risk factors</h2>" in text


def test_page_counts_steps_as_counterexamples_do(made):
    run, walks, found = made
    text = walk_report_page(found.data, [None] * len(found.clusters), {}, "report")
    for failure in found.data["configurations"][0]["failures"]:
        # The first state of the walk is step 1.
        assert f'<td class="figure">step {failure["soonest"] + 1}</td>' in text
    for cause in found.data["clusters"]:
        assert f"<li><span>{cause['length']}</span> <code>{cause['schedule'][-1]['action']}(" in text
        assert f"Violated by step {cause['length']}: " in text
        assert read_walk(walks, run, cause["walk"])["violated_at"] + 1 == cause["walk_length"]
    assert not re.search(r"\d steps", text)


@pytest.mark.browser
def test_page_is_readable(made, browser, tmp_path):
    _, _, found = made
    text = walk_report_page(found.data, [None] * len(found.clusters), {}, "python -m checker report DIR")
    assert len(text.encode()) < MOST_BYTES
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    assert problems_of(page) == []
    page.close()


def test_tree_of_schedules_names_every_cause(made):
    text = dot_of(made[2])
    assert text.startswith("digraph") and all(f"c{number + 1} [" in text for number in range(len(made[2].clusters)))


def test_report_command(made, tmp_path, capsys):
    _, walks, found = made
    words = ["report", str(walks), "--spec", str(spec_of_walks(walks)), "--out", str(tmp_path / "out")]
    assert main([*words, "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out) == found.data == json.loads((tmp_path / "out/report.json").read_text())
    pages = sorted(path.name for path in (tmp_path / "out/counterexamples").iterdir())
    assert len(pages) == 3 * len(found.clusters)
    first = next((tmp_path / "out/counterexamples").glob("01-*.json"))
    assert trace_file.read_trace(first).property == found.data["clusters"][0]["property"]
    assert main(["show", str(first), "--spec", str(spec_of_walks(walks))]) == 0
    assert main(words) == 1
    shown = capsys.readouterr().out
    assert "not_two_behind" in shown and "report.html" in shown and " 95%" not in shown
    page = html.unescape((tmp_path / "out/report.html").read_text())
    for cluster in found.data["clusters"]:
        last, earlier = cluster["violated_by"], cluster["made_possible_by"]
        assert cluster["sentence"].endswith(".") and cluster["sentence"][0].isupper()
        assert last["step"] == cluster["length"] and 1 < earlier["step"] < last["step"]
        assert last["call"].partition("(")[0] == cluster["schedule"][-1]["action"]
        for words in (
            cluster["sentence"],
            f"Violated by step {last['step']}: {last['sentence']}",
            f"Made possible by step {earlier['step']}: {earlier['sentence']}",
        ):
            assert words in page and words in " ".join(shown.split())


def test_run_without_violation_ends_with_status_0(tmp_path, capsys):
    _, walks = walks_in(tmp_path, scenario="careful", walks=300)
    assert main(["report", str(walks), "--spec", str(spec_of_walks(walks))]) == 0
    assert "in_order" in capsys.readouterr().out
    assert "No walk violates" in (walks / "report/report.html").read_text()


def test_missing_and_damaged_parts_are_reported(tmp_path):
    run, walks = walks_in(tmp_path)
    part_path(walks, WALKS, 0).unlink()
    cut = part_path(walks, WALKS, 1)
    cut.write_bytes(cut.read_bytes()[:-50])
    found = report_on(walks, spec=spec_of_walks(walks))
    assert not found.data["is_complete"]
    assert found.data["walks"] == run.walks - run.span(0)[2] - run.span(1)[2]
    missing, damaged = found.data["notes"]
    assert "1 of its 3 parts are missing" in missing and f"{cut} is truncated" in damaged
    assert "not finished" in walk_report_page(found.data, [None] * len(found.clusters), {}, "report")


def test_damaged_and_missing_parts_set_the_exit_status(tmp_path, capsys):
    _, walks = walks_in(tmp_path, scenario="careful", walks=1200)
    words = ["report", str(walks), "--spec", str(spec_of_walks(walks))]
    changed = part_path(walks, WALKS, 1)
    good = bytearray(changed.read_bytes())
    good[len(good) // 2] ^= 1
    changed.write_bytes(good)
    assert main(words) == 2
    assert f"error: not counted: {changed} is truncated or was changed" in capsys.readouterr().err
    changed.unlink()
    assert main(words) == 3
    assert "The run is not finished: 1 of its" in capsys.readouterr().out


def test_missing_folder_is_not_created(tmp_path, capsys):
    assert main(["report", str(tmp_path / "nowhere")]) == 2
    assert "holds no walks" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_folder_without_readable_walks(tmp_path, capsys):
    assert main(["report", str(tmp_path / "nowhere")]) == 2
    _, walks = walks_in(tmp_path)
    for path in (walks / WALKS).iterdir():
        path.write_bytes(b"PAR1")
    assert main(["report", str(walks), "--spec", str(spec_of_walks(walks))]) == 2
    message = capsys.readouterr().err
    assert "holds no walks" in message and "no walks that can be read" in message


def test_changed_spec_gives_counts_without_counterexamples(tmp_path):
    _, walks = walks_in(tmp_path)
    spec_file(tmp_path, SOURCE.replace("self.sent += 1", "self.sent += 2", 1))
    found = report_on(walks, spec=spec_of_walks(walks))
    assert "has changed since" in found.data["notes"][0]
    assert found.data["failures"][0]["walks"] > 0 and not found.clusters
    assert "has changed since" in walk_report_page(found.data, [], {}, "report")


def test_wrong_master_is_refused(made):
    stages = []
    with pytest.raises(UserError, match="--master"):
        report_on(made[1], spec=spec_of_walks(made[1]), master="nowhere", on_stage=stages.append)
    assert stages == ["starting Spark"]


def test_page_of_a_sweep_separates_configurations_and_what_is_not_decided(tmp_path, monkeypatch):
    """Walks with careful=true violate nothing, and only the first configuration is explored."""
    monkeypatch.setattr(exhaustive_baseline, "MOST_CONFIGURATIONS", 1)
    sweep = ("careful=false,true", "size=2,3")
    run = run_of_request(request(spec_file(tmp_path), scenario="", walks=400, sweep=sweep))
    walks = simulated(tmp_path / "walks", run)
    found = report_on(walks, spec=spec_of_walks(walks))
    (failure,) = (entry for entry in found.data["failures"] if entry["property"] == "in_order")
    rates = [configuration["any"]["rate"] for configuration in found.data["configurations"]]
    share, setting = rate_of(found.data, failure)
    assert share["rate"] == max(rates) > failure["rate"] and failure["violated_in"] == 2
    assert setting == "careful=false, size=3"
    text = walk_report_page(found.data, [None] * len(found.clusters), {}, "report")
    assert "violated in 1 of 4 configurations; not decided in 3; shortest trace: 3 states" in text
    assert "2 configurations without a violation in any walk" in text
    assert text.count("not decided: it was not explored") == 2
