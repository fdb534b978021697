"""Every format has a writer, every report satisfies the protocol, and an output is no input and no other output."""

import importlib

import pytest

from checker.errors import InputError
from checker.output.formats import FORMATS
from checker.output.output_files import check_outputs
from checker.output.reports import REPORTS, Report, ReportTarget
from traces.storage import RemotePath


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


FILE = RemotePath("s3://bucket", "folder/report.json")
IN_A_REGION = RemotePath("s3://bucket", "folder/report.json", "region=x")


def test_an_output_in_a_store_is_no_input():
    with pytest.raises(InputError, match=r"--json s3://bucket/folder/report\.json\?region=x is an input"):
        check_outputs({"--json": IN_A_REGION}, [FILE])
    check_outputs({"--json": FILE.with_name("report2.json")}, [FILE])


def test_two_outputs_in_a_store_differ():
    with pytest.raises(InputError, match=r"--out and --json name the same file"):
        check_outputs({"--out": FILE, "--json": FILE}, [])
