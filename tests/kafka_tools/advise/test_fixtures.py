"""The settings in effect of configurations as people write them; `fixture_clusters` describes their folders."""

import pytest

from checker.errors import UserError
from kafka_tools.advise.effective_config import resolve
from tests.kafka_tools.advise.fixture_clusters import FOLDERS, cluster_of, expected


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_settings_in_effect(folder):
    wanted = expected(folder)
    if "refused" not in wanted:
        config = resolve(cluster_of(folder))
        assert config.refusal is None
        assert {name: config[name] for name in wanted["settings"]} == wanted["settings"]
        return
    try:
        config = resolve(cluster_of(folder))
    except UserError as error:
        says = str(error)
    else:
        says = config.refusal or ""
    assert wanted["refused"] in says.replace(f"{folder}/", "")
    assert "hunter2" not in says
