"""The statistics of a report, computed again from the raw rows by statsmodels, SciPy, and the interpreter."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.duration.survfunc import CumIncidenceRight
from statsmodels.stats.contingency_tables import StratifiedTable, Table2x2
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from spark_analysis.report.make_report import report_on
from spark_analysis.report.run_comparison import compare_reports
from spark_analysis.walks import importance_splitting
from spark_analysis.walks.records import spec_of
from spark_analysis.walks.row_violations import trace_of_instances
from spark_analysis.walks.statistics import ExposureStratum, SampledStratum, estimate_count, risk_ratio
from spark_analysis.walks.walk_request import run_of_request
from tests.spark_analysis.test_report import TWO_CAUSES
from tests.spark_analysis.walks.walked import request, simulated, spec_file

pytestmark = pytest.mark.usefixtures("one_process")

SWEEP = ("size=1,2,3", "careful=true,false")
DEPTH = 12


class Made:
    """A run, its report, and its rows as a data frame."""

    def __init__(self, folder, **options):
        self.run = run_of_request(request(spec_file(folder, TWO_CAUSES), scenario=None, sweep=SWEEP, **options))
        self.folder = simulated(folder / "walks", self.run)
        self.data = report_on(self.folder, spec=folder / "queueing.py", max_states=1000).data
        self.rows = pd.read_parquet(self.folder / "walks")

    def first_violations(self, configuration, failure):
        """Return (number of steps, walks): the first violation of a property by each walk of a configuration."""
        own = self.rows[self.rows.configuration == configuration["number"]]
        if self.run.beyond:
            table = pd.read_parquet(self.folder / "violations")
            table = table[(table.configuration == configuration["number"]) & (table.property == failure["property"])]
            return table.violated_at, len(own)
        bit = 1 << self.run.properties.index(failure["property"])
        return own[own.violated & bit != 0].length, len(own)

    def failures(self):
        return [(one, failure) for one in self.data["configurations"] for failure in one["failures"]]


@pytest.fixture(scope="module", params=[False, True], ids=["ending", "beyond"])
def made(request, tmp_path_factory):
    return Made(tmp_path_factory.mktemp("oracle"), walks=700, depth=DEPTH, sampling=0, beyond=request.param)


def test_rates_have_the_score_interval_of_statsmodels(made):
    compared = 0
    for configuration, failure in made.failures():
        steps, walks = made.first_violations(configuration, failure)
        low, high = proportion_confint(len(steps), walks, method="wilson")
        assert (failure["walks"], failure["rate"]) == (len(steps), pytest.approx(len(steps) / walks))
        assert (failure["low"], failure["high"]) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))
        compared += bool(len(steps))
    assert compared >= 3


def test_shares_by_step_are_the_cumulative_incidence_of_statsmodels(made):
    """A walk without this violation has a competing one, or is followed beyond its depth and never has it."""
    compared = 0
    for configuration, failure in made.failures():
        steps, walks = made.first_violations(configuration, failure)
        if not len(steps):
            continue
        own = made.rows[made.rows.configuration == configuration["number"]]
        others = own[~own.index.isin(steps.index)] if not made.run.beyond else own.iloc[: walks - len(steps)]
        competing = (others.verdict != "holds") & (not made.run.beyond)
        times = np.concatenate([steps, np.where(competing, others.length, DEPTH + 1)])
        status = np.concatenate([np.ones(len(steps)), np.where(competing, 2, 0)]).astype(int)
        incidence = CumIncidenceRight(times, status)
        expected = dict(zip(incidence.times, incidence.cinc[0], strict=True))
        assert failure["curve"][-1][2] == failure["rate"]
        for step, violated, share in failure["curve"]:
            assert (violated, share) == ((steps == step).sum(), pytest.approx(expected[step]))
        for name, least in (("one_in_a_hundred_by", 0.01), ("half_by", 0.5)):
            reached = [time for time, share in sorted(expected.items()) if share >= least - 1e-12]
            assert failure[name] == (reached[0] if reached else None)
        compared += 1
    assert compared >= 3


def tables_of_actions(made, name):
    """Return a table (with or without the action, case or none) for each configuration and step."""
    bit = 1 << made.run.properties.index(name)
    tables = {}
    for row in made.rows.itertuples():
        actions = made.run.configurations[row.configuration].actions
        numbers = np.repeat([action.name for action in actions], [action.instances for action in actions])
        steps = numbers[np.frombuffer(row.actions, "<u2")]
        for step in range(1, len(steps) + 1):
            is_case = bool(row.violated & bit) and step == row.length
            for action in {action.name for action in actions}:
                table = tables.setdefault(action, {}).setdefault((row.configuration, step), np.zeros((2, 2)))
                table[0 if action in steps[:step] else 1, 0 if is_case else 1] += 1
    return tables


def with_cases(tables):
    return [table for table in tables if table[:, 0].sum() and (table.sum(axis=1) > 0).all()]


def check_ratio(row, tables):
    """Compare a row with the pooled ratio, and its interval with the variance of Greenland and Robins, equation 13."""
    assert row["ratio"] == pytest.approx(StratifiedTable(tables).riskratio_pooled)
    (a, b), (n1, n0) = np.array(tables)[:, :, 0].T, np.array(tables).sum(axis=2).T
    n, m = n1 + n0, a + b
    variance = ((m * n1 * n0 - a * b * n) / n**2).sum() / ((a * n0 / n).sum() * (b * n1 / n).sum())
    error = np.log(row["high"] / row["low"]) / 2 / stats.norm.ppf(0.975)
    assert np.sqrt(row["high"] * row["low"]) == pytest.approx(row["ratio"])
    assert error == pytest.approx(np.sqrt(variance))
    if len(tables) == 1:
        assert error == pytest.approx(Table2x2(tables[0]).log_riskratio_se)


def test_the_interval_of_a_pooled_ratio_is_its_spread_over_samples():
    """The ratio is 2 in each of three strata with other shares and sizes."""
    chance = np.random.default_rng(8)
    sizes, shares = np.array([[400, 900], [700, 200], [300, 300]]), np.array([0.02, 0.1, 0.3])
    drawn = chance.binomial(sizes, np.stack([2 * shares, shares], axis=1), size=(3000, 3, 2))
    found = [
        risk_ratio(ExposureStratum(*map(int, (n1, a, n0, b))) for (n1, n0), (a, b) in zip(sizes, sample, strict=True))
        for sample in drawn
    ]
    logs = np.log([each.ratio for each in found])
    errors = [np.log(each.high / each.low) / 2 / stats.norm.ppf(0.975) for each in found]
    assert np.mean(errors) == pytest.approx(logs.std(), rel=0.05)
    assert np.mean([each.low <= 2 <= each.high for each in found]) == pytest.approx(0.95, abs=0.015)


def test_risks_of_actions_are_the_pooled_ratios_of_statsmodels(made):
    if made.run.beyond:
        pytest.skip("a walk counts up to its first violation, which its row does not have: see test_risk_factors.py")
    compared = 0
    for name in ("in_order", "not_two_behind"):
        tables = tables_of_actions(made, name)
        for row in made.data["risks"]:
            if (row["property"], row["kind"]) == (name, "action") and row["low"] is not None:
                check_ratio(row, with_cases(tables[row["name"]].values()))
                compared += 1
    assert compared >= 2


def test_risks_of_settings_are_the_pooled_ratios_of_statsmodels(made):
    compared = 0
    for row in made.data["risks"]:
        if row["kind"] != "setting" or row["reference"] is None:
            continue
        (other,) = {"size", "careful"} - {row["name"]}
        counts = {}
        for configuration in made.data["configurations"]:
            (failure,) = [each for each in configuration["failures"] if each["property"] == row["property"]]
            steps, walks = made.first_violations(configuration, failure)
            swept = configuration["swept"]
            counts[swept[row["name"]], swept[other]] = [len(steps), walks - len(steps)]
        strata = dict.fromkeys(key[1] for key in counts)
        tables = [np.array([counts[row["value"], key], counts[row["reference"], key]], float) for key in strata]
        assert row["walks_with"] == sum(counts[row["value"], key][0] for key in strata)
        check_ratio(row, with_cases(tables))
        compared += 1
    assert compared


def test_states_are_those_of_a_replay(tmp_path):
    """Distinct states, Good and Turing's estimate, and Chao's: from the states that the interpreter visits."""
    made, is_corrected = Made(tmp_path, walks=20, depth=DEPTH, sampling=0), False
    for configuration in made.data["configurations"]:
        spec = spec_of(made.run, configuration["number"])
        walks = Counter()
        for row in made.rows[made.rows.configuration == configuration["number"]].itertuples():
            trace = trace_of_instances(spec, row.initial, np.frombuffer(row.actions, "<u2").tolist())
            walks.update({step.state for step in trace})
        visits = np.array(list(walks.values()))
        once, twice = (visits == 1).sum(), (visits == 2).sum()
        found = configuration["saturation"]
        assert (found["distinct"], found["visits"], found["scale"]) == (len(walks), visits.sum(), 1)
        assert found["unseen_mass"] == pytest.approx(once / visits.sum())
        assert found["unseen"] == round(once * (once - 1) / (2 * (twice + 1)))
        is_corrected |= found["unseen"] != round(once**2 / (2 * (twice + 1)))
    # Chao's estimate without the correction of its bias is another number here.
    assert is_corrected


def test_differences_have_the_interval_of_newcombe(made):
    own = made.data["configurations"]
    # Each setting is compared with another one, as if that were an earlier run of it.
    swapped = [one | {"swept": other["swept"]} for one, other in zip(own, reversed(own), strict=True)]
    rows = compare_reports(made.data, {**made.data, "configurations": swapped})["failures"]
    assert len(rows) == len(own) * 2
    for row in rows:
        walks = [row[side]["walks"] for side in ("after", "before")]
        low, high = confint_proportions_2indep(walks[0], 700, walks[1], 700, compare="diff", method="newcomb")
        assert (row["difference"]["low"], row["difference"]["high"]) == (pytest.approx(low), pytest.approx(high))


def test_estimated_counts_cover_the_truth():
    """Samples without replacement of one stratum and of two contain the number of hits as often as they promise."""
    chance = np.random.default_rng(4)
    for strata in ([(900, 200, 90)], [(900, 200, 90), (400, 60, 50)]):
        truth, covered = sum(hits for _, hits, _ in strata), 0
        for _ in range(2000):
            drawn = [
                SampledStratum(walks, size, int(chance.hypergeometric(hits, walks - hits, size)))
                for walks, hits, size in strata
            ]
            found = estimate_count(drawn)
            covered += found.low <= truth <= found.high
        assert 0.94 <= covered / 2000 <= 0.985
    share = proportion_confint(20, 90, method="wilson")
    found = estimate_count([SampledStratum(900, 90, 20)])
    assert (found.count, found.low, found.high) == (200, *(round(900 * end) for end in share))


def test_the_interval_of_splitting_is_that_of_the_jackknife():
    quantile = stats.t.ppf(0.9875, importance_splitting.REPLICATIONS - 1)
    assert quantile == pytest.approx(importance_splitting._QUANTILE, abs=1e-4)
    rates = np.random.default_rng(2).gamma(2.0, 1e-9, importance_splitting.REPLICATIONS)
    left_out = [np.log(np.delete(rates, at).mean()) for at in range(len(rates))]
    error = np.sqrt((len(rates) - 1) * np.var(left_out))
    assert importance_splitting._log_error(rates) == pytest.approx(error)
    # For independent estimates that hardly differ, it is the error of the mean.
    near = 1 + rates / rates.max() / 1e4
    assert importance_splitting._log_error(near) == pytest.approx(stats.sem(near) / near.mean(), rel=1e-3)
