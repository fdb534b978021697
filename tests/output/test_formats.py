"""The registries: every format has a writer, and every report satisfies the protocol."""

import importlib

import pytest

from checker.output.formats import FORMATS
from checker.output.reports import REPORTS, Report, ReportTarget


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_writer_and_an_ending(name):
    module = importlib.import_module(FORMATS[name].module)
    assert callable(module.write) and FORMATS[name].ending.startswith(".")


def test_no_two_formats_share_an_ending():
    assert len({format.ending for format in FORMATS.values()}) == len(FORMATS)


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_satisfies_the_protocol(name, tmp_path):
    module, _, class_name = REPORTS[name].partition(":")
    report = getattr(importlib.import_module(module), class_name)(ReportTarget(tmp_path / "report.html"))
    methods = [method for method in vars(Report) if not method.startswith("_")]
    assert methods == ["add", "add_wrong", "add_drift", "close"]
    assert all(callable(getattr(report, method)) for method in methods)
    report.close()
    assert (tmp_path / "report.html").read_text()
