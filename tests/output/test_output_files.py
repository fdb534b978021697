"""Outputs that are inputs or other outputs of a command, on this machine and in a store."""

from __future__ import annotations

import pytest

from checker.errors import InputError
from checker.output.output_files import check_outputs
from traces.storage import RemotePath

FILE = RemotePath("s3://bucket", "folder/report.json")
IN_A_REGION = RemotePath("s3://bucket", "folder/report.json", "region=x")


def test_an_output_in_a_store_is_no_input():
    with pytest.raises(InputError, match=r"--json s3://bucket/folder/report\.json\?region=x is an input"):
        check_outputs({"--json": IN_A_REGION}, [FILE])
    check_outputs({"--json": FILE.with_name("report2.json")}, [FILE])


def test_two_outputs_in_a_store_differ():
    with pytest.raises(InputError, match=r"--out and --json name the same file"):
        check_outputs({"--out": FILE, "--json": FILE}, [])
